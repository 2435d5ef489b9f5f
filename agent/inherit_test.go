package agent

import (
	"path/filepath"
	"slices"
	"strings"
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

// of are the requests of the conversation whose task has that title, or whose first message is that.
func of(all []scripted.Request, title string) (found []scripted.Request) {
	for _, r := range all {
		if first := r.Messages[0].Text; first == title || strings.Contains(first, "asks you: "+title+".") || strings.Contains(first, "asks you: "+title+";") {
			found = append(found, r)
		}
	}
	return found
}

// garden is a lazy group with one tool.
const garden = "garden"

// newLazyCast makes a world with the group garden, whose tool is dig_it.
func newLazyCast(t *testing.T) (*rig, *cast) {
	t.Helper()
	r, c := newCast(t)
	r.more = func() []tools.Tool {
		all := append(agents.Tools(), jobs.Tools(r.db, scheduler.NewJobs(r.db), time.UTC, MainAgent)...)
		all = append(all, chat.Tools(r.workspace, func() []tools.Group { return []tools.Group{{Name: garden}} })...)
		return append(all, lazyTool(r.hands))
	}
	r.restart()
	return r, c
}

func lazyTool(h *hands) tools.Tool {
	return tools.New(tools.Spec[handArgs]{
		Name: "dig_it", Description: "Digs.", Traits: tools.Traits{Category: tools.Filesystem, Effect: tools.Write, Group: garden}, Run: h.run,
	})
}

// TestAGroupIsActiveForTheAgentThatActivatedIt: from its next round on, also after a restart; not for its caller, who works
// beside it, whom it calls, and who comes after it.
func TestAGroupIsActiveForTheAgentThatActivatedIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := newLazyCast(t)
		c.on("go", scripted.Call(tools.ExecuteTask, task("sync", "one")).Call(tools.ExecuteTask, task("sync", "beside")))
		c.on("one", scripted.Call(tools.ActivateTools, map[string]any{"groups": []string{garden}}))
		r.say("go")
		r.requests(3)
		r.decide(r.card(0), approvals.VerbApprove)
		c.on("beside", scripted.Call("read_it", text("a")), scripted.Say("read"))
		c.on("one", scripted.Call(tools.ExecuteSubtask, subtask("below")), scripted.Call("do_it", text("b")))
		c.on("below", scripted.Say("nothing there"))
		card := r.card(1)
		r.outcome("read_it", 0)
		r.outcome(tools.ExecuteTask, 0) // that of the one beside
		r.restart()
		r.decide(card, approvals.VerbApprove)
		c.on("one", scripted.Say("dug"))
		c.on("go", scripted.Call(tools.ExecuteTask, task("sync", "next")), scripted.Say("done"))
		c.on("next", scripted.Say("not dug"))
		r.answered("done")

		all := r.model.Requests()
		got := map[string][]bool{}
		for _, who := range []string{"go", "one", "beside", "below", "next"} {
			for _, req := range of(all, who) {
				got[who] = append(got[who], offers(req, "dig_it"))
			}
		}
		want := map[string][]bool{
			"go": {false, false, false}, "one": {false, true, true, true}, "beside": {false, false}, "below": {false}, "next": {false},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("who is offered it (-want +got):\n%s", diff)
		}
	})
}

// TestARootsGroupIsNotItsSubAgents: the other way round it is the same.
func TestARootsGroupIsNotItsSubAgents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := newLazyCast(t)
		c.on("go", scripted.Call(tools.ActivateTools, map[string]any{"groups": []string{garden}}), scripted.Call(tools.ExecuteTask, task("sync", "one")), scripted.Say("done"))
		c.on("one", scripted.Call("dig_it", text("a")), scripted.Say("could not"))
		r.say("go")
		r.decide(r.card(0), approvals.VerbApprove)
		r.answered("done")
		if e := r.outcome("dig_it", 0); e.State != tools.Failed || !strings.Contains(e.Outcome.Text, "is not available here") {
			t.Errorf("%s: %s", e.State, e.Outcome.Text)
		}
		all := r.model.Requests()
		if last := all[len(all)-1]; !offers(last, "dig_it") || offers(of(all, "one")[0], "dig_it") {
			t.Errorf("the root is offered %v", toolNames(last))
		}
	})
}

