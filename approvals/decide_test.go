package approvals

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/store"
)

func TestNOD2_ADeadCardRunsNothing(t *testing.T) {
	t.Run("after /stop", func(t *testing.T) {
		r := newRig(t)
		req := command("ls")
		p := r.ask(req)
		other := command("other turn")
		other.Turn = "t2"
		r.ask(other)
		var closed []Pending
		r.update(func(tx *store.Tx) (err error) {
			closed, err = r.gate.Withdraw(tx, "t1", "stopped")
			return err
		})
		if len(closed) != 1 || closed[0].ID != p.ID || closed[0].State != Withdrawn {
			t.Errorf("closed %v", closed)
		}
		_, err := r.gate.Decide(p.ID, owner, Decision{Verb: VerbApprove})
		if late, ok := errors.AsType[*DecidedError](err); !ok || late.Pending.State != Withdrawn || late.Pending.Reason != "stopped" {
			t.Errorf("got %v", err)
		}
		_, err = r.redeem(p.ID, req)
		wantErr(t, err, ErrNotApproved)
		r.update(func(tx *store.Tx) error {
			waiting, err := r.gate.Waiting(tx)
			if len(waiting) != 1 || waiting[0].Request.Turn != "t2" {
				t.Errorf("still waiting: %v", waiting)
			}
			return err
		})
	})
	t.Run("pressed, then /stop before it ran", func(t *testing.T) {
		r := newRig(t)
		req := command("ls")
		p := r.ask(req)
		r.decide(p.ID, VerbApprove)
		r.update(func(tx *store.Tx) error {
			_, err := r.gate.Withdraw(tx, "t1", "stopped")
			return err
		})
		_, err := r.redeem(p.ID, req)
		wantErr(t, err, ErrNotApproved)
		if _, closed := r.cards.counts(); closed != 2 {
			t.Errorf("the card must tell the true state again: closed %d times", closed)
		}
	})
	t.Run("rejected", func(t *testing.T) {
		r := newRig(t)
		req := command("ls")
		p := r.ask(req)
		got, err := r.gate.Decide(p.ID, owner, Decision{Verb: VerbReject, Reason: "not now"})
		if err != nil || got.State != Rejected || got.Reason != "not now" || got.By != owner || got.Decided.IsZero() {
			t.Errorf("got %+v, %v", got, err)
		}
		_, err = r.redeem(p.ID, req)
		wantErr(t, err, ErrNotApproved)
	})
}

func TestNOD4_SA9_OnlyDecidersDecide(t *testing.T) {
	r := newRig(t)
	p := r.ask(command("ls"))
	for _, user := range []store.UserID{stranger, other, 0, -int64Max} {
		for _, verb := range []Verb{VerbApprove, VerbReject, VerbAlways, "nonsense"} {
			_, err := r.gate.Decide(p.ID, user, Decision{Verb: verb})
			wantErr(t, err, ErrNotYours)
		}
	}
	if got := r.get(p.ID); !got.Open() || got.By != 0 {
		t.Errorf("it is %s by %d", got.State, got.By)
	}
	r.decide(p.ID, VerbApprove)
	_, err := r.gate.Decide(p.ID, stranger, Decision{Verb: VerbReject})
	wantErr(t, err, ErrNotYours) // also of a decided card a stranger learns nothing
}

const int64Max = 1<<63 - 1

// A decider of 0, which a bug could write, is nobody.
func TestSA9_NobodyIsNoDecider(t *testing.T) {
	r := newRig(t)
	req := command("ls")
	req.Deciders = []store.UserID{0, owner}
	p := r.ask(req)
	_, err := r.gate.Decide(p.ID, 0, Decision{Verb: VerbApprove})
	wantErr(t, err, ErrNotYours)
}

func TestNOD9_TwoCardsDecideTheirOwn(t *testing.T) {
	r := newRig(t)
	one, two := command("one"), command("two")
	first, second := r.ask(one), r.ask(two)
	r.update(func(tx *store.Tx) error {
		waiting, err := r.gate.Waiting(tx)
		if len(waiting) != 2 {
			t.Errorf("%d wait", len(waiting))
		}
		return err
	})
	r.decide(second.ID, VerbApprove)
	if got := r.get(first.ID); !got.Open() {
		t.Errorf("the first is %s", got.State)
	}
	_, err := r.redeem(first.ID, one)
	wantErr(t, err, ErrNotApproved)
	_, err = r.redeem(second.ID, one)
	wantErr(t, err, ErrChanged)
	if _, err := r.redeem(second.ID, two); err != nil {
		t.Error(err)
	}
}

func TestDecideFitsTheKind(t *testing.T) {
	all := []Verb{VerbApprove, VerbReject, VerbGrant15, VerbGrantSession, VerbAlways, VerbAnswer, VerbAgain, VerbSkip, ""}
	for kind, verbs := range outcomes {
		for _, verb := range all {
			t.Run(string(kind)+" "+string(verb), func(t *testing.T) {
				r := newRig(t)
				var q *Question
				if kind == Asked {
					q = &Question{Title: "Which?", Text: "one or two"}
				}
				var p Pending
				r.update(func(tx *store.Tx) (err error) {
					p, err = r.gate.Ask(tx, kind, command("ls"), q, "")
					return err
				})
				got, err := r.gate.Decide(p.ID, owner, Decision{Verb: verb, Answer: "two"})
				want, fits := verbs[verb]
				if !fits {
					wantErr(t, err, ErrUnfit)
					if p := r.get(p.ID); !p.Open() {
						t.Errorf("it is %s", p.State)
					}
					return
				}
				if err != nil || got.State != want || got.Verb != verb {
					t.Errorf("got %s, %v, want %s", got.State, err, want)
				}
				if diff := cmp.Diff(got, r.get(p.ID)); diff != "" {
					t.Errorf("what was told is not what is on record: %s", diff)
				}
			})
		}
	}
}

func TestRECV1_ADecisionAndTheEndOfItsUpdateAreOneCommit(t *testing.T) {
	r := newRig(t)
	p := r.ask(command("ls"))
	broken := errors.New("the update's row can't be deleted")
	_, err := r.gate.Decide(p.ID, owner, Decision{Verb: VerbReject}, func(*store.Tx) error { return broken })
	wantErr(t, err, broken)
	if p := r.get(p.ID); !p.Open() {
		t.Errorf("it is %s, though its update was not ended", p.State)
	}
	ended := 0
	end := func(*store.Tx) error { ended++; return nil }
	for range 2 {
		if _, err = r.gate.Decide(p.ID, owner, Decision{Verb: VerbReject}, end); ended != 1 {
			t.Errorf("ended %d times", ended)
		}
	}
	if _, late := errors.AsType[*DecidedError](err); !late {
		t.Errorf("the second decision: %v", err)
	}
}

func TestEmptyAnswerIsNone(t *testing.T) {
	r := newRig(t)
	var p Pending
	r.update(func(tx *store.Tx) (err error) {
		p, err = r.gate.Ask(tx, Asked, command("ls"), &Question{Text: "?"}, "")
		return err
	})
	_, err := r.gate.Decide(p.ID, owner, Decision{Verb: VerbAnswer})
	wantErr(t, err, ErrUnfit)
}
