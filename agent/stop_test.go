package agent

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/agent/llm/scripted"
	"nod/approvals"
	"nod/store"
	"nod/tools"
)

func TestSTOP1StopEndsWhateverRuns(t *testing.T) {
	for name, tt := range map[string]struct {
		reply scripted.Reply
		ready func(*rig) // waits until there is something to stop
		calls []tools.State
	}{
		"the model streams":   {scripted.Say("So ").Sleep(time.Hour).Say("on"), func(r *rig) { sees(r, anyOf[Streaming]) }, nil},
		"the model is silent": {scripted.Say().Sleep(time.Minute), func(r *rig) { r.requests(1) }, nil},
		"a call runs": {
			scripted.Call("free_it", text("a")).Call("free_it", text("b")),
			func(r *rig) { r.until("the call", func() bool { return len(r.hands.runs()) == 1 }) },
			[]tools.State{tools.Cancelled, tools.Cancelled},
		},
		"a card waits": {
			scripted.Call("do_it", text("b")).Call("read_it", text("a")), func(r *rig) { r.card(0) },
			[]tools.State{tools.Cancelled, tools.Cancelled},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.hands.work = func(ctx context.Context, _ string) (tools.Output, error) {
					<-ctx.Done()
					return tools.Output{}, ctx.Err()
				}
				r.script.Push(tt.reply)
				r.say("go")
				tt.ready(r)
				began := time.Now()
				if !r.stop() {
					t.Error("there was nothing to stop")
				}
				stopped := sees(r, anyOf[TurnStopped])
				if took := time.Since(began); took > time.Second {
					t.Errorf("it took %v", took)
				}
				var states []tools.State
				for _, c := range stopped.Calls {
					states = append(states, c.State)
				}
				if diff := cmp.Diff(tt.calls, states); diff != "" {
					t.Error(diff)
				}
				for _, p := range r.view.cards() {
					if _, err := r.gate.Decide(p.ID, owner, approvals.Decision{Verb: approvals.VerbApprove}); !errors.As(err, new(*approvals.DecidedError)) {
						t.Errorf("approving a stopped call: %v", err)
					}
				}
				if r.stop() {
					t.Error("it was stopped twice")
				}
				r.script.Push(scripted.Say("here again"))
				r.say("next")
				r.answered("here again")
			})
		})
	}
}

func TestStoppedTurnsKeepTheirMailForTheNextMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.script.Push(scripted.Call("do_it", text("a")), scripted.Say("all three"))
		r.say("first")
		r.card(0)
		r.say("second")
		r.stop()
		stopped := sees(r, anyOf[TurnStopped])
		if diff := cmp.Diff([]string{"second"}, stopped.Queued); diff != "" {
			t.Error(diff)
		}
		synctest.Wait()
		if n := len(r.model.Requests()); n != 1 {
			t.Errorf("the model was asked %d times", n)
		}
		r.say("third")
		r.answered("all three")
		if got := said(r.requests(2)[1]); got[len(got)-1] != "user: second\n\nthird" {
			t.Errorf("%q", got)
		}
	})
}

// TestAMessageRightAfterStopIsAnswered: between the press and the end of the turn there is a moment.
func TestSTOP1AMessageRightAfterStopIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.script.Push(scripted.Call("do_it", text("a")), scripted.Say("both"))
		r.say("first")
		r.card(0)
		r.say("kept")
		late := message(here, "after it")
		edit := message(here, "an edit of what was stopped")
		edit.Edited = true
		r.update(func(tx *store.Tx) error {
			if _, err := r.driver.Stop(tx, here); err != nil {
				return err
			}
			if got, err := r.driver.Submit(tx, late); err != nil || got != Queued {
				t.Errorf("the late message is %s: %v", got, err)
			}
			got, err := r.driver.Submit(tx, edit)
			if got != Ignored {
				t.Errorf("the late edit is %s", got)
			}
			return err
		})
		r.answered("both")
		if diff := cmp.Diff([]string{"kept"}, sees(r, anyOf[TurnStopped]).Queued); diff != "" {
			t.Error(diff)
		}
		if got := said(r.requests(2)[1]); got[len(got)-1] != "user: kept\n\nafter it" {
			t.Errorf("%q", got)
		}
	})
}