// TestTodosAreSeenByNobodyElse looks for a sub-agent's list in all requests: only its own hold it.
func TestTodosAreSeenByNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := newCast(t)
		c.on("go", scripted.Call(tools.ExecuteTask, task("sync", "one")).Call(tools.ExecuteTask, task("sync", "beside")))
		c.on("one", scripted.Call(tools.WriteTodos, map[string]any{"todos": []map[string]string{{"content": "count the spoons", "status": "pending"}}}))
		r.say("go")
		r.requests(3)
		r.decide(r.card(0), approvals.VerbApprove) // there is no rule for it here
		r.outcome(tools.WriteTodos, 0)
		c.on("beside", scripted.Call("read_it", text("a")), scripted.Say("read"))
		c.on("one", scripted.Call(tools.ExecuteSubtask, subtask("below")), scripted.Say("counted"))
		c.on("below", scripted.Say("helped"))
		c.on("go", scripted.Call(tools.ExecuteTask, task("sync", "next")), scripted.Say("done"))
		c.on("next", scripted.Say("nothing left"))
		r.answered("done")
		c.on("go", scripted.Say("all is well"))
		r.say("and now?")
		r.answered("all is well")

		all := r.model.Requests()
		own := of(all, "one")
		for _, req := range all {
			mine := slices.ContainsFunc(own, func(o scripted.Request) bool { return string(o.Body) == string(req.Body) })
			if strings.Contains(string(req.Body), "count the spoons") && !mine {
				t.Errorf("another agent is told of it: %s", said(req))
			}
		}
		if len(own) != 3 || !strings.Contains(strings.Join(said(own[2]), "\n"), "☐ count the spoons") {
			t.Error("it does not see its own list")
		}
	})
}

// TestTasksAndSubtasksInheritTheRunContext of the turn that began them, whatever the chat has by then.
func TestTasksAndSubtasksInheritTheRunContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := newCast(t)
		if _, err := r.save(RunContext{Name: "house", Dir: "house", Prompt: []string{"Mind the cat."}, Writes: []string{"house"}}); err != nil {
			t.Fatal(err)
		}
		r.update(func(tx *store.Tx) error { return r.driver.UseContext(tx, here, "house") })
		r.begun(c, "dig")
		r.update(func(tx *store.Tx) error { return r.driver.UseContext(tx, here, NoContext) })
		c.on("dig", scripted.Call(tools.ExecuteSubtask, subtask("deeper")), scripted.Say("dug"))
		c.on("deeper", scripted.Call("do_it", text("a")), scripted.Say("deep"))
		card := r.card(0)
		want := approvals.Context{Writes: []string{filepath.Join(r.workspace.Dir(), "house")}}
		if diff := cmp.Diff(want, card.Request.Context); diff != "" {
			t.Errorf("the gate is told %s", diff)
		}
		r.decide(card, approvals.VerbApprove)
		c.on("go", scripted.Say("It is dug."))
		r.answered("It is dug.")
		for _, answer := range []string{"dug", "deep"} {
			if turn := r.answered(answer).Turn; turn.Context.Name != "house" || turn.Context.Dir != "house" {
				t.Errorf("%q was worked out in the run context %+v", answer, turn.Context)
			}
		}
		all := r.model.Requests()
		for _, title := range []string{"dig", "deeper"} {
			requests := of(all, title)
			if len(requests) != 2 {
				t.Errorf("%s asked %d times", title, len(requests))
			}
			for _, req := range requests {
				if !strings.Contains(req.System, "Mind the cat.") || !strings.Contains(req.System, "its folder house") {
					t.Errorf("%s is not told of the run context", title)
				}
			}
		}
	})
}

