package agent

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/agent/llm/scripted"
	"nod/approvals"
	"nod/store"
	"nod/tools"
)

func TestTurnsMayFinishWhenTheProgramEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		reply scripted.Reply
		took  time.Duration
		ended string // as what the turn stands on disk
	}{
		"a short answer ends":    {scripted.Say("done").Sleep(4 * time.Second), 4 * time.Second, ""},
		"a long one is left":     {scripted.Say("so").Sleep(time.Hour), finishTime, "active"},
		"a card is left at once": {scripted.Call("do_it", text("a")), 0, "active"},
		"a card beside a call that runs is not": {
			scripted.Call("do_it", text("a")).Call("free_it", text("4s")), 4 * time.Second, "active",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.hands.work = func(context.Context, string) (tools.Output, error) {
					time.Sleep(4 * time.Second)
					return tools.Output{Text: "slept"}, nil
				}
				r.script.Push(tt.reply)
				r.say("go")
				r.requests(1)
				synctest.Wait()
				began := time.Now()
				r.end()
				if took := time.Since(began); took.Round(100*time.Millisecond) != tt.took {
					t.Errorf("it took %v", took)
				}
				state := ""
				r.offline(func(tx *store.Tx) error {
					s, _, err := SessionAt(tx, here)
					if err != nil || s.Turn == "" {
						return err
					}
					turn, _, err := turns.Get(tx, s.Turn)
					state = string(turn.State)
					return err
				})
				if state != tt.ended {
					t.Errorf("the turn is %q", state)
				}
			})
		})
	}
}

// TestApprovedCallsCountAsWork: what a person has let run is waited for like any other call.
func TestApprovedCallsCountAsWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.hands.work = func(context.Context, string) (tools.Output, error) {
			time.Sleep(3 * time.Second)
			return tools.Output{Text: "slept"}, nil
		}
		r.script.Push(scripted.Call("do_it", text("a")), scripted.Say("done"))
		r.say("go")
		r.decide(r.card(0), approvals.VerbApprove)
		r.until("the call", func() bool { return len(r.hands.runs()) == 1 })
		r.end()
		if n := count(r.view, func(e TurnAnswered) bool { return e.Text == "done" }); n != 1 {
			t.Errorf("the turn was left: %s", r.view)
		}
	})
}

func TestTurnsGoOnAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.script.Push(scripted.Say("I look.").Call("read_it", text("a")).Call("do_it", text("b")))
		r.say("go")
		card := r.card(0)
		r.say("and hurry")
		r.restart()
		began := sees(r, anyOf[TurnBegan])
		if len(began.Calls) != 2 || began.Calls[0].State != tools.Completed || began.Calls[1].State != tools.AwaitingApproval {
			t.Errorf("the view was told of %+v", began.Calls)
		}
		r.script.Push(scripted.Say("done"))
		r.decide(card, approvals.VerbApprove)
		r.answered("done")
		want := []string{"user: go", "assistant: I look. (read_it) (do_it)", "tool: did a", "tool: did b", "user: and hurry"}
		if diff := cmp.Diff(want, said(r.requests(2)[1])); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"a", "b"}, r.hands.runs()); diff != "" {
			t.Error(diff)
		}
	})
}

// TestMODEL1EachCallHasOneResultWhereverItIsCut ends the process at each step of a batch.
func TestMODEL1EachCallHasOneResultWhereverItIsCut(t *testing.T) {
	for cut := range 6 {
		t.Run(fmt.Sprint("at change ", cut), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.script.Push(scripted.Call("read_it", text("a")).Call("free_it", text("b")).Call("read_it", text("c")))
				died := make(chan struct{})
				changes := 0
				r.view.setTrap(func(e Event) {
					if _, is := e.(CallChanged); !is {
						return
					}
					if changes++; changes == cut+1 {
						close(died)
						panic(errDied)
					}
				})
				r.say("go")
				select {
				case <-died:
				case <-time.After(time.Second):
					t.Fatalf("there were %d changes", changes)
				}
				r.view.setTrap(nil)
				// The panic made the turn fail. What matters is what the next request looks like.
				sees(r, anyOf[TurnFailed])
				r.restart()
				for r.script.Len() > 0 {
					r.script.Next(scripted.Request{})
				}
				r.script.Push(scripted.Say("on"))
				r.say("go on")
				r.answered("on")
				all := r.model.Requests()
				results := 0
				for _, m := range all[len(all)-1].Messages {
					if m.Role == "tool" {
						results++
					}
				}
				if results != 3 {
					t.Errorf("three calls have %d results: %q", results, said(all[len(all)-1]))
				}
			})
		})
	}
}

var errDied = errors.New("died here")

func TestAStopIsNotForgottenOverARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.script.Push(scripted.Call("do_it", text("a")))
		r.say("go")
		card := r.card(0)
		r.end()
		r.offline(func(tx *store.Tx) error { // no driver runs
			_, err := r.driver.Stop(tx, here)
			return err
		})
		r.view.reset()
		r.start()
		if e := sees(r, anyOf[TurnStopped]); len(e.Calls) != 1 || e.Calls[0].State != tools.Cancelled {
			t.Errorf("%+v", e)
		}
		if _, err := r.gate.Decide(card.ID, owner, approvals.Decision{Verb: approvals.VerbApprove}); err == nil {
			t.Error("the card still works")
		}
		if len(r.hands.runs()) != 0 {
			t.Error("it ran")
		}
	})
}

func TestIdleSessionsRetireAndComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		live := func() int {
			r.driver.mu.Lock()
			defer r.driver.mu.Unlock()
			return len(r.driver.live)
		}
		r.chat(1)
		time.Sleep(idleTime - time.Second)
		r.chat(1)
		time.Sleep(idleTime - time.Second)
		if live() != 1 {
			t.Error("it retired while it was in use")
		}
		time.Sleep(2 * time.Second)
		if live() != 0 {
			t.Error("it is still there")
		}
		r.script.Push(scripted.Say("I remember"))
		r.say("remember?")
		r.answered("I remember")
		if got := said(r.requests(3)[2]); len(got) != 5 || live() != 1 {
			t.Errorf("%q, %d live", got, live())
		}
	})
}

// TestMailOfAStoppedTurnOutlivesARestart: what was kept is taken with the next message, whenever it comes.
func TestMailOfAStoppedTurnOutlivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.script.Push(scripted.Call("do_it", text("a")), scripted.Say("both"))
		r.say("first")
		r.card(0)
		r.say("kept")
		r.stop()
		sees(r, anyOf[TurnStopped])
		r.restart()
		r.say("next")
		r.answered("both")
		if got := said(r.requests(2)[1]); got[len(got)-1] != "user: kept\n\nnext" {
			t.Errorf("%q", got)
		}
	})
}
