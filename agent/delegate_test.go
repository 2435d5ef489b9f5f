package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/agent/llm/scripted"
	"nod/approvals"
	"nod/scheduler"
	"nod/store"
	"nod/tools"
	"nod/tools/agents"
	"nod/tools/chat"
	"nod/tools/jobs"
)

// cast is a model that answers each conversation by its first message, or the title of its task. A conversation that has no
// reply waits for one.
type cast struct {
	mu      sync.Mutex
	parts   map[string][]scripted.Reply
	changed chan struct{}
}

// newCast makes a world whose agents have the tools to work for each other.
func newCast(t *testing.T, options ...rigOption) (*rig, *cast) {
	t.Helper()
	c := &cast{parts: map[string][]scripted.Reply{}, changed: make(chan struct{})}
	r := newRig(t, append(options, func(r *rig) {
		r.model = scripted.New(c.next).Lanes(func(r scripted.Request) string { return r.Messages[0].Text })
		r.more = func() []tools.Tool {
			all := append(agents.Tools(), jobs.Tools(r.db, scheduler.NewJobs(r.db), time.UTC, MainAgent)...)
			return append(all, chat.Tools(r.workspace, func() []tools.Group { return nil })...)
		}
	})...)
	return r, c
}

// on adds what an agent says in the conversation whose first message contains a text.
func (c *cast) on(first string, replies ...scripted.Reply) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parts[first] = append(c.parts[first], replies...)
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *cast) next(r scripted.Request) scripted.Reply {
	for {
		c.mu.Lock()
		for first, replies := range c.parts {
			if text := r.Messages[0].Text; len(replies) > 0 && (text == first || strings.Contains(text, "asks you: "+first+".") || strings.Contains(text, "asks you: "+first+";")) {
				c.parts[first] = replies[1:]
				c.mu.Unlock()
				return replies[0]
			}
		}
		changed := c.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-r.Gone:
			return scripted.Fail(500, "gone", "nobody waits")
		}
	}
}

// task is the arguments that have another agent do something.
func task(mode, what string) map[string]string {
	return map[string]string{"mode": mode, "agent_id": "generalist", "title": what, "prompt": "Do it: " + what}
}

func subtask(what string) map[string]string {
	return map[string]string{"agent_id": "generalist", "title": what, "prompt": "Do it: " + what}
}

// outcome waits until a call of a tool is over, and gives its result; n counts such calls from 0.
func (r *rig) outcome(tool string, n int) (e tools.Execution) {
	r.Helper()
	r.until(fmt.Sprintf("call %d of %s", n, tool), func() bool {
		i := 0
		for _, event := range r.view.all() {
			if c, ok := event.(CallChanged); ok && c.Call.Tool == tool && c.Call.State.Over() {
				if e = c.Call; i == n {
					return true
				}
				i++
			}
		}
		return false
	})
	return e
}

func (r *rig) children(id store.SessionID) (all []Session) {
	r.Helper()
	r.look(func(tx *store.Tx) (err error) {
		all, err = childrenOf(tx, id)
		return err
	})
	return all
}

func TestASubAgentsAnswerIsItsCallersResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := newCast(t)
		c.on("go", scripted.Call(tools.ExecuteTask, task("sync", "look")), scripted.Say("It was looked at."))
		c.on("look", scripted.Call("read_it", text("a")).Usage(scripted.Usage{In: 500, Out: 5}), scripted.Say("It is round.").Usage(scripted.Usage{In: 700, Out: 7}))
		r.say("go")
		r.answered("It was looked at.")
		if e := r.outcome(tools.ExecuteTask, 0); e.State != tools.Completed || e.Outcome.Text != "It is round." || e.Effect != tools.Read {
			t.Errorf("%+v", e)
		}
		read := sees(r, func(e CallChanged) bool { return e.Call.Tool == "read_it" })
		s := r.session(here)
		if turn := read.Turn; turn.Agent != "generalist" || turn.Depth != 1 || turn.Root != s.ID || turn.Parent != s.ID || turn.Origin.Kind != approvals.FromPerson || turn.By != owner {
			t.Errorf("%+v", turn)
		}
		want := []string{"user: [The agent main asks you: look. Your answer goes back to it.]\nDo it: look", "assistant:  (read_it)", "tool: did a", "assistant: It is round."}
		if diff := cmp.Diff(want, r.transcript(read.Turn.Session)); diff != "" {
			t.Error(diff)
		}
		usage := s.Usage["first"]
		if usage.In < 1200 || usage.Out < 12 || s.LastIn == 700 {
			t.Errorf("the session has used %+v, its own last request had %d tokens", usage, s.LastIn)
		}
		if len(r.children(s.ID)) != 0 {
			t.Error("it still has children")
		}
		for _, req := range r.model.Requests() {
			if strings.Contains(req.Messages[0].Text, ": look.") && (offers(req, tools.ExecuteTask) || !offers(req, tools.ExecuteSubtask) || !strings.HasPrefix(req.System, "You are the generalist")) {
				t.Errorf("the sub-agent was offered %v and told %.60s", toolNames(req), req.System)
			}
		}
	})
}

