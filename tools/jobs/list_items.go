package jobs

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"nod/scheduler"
	"nod/store"
	"nod/tools"
)

const kindCron = "cron"

type listIn struct {
	Type string `json:"type" jsonschema:"what to list: cron, the scheduled jobs"`
}

// Refine lists the types.
func (listIn) Refine(p map[string]*jsonschema.Schema) { p["type"].Enum = []any{kindCron} }

func (d *desk) listItems() tools.Tool {
	return tools.New(tools.Spec[listIn]{
		Name:        tools.ListItems,
		Description: "Lists the scheduled jobs with their ids, schedules and last runs.",
		Traits:      tools.Traits{Category: tools.Introspection, Effect: tools.Read},
		Label:       func(in listIn, _ bool) string { return in.Type },
		Run: func(_ context.Context, _ tools.Call, _ listIn) (out tools.Output, err error) {
			err = d.db.View(func(tx *store.Tx) error {
				out.Text, err = d.list(tx)
				return err
			})
			return out, err
		},
	})
}

func (d *desk) list(tx *store.Tx) (string, error) {
	all, err := d.book.List(tx)
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return "There are no scheduled jobs. execute_task makes one.", nil
	}
	var b strings.Builder
	for _, job := range all {
		runs, err := d.book.History(tx, job.ID)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s: %s\n  %s; %s; agent %s\n", job.ID, job.Title, job.When(), d.state(job), job.Agent)
		if len(runs) > 0 {
			fmt.Fprintf(&b, "  last run: %s, %s\n", runs[0].Due.In(d.zone).Format(timeForm), runs[0].Outcome)
		}
	}
	return b.String(), nil
}

// state says what a job is up to.
func (d *desk) state(job scheduler.Job) string {
	switch {
	case job.State == scheduler.StateActive:
		zone, err := scheduler.Zone(job.Zone)
		if err != nil {
			zone = d.zone
		}
		return "next " + job.NextAt.In(zone).Format(timeForm)
	case job.Reason != "":
		return fmt.Sprintf("%s: %s", job.State, job.Reason)
	}
	return string(job.State)
}
