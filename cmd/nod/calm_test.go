package main

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent/llm/scripted"
)

// TestLongListsAreCut looks at what there is a lot of: a command brings no more messages than somebody can look through.
func TestLongListsAreCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start()
		w.ann.SendText("many jobs")
		var calls scripted.Reply
		for i := range 25 {
			calls = calls.Call("execute_task", fmt.Sprintf(`{"mode":"cron","agent_id":"main","title":"Job %d","prompt":"look","cron":"0 9 * * *"}`, i))
		}
		w.model.push(calls)
		shown := func(command, end string) int {
			before := len(w.ann.Messages())
			w.ann.SendText(command)
			time.Sleep(time.Minute)
			w.sees(w.ann, end)
			return len(w.ann.Messages()) - before - 1
		}
		time.Sleep(time.Minute)
		if n := shown("/pending", "5 more wait after these"); n != 21 {
			t.Errorf("/pending brings %d messages", n)
		}
		for _, m := range w.ann.Messages() {
			if strings.Contains(fmt.Sprint(m.Keyboard.Labels()), "✅ Approve") {
				if _, err := w.ann.PressOn(m.ID, "✅ Approve"); err != nil {
					t.Fatal(err)
				}
			}
		}
		w.model.push(scripted.Say("They are set up."))
		time.Sleep(time.Minute)
		w.sees(w.ann, "They are set up.")
		if n := shown("/jobs", "5 more are not shown"); n != 21 {
			t.Errorf("/jobs brings %d messages", n)
		}
		if n := shown("/jobs job 24", "Job 24"); n != 1 {
			t.Errorf("/jobs with a title brings %d messages", n)
		}
		if n := shown("/jobs nonsense", "No job's title"); n != 1 {
			t.Errorf("/jobs with no title brings %d messages", n)
		}
	})
}
