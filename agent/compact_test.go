package agent

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/agent/llm/scripted"
	"nod/store"
)

func (r *rig) compact(at store.Address) (asked bool) {
	r.Helper()
	r.update(func(tx *store.Tx) (err error) {
		asked, err = r.driver.Compact(tx, at)
		return err
	})
	return asked
}

// chat takes n turns of a question and an answer each.
func (r *rig) chat(n int) {
	r.Helper()
	for i := range n {
		answer := fmt.Sprintf("answer %d", i+1)
		r.script.Push(scripted.Say(answer))
		r.say(fmt.Sprintf("question %d", i+1))
		r.answered(answer)
	}
}

const summaryText = "Goal: to test."

func TestCompactByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		if r.compact(here) {
			t.Error("there is a session already")
		}
		r.chat(3)
		r.script.Push(scripted.Say(summaryText).Usage(scripted.Usage{In: 100, Out: 9}))
		if !r.compact(here) {
			t.Error("there is no session")
		}
		done := sees(r, anyOf[Compacted])
		if done.Err != nil || !done.ByHand || done.Session.Summary != summaryText {
			t.Errorf("it ended as %+v", done)
		}
		asked := r.requests(4)[3]
		if len(asked.Tools) != 0 || len(asked.Messages) != 1 || !strings.Contains(asked.LastUser(), "question 1") || !strings.Contains(asked.LastUser(), "answer 3") {
			t.Errorf("the summary was asked for with %d tools and %q", len(asked.Tools), said(asked))
		}
		if u := r.session(here).Usage["first"]; u.Out < 9 {
			t.Errorf("the summary is not counted: %+v", u)
		}
		r.script.Push(scripted.Say("on we go"))
		r.say("go on")
		r.answered("on we go")
		want := []string{"user: " + summaryHead + summaryText + "\n\ngo on"}
		if diff := cmp.Diff(want, said(r.requests(5)[4])); diff != "" {
			t.Error(diff)
		}
		// After a restart it is the same conversation.
		r.restart()
		r.script.Push(scripted.Say("and on"))
		r.say("once more")
		r.answered("and on")
		want = append(want, "assistant: on we go", "user: once more")
		if diff := cmp.Diff(want, said(r.requests(6)[5])); diff != "" {
			t.Error(diff)
		}
	})
}

func TestCompactWithNothingToDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.update(func(tx *store.Tx) error { return r.driver.Fresh(tx, here) })
		r.compact(here)
		if e := sees(r, anyOf[Compacted]); e.Err == nil {
			t.Errorf("%+v", e)
		}
	})
}

func TestCompactOfItselfAtFourFifths(t *testing.T) {
	for name, tt := range map[string]struct {
		in   int
		want int
	}{"below": {79_900, 0}, "above": {80_100, 1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.chat(3)
				r.script.Push(scripted.Say("long").Usage(scripted.Usage{In: tt.in, Out: 50}), scripted.Say(summaryText))
				r.say("the fourth question")
				r.answered("long")
				synctest.Wait()
				time.Sleep(time.Second)
				if n := count(r.view, func(e Compacted) bool { return !e.ByHand && e.Err == nil }); n != tt.want {
					t.Fatalf("%d compactions", n)
				}
				if tt.want == 0 {
					return
				}
				// The last two turns stay word for word.
				r.script.Push(scripted.Say("on"))
				r.say("go on")
				r.answered("on")
				all := r.requests(6)
				got := said(all[len(all)-1])
				want := []string{
					"user: " + summaryHead + summaryText + "\n\nquestion 3", "assistant: answer 3",
					"user: the fourth question", "assistant: long", "user: go on",
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// TestCompactBeforeAnythingIsLeftOut: on a small window instructions and tools alone take much of it.
func TestCompactBeforeAnythingIsLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(r *rig) { r.window = 4000 })
		long := strings.Repeat("word ", 800) // 1000 tokens
		for i := range 3 {
			r.script.Push(scripted.Say(fmt.Sprint("noted ", i)).Usage(scripted.Usage{In: 2500, Out: 3}))
			if i == 2 {
				r.script.Push(scripted.Say(summaryText))
			}
			r.say(fmt.Sprint(i, " ", long))
			r.answered(fmt.Sprint("noted ", i))
		}
		sees(r, func(e Compacted) bool { return e.Err == nil })
	})
}

