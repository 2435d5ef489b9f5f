package agent

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent/llm"
	"nod/agent/llm/scripted"
	"nod/approvals"
	"nod/scheduler"
	"nod/store"
	"nod/tools"
	"nod/tools/agents"
	"nod/tools/chat"
	"nod/tools/jobs"
)

// troupe is a model whose every agent works, asks, hands on and tells at random, until it is calmed.
type troupe struct {
	mu     sync.Mutex
	random *rand.Rand
	n      int // of names given so far
	calm   bool
}

func (c *troupe) name(of string) string {
	c.n++
	return fmt.Sprintf("%s%d.", of, c.n)
}

func (c *troupe) next(r scripted.Request) scripted.Reply {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calm || len(r.Messages) > 60 {
		return scripted.Say("fine")
	}
	reply := scripted.Say("").Sleep(time.Duration(c.random.IntN(1500)) * time.Millisecond)
	does := func(tool string, args any) { reply = reply.Call(tool, args) }
	for range c.random.IntN(3) {
		switch c.random.IntN(7) {
		case 0:
			does("do_it", text(c.name("do")))
		case 1:
			does("free_it", text(c.name("free")))
		case 2:
			does("read_it", text(c.name("read")))
		case 3, 4:
			switch title := c.name("task"); {
			case offers(r, tools.ExecuteSubtask):
				does(tools.ExecuteSubtask, subtask(title))
			case c.random.IntN(2) == 0:
				does(tools.ExecuteTask, task("sync", title))
			default:
				does(tools.ExecuteTask, task("async", title))
			}
		case 5:
			if offers(r, tools.Notify) {
				does(tools.Notify, note("src", c.name("note")))
			}
		}
	}
	return reply.Say("fine")
}

// TestNothingIsLostOrDoneTwiceWhateverAgentsDo has a person write, stop, begin anew and decide while agents give each other
// work, and restarts the program now and then. Each message, each task's end and each notification is told once, and no call
// that changes something runs twice.
func TestNothingIsLostOrDoneTwiceWhateverAgentsDo(t *testing.T) {
	seeds := 6
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { chaos(t, uint64(seed)) })
		})
	}
}

func chaos(t *testing.T, seed uint64) {
	c := &troupe{random: rand.New(rand.NewPCG(seed, 1))}
	random := rand.New(rand.NewPCG(seed, 2))
	r := newRig(t, func(r *rig) {
		r.model = scripted.New(c.next).Lanes(func(r scripted.Request) string { return r.Messages[0].Text })
		r.more = func() []tools.Tool {
			all := append(agents.Tools(), jobs.Tools(r.db, scheduler.NewJobs(r.db), time.UTC, MainAgent)...)
			return append(all, chat.Tools(r.workspace, func() []tools.Group { return nil })...)
		}
	})
	r.hands.work = func(ctx context.Context, text string) (tools.Output, error) {
		c.mu.Lock()
		takes := time.Duration(c.random.IntN(7)) * time.Second
		c.mu.Unlock()
		select {
		case <-time.After(takes):
			return tools.Output{Text: "did " + text}, nil
		case <-ctx.Done():
			return tools.Output{}, ctx.Err()
		}
	}
	var said []string
	for range 120 {
		time.Sleep(time.Duration(random.IntN(900)) * time.Millisecond)
		switch random.IntN(14) {
		case 0, 1, 2:
			said = append(said, fmt.Sprintf("<m%d>", len(said)))
			r.say(said[len(said)-1])
		case 3:
			r.stop()
		case 4:
			r.fresh()
		case 5:
			r.update(func(tx *store.Tx) error { _, err := r.driver.Compact(tx, here); return err })
		case 6:
			r.restart()
		case 7:
			r.job(fmt.Sprintf("job%d", random.IntN(1e9)))
		default:
			r.decideOne(random)
		}
	}
	c.mu.Lock()
	c.calm = true
	c.mu.Unlock()
	r.settled(random)
	said = append(said, "<last>")
	r.say("<last>")
	r.settled(random)
	r.checkTold(said)
}

