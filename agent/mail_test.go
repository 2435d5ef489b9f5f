package agent

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/agent/llm/scripted"
	"nod/store"
	"nod/tools"
)

// busy makes the calls of the hands take until release is closed, whatever stops them.
func (r *rig) busy() (release chan struct{}) {
	release = make(chan struct{})
	r.hands.work = func(ctx context.Context, _ string) (tools.Output, error) {
		<-release
		return tools.Output{Text: "done"}, ctx.Err()
	}
	return release
}

func (r *rig) fresh() {
	r.Helper()
	r.update(func(tx *store.Tx) error { return r.driver.Fresh(tx, here) })
}

// TestMailFollowsIntoAFreshSession: what came after a stop, and what a task had to tell, is answered there; what the stop
// kept back waits there for another message.
func TestMailFollowsIntoAFreshSession(t *testing.T) {
	t.Run("a message after a stop", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			release := r.busy()
			r.script.Push(scripted.Call("free_it", text("a")), scripted.Say("Both."))
			r.say("go")
			r.until("the call", func() bool { return len(r.hands.runs()) == 1 })
			r.say("kept")
			r.stop()
			r.say("do this instead")
			r.fresh()
			close(release)
			r.answered("Both.")
			if diff := cmp.Diff([]string{"user: kept\n\ndo this instead"}, said(r.requests(2)[1])); diff != "" {
				t.Error(diff)
			}
		})
	})
	t.Run("a task's result", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r, c := newCast(t)
			r.begun(c, "dig")
			release := r.busy()
			c.on("go", scripted.Call("free_it", text("a")))
			r.say("more")
			r.until("the call", func() bool { return len(r.hands.runs()) == 1 })
			r.say("kept")
			c.on("dig", scripted.Say("It is 3 m deep."))
			r.answered("It is 3 m deep.")
			r.fresh()
			close(release)
			c.on("["+taskLead+"]", scripted.Say("The hole is 3 m deep."), scripted.Say("Both."))
			if turn := r.answered("The hole is 3 m deep.").Turn; turn.Session != r.session(here).ID || turn.attended() {
				t.Errorf("it was told in %+v", turn)
			}
			r.say("go on")
			r.answered("Both.")
			last := r.model.Requests()
			if lines := said(last[len(last)-1]); lines[len(lines)-1] != "user: kept\n\ngo on" {
				t.Errorf("%q", lines)
			}
		})
	})
}

// TestNothingButAPersonBeginsWhatAStopKeptBack: the person was told that it waits for another message. A notification, and
// the end of a stopped task, leave it where it is.
func TestNothingButAPersonBeginsWhatAStopKeptBack(t *testing.T) {
	for name, restarts := range map[string]bool{"in one process": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, c := newCast(t)
				r.begun(c, "dig")
				release := r.busy()
				c.on("go", scripted.Call("free_it", text("a")))
				r.say("first")
				r.until("the call", func() bool { return len(r.hands.runs()) == 1 })
				r.say("delete it all")
				r.stop()
				close(release)
				r.until("both ends", func() bool { return count(r.view, anyOf[TurnStopped]) == 2 })
				if restarts {
					r.restart()
				}
				c.on(jobCast("mail"), scripted.Call(tools.Notify, note("mail", "Two letters.")), scripted.Say(silence))
				r.job("mail")
				c.on("go", scripted.Say("Two letters came."))
				r.answered("Two letters came.")
				time.Sleep(time.Minute)
				before := r.model.Requests()
				if all := strings.Join(said(before[len(before)-1]), "\n"); strings.Contains(all, "delete it all") || strings.Contains(all, "stopped the task") {
					t.Errorf("a notification began what was kept back: %s", all)
				}
				c.on("go", scripted.Say("As you like."))
				r.say("well, do")
				r.answered("As you like.")
				last := said(r.requests(len(before) + 1)[len(before)])
				if all := strings.Join(last, "\n"); !strings.Contains(all, "stopped the task") || last[len(last)-1] != "user: delete it all\n\nwell, do" && last[len(last)-1] != "user: well, do" {
					t.Errorf("%q", last)
				}
			})
		})
	}
}

// TestEditsOfWhatAStopKeepsBack wait with it, and begin no more than it does.
func TestEditsOfWhatAStopKeepsBack(t *testing.T) {
	reworded := func(in Input, text string) Input {
		in.Text, in.Edited = text, true
		return in
	}
	for name, edit := range map[string]func(r *rig, kept, overtaken Input){
		"while the turn ends": func(r *rig, kept, _ Input) {
			r.update(func(tx *store.Tx) error {
				_, err := r.driver.Stop(tx, here)
				if got, sent := r.driver.Submit(tx, reworded(kept, "paint it blue")); sent != nil || got != Kept {
					r.Errorf("it is %s: %v", got, sent)
				}
				return err
			})
		},
		"when it has ended": func(r *rig, kept, _ Input) {
			r.stop()
			sees(r, anyOf[TurnStopped])
			if got := r.submit(reworded(kept, "paint it blue")); got != Kept {
				r.Errorf("it is %s", got)
			}
		},
		"of a message that the stop overtook": func(r *rig, _, overtaken Input) {
			r.stop()
			sees(r, anyOf[TurnStopped])
			overtaken.Held = true
			if got := r.submit(overtaken); got != Kept {
				r.Errorf("the message is %s", got)
			}
			edit := reworded(overtaken, "paint it blue")
			if got := r.submit(edit); got != Kept {
				r.Errorf("it is %s", got)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.script.Push(scripted.Call("do_it", text("a")), scripted.Say("Blue it is."))
				r.say("go")
				r.card(0)
				kept, overtaken := message(here, "paint it red"), message(here, "paint the house red")
				r.submit(kept)
				edit(r, kept, overtaken)
				time.Sleep(time.Minute)
				if n := len(r.model.Requests()); n != 1 {
					t.Errorf("the model was asked %d times", n)
				}
				if got := r.submit(reworded(message(here, ""), "an edit of something else")); got != Ignored {
					t.Errorf("an edit of something else is %s", got)
				}
				r.say("go on")
				r.answered("Blue it is.")
				lines := said(r.requests(2)[1])
				if last := lines[len(lines)-1]; !strings.HasPrefix(last, "user: paint") || !strings.HasSuffix(last, "\n[new wording of an earlier message]\npaint it blue\n\ngo on") {
					t.Errorf("%q", last)
				}
			})
		})
	}
}
