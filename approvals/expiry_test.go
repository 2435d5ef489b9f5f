package approvals

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"nod/store"
)

// running starts the clock of the gate for the length of the test.
func (r *rig) running() {
	ctx, cancel := context.WithCancel(r.Context())
	done := make(chan error)
	go func() { done <- r.gate.Run(ctx) }()
	r.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			r.Error(err)
		}
	})
}

func TestNOD2_Expiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.running()
		req := command("ls")
		p := r.ask(req)
		time.Sleep(time.Hour)
		later := r.ask(command("later"))
		start := time.Now()
		got, err := r.gate.Wait(t.Context(), p.ID)
		if err != nil || got.State != Expired || got.By != 0 {
			t.Fatalf("got %s by %d, %v", got.State, got.By, err)
		}
		if took := time.Since(start); took != 23*time.Hour {
			t.Errorf("it expired after %s", took)
		}
		_, err = r.gate.Decide(p.ID, owner, Decision{Verb: VerbApprove})
		if late, ok := errors.AsType[*DecidedError](err); !ok || late.Pending.State != Expired {
			t.Errorf("a press after the expiry: %v", err)
		}
		_, err = r.redeem(p.ID, req)
		wantErr(t, err, ErrNotApproved)
		if got := r.get(later.ID); !got.Open() {
			t.Errorf("the later one is %s", got.State)
		}
		if got, err := r.gate.Wait(t.Context(), later.ID); err != nil || got.State != Expired {
			t.Errorf("the later one is %s, %v", got.State, err)
		}
		synctest.Wait() // the waiter and Run come to the expiry at the same instant
		if _, closed := r.cards.counts(); closed != 2 {
			t.Errorf("%d cards closed", closed)
		}
	})
}

// SA10: what Run did not come to, such as while the program was down, has expired all the same.
func TestSA10_OverdueWithoutTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := tempDB(t)
		r := wire(t, openAt(t, path))
		pressed, waiting := command("pressed"), command("waiting")
		nod, open := r.ask(pressed), r.ask(waiting)
		r.decide(nod.ID, VerbApprove)
		if err := r.db.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(24 * time.Hour)
		r = wire(t, openAt(t, path))
		t.Cleanup(func() { r.db.Close() })

		_, err := r.redeem(nod.ID, pressed)
		wantErr(t, err, ErrNotApproved)
		_, err = r.gate.Decide(open.ID, owner, Decision{Verb: VerbApprove})
		if late, ok := errors.AsType[*DecidedError](err); !ok || late.Pending.State != Expired {
			t.Errorf("a press while overdue: %v", err)
		}
		if got := r.get(open.ID); got.State != Expired {
			t.Errorf("it is %s", got.State)
		}
		again := r.ask(pressed)
		if again.ID == nod.ID || !again.Open() {
			t.Errorf("a nod of yesterday was taken up: %s", again.State)
		}
		if got := r.get(nod.ID); got.State != Expired {
			t.Errorf("it is %s", got.State)
		}
	})
}

func TestExpiryAfterRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := tempDB(t)
		r := wire(t, openAt(t, path))
		p := r.ask(command("ls"))
		if err := r.db.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(48 * time.Hour)
		db := openAt(t, path)
		t.Cleanup(func() { db.Close() })
		r = wire(t, db)
		r.running()
		if got, err := r.gate.Wait(t.Context(), p.ID); err != nil || got.State != Expired {
			t.Errorf("got %s, %v", got.State, err)
		}
	})
}

// A jump of the clock is seen within 30 s: the timer is never set further ahead, however far off the expiry is.
func TestClockJump(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.running()
		p := r.ask(command("ls"))
		synctest.Wait()
		// The wall clock can't be set here; moving the expiry back behind the gate's back comes to the same.
		r.update(func(tx *store.Tx) error {
			p.Expires = time.Now().UTC().Round(0)
			if err := pendingTable.Put(tx, p.ID, p); err != nil {
				return err
			}
			return liveTable.Put(tx, p.ID, p.Expires)
		})
		start := time.Now()
		got, err := r.gate.Wait(t.Context(), p.ID)
		if err != nil || got.State != Expired {
			t.Fatalf("got %s, %v", got.State, err)
		}
		if took := time.Since(start); took > maxSleep {
			t.Errorf("seen after %s", took)
		}
	})
}

// One card that can't be closed keeps no other one open, is tried again, and never spins.
func TestExpiryThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		p := r.ask(command("ls"))
		r.cards.setFail(errors.New("no chat"))
		r.running()
		time.Sleep(25 * time.Hour)
		if got := r.get(p.ID); !got.Open() {
			t.Fatalf("it is %s", got.State)
		}
		r.cards.setFail(nil)
		time.Sleep(maxSleep)
		synctest.Wait()
		if got := r.get(p.ID); got.State != Expired {
			t.Errorf("it is %s", got.State)
		}
	})
}

func TestInterruptedWaitsForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.running()
		var p Pending
		r.update(func(tx *store.Tx) (err error) {
			p, err = r.gate.Ask(tx, Interrupted, command("ls"), nil, "it had begun")
			return err
		})
		time.Sleep(1000 * time.Hour)
		if got := r.decide(p.ID, VerbAgain); got.State != RunAgain {
			t.Errorf("it is %s", got.State)
		}
	})
}