// decideOne decides on one card that waits, if there is one.
func (r *rig) decideOne(random *rand.Rand) bool {
	var waiting []approvals.Pending
	r.look(func(tx *store.Tx) (err error) {
		waiting, err = r.gate.Waiting(tx)
		return err
	})
	if len(waiting) == 0 {
		return false
	}
	p := waiting[random.IntN(len(waiting))]
	verbs := map[approvals.Kind][]approvals.Verb{
		approvals.Approval: {approvals.VerbApprove, approvals.VerbReject, approvals.VerbApprove}, approvals.Interrupted: {approvals.VerbSkip}, approvals.Asked: {approvals.VerbSkip},
	}[p.Kind]
	// It may be withdrawn in this moment.
	_, _ = r.gate.Decide(p.ID, owner, approvals.Decision{Verb: verbs[random.IntN(len(verbs))]})
	return true
}

// settled decides on all cards and waits until no turn is under way.
func (r *rig) settled(random *rand.Rand) {
	r.Helper()
	for range 400 {
		if time.Sleep(time.Second); !r.decideOne(random) && r.idle() {
			return
		}
	}
	r.Error("turns go on for ever")
}

func (r *rig) idle() (idle bool) {
	idle = true
	r.look(func(tx *store.Tx) error {
		return sessions.Scan(tx, nil, func(_ store.SessionID, s Session) (bool, error) {
			idle = idle && s.Turn == ""
			return true, nil
		})
	})
	return idle
}

var (
	tokens    = regexp.MustCompile(`<\w+>|"summary":"note\d+\.`)
	summaries = regexp.MustCompile(`"summary":"note\d+\.`)
)

// tally is what stands in all transcripts.
type tally struct {
	times map[string]int // of messages and notifications
	ended map[string]int // of tasks, by id
	begun []string       // tasks
	noted []string
}

func (y *tally) add(tx *store.Tx, e Entry) error {
	if e.Message.Role != llm.RoleAssistant {
		for _, token := range tokens.FindAllString(e.Message.Text, -1) {
			y.times[token]++
		}
	}
	for i, call := range e.Message.Calls {
		if id, is := strings.CutPrefix(call.Args, `{"task_id":"`); is {
			y.ended[id[:strings.Index(id, `"`)]]++
		}
		done, ok, err := tools.LatestExecution(tx, e.Calls[i])
		if err != nil {
			return err
		}
		switch {
		case !ok || done.State != tools.Completed:
		case call.Name == tools.ExecuteTask && strings.Contains(call.Args, `"async"`):
			y.begun = append(y.begun, string(done.Call))
		case call.Name == tools.Notify:
			y.noted = append(y.noted, summaries.FindString(call.Args))
		}
	}
	return nil
}

func (r *rig) checkTold(said []string) {
	r.Helper()
	y := &tally{times: map[string]int{}, ended: map[string]int{}}
	r.look(func(tx *store.Tx) error {
		waiting, err1 := mailboxes.All(tx, nil)
		working, err2 := offspring.All(tx, nil)
		if len(waiting) > 0 || len(working) > 0 {
			r.Errorf("%d messages wait, %d agents work", len(waiting), len(working))
		}
		return errors.Join(err1, err2, transcripts.Scan(tx, nil, func(_ store.Seq[store.SessionID], e Entry) (bool, error) { return true, y.add(tx, e) }))
	})
	for _, token := range append(said, y.noted...) {
		if y.times[token] != 1 {
			r.Errorf("%s is told %d times", token, y.times[token])
		}
	}
	for _, id := range y.begun {
		if y.ended[id] != 1 {
			r.Errorf("the end of the task %s is told %d times", id, y.ended[id])
		}
	}
	ran := map[string]int{}
	for _, run := range r.hands.runs() {
		if ran[run]++; ran[run] > 1 && !strings.HasPrefix(run, "read") {
			r.Errorf("%s ran %d times", run, ran[run])
		}
	}
	if log := r.logs.String(); strings.Contains(log, "level=ERROR") {
		r.Error("the log has errors")
	}
}
