package jobs

import (
	"context"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"nod/approvals"
	"nod/scheduler"
	"nod/store"
	"nod/tools"
)

type toggleIn struct {
	Kind    string `json:"kind" jsonschema:"what it is: cron, a scheduled job"`
	ID      string `json:"id" jsonschema:"its id, from list_items"`
	Enabled bool   `json:"enabled" jsonschema:"true resumes it, false pauses it"`
}

// Refine lists the kinds.
func (toggleIn) Refine(p map[string]*jsonschema.Schema) { p["kind"].Enum = []any{kindCron} }

func (in toggleIn) verb() string {
	if in.Enabled {
		return "Resume"
	}
	return "Pause"
}

func (d *desk) toggleItem() tools.Tool {
	return tools.New(tools.Spec[toggleIn]{
		Name:        tools.ToggleItem,
		Description: "Pauses or resumes a scheduled job.",
		Traits:      config,
		Label:       func(in toggleIn, _ bool) string { return fmt.Sprintf("%s %s", in.verb(), tools.Quote(in.ID)) },
		Judge: func(_ context.Context, _ tools.Scope, in toggleIn) (tools.Judged, error) {
			return d.judgeJob(in.ID, in.verb()+" the job")
		},
		Run: func(_ context.Context, _ tools.Call, in toggleIn) (tools.Output, error) {
			job, err := d.get(in.ID)
			if err != nil {
				return tools.Output{}, err
			}
			change, done := d.book.Pause, "Paused"
			if in.Enabled {
				change, done = d.book.Resume, "Resumed"
			}
			return changed(done, job, change), nil
		},
	})
}

type deleteIn struct {
	ID string `json:"id" jsonschema:"the job's id, from list_items"`
}

func (d *desk) deleteCronJob() tools.Tool {
	return tools.New(tools.Spec[deleteIn]{
		Name:        tools.DeleteCronJob,
		Description: "Deletes a scheduled job with its history. toggle_item only pauses it.",
		Traits:      config,
		Label:       func(in deleteIn, _ bool) string { return tools.Quote(in.ID) },
		Judge: func(_ context.Context, _ tools.Scope, in deleteIn) (tools.Judged, error) {
			return d.judgeJob(in.ID, "Delete the job")
		},
		Run: func(_ context.Context, _ tools.Call, in deleteIn) (tools.Output, error) {
			job, err := d.get(in.ID)
			if err != nil {
				return tools.Output{}, err
			}
			return changed("Deleted", job, d.book.Delete), nil
		},
	})
}

// judgeJob shows which job is meant.
func (d *desk) judgeJob(id, what string) (tools.Judged, error) {
	job, err := d.get(id)
	if err != nil {
		return tools.Judged{}, err
	}
	return tools.Judged{Subject: approvals.Subject{
		Kind: approvals.Words, Text: fmt.Sprintf("%s %s: %s", what, job.ID, d.describe(job.Task, job.When())),
	}}, nil
}

func changed(done string, job scheduler.Job, change func(*store.Tx, store.JobID) (scheduler.Job, error)) tools.Output {
	return tools.Output{
		Text: fmt.Sprintf("%s the job %s (%s).", done, job.ID, job.Title),
		Commit: func(tx *store.Tx) error {
			_, err := change(tx, job.ID)
			return err
		},
	}
}
