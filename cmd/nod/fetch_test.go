package main

import (
	"testing"

	"nod/agent"
	"nod/approvals"
)

// The rules of the chat's run context hold for the button too, from the moment that the chat has it.
func TestFILE2_TheButtonOfAFileKeepsToTheRunContext(t *testing.T) {
	story(t, func(d *dialog) {
		d.end()
		d.config = func(c *Config) {
			c.Rules = []approvals.Rule{{Group: "closed", Tool: approvals.FSRead, Path: d.workspace, Action: approvals.ActionDeny}}
			c.Contexts = []agent.RunContext{{Name: "quiet", Group: "closed"}}
		}
		d.start()
		d.write("a.md", "what it says")
		d.play("user> read it\nmodel> call read_file {\"path\":\"a.md\"}\nmodel> say Read.\nbot< Read.\npress> 📎 a.md\nwait 2s\nuser> /profile quiet\nwait 2s")
		if n := len(d.calls("sendDocument")); n != 1 {
			t.Fatalf("%d files were sent", n)
		}
		if answer := d.press(d.ann, "📎 a.md"); !answer.Alert {
			t.Errorf("the press was answered with %+v", answer)
		}
		d.settle()
		if n := len(d.calls("sendDocument")); n != 1 {
			t.Errorf("%d files were sent", n)
		}
	})
}