// TestStopBeatsTheEndOfATurn marks a stop while the answer is about to be committed.
func TestStopBeatsTheEndOfATurn(t *testing.T) {
	for name, reply := range map[string]scripted.Reply{
		"an answer": scripted.Say("the answer"), "a failure": scripted.Say("the ").Cut(), "a call": scripted.Call("free_it", text("a")),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				// Written past the driver: the mark is on disk, and nothing has been cut yet.
				mark := func() {
					r.update(func(tx *store.Tx) error {
						s, _, err := SessionAt(tx, here)
						if err != nil {
							return err
						}
						turn, _, err := turns.Get(tx, s.Turn)
						turn.State = Stopping
						return errors.Join(err, turns.Put(tx, turn.ID, turn))
					})
				}
				marked := false
				r.view.setTrap(func(e Event) {
					if _, is := e.(Ending); is && !marked {
						marked = true
						mark()
					}
				})
				if name == "a call" {
					r.script.Push(reply.Sleep(5 * time.Second))
					r.say("go")
					r.requests(1)
					mark()
				} else {
					r.script.Push(reply)
					r.say("go")
				}
				sees(r, anyOf[TurnStopped])
				synctest.Wait()
				if n := count(r.view, anyOf[TurnAnswered]) + count(r.view, anyOf[TurnFailed]) + len(r.hands.runs()); n != 0 {
					t.Errorf("it came to another end, or ran a call: %s", r.view)
				}
			})
		})
	}
}

func TestStopAllEndsEveryTurnAndOnlyTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		there := store.Address{Chat: -5, Topic: 3}
		idle := store.Address{Chat: 99}
		r.script.Push(scripted.Say("hi"))
		r.submit(message(idle, "hello"))
		r.answered("hi")
		r.script.Push(scripted.Call("do_it", text("a")), scripted.Call("do_it", text("b")))
		r.say("one")
		r.submit(message(there, "two"))
		r.card(1)
		n := 0
		r.update(func(tx *store.Tx) (err error) {
			n, err = r.driver.StopAll(tx)
			return err
		})
		if n != 2 {
			t.Errorf("%d turns were stopped", n)
		}
		r.until("both ends", func() bool { return count(r.view, anyOf[TurnStopped]) == 2 })
	})
}

func TestFreshBeginsWithNothingButModelAndMail(t *testing.T) {
	fresh := func(r *rig) {
		r.update(func(tx *store.Tx) error { return r.driver.Fresh(tx, here) })
	}
	t.Run("when idle", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.update(func(tx *store.Tx) error { return r.driver.ChooseModel(tx, here, "second") })
			r.script.Push(scripted.Call("do_it", text("a")), scripted.Say("new"))
			r.say("old")
			r.card(0)
			r.say("kept")
			r.stop()
			sees(r, anyOf[TurnStopped])
			old := r.session(here)
			fresh(r)
			if now := r.session(here); now.ID == old.ID || now.Model != "second" || now.Turn != "" {
				t.Errorf("the fresh session is %+v", now)
			}
			r.say("go on")
			r.answered("new")
			if diff := cmp.Diff([]string{"user: kept\n\ngo on"}, said(r.requests(2)[1])); diff != "" {
				t.Error(diff)
			}
		})
	})
	t.Run("while a turn runs", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.script.Push(scripted.Call("do_it", text("a")), scripted.Say("new"))
			r.say("old")
			r.card(0)
			r.say("kept")
			fresh(r)
			stopped := sees(r, anyOf[TurnStopped])
			if diff := cmp.Diff([]string{"kept"}, stopped.Queued); diff != "" {
				t.Error(diff)
			}
			r.say("go on")
			r.answered("new")
			if diff := cmp.Diff([]string{"user: kept\n\ngo on"}, said(r.requests(2)[1])); diff != "" {
				t.Error(diff)
			}
		})
	})
	t.Run("where nothing was", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			fresh(r)
			if r.session(here).ID == "" {
				t.Error("there is no session")
			}
		})
	})
}

func TestSTOP5ChatsDoNotWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.script.Push(scripted.Call("do_it", text("a")), scripted.Say("quick"))
		r.say("long")
		r.card(0)
		r.submit(message(store.Address{Chat: 43}, "short"))
		r.answered("quick")
	})
}
