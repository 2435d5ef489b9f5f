package agent

import (
	"context"
	"errors"
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
)

// begun has the agent begin a task in the background and say so.
func (r *rig) begun(c *cast, title string) {
	r.Helper()
	c.on("go", scripted.Call(tools.ExecuteTask, task("async", title)), scripted.Say("It is under way."))
	r.say("go")
	r.answered("It is under way.")
}

func TestATasksResultMakesAnIdleAgentSpeak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := newCast(t)
		r.begun(c, "dig")
		began := r.outcome(tools.ExecuteTask, 0)
		if began.State != tools.Completed || !strings.Contains(began.Outcome.Text, "task_id "+string(began.Call)) {
			t.Errorf("%+v", began.Outcome)
		}
		c.on("dig", scripted.Call("read_it", text("a")), scripted.Say("It is 3 m deep."))
		c.on("go", scripted.Say("The hole is 3 m deep."))
		spoke := r.answered("The hole is 3 m deep.").Turn
		if spoke.Origin != (approvals.Origin{Kind: approvals.FromTask, Name: "dig"}) || spoke.By != owner || spoke.Address != here || spoke.attended() {
			t.Errorf("%+v", spoke)
		}
		s := r.session(here)
		want := []string{
			"user: go", "assistant:  (execute_task)", "tool: " + began.Outcome.Text, "assistant: It is under way.",
			"user: [" + taskLead + "]", "assistant:  (task_completed)", "tool: It is 3 m deep.", "assistant: The hole is 3 m deep.",
		}
		if diff := cmp.Diff(want, r.transcript(s.ID)); diff != "" {
			t.Error(diff)
		}
		entries := r.entries(s.ID)
		if call := entries[5].Message.Calls[0]; call.Args != `{"task_id":"`+string(began.Call)+`","agent_id":"generalist","title":"dig"}` || len(call.ID) != 9 {
			t.Errorf("the call is %+v", call)
		}
		read := sees(r, func(e CallChanged) bool { return e.Call.Tool == "read_it" }).Turn
		if !read.Background || read.Depth != 0 || read.Task != "dig" || read.Origin.Kind != approvals.FromPerson || !read.Unseen() {
			t.Errorf("the task's turn is %+v", read)
		}
		for _, req := range r.model.Requests() {
			if !strings.Contains(req.Messages[0].Text, "asks you: dig.") {
				continue
			}
			if offers(req, tools.ExecuteTask) || !offers(req, tools.ExecuteSubtask) || !offers(req, tools.Notify) || !strings.Contains(req.System, `the task "dig" in the background`) {
				t.Errorf("the task was offered %v and told %s", toolNames(req), req.System)
			}
		}
		if s.Usage["first"].In == 0 || len(r.children(s.ID)) > 0 {
			t.Errorf("usage %+v, children %v", s.Usage, r.children(s.ID))
		}
	})
}

func TestATasksResultJoinsTheTurnOfABusyAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := newCast(t)
		r.begun(c, "dig")
		finish := make(chan struct{})
		r.hands.work = func(context.Context, string) (tools.Output, error) {
			<-finish
			return tools.Output{Text: "read"}, nil
		}
		c.on("go", scripted.Call("read_it", text("a")))
		r.say("and read")
		r.until("the call", func() bool { return len(r.hands.runs()) == 1 })
		c.on("dig", scripted.Say("It is 3 m deep."))
		sees(r, func(e TurnAnswered) bool { return e.Text == "It is 3 m deep." })
		synctest.Wait()
		c.on("go", scripted.Say("Read, and 3 m deep."))
		close(finish)
		turn := r.answered("Read, and 3 m deep.").Turn
		if !turn.Origin.Typed() {
			t.Errorf("the person's turn has become one of %v", turn.Origin)
		}
		last := said(r.requests(5)[4])
		want := []string{"user: and read", "assistant:  (read_it)", "tool: read", "user: [" + taskLead + "]", "assistant:  (task_completed)", "tool: It is 3 m deep."}
		if diff := cmp.Diff(want, last[len(last)-6:]); diff != "" {
			t.Error(diff)
		}
	})
}

func TestATaskThatFailsIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := newCast(t)
		r.begun(c, "dig")
		c.on("dig", scripted.Fail(400, "bad", "no spade"), scripted.Fail(400, "bad", "no spade"))
		c.on("go", scripted.Say("It failed."))
		r.answered("It failed.")
		lines := r.transcript(r.session(here).ID)
		if got := lines[len(lines)-2]; !strings.HasPrefix(got, "tool: The task failed: ") || !strings.Contains(got, "no spade") {
			t.Error(got)
		}
	})
}