func offers(r scripted.Request, tool string) bool { return slices.Contains(toolNames(r), tool) }

func toolNames(r scripted.Request) (names []string) {
	for _, t := range r.Tools {
		names = append(names, t.Name)
	}
	return names
}

func TestSubAgentsWorkSideBySideFourAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := newCast(t)
		batch := scripted.Say("")
		for i := range 6 {
			batch = batch.Call(tools.ExecuteTask, task("sync", fmt.Sprint("part ", i)))
		}
		c.on("go", batch, scripted.Say("all done"))
		r.say("go")
		working := func() int { return len(r.children(r.session(here).ID)) }
		r.until("four", func() bool { return working() == 4 })
		synctest.Wait()
		if n := working(); n != 4 {
			t.Errorf("%d work", n)
		}
		for i := range 6 {
			c.on(fmt.Sprint("part ", i), scripted.Say(fmt.Sprint("done ", i)))
		}
		r.answered("all done")
		var results []string
		for _, line := range said(r.requests(8)[7]) {
			if strings.HasPrefix(line, "tool: ") {
				results = append(results, line)
			}
		}
		want := []string{"tool: done 0", "tool: done 1", "tool: done 2", "tool: done 3", "tool: done 4", "tool: done 5"}
		if diff := cmp.Diff(want, results); diff != "" {
			t.Error(diff)
		}
	})
}

func TestSubAgentsGoThreeDeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := newCast(t)
		c.on("go", scripted.Call(tools.ExecuteTask, task("sync", "one")), scripted.Say("done"))
		c.on("one", scripted.Call(tools.ExecuteSubtask, subtask("two")), scripted.Say("done one"))
		c.on("two", scripted.Call(tools.ExecuteSubtask, subtask("three")), scripted.Say("done two"))
		c.on("three", scripted.Call(tools.ExecuteSubtask, subtask("four")), scripted.Say("done three"))
		r.say("go")
		r.answered("done")
		if e := r.outcome(tools.ExecuteSubtask, 0); e.State != tools.Failed || !strings.Contains(e.Outcome.Text, "at most 3 deep") {
			t.Errorf("the fourth is %s: %s", e.State, e.Outcome.Text)
		}
		deepest := sees(r, func(e TurnAnswered) bool { return e.Text == "done three" }).Turn
		if deepest.Depth != 3 || deepest.root() != r.session(here).ID || deepest.top() == deepest.ID {
			t.Errorf("%+v", deepest.Lineage)
		}
	})
}

func TestOnlyAgentsForTasksDoThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := newCast(t)
		r.file("../home/agents/hidden.md", "---\nkind: system\ndescription: d\n---\nYou hide.\n")
		batch := scripted.Say("")
		for _, id := range []string{"main", "hidden", "ghost", "../x"} {
			args := task("sync", "x")
			args["agent_id"] = id
			batch = batch.Call(tools.ExecuteTask, args)
		}
		c.on("go", batch, scripted.Say("done"))
		r.say("go")
		r.answered("done")
		for n := range 4 {
			if e := r.outcome(tools.ExecuteTask, n); e.State != tools.Failed || !strings.Contains(e.Outcome.Text, "these do: generalist, researcher, software-engineer") {
				t.Errorf("%s: %s", e.State, e.Outcome.Text)
			}
		}
	})
}

