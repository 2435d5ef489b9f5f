package agent

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent/llm/scripted"
	"nod/approvals"
	"nod/store"
	"nod/tools"
)

// TestInterruptedCallsAreAskedAtOnceAndLeftAtOnce: what an earlier process left of two calls is asked about side by side, and
// waits for a person like any card, so that an end of the program needs not wait for it.
func TestInterruptedCallsAreAskedAtOnceAndLeftAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.hands.work = func(ctx context.Context, _ string) (tools.Output, error) {
			<-ctx.Done()
			return tools.Output{}, context.Cause(ctx)
		}
		r.script.Push(scripted.Call("do_it", text("a")).Call("do_it", text("b")))
		r.say("go")
		for i := range 2 {
			r.decide(r.card(i), approvals.VerbApprove)
		}
		r.until("the calls", func() bool { return len(r.hands.runs()) == 2 })
		for range 2 {
			r.restart()
			var asked []approvals.Pending
			r.look(func(tx *store.Tx) (err error) {
				asked, err = r.gate.Waiting(tx)
				return err
			})
			if len(asked) != 2 || asked[0].Kind != approvals.Interrupted || asked[1].Kind != approvals.Interrupted {
				t.Fatalf("asked %+v", asked)
			}
			began := time.Now()
			r.end()
			if took := time.Since(began).Round(100 * time.Millisecond); took != 0 {
				t.Errorf("the end took %v while two cards waited", took)
			}
		}
	})
}
