package shell

import (
	"slices"
	"strings"
	"testing"

	"nod/approvals"
	"nod/store"
	"nod/tools"
)

// TestDeclaredVariables: a command that a person approved has them, also on the host, and its card names them; one that a
// rule let through without the network has none; one without a value is left out.
func TestDeclaredVariables(t *testing.T) {
	stored := "canary-1"
	runner := forcedTo(Auto, isolation{})
	runner.Variables = []Variable{
		{Name: "GH_TOKEN", Value: func() string { return stored }},
		{Name: "NOT_SET", Value: func() string { return "" }},
		{Name: "BAD", Value: func() string { return "a\x00b" }},
	}
	r := rigWith(t, runner)
	const show = `echo "<$GH_TOKEN>"; env | grep -c -e NOT_SET -e BAD`
	for i, args := range []object{{"command": show}, {"command": show, "access": "host"}} {
		if got := call(r, args); !strings.HasPrefix(got.Text, "<canary-1>\n0\n") {
			t.Errorf("%v: %+v", args, got)
		}
		notes := r.Cards()[i].Request.Subject.Notes
		if !slices.Contains(notes, "🔑 is given GH_TOKEN") || strings.Contains(strings.Join(notes, " "), "canary") {
			t.Errorf("notes = %q", notes)
		}
	}
	stored = "canary-2"
	if got := call(r, object{"command": show}); !strings.HasPrefix(got.Text, "<canary-2>") {
		t.Errorf("after it was set anew: %+v", got)
	}
	asked := len(r.Cards())
	if err := r.DB.Update(func(tx *store.Tx) error {
		_, err := approvals.NewRules(nil, tools.ToolSets()).Add(tx, approvals.Rule{
			Tool: tools.ExecuteCmd, Command: &approvals.CommandRule{Program: "env"}, Dir: r.Workspace.Dir(), Action: approvals.ActionAllow,
			Priority: approvals.PriorityPerson,
		})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if got := call(r, object{"command": "env"}); got.State != tools.Completed || strings.Contains(got.Text, "canary") || len(r.Cards()) != asked {
		t.Errorf("by a rule: %d cards, %+v", len(r.Cards())-asked, got)
	}
}