// TestSTOP1StopEndsTasks: /stop ends what runs in the background too, also when nothing else does; the agent learns of it
// with the next message, and does not speak before.
func TestSTOP1StopEndsTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := newCast(t)
		r.begun(c, "dig")
		r.hands.work = func(ctx context.Context, _ string) (tools.Output, error) {
			<-ctx.Done()
			return tools.Output{}, ctx.Err()
		}
		c.on("dig", scripted.Call("free_it", text("a")))
		r.until("the call", func() bool { return len(r.hands.runs()) == 1 })
		if !r.stop() {
			t.Error("there was nothing to stop")
		}
		if e := sees(r, anyOf[TurnStopped]); e.Turn.Task != "dig" || len(e.Calls) != 1 || e.Calls[0].State != tools.Cancelled {
			t.Errorf("%+v", e)
		}
		time.Sleep(time.Minute)
		if n := len(r.model.Requests()); n != 3 {
			t.Errorf("the model was asked %d times", n)
		}
		if r.stop() {
			t.Error("there is something to stop yet")
		}
		c.on("go", scripted.Say("As you like."))
		r.say("well")
		r.answered("As you like.")
		last := said(r.requests(4)[3])
		want := []string{"user: [" + taskLead + "]", "assistant:  (task_completed)", "tool: The user stopped the task before it was done.", "user: well"}
		if diff := cmp.Diff(want, last[len(last)-4:]); diff != "" {
			t.Error(diff)
		}
	})
}

func TestATaskOutlivesItsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := newCast(t)
		r.begun(c, "dig")
		r.update(func(tx *store.Tx) error { return r.driver.Fresh(tx, here) })
		fresh := r.session(here)
		if n := len(r.children(fresh.ID)); n != 1 {
			t.Errorf("the fresh session has %d tasks", n)
		}
		c.on("dig", scripted.Say("It is 3 m deep."))
		c.on("["+taskLead+"]", scripted.Say("The hole is 3 m deep."))
		if turn := r.answered("The hole is 3 m deep.").Turn; turn.Session != fresh.ID {
			t.Error("the result went to the old session")
		}
	})
}

func TestATaskGoesOnAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := newCast(t)
		r.begun(c, "dig")
		c.on("dig", scripted.Call("read_it", text("once")))
		r.outcome("read_it", 0)
		synctest.Wait()
		r.restart()
		c.on("dig", scripted.Say("It is 3 m deep."))
		c.on("go", scripted.Say("The hole is 3 m deep."))
		r.answered("The hole is 3 m deep.")
		if diff := cmp.Diff([]string{"once"}, r.hands.runs()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestATaskHasSubAgents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := newCast(t)
		r.begun(c, "dig")
		c.on("dig", scripted.Call(tools.ExecuteSubtask, subtask("measure")), scripted.Say("It is 3 m deep."))
		c.on("measure", scripted.Call("do_it", text("a")), scripted.Say("3 m"))
		card := r.card(0)
		if q := card.Request; q.Job != "dig" || q.Agent != "generalist" || q.Cards != here || !q.Attended() {
			t.Errorf("%+v", q)
		}
		r.decide(card, approvals.VerbApprove)
		c.on("go", scripted.Say("The hole is 3 m deep."))
		r.answered("The hole is 3 m deep.")
		turn := sees(r, func(e TurnAnswered) bool { return e.Text == "3 m" }).Turn
		if !turn.Background || turn.Depth != 1 || turn.Task != "dig" {
			t.Errorf("%+v", turn.Lineage)
		}
	})
}

// job launches a run whose prompt is its title.
func (r *rig) job(title string) {
	r.Helper()
	r.update(func(tx *store.Tx) error {
		job, err := r.jobs.Add(tx, scheduler.Draft{Task: scheduler.Task{Title: title, Prompt: "p", Agent: MainAgent}, Schedule: everyDay(r)})
		if err != nil {
			return err
		}
		return r.driver.Launch(tx, scheduler.Run{ID: store.NewRunID(), Job: job, Due: time.Now()})
	})
}

func everyDay(r *rig) scheduler.Schedule {
	s, err := scheduler.Parse("@daily", time.UTC)
	if err != nil {
		r.Fatal(err)
	}
	return s
}

func note(source, summary string) map[string]string {
	return map[string]string{"source": source, "summary": summary}
}

func jobCast(title string) string {
	return jobWords(scheduler.Run{Job: scheduler.Job{Task: scheduler.Task{Title: title, Prompt: "p"}}})
}

func TestNotificationsAreToldTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := newCast(t)
		c.on(jobCast("mail"), scripted.Call(tools.Notify, note("mail", "Two letters.")).Call(tools.Notify, note("post", "A parcel.")), scripted.Say(silence))
		r.job("mail")
		c.on("["+noteLead+"]", scripted.Say("Two letters and a parcel came."))
		turn := r.answered("Two letters and a parcel came.").Turn
		if turn.Address != here || turn.Origin != (approvals.Origin{Kind: approvals.FromNotification, Name: "mail, post"}) && turn.Origin != (approvals.Origin{Kind: approvals.FromNotification, Name: "post, mail"}) || turn.attended() {
			t.Errorf("%+v", turn)
		}
		lines := r.transcript(r.session(here).ID)
		if len(lines) != 4 || lines[1] != "assistant:  (read_notification)" {
			t.Fatalf("%q", lines)
		}
		for _, want := range []string{`"source":"mail","summary":"Two letters."`, `"source":"post","summary":"A parcel."`} {
			if !strings.Contains(lines[2], want) {
				t.Errorf("%s lacks %s", lines[2], want)
			}
		}
	})
}

