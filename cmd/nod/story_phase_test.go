package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nod/agent/llm/scripted"
)

// offers says whether the newest request to the model offered a tool.
func (d *dialog) offers(tool string) bool {
	all := d.service.Requests()
	return len(all) > 0 && all[len(all)-1].Offers(tool)
}

func TestPhase_WhereFilesCantBeKeptNoneAreOffered(t *testing.T) {
	story(t, func(d *dialog) {
		d.write("plan.md", "the plan")
		outbox := filepath.Join(d.home, "outbox")
		d.play("user> hello\nmodel> say Hello.\nbot< Hello.")
		if !d.offers("send_attachment") {
			t.Fatal("send_attachment is not offered to begin with")
		}
		if err := errors.Join(os.RemoveAll(outbox), os.WriteFile(outbox, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		d.play("user> send me the plan\nmodel> call send_attachment {\"file_path\":\"plan.md\"}")
		d.model.answer(func(r scripted.Request) scripted.Reply {
			results := r.Results()
			if last := results[len(results)-1]; !strings.Contains(last, "copying plan.md for sending") {
				t.Errorf("the call's outcome is %q", last)
			}
			if r.Offers("send_attachment") || strings.Contains(r.System, "send_attachment") {
				t.Error("send_attachment is offered, or spoken of, where no file can be kept")
			}
			return scripted.Say("It can't be sent now.")
		})
		d.play("bot< It can't be sent now.")
		if err := os.Remove(outbox); err != nil {
			t.Fatal(err)
		}
		d.play("user> and now?")
		d.model.answer(func(r scripted.Request) scripted.Reply {
			if !r.Offers("send_attachment") || !strings.Contains(r.System, "send_attachment") {
				t.Error("send_attachment is not offered again")
			}
			return scripted.Call("send_attachment", map[string]string{"file_path": "plan.md"})
		})
		d.play("model> say Sent.\nbot< Sent.")
		if n := len(d.calls("sendDocument")); n != 1 {
			t.Errorf("%d files were sent", n)
		}
	})
}

func TestPhase_WhereNoFileCanBeSentALongAnswerComesInMessages(t *testing.T) {
	story(t, func(d *dialog) {
		d.play("in team\nuser> /enroll\nbot< I listen\nrestrict\nuser> @nod_bot tell me all")
		long := words(30_000)
		d.model.push(scripted.Say(long))
		d.play("bot< " + long[len(long)-40:])
		d.settle()
		var told strings.Builder
		for _, m := range d.actor().Messages()[2:] {
			if m.From != nil && m.From.IsBot {
				told.WriteString(m.Text)
			}
		}
		if unspaced(told.String()) != unspaced(long) {
			t.Errorf("%d characters arrived of %d", len(unspaced(told.String())), len(unspaced(long)))
		}
		if n := len(d.calls("sendDocument")); n > 0 {
			t.Errorf("%d files were tried", n)
		}
	})
}
