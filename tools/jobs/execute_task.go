package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"nod/approvals"
	"nod/scheduler"
	"nod/store"
	"nod/tools"
)

// The ways in which a task is done.
const (
	modeCron  = "cron"
	modeSync  = "sync"
	modeAsync = "async"
)

var modeMarks = map[string]string{modeCron: "📅", modeSync: "⚡", modeAsync: "🚀"}

type taskIn struct {
	Mode        string `json:"mode" jsonschema:"sync: now, and you get the answer. async: in the background; the answer comes into this conversation by itself. cron: later, by a schedule"`
	Title       string `json:"title" jsonschema:"what the task is called, in one short line"`
	Prompt      string `json:"prompt" jsonschema:"what to do, and what to answer or report. Whoever does it knows nothing of this conversation, so say everything that it needs"`
	AgentID     string `json:"agent_id" jsonschema:"the agent that does it, from list_items with type agents; for cron also main"`
	Description string `json:"description,omitempty" jsonschema:"what it is for, in a few words, for people who watch"`
	Cron        string `json:"cron,omitempty" jsonschema:"recurring: five fields (minute hour day month weekday), six with seconds first, seven with a year last, or @hourly @daily @weekly @monthly @yearly, or @every 90m"`
	Timezone    string `json:"timezone,omitempty" jsonschema:"IANA name of the zone that the times are meant in, such as Europe/Rome (default the user's)"`
	At          string `json:"at,omitempty" jsonschema:"once: a time such as 2026-12-01 09:00, or in RFC 3339"`
}

// Refine lists the modes and bounds the texts.
func (taskIn) Refine(p map[string]*jsonschema.Schema) {
	p["mode"].Enum = []any{modeCron, modeSync, modeAsync}
	p["title"].MaxLength = jsonschema.Ptr(tools.MaxTaskTitle)
	p["description"].MaxLength = jsonschema.Ptr(tools.MaxTaskDescription)
}

// work is the call as a task for another agent.
func (in taskIn) work() tools.Task {
	return tools.Task{Agent: in.AgentID, Title: in.Title, Description: in.Description, Prompt: in.Prompt}
}

func (d *desk) executeTask() tools.Tool {
	return tools.New(tools.Spec[taskIn]{
		Name: tools.ExecuteTask,
		Description: "Gives a task to another agent. With sync it works now, and its answer is yours; several such calls at once are worked on side by " +
			"side. With async it works in the background while you go on. With cron it works later, once (at) or again and again (cron), in a " +
			"session of its own, and what it answers is sent to the user's home chat. list_items shows the agents and the jobs that there are.",
		Traits:     tools.Traits{Category: tools.Config, Effect: tools.Write, Interactive: true, RootOnly: true},
		Check:      d.checkTask,
		Label:      func(in taskIn, _ bool) string { return in.work().Label(modeMarks[in.Mode]) },
		Repeatable: func(in taskIn) bool { return in.Mode != modeCron },
		Judge:      d.judgeTask,
		Run:        d.runTask,
	})
}

func (d *desk) checkTask(in *taskIn) error {
	if in.Mode == modeCron && in.AgentID == "" {
		in.AgentID = d.agents[0]
	}
	t := in.work()
	err := t.Check()
	in.AgentID, in.Title, in.Description = t.Agent, t.Title, t.Description
	switch {
	case in.Title == "":
		return errors.New("title must be one line that is not empty")
	case err != nil:
		return err
	case in.AgentID == "":
		return errors.New("agent_id is empty; name the agent")
	case in.Mode != modeCron && (in.Cron != "" || in.At != "" || in.Timezone != ""):
		return errors.New("cron, at and timezone are for mode cron")
	case in.Mode != modeCron:
		return nil
	case (in.Cron == "") == (in.At == ""):
		return errors.New("give either cron, for a recurring job, or at, for a single time")
	}
	_, err = d.schedule(*in, time.Now())
	return err
}

