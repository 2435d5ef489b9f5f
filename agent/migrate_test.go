package agent

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/agent/llm/scripted"
	"nod/approvals"
	"nod/scheduler"
	"nod/store"
)

// TestRECV11AGroupThatMovesTakesEverythingAlong moves it while a call waits, a message is queued and a job reports there.
func TestRECV11AGroupThatMovesTakesEverythingAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		const from, to = store.ChatID(-10), store.ChatID(-1000000000010)
		old, topic, other := store.Address{Chat: from}, store.Address{Chat: from, Topic: 4}, store.Address{Chat: -100}
		r.script.Push(scripted.Say("other"), scripted.Say("topic"), scripted.Call("do_it", text("a")))
		r.submit(message(other, "x"))
		r.answered("other")
		r.submit(message(topic, "x"))
		r.answered("topic")
		r.submit(message(old, "go"))
		card := r.card(0)
		r.submit(message(old, "and this"))
		job := r.addJob("news", old)
		r.update(func(tx *store.Tx) error {
			for _, move := range []func(*store.Tx, store.ChatID, store.ChatID) error{Migrate, approvals.Migrate, scheduler.Migrate} {
				if err := move(tx, from, to); err != nil {
					return err
				}
			}
			return nil
		})
		if s := r.session(old); s.ID != "" {
			t.Errorf("the old address still has %+v", s)
		}
		for _, at := range []store.Address{{Chat: to}, {Chat: to, Topic: 4}} {
			if s := r.session(at); s.ID == "" || s.Address != at {
				t.Errorf("at %v is %+v", at, s)
			}
		}
		if s := r.session(other); s.Address != other {
			t.Errorf("another group was moved: %+v", s)
		}
		r.look(func(tx *store.Tx) error {
			p, _, err := r.gate.Get(tx, card.ID)
			if p.Request.Cards.Chat != to {
				t.Errorf("the card stands in %v", p.Request.Cards)
			}
			if j, err := r.jobs.Get(tx, job.ID); err != nil || j.Home.Chat != to {
				t.Errorf("the job reports to %v: %v", j.Home, err)
			}
			return err
		})
		// The turn that was under way ends in the new place, and so does what was queued.
		r.script.Push(scripted.Call("do_it", text("b")), scripted.Say("done"))
		r.decide(card, approvals.VerbApprove)
		second := r.card(1)
		if second.Request.Cards.Chat != to {
			t.Errorf("the next card stands in %v", second.Request.Cards)
		}
		r.decide(second, approvals.VerbApprove)
		if e := r.answered("done"); e.Turn.Address.Chat != to {
			t.Errorf("it was answered in %v", e.Turn.Address)
		}
		if diff := cmp.Diff([]string{"a", "b"}, r.hands.runs()); diff != "" {
			t.Error(diff)
		}
		// And a new message finds the same session.
		r.script.Push(scripted.Say("still here"))
		r.submit(message(store.Address{Chat: to}, "hello"))
		r.answered("still here")
		all := r.model.Requests()
		if got := said(all[len(all)-1]); got[0] != "user: go" {
			t.Errorf("%q", got)
		}
	})
}

// TestRECV11MailOfAStoppedTurnMoves: it begins a turn in the new place.
func TestRECV11MailOfAStoppedTurnMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		const from, to = store.ChatID(-10), store.ChatID(-1000000000010)
		r.script.Push(scripted.Say("go on").Sleep(10*time.Second), scripted.Say("here"))
		r.submit(message(store.Address{Chat: from}, "go"))
		r.requests(1)
		r.submit(message(store.Address{Chat: from}, "and this"))
		r.update(func(tx *store.Tx) error { return Migrate(tx, from, to) })
		if e := r.answered("here"); e.Turn.Address.Chat != to || e.Turn.Cards.Chat != to {
			t.Errorf("it was answered in %v, with cards in %v", e.Turn.Address, e.Turn.Cards)
		}
	})
}