func TestAnAgentsOwnListBoundsWhatItIsOffered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := newCast(t)
		r.file("../home/agents/generalist.md", "---\ndescription: d\nmodel: second\ntools: [read_it, execute_s*]\n---\nYou read.\n")
		c.on("go", scripted.Call(tools.ExecuteTask, task("sync", "look")), scripted.Say("done"))
		c.on("look", scripted.Call("free_it", text("a")), scripted.Say("could not"))
		r.say("go")
		r.answered("done")
		if e := r.outcome("free_it", 0); e.State != tools.Failed || !strings.Contains(e.Outcome.Text, "not available") || len(r.hands.runs()) > 0 {
			t.Errorf("%s: %s, ran %v", e.State, e.Outcome.Text, r.hands.runs())
		}
		req := r.requests(2)[1]
		if diff := cmp.Diff([]string{tools.ExecuteSubtask, "read_it"}, toolNames(req)); diff != "" || req.Model != "second" {
			t.Errorf("the model %s was offered %s", req.Model, diff)
		}
	})
}

// TestSTOP1StopReachesEveryDepth stops while a call of a sub-agent's sub-agent runs, and while one waits for a person.
func TestSTOP1StopReachesEveryDepth(t *testing.T) {
	for _, tool := range []string{"free_it", "do_it"} {
		t.Run(tool, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, c := newCast(t)
				r.hands.work = func(ctx context.Context, _ string) (tools.Output, error) {
					<-ctx.Done()
					return tools.Output{}, ctx.Err()
				}
				c.on("go", scripted.Call(tools.ExecuteTask, task("sync", "one")))
				c.on("one", scripted.Call(tools.ExecuteSubtask, subtask("two")))
				c.on("two", scripted.Call(tool, text("x")))
				r.say("go")
				if tool == "do_it" {
					r.card(0)
				} else {
					r.until("the call", func() bool { return len(r.hands.runs()) == 1 })
				}
				began := time.Now()
				if !r.stop() {
					t.Error("there was nothing to stop")
				}
				for _, p := range r.view.cards() {
					if _, err := r.gate.Decide(p.ID, owner, approvals.Decision{Verb: approvals.VerbApprove}); err == nil {
						t.Error("its card still works")
					}
				}
				report := sees(r, func(e TurnStopped) bool { return e.Turn.Depth == 0 })
				if took := time.Since(began); took > time.Second {
					t.Errorf("it took %v", took)
				}
				var ran []string
				for _, call := range report.Calls {
					ran = append(ran, call.Agent+" "+call.Tool+" "+string(call.State))
				}
				want := []string{"main execute_task cancelled", "generalist execute_subtask cancelled", "generalist " + tool + " cancelled"}
				if diff := cmp.Diff(want, ran); diff != "" {
					t.Error(diff)
				}
				if n := count(r.view, anyOf[TurnStopped]); n != 3 {
					t.Errorf("%d turns were stopped", n)
				}
			})
		})
	}
}

// TestSubAgentsGoOnAfterARestart: one that was done is not asked again, one that was not goes on where it stood, and what
// may have been done is asked about.
func TestSubAgentsGoOnAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := newCast(t)
		r.hands.work = func(ctx context.Context, text string) (tools.Output, error) {
			if text == "write" {
				<-ctx.Done()
				return tools.Output{}, ctx.Err()
			}
			return tools.Output{Text: "did " + text}, nil
		}
		c.on("go", scripted.Call(tools.ExecuteTask, task("sync", "quick")).Call(tools.ExecuteTask, task("sync", "slow")))
		c.on("quick", scripted.Say("quick is done"))
		c.on("slow", scripted.Call("read_it", text("once")), scripted.Call("free_it", text("write")))
		r.say("go")
		r.until("the write", func() bool { return slices.Contains(r.hands.runs(), "write") })
		r.outcome(tools.ExecuteTask, 0)
		r.restart()
		card := r.card(0)
		if card.Kind != approvals.Interrupted || card.Request.Agent != "generalist" {
			t.Errorf("%+v", card)
		}
		c.on("slow", scripted.Say("slow is done"))
		c.on("go", scripted.Say("all done"))
		r.decide(card, approvals.VerbSkip)
		r.answered("all done")
		if diff := cmp.Diff([]string{"once", "write"}, r.hands.runs()); diff != "" {
			t.Error(diff)
		}
		requests := r.model.Requests()
		last := said(requests[len(requests)-1])
		if diff := cmp.Diff([]string{"tool: quick is done", "tool: slow is done"}, last[len(last)-2:]); diff != "" {
			t.Error(diff)
		}
	})
}