// checkAgent says whether the agent may do the task. A job may also be given to one of the agents that talk to people.
func (d *desk) checkAgent(scope tools.Scope, in taskIn) error {
	if in.Mode != modeCron {
		return in.work().CheckAgent(scope.Ports.Agents)
	}
	known := slices.Clone(d.agents)
	if port := scope.Ports.Agents; port != nil {
		all, err := port.Agents()
		if err != nil {
			return err
		}
		for _, a := range all {
			if a.Kind == tools.TaskAgent {
				known = append(known, a.ID)
			}
		}
	}
	if !slices.Contains(known, in.AgentID) {
		return fmt.Errorf("there is no agent %q for jobs; these there are: %s", in.AgentID, strings.Join(known, ", "))
	}
	return nil
}

// schedule reads the schedule of a call as of a time.
func (d *desk) schedule(in taskIn, now time.Time) (scheduler.Schedule, error) {
	zone := d.zone
	if in.Timezone != "" {
		named, err := scheduler.Zone(in.Timezone)
		if err != nil {
			return scheduler.Schedule{}, err
		}
		zone = named
	}
	if in.At != "" {
		return scheduler.At(in.At, zone, now)
	}
	return scheduler.Parse(in.Cron, zone)
}

// judgeTask shows the task, and a job in words; a job is asked about every time, and so is a task that what ran in the
// background has brought about: else one could go on to the next for ever. The next times change by themselves, so
// they are no part of what a nod is bound to.
func (d *desk) judgeTask(_ context.Context, scope tools.Scope, in taskIn) (tools.Judged, error) {
	if err := d.checkAgent(scope, in); err != nil {
		return tools.Judged{}, err
	}
	if in.Mode != modeCron {
		return tools.Judged{Subject: in.work().Subject(), MustAsk: in.Mode == modeAsync && scope.Origin.Background()}, nil
	}
	now := time.Now()
	s, err := d.schedule(in, now)
	if err != nil {
		return tools.Judged{}, err
	}
	return tools.Judged{MustAsk: true, Subject: approvals.Subject{
		Kind:    approvals.Words,
		Text:    d.describe(job(in, scope), scheduler.Describe(s)),
		Unbound: []string{"Next: " + strings.Join(nextTimes(s, now, 3), " · ")},
	}}, nil
}

func job(in taskIn, scope tools.Scope) scheduler.Task {
	return scheduler.Task{Title: in.Title, Prompt: in.Prompt, Agent: in.AgentID, Description: in.Description, CreatedBy: scope.By, Context: scope.RunContext}
}

func (d *desk) runTask(ctx context.Context, call tools.Call, in taskIn) (tools.Output, error) {
	switch in.Mode {
	case modeSync:
		return call.Scope.Ports.Agents.Delegate(ctx, call, in.work())
	case modeAsync:
		return tools.Output{
			Text: fmt.Sprintf("Started in the background; task_id %s. The result comes into this conversation by itself: don't wait for it, "+
				"and tell the user that you will.", call.ID),
			Commit: func(tx *store.Tx) error { return call.Scope.Ports.Agents.Dispatch(tx, call, in.work()) },
		}, nil
	}
	return d.addJob(call, in)
}

func (d *desk) addJob(call tools.Call, in taskIn) (tools.Output, error) {
	now := time.Now()
	s, err := d.schedule(in, now)
	if err != nil {
		return tools.Output{}, err
	}
	draft := scheduler.Draft{Task: job(in, call.Scope), Schedule: s}
	return tools.Output{
		Text: fmt.Sprintf("Scheduled %q: %s. Next: %s. list_items shows its id.",
			in.Title, scheduler.Describe(s), strings.Join(nextTimes(s, now, 1), "")),
		Commit: func(tx *store.Tx) error {
			_, err := d.book.Add(tx, draft)
			return err
		},
	}, nil
}
