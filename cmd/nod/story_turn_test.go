package main

import (
	"regexp"
	"strings"
	"testing"

	"nod/agent/llm/scripted"
)

func TestATurnOf30RoundsEndsWithAPlainWord(t *testing.T) {
	story(t, func(d *dialog) {
		d.play("user> never stop")
		for i := range 30 {
			d.model.push(scripted.Call("list_files", map[string]int{"depth": i%5 + 1}))
		}
		d.play("bot< more steps than one turn may")
		if n := len(d.service.Requests()); n != 30 {
			t.Errorf("the model was asked %d times instead of 30", n)
		}
		d.play("user> go on\nmodel> say Done.\nbot< Done.")
		if n := len(d.said()); n != 3 {
			t.Errorf("%d messages instead of progress, the plain word and the answer:\n%s", n, d.ann.Transcript())
		}
	})
}

// spilled is where a clipped result says that its whole is.
var spilled = regexp.MustCompile(`data/outputs/[\w.-]+`)

func TestALongOutputIsClippedAndPagedFromItsFile(t *testing.T) {
	d := newDialog(t, newWorld(t))
	d.start()
	d.play("user> count")
	d.model.push(scripted.Call("execute_cmd", map[string]string{"command": "seq 1 200000"}))
	d.play("press> ✅ Approve")
	var file string
	d.model.answer(func(r scripted.Request) scripted.Reply {
		results := r.Results()
		out := results[len(results)-1]
		if len(out) > 100<<10 || !strings.HasPrefix(out, "1\n2\n") || !strings.Contains(out, "\n200000\n") {
			t.Errorf("the output of %d bytes is not cut in its middle: %.60q", len(out), out)
		}
		file = spilled.FindString(out)
		return scripted.Call("read_file", map[string]any{"path": file, "start_line": 100_000, "limit": 3})
	})
	d.model.answer(func(r scripted.Request) scripted.Reply {
		results := r.Results()
		if page := results[len(results)-1]; !strings.Contains(page, "100000") || !strings.Contains(page, "100002") {
			t.Errorf("a page of %q is %q", file, page)
		}
		return scripted.Say("Counted.")
	})
	d.play("bot< Counted.")
	d.end()
}
