package approvals

import "testing"

func TestHiddenAnswers(t *testing.T) {
	g := &Gate{}
	g.hidden.put("nobody", "x")
	if got := g.TakeHidden("nobody"); got != "" {
		t.Errorf("an answer that nobody waits for is held: %q", got)
	}
	g.hidden.expect("asked")
	g.hidden.put("asked", "secret")
	if got := g.TakeHidden("asked"); got != "secret" {
		t.Errorf("got %q", got)
	}
	g.hidden.put("asked", "late")
	if got := g.TakeHidden("asked"); got != "" || len(g.hidden.answers) != 0 {
		t.Errorf("it is given twice, or held: %q", got)
	}
}