func TestCompactionThatFails(t *testing.T) {
	for name, reply := range map[string]scripted.Reply{
		"refused": scripted.Fail(400, "", "no"), "empty": scripted.Say(), "cut": scripted.Say("Go").Cut(),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.chat(3)
				r.script.Push(reply, reply)
				r.compact(here)
				if e := sees(r, anyOf[Compacted]); e.Err == nil || !e.ByHand {
					t.Errorf("%+v", e)
				}
				for r.script.Len() > 0 {
					r.script.Next(scripted.Request{})
				}
				r.script.Push(scripted.Say("on"))
				r.say("go on")
				r.answered("on")
				all := r.model.Requests()
				if got := said(all[len(all)-1]); len(got) != 7 || got[0] != "user: question 1" {
					t.Errorf("the conversation is %q", got)
				}
			})
		})
	}
}

func TestAMessageDuringACompactionIsAnsweredAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.chat(3)
		r.script.Push(scripted.Say(summaryText).Sleep(5*time.Second), scripted.Say("on"))
		r.compact(here)
		r.requests(4)
		if got := r.say("go on"); got != Started {
			t.Errorf("the message is %s", got)
		}
		r.answered("on")
		want := []string{"user: " + summaryHead + summaryText + "\n\ngo on"}
		if diff := cmp.Diff(want, said(r.requests(5)[4])); diff != "" {
			t.Error(diff)
		}
	})
}

func TestSTOP1StopEndsTheCompactionThatATurnWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.chat(3)
		r.script.Push(scripted.Say("Go").Sleep(time.Hour))
		r.compact(here)
		r.requests(4)
		r.say("go on")
		began := time.Now()
		if !r.stop() {
			t.Error("there was nothing to stop")
		}
		sees(r, anyOf[TurnStopped])
		if e := sees(r, anyOf[Compacted]); e.Err == nil || time.Since(began) > time.Second {
			t.Errorf("after %v: %+v", time.Since(began), e)
		}
		if r.session(here).Summary != "" {
			t.Error("half a summary was kept")
		}
	})
}

// TestACompactionThatAShutdownCutIsMadeUpFor: the person was told that it is under way.
func TestACompactionThatAShutdownCutIsMadeUpFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.chat(3)
		r.script.Push(scripted.Say("Go").Sleep(time.Hour))
		r.compact(here)
		r.requests(4)
		r.end()
		if n := count(r.view, anyOf[Compacted]); n != 0 {
			t.Errorf("%d compactions were told of", n)
		}
		r.script.Push(scripted.Say(summaryText), scripted.Say("on"))
		r.start()
		sees(r, func(e Compacted) bool { return e.Err == nil && e.ByHand })
		if s := r.session(here); s.Summary != summaryText || s.Compact {
			t.Errorf("the summary is %q, asked again: %v", s.Summary, s.Compact)
		}
		r.say("go on")
		r.answered("on")
		if got := said(r.requests(6)[5]); len(got) != 1 {
			t.Errorf("the conversation is %q", got)
		}
	})
}

// TestMODEL1CompactionWaitsForOpenCalls asks for one while a batch is under way, and restarts in between.
func TestMODEL1CompactionWaitsForOpenCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.chat(3)
		r.script.Push(scripted.Say("I do both.").Call("do_it", text("a")).Call("read_it", text("b")))
		r.say("do both")
		card := r.card(0)
		r.compact(here)
		synctest.Wait()
		if n := len(r.model.Requests()); n != 4 {
			t.Fatalf("a batch was summarised: %d requests", n)
		}
		r.restart()
		r.compact(here)
		r.script.Push(scripted.Say("both done"), scripted.Say(summaryText), scripted.Say("on"))
		r.decide(card, "approve")
		r.answered("both done")
		sees(r, func(e Compacted) bool { return e.Err == nil })
		if got := said(r.requests(5)[4]); len(got) < 8 {
			t.Fatalf("%q", got)
		}
		if diff := cmp.Diff([]string{"tool: did a", "tool: did b"}, said(r.requests(5)[4])[8:]); diff != "" {
			t.Error(diff)
		}
		r.say("go on")
		r.answered("on")
		if got := said(r.requests(7)[6]); len(got) != 1 {
			t.Errorf("the conversation is %q", got)
		}
	})
}

// TestASecondCompactionHoldsTheFirst: the earlier summary is part of what is summarised.
func TestASecondCompactionHoldsTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.chat(1)
		for i, words := range []string{"summary one", "summary two"} {
			r.script.Push(scripted.Say(words))
			r.compact(here)
			r.until(words, func() bool { return r.session(here).Summary == words })
			r.chat(1)
			if i == 0 {
				continue
			}
			all := r.model.Requests()
			if asked := all[len(all)-2].LastUser(); !strings.Contains(asked, "summary one") {
				t.Errorf("asked with %q", asked)
			}
		}
	})
}