// TestANotificationIsToldOnceWhateverHappens ends the process between the queueing and the telling.
func TestANotificationIsToldOnceWhateverHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := newCast(t)
		c.on(jobCast("mail"), scripted.Call(tools.Notify, note("mail", "Two letters.")))
		r.job("mail")
		r.outcome(tools.Notify, 0)
		r.restart()
		c.on("["+noteLead+"]", scripted.Say("Two letters came."))
		r.answered("Two letters came.")
		r.restart()
		time.Sleep(time.Minute)
		if n := count(r.view, func(e TurnBegan) bool { return e.Turn.Origin.Kind == approvals.FromNotification }); n != 0 {
			t.Errorf("it was told %d times more", n)
		}
		r.look(func(tx *store.Tx) error {
			left, err := notices.All(tx, nil)
			return errors.Join(err, map[bool]error{true: errors.New("it waits yet")}[len(left) > 0])
		})
	})
}

func TestOnlyBackgroundRunsNotify(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := newCast(t)
		c.on("go", scripted.Call(tools.Notify, note("me", "x")).Call(tools.ReadNotification, map[string]string{}), scripted.Say("done"))
		r.say("go")
		r.answered("done")
		if e := r.outcome(tools.Notify, 0); e.State != tools.Failed || !strings.Contains(e.Outcome.Text, "not available") {
			t.Errorf("%+v", e.Outcome)
		}
		if e := r.outcome(tools.ReadNotification, 0); e.Outcome.Text != "[]" {
			t.Errorf("%+v", e.Outcome)
		}
	})
}

// TestAJobIsNotCutOffWhileItsSubAgentAsks: what waits for a person below a job's run keeps it from being reported as interrupted.
func TestAJobIsNotCutOffWhileItsSubAgentAsks(t *testing.T) {
	for name, asks := range map[string]bool{"it asks": true, "it reads": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, c := newCast(t)
				tool := map[bool]string{true: "do_it", false: "read_it"}[asks]
				c.on(jobCast("mail"), scripted.Call(tools.ExecuteSubtask, subtask("sort")))
				c.on("sort", scripted.Call(tool, text("a")))
				r.job("mail")
				if asks {
					r.card(0)
				} else {
					r.outcome("read_it", 0)
				}
				synctest.Wait()
				r.restart()
				if !asks {
					if e := sees(r, func(e TurnFailed) bool { return e.Turn.Depth == 0 }); !errors.Is(e.Err, ErrInterrupted) {
						t.Error(e.Err)
					}
					sees(r, func(e TurnStopped) bool { return e.Turn.Depth == 1 })
					return
				}
				c.on("sort", scripted.Say("sorted"))
				c.on(jobCast("mail"), scripted.Say("All is sorted."))
				var waiting []approvals.Pending
				r.look(func(tx *store.Tx) (err error) {
					waiting, err = r.gate.Waiting(tx)
					return err
				})
				if len(waiting) != 1 {
					t.Fatalf("%d cards wait", len(waiting))
				}
				r.decide(waiting[0], approvals.VerbApprove)
				r.answered("All is sorted.")
			})
		})
	}
}

// TestTasksOfASessionAreBounded: what is beyond the bound is refused, and begun once there is room.
func TestTasksOfASessionAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := newCast(t)
		batch := scripted.Say("")
		for range maxTasks + 1 {
			batch = batch.Call(tools.ExecuteTask, task("async", "dig"))
		}
		c.on("go", batch, scripted.Say("It is under way."))
		r.say("go")
		r.answered("It is under way.")
		refused := 0
		for n := range maxTasks + 1 {
			if e := r.outcome(tools.ExecuteTask, n); e.State == tools.Failed && e.Outcome.Text == "Not done: 8 tasks work in the background already; wait until one of them is over" {
				refused++
			}
		}
		if n := len(r.children(r.session(here).ID)); refused != 1 || n != maxTasks {
			t.Errorf("%d were refused, %d work", refused, n)
		}
		c.on("dig", scripted.Say("It is 3 m deep."))
		c.on("go", scripted.Call(tools.ExecuteTask, task("async", "fill")), scripted.Say("One more."))
		r.decide(r.card(0), approvals.VerbApprove) // a task's result asks for it
		r.answered("One more.")
		if e := r.outcome(tools.ExecuteTask, maxTasks+1); e.State != tools.Completed {
			t.Errorf("%+v", e.Outcome)
		}
	})
}
