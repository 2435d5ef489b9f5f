package approvals

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/store"
)

func TestAskTwice(t *testing.T) {
	r := newRig(t)
	req := command("ls")
	first, second := r.ask(req), r.ask(req)
	if diff := cmp.Diff(first.ID, second.ID); diff != "" {
		t.Errorf("the same question was put twice: %s", diff)
	}
	if shown, _ := r.cards.counts(); shown != 1 {
		t.Errorf("%d cards", shown)
	}
	// A crash between the nod and the run: asking again finds the nod.
	r.decide(first.ID, VerbApprove)
	if p := r.ask(req); p.ID != first.ID || !p.Approved() {
		t.Errorf("the nod was forgotten: %s %s", p.ID, p.State)
	}
}

func TestNOD7_AskAnewEndsTheEarlierRequest(t *testing.T) {
	for _, nodded := range []bool{false, true} {
		r := newRig(t)
		req := command("sh build.sh")
		req.Subject.Facts = []Fact{{Name: "build.sh", Value: "old"}}
		first := r.ask(req)
		if nodded {
			r.decide(first.ID, VerbApprove)
		}
		changed := req
		changed.Subject.Facts = []Fact{{Name: "build.sh", Value: "new"}}
		if nodded {
			_, err := r.redeem(first.ID, changed)
			wantErr(t, err, ErrChanged)
		}
		second := r.ask(changed)
		if got := r.get(first.ID); got.State != Withdrawn || got.Reason != "asked anew" {
			t.Errorf("the earlier request is %s: %s", got.State, got.Reason)
		}
		_, err := r.redeem(first.ID, req) // the file was changed back
		wantErr(t, err, ErrNotApproved)
		r.decide(second.ID, VerbApprove)
		if _, err := r.redeem(second.ID, changed); err != nil {
			t.Error(err)
		}
	}
}

func TestAskNeedsTheRightQuestion(t *testing.T) {
	r := newRig(t)
	for _, kind := range []Kind{Approval, Asked, Interrupted, "other"} {
		var q *Question
		if kind != Asked {
			q = &Question{}
		}
		err := r.db.Update(func(tx *store.Tx) error {
			_, err := r.gate.Ask(tx, kind, command("ls"), q, "")
			return err
		})
		if err == nil {
			t.Errorf("%s: taken", kind)
		}
	}
}

func TestWait(t *testing.T) {
	r := newRig(t)
	p := r.ask(command("ls"))
	type result struct {
		p   Pending
		err error
	}
	results := make(chan result)
	for range 3 {
		go func() {
			p, err := r.gate.Wait(t.Context(), p.ID)
			results <- result{p, err}
		}()
	}
	r.ask(command("unrelated"))
	r.decide(p.ID, VerbReject)
	for range 3 {
		if got := <-results; got.err != nil || got.p.State != Rejected {
			t.Errorf("got %s, %v", got.p.State, got.err)
		}
	}
	if got, err := r.gate.Wait(t.Context(), p.ID); err != nil || got.State != Rejected {
		t.Errorf("waiting for what is over: %s, %v", got.State, err)
	}
	_, err := r.gate.Wait(t.Context(), store.NewApprovalID())
	wantErr(t, err, ErrUnknown)

	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	_, err = r.gate.Wait(ctx, r.ask(command("more")).ID)
	wantErr(t, err, stopped)
}

func TestFind(t *testing.T) {
	r := newRig(t)
	req := command("ls")
	p := r.ask(req)
	r.update(func(tx *store.Tx) error {
		got, found, err := r.gate.Find(tx, req.Call)
		if !found || got.ID != p.ID {
			t.Errorf("found %v: %s", found, got.ID)
		}
		if err != nil {
			return err
		}
		_, found, err = r.gate.Find(tx, store.NewCallID())
		if found {
			t.Error("found a request of a call that has none")
		}
		return err
	})
}

// Drop closes what can come to nothing any more, once, and leaves what has been decided as it is.
func TestNOD2_Drop(t *testing.T) {
	tests := []struct {
		name   string
		verb   Verb
		want   State
		closed int
	}{
		{"waiting", "", Withdrawn, 1},
		{"approved, not redeemed", VerbApprove, Withdrawn, 2},
		{"rejected", VerbReject, Rejected, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t)
			p := r.ask(command("ls"))
			if test.verb != "" {
				r.decide(p.ID, test.verb)
			}
			for range 2 {
				r.update(func(tx *store.Tx) error { return r.gate.Drop(tx, p.Request.Call, "the call is over") })
			}
			if got := r.get(p.ID); got.State != test.want || (got.State == Withdrawn) != (got.Reason == "the call is over") {
				t.Errorf("it is %s: %q", got.State, got.Reason)
			}
			if _, closed := r.cards.counts(); closed != test.closed {
				t.Errorf("its card was closed %d times, want %d", closed, test.closed)
			}
			r.update(func(tx *store.Tx) error { return r.gate.Drop(tx, "no such call", "") })
		})
	}
}