// TestASystemAgentAsksNobody: it is not offered the question, and is refused when it asks all the same; any other may.
func TestASystemAgentAsksNobody(t *testing.T) {
	question := scripted.Call(tools.AskUserClarification, map[string]any{"title": "Which?", "question": "Which one?"})
	for kind, may := range map[string]bool{"system": false, "chat": true, "task": true} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, c := newCast(t)
				r.file("../home/agents/main.md", "---\nkind: "+kind+"\ndescription: d\n---\nYou tidy up.\n")
				c.on("go", question)
				r.say("go")
				if first := r.requests(1)[0]; offers(first, tools.AskUserClarification) != may || !strings.Contains(first.System, "You tidy up.") {
					t.Errorf("it is offered %v", toolNames(first))
				}
				if may {
					if p := r.card(0); p.Kind != approvals.Asked {
						t.Errorf("%+v", p)
					}
					return
				}
				c.on("go", scripted.Say("Then not."))
				r.answered("Then not.")
				if e := r.outcome(tools.AskUserClarification, 0); e.State != tools.Failed || !strings.Contains(e.Outcome.Text, "is not available here") {
					t.Errorf("%s: %s", e.State, e.Outcome.Text)
				}
				if n := len(r.view.cards()); n != 0 {
					t.Errorf("a person was asked %d times", n)
				}
			})
		})
	}
}

// TestASystemAgentOfAJobAsksNobody, though jobs ask in the home chat.
func TestASystemAgentOfAJobAsksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := newCast(t)
		r.file("../home/agents/sweeper.md", "---\nkind: system\ndescription: d\n---\nYou sweep.\n")
		defer r.clock()()
		var job scheduler.Job
		r.update(func(tx *store.Tx) (err error) {
			job, err = r.jobs.Add(tx, scheduler.Draft{Task: scheduler.Task{Title: "sweep", Prompt: "Sweep.", Agent: "sweeper", CreatedBy: owner, Home: here}, Schedule: everyDay(r)})
			return err
		})
		c.on(jobWords(scheduler.Run{Job: job}), scripted.Call(tools.AskUserClarification, map[string]any{"title": "Which?", "question": "Which one?"}), scripted.Say("Swept."))
		time.Sleep(24*time.Hour + time.Second)
		r.answered("Swept.")
		if first := r.requests(1)[0]; offers(first, tools.AskUserClarification) || !strings.Contains(first.System, "You sweep.") {
			t.Errorf("it is offered %v", toolNames(first))
		}
		if e := r.outcome(tools.AskUserClarification, 0); e.State != tools.Failed || len(r.view.cards()) != 0 {
			t.Errorf("%s: %s", e.State, e.Outcome.Text)
		}
	})
}

// filesFor is the port for files where there is a chat, as bot.Mounts has it.
func filesFor(s tools.Scope) (p tools.Ports) {
	if s.Address.Chat != 0 {
		p.Files = struct{ tools.FilePort }{}
	}
	return p
}

// TestAJobWithoutAChatSendsNoFiles: what sends them is in no request of its run, nor is a word about it, and a call is
// refused; nor is it in those of its sub-agent. A job that has a chat is offered it.
func TestAJobWithoutAChatSendsNoFiles(t *testing.T) {
	for name, home := range map[string]store.Address{"without a chat": {}, "with one": here} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, c := newCast(t)
				r.driver.Home = func(*store.Tx) (Home, error) { return Home{Address: home, Deciders: []store.UserID{owner}}, nil }
				r.driver.Ports = filesFor
				defer r.clock()()
				job := r.addJob("mail", store.Address{})
				c.on(jobWords(scheduler.Run{Job: job}), scripted.Call(tools.ExecuteSubtask, subtask("sort")), scripted.Say("done"))
				c.on("sort", scripted.Say("sorted"))
				time.Sleep(9*time.Hour + time.Second)
				if turn := r.answered("done").Turn; turn.Address != home {
					t.Errorf("it ran at %v", turn.Address)
				}
				all := r.model.Requests()
				if len(all) != 3 {
					t.Errorf("the model was asked %d times", len(all))
				}
				for i, req := range all {
					offered := offers(req, tools.SendAttachment)
					if said := strings.Contains(req.System, tools.SendAttachment); offered != (home == here) || said && !offered {
						t.Errorf("request %d: offered %t, spoken of %t", i, offered, said)
					}
				}
			})
		})
	}
}
