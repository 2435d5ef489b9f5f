package approvals

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"nod/store"
)

// together runs all at the same moment and waits for them.
func together(all ...func()) {
	start := make(chan struct{})
	var wg sync.WaitGroup
	for _, fn := range all {
		wg.Go(func() {
			<-start
			fn()
		})
	}
	close(start)
	wg.Wait()
}

func TestNOD6_FirstPressWins(t *testing.T) {
	r := newRig(t)
	for range 20 {
		p := r.ask(command("ls"))
		_, before := r.cards.counts()
		verbs := []Verb{VerbApprove, VerbReject, VerbGrantSession, VerbAlways}
		var won, lost atomic.Int32
		var states sync.Map
		press := func(verb Verb) func() {
			return func() {
				got, err := r.gate.Decide(p.ID, owner, Decision{Verb: verb})
				if err == nil {
					won.Add(1)
				} else if late, ok := errors.AsType[*DecidedError](err); ok {
					lost.Add(1)
					got = late.Pending
				} else {
					t.Error(err)
				}
				states.Store(got.Verb, true)
			}
		}
		var presses []func()
		for i := range 16 {
			presses = append(presses, press(verbs[i%len(verbs)]))
		}
		together(presses...)
		if won.Load() != 1 || lost.Load() != 15 {
			t.Fatalf("%d won, %d lost", won.Load(), lost.Load())
		}
		seen := 0
		states.Range(func(any, any) bool { seen++; return true })
		if seen != 1 {
			t.Errorf("the presses were told %d different decisions", seen)
		}
		if _, after := r.cards.counts(); after != before+1 {
			t.Errorf("the card was closed %d times", after-before)
		}
	}
}

// Of a press, a stop, an expiry and a redemption that race, one path through the states is taken, and the call is let
// through at most once.
func TestRacesHaveOneEffect(t *testing.T) {
	r := newRig(t)
	for round := range 30 {
		req := command("ls")
		p := r.ask(req)
		if round%2 == 0 {
			r.decide(p.ID, VerbApprove)
		}
		var ran, withdrawn atomic.Int32
		redeem := func() {
			approved, err := r.redeem(p.ID, req)
			if err != nil {
				return
			}
			if digest, err := req.Digest(); err == nil && approved.Covers(req.Call, digest) == nil {
				ran.Add(1)
			}
		}
		stop := func() {
			err := r.db.Update(func(tx *store.Tx) error {
				closed, err := r.gate.Withdraw(tx, req.Turn, "stopped")
				withdrawn.Add(int32(len(closed)))
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}
		press := func() {
			if _, err := r.gate.Decide(p.ID, owner, Decision{Verb: VerbApprove}); err != nil {
				if _, late := errors.AsType[*DecidedError](err); !late {
					t.Error(err)
				}
			}
		}
		expire := func() {
			if err := r.gate.expireOne(p.ID, p.Expires); err != nil {
				t.Error(err)
			}
		}
		together(press, redeem, stop, redeem, press, expire, redeem, stop, redeem)
		end := r.get(p.ID).State
		if ran.Load() > 1 || withdrawn.Load() > 1 {
			t.Fatalf("let through %d times, withdrawn %d times", ran.Load(), withdrawn.Load())
		}
		if (ran.Load() == 1) != (end == Used) || (withdrawn.Load() == 1) != (end == Withdrawn) {
			t.Fatalf("let through %d times, withdrawn %d times, and it is %s", ran.Load(), withdrawn.Load(), end)
		}
		if end.alive() {
			t.Fatalf("it is %s after a stop", end)
		}
	}
}
