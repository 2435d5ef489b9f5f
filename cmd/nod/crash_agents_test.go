package main

import (
	"context"
	"testing"
	"time"
)

// TestCrash_WorkOfAgentsIsDeliveredOnce kills nod when a sub-agent has just begun, when its command has run, when it is done
// and its caller does not know yet, and when the caller does; and likewise around a task in the background. After each the
// person has one answer, and the command has run once.
func TestCrash_WorkOfAgentsIsDeliveredOnce(t *testing.T) {
	for _, tt := range []struct{ kind, window string }{
		{errandHelp, "agent.delegated:1"},
		{errandHelp, "tools.recorded:1"}, // of the sub-agent's command
		{errandHelp, "agent.finished:1"}, // the sub-agent's
		{errandHelp, "tools.recorded:2"}, // of its caller's call
		{errandTask, "tools.recorded:1"}, // of the call that begins the task
		{errandTask, "agent.finished:2"}, // of the caller's first answer and the task's end the later one
	} {
		t.Run(tt.kind+" "+tt.window, func(t *testing.T) {
			t.Parallel()
			w := newCrashWorld(t, 1, nil)
			p := w.people[0]
			nod := w.launch(tt.window)
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			dead, died := context.WithCancel(ctx)
			go func() { <-nod.ended; died() }()
			errand := p.say(tt.kind)
			p.until(dead, func() bool { return false })
			if !nod.killedWithin(10 * time.Second) {
				t.Fatal("the window was not passed")
			}
			nod = w.launch("")
			p.awaitDone(ctx, errand)
			if tt.kind == errandTask && !p.until(ctx, func() bool { return p.told(errand) > 0 }) {
				t.Error("the result of the task was not told")
			}
			nod.terminate()
			if len(p.lost) > 0 || p.told(errand) > 1 || p.toldInterrupted(errand) {
				t.Errorf("lost %q, told %d times, asked about: %v", p.lost, p.told(errand), p.toldInterrupted(errand))
			}
			if ran := w.ran()[errand]; tt.kind == errandHelp && ran != 1 {
				t.Errorf("the command ran %d times", ran)
			}
		})
	}
}
