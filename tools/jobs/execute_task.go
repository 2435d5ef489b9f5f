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

const (
	modeCron = "cron"

	maxTitle       = 120    // characters, as the book takes them
	maxDescription = 500    // characters
	maxPrompt      = 20_000 // bytes, as the book takes them
)

type taskIn struct {
	Mode        string `json:"mode" jsonschema:"cron: run later, by a schedule"`
	Title       string `json:"title" jsonschema:"what the job is called, in one short line"`
	Prompt      string `json:"prompt" jsonschema:"what to do at each run. The run knows nothing of this conversation, so say everything that it needs, and what to report"`
	AgentID     string `json:"agent_id" jsonschema:"the agent that does it: main"`
	Description string `json:"description,omitempty" jsonschema:"what it is for, in a few words"`
	Cron        string `json:"cron,omitempty" jsonschema:"recurring: five fields (minute hour day month weekday), six with seconds first, seven with a year last, or @hourly @daily @weekly @monthly @yearly, or @every 90m"`
	Timezone    string `json:"timezone,omitempty" jsonschema:"IANA name of the zone that the times are meant in, such as Europe/Rome (default the user's)"`
	At          string `json:"at,omitempty" jsonschema:"once: a time such as 2026-12-01 09:00, or in RFC 3339"`
}

// Refine lists the modes and bounds the texts.
func (taskIn) Refine(p map[string]*jsonschema.Schema) {
	p["mode"].Enum = []any{modeCron}
	p["title"].MaxLength = jsonschema.Ptr(maxTitle)
	p["description"].MaxLength = jsonschema.Ptr(maxDescription)
}

func (d *desk) executeTask() tools.Tool {
	return tools.New(tools.Spec[taskIn]{
		Name: tools.ExecuteTask,
		Description: "Schedules a task that an agent does later in a session of its own, once (at) or again and again (cron). What it answers is " +
			"sent to the user's home chat. list_items shows the jobs that there are.",
		Traits: tools.Traits{Category: tools.Config, Effect: tools.Write, Interactive: true},
		Check:  d.checkTask,
		Label: func(in taskIn, _ bool) string {
			about := in.Description
			if about == "" {
				about = in.Title
			}
			return fmt.Sprintf("📅 → %s: %s", in.AgentID, about)
		},
		Judge: d.judgeTask,
		Run:   d.runTask,
	})
}

func (d *desk) checkTask(in *taskIn) error {
	in.Title = strings.TrimSpace(in.Title)
	if in.AgentID == "" {
		in.AgentID = d.agents[0]
	}
	switch {
	case in.Title == "" || strings.ContainsAny(in.Title, "\r\n"):
		return errors.New("title must be one line that is not empty")
	case strings.TrimSpace(in.Prompt) == "":
		return errors.New("prompt is empty; say what to do at each run")
	case len(in.Prompt) > maxPrompt:
		return fmt.Errorf("prompt has %d bytes; a job takes %d. Put the rest into a file and name it", len(in.Prompt), maxPrompt)
	case !slices.Contains(d.agents, in.AgentID):
		return fmt.Errorf("there is no agent %q; the agents are: %s", in.AgentID, strings.Join(d.agents, ", "))
	case (in.Cron == "") == (in.At == ""):
		return errors.New("give either cron, for a recurring job, or at, for a single time")
	}
	_, err := d.schedule(*in, time.Now())
	return err
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

func task(in taskIn, by store.UserID) scheduler.Task {
	return scheduler.Task{Title: in.Title, Prompt: in.Prompt, Agent: in.AgentID, Description: in.Description, CreatedBy: by}
}

// judgeTask shows the job in words. The next times change by themselves, so they are no part of what a nod is bound to.
func (d *desk) judgeTask(_ context.Context, scope tools.Scope, in taskIn) (tools.Judged, error) {
	now := time.Now()
	s, err := d.schedule(in, now)
	if err != nil {
		return tools.Judged{}, err
	}
	return tools.Judged{Subject: approvals.Subject{
		Kind:    approvals.Words,
		Text:    d.describe(task(in, scope.By), scheduler.Describe(s)),
		Unbound: []string{"Next: " + strings.Join(nextTimes(s, now, 3), " · ")},
	}}, nil
}

func (d *desk) runTask(_ context.Context, call tools.Call, in taskIn) (tools.Output, error) {
	now := time.Now()
	s, err := d.schedule(in, now)
	if err != nil {
		return tools.Output{}, err
	}
	draft := scheduler.Draft{Task: task(in, call.Scope.By), Schedule: s}
	return tools.Output{
		Text: fmt.Sprintf("Scheduled %q: %s. Next: %s. list_items shows its id.",
			in.Title, scheduler.Describe(s), strings.Join(nextTimes(s, now, 1), "")),
		Commit: func(tx *store.Tx) error {
			_, err := d.book.Add(tx, draft)
			return err
		},
	}, nil
}