// TestABypassGivenOnASubAgentsCardHoldsForTheSession of the person, and no longer.
func TestABypassGivenOnASubAgentsCardHoldsForTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := newCast(t)
		c.on("go", scripted.Call(tools.ExecuteTask, task("sync", "one")), scripted.Call("do_it", text("b")), scripted.Call(tools.ExecuteTask, task("sync", "two")), scripted.Say("done"))
		c.on("one", scripted.Call("do_it", text("a")), scripted.Say("did"))
		c.on("two", scripted.Call("do_it", text("c")), scripted.Say("did"))
		r.say("go")
		card := r.card(0)
		if card.Request.Session != r.session(here).ID || card.Request.Agent != "generalist" {
			t.Errorf("%+v", card.Request)
		}
		r.decide(card, approvals.VerbGrantSession)
		r.answered("done")
		if diff := cmp.Diff([]string{"a", "b", "c"}, r.hands.runs()); diff != "" || len(r.view.cards()) != 1 {
			t.Error(len(r.view.cards()), diff)
		}
		r.update(func(tx *store.Tx) error { return r.driver.Fresh(tx, here) })
		c.on("again", scripted.Call("do_it", text("d")))
		r.say("again")
		r.card(1)
	})
}

// TestAnEndDoesNotWaitForSubAgentsThatAsk: what a sub-agent asks a person is waited for as little as what its caller asks.
func TestAnEndDoesNotWaitForSubAgentsThatAsk(t *testing.T) {
	for name, tt := range map[string]struct {
		tool string
		took time.Duration
	}{"it asks": {"do_it", 0}, "it works": {"free_it", 3 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, c := newCast(t)
				r.hands.work = func(context.Context, string) (tools.Output, error) {
					time.Sleep(3 * time.Second)
					return tools.Output{Text: "slept"}, nil
				}
				c.on("go", scripted.Call(tools.ExecuteTask, task("sync", "one")), scripted.Say("done"))
				c.on("one", scripted.Call(tools.ExecuteSubtask, subtask("two")), scripted.Say("done one"))
				c.on("two", scripted.Call(tt.tool, text("a")), scripted.Say("done two"))
				r.say("go")
				if tt.tool == "do_it" {
					r.card(0)
				} else {
					r.until("the call", func() bool { return len(r.hands.runs()) == 1 })
				}
				synctest.Wait()
				began := time.Now()
				r.end()
				if took := time.Since(began); took.Round(100*time.Millisecond) != tt.took {
					t.Errorf("it took %v", took)
				}
				if n := count(r.view, func(e TurnAnswered) bool { return e.Turn.Depth == 0 }); (n == 1) != (tt.took > 0) {
					t.Errorf("%d turns came to their end", n)
				}
			})
		})
	}
}

func TestAFailedSubAgentIsAFailedCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := newCast(t)
		c.on("go", scripted.Call(tools.ExecuteTask, task("sync", "bad")), scripted.Say("it went wrong"))
		c.on("bad", scripted.Fail(400, "bad", "no such thing"), scripted.Fail(400, "bad", "no such thing"))
		r.say("go")
		r.answered("it went wrong")
		if e := r.outcome(tools.ExecuteTask, 0); e.State != tools.Failed || !strings.Contains(e.Outcome.Text, "the agent generalist could not finish: ") {
			t.Errorf("%s: %s", e.State, e.Outcome.Text)
		}
	})
}

func TestTheScratchpadIsSharedByAllAgentsOfASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := newCast(t)
		c.on("go", scripted.Call(tools.ExecuteTask, task("sync", "note")), scripted.Say("done"))
		c.on("note", scripted.Call(tools.UpdateScratchpad, map[string]string{"content": "step 2 of 3"}), scripted.Say("noted"))
		r.say("go")
		card := r.card(0) // there is no rule for it here
		r.decide(card, approvals.VerbApprove)
		r.answered("done")
		all := r.model.Requests()
		for i, want := range []bool{false, false, true, true} {
			if got := strings.Contains(all[i].System, "step 2 of 3"); got != want {
				t.Errorf("request %d shows the scratchpad: %v", i, got)
			}
		}
	})
}
