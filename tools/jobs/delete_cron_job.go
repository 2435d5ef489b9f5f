package jobs

import (
	"context"
	"fmt"

	"nod/approvals"
	"nod/scheduler"
	"nod/store"
	"nod/tools"
)

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
			text, err := d.describeJob(in.ID, "Delete the job")
			return tools.Judged{Subject: approvals.Subject{Kind: approvals.Words, Text: text}}, err
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

// describeJob shows which job is meant.
func (d *desk) describeJob(id, what string) (string, error) {
	job, err := d.get(id)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %s: %s", what, job.ID, d.describe(job.Task, job.When())), nil
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
