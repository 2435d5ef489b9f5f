package jobs

import (
	"fmt"
	"strings"
	"time"

	"nod/scheduler"
	"nod/store"
	"nod/tools"
)

// Cron is the scheduled jobs for list_items and toggle_item. Its arguments are those of Tools.
func Cron(db *store.DB, book *scheduler.Jobs, zone *time.Location, agents ...string) Items {
	d := &desk{db: db, book: book, zone: zone, agents: agents}
	return Items{
		Type: "cron", Kind: "cron", What: "the scheduled jobs", On: "Resume", Off: "Pause",
		List: func(tx *store.Tx, _ tools.Scope) (string, error) { return d.list(tx) },
		Describe: func(id string, on bool) (string, error) {
			return d.describeJob(id, map[bool]string{true: "Resume", false: "Pause"}[on]+" the job")
		},
		Toggle: func(id string, on bool) (tools.Output, error) {
			job, err := d.get(id)
			if err != nil {
				return tools.Output{}, err
			}
			if on {
				return changed("Resumed", job, d.book.Resume), nil
			}
			return changed("Paused", job, d.book.Pause), nil
		},
	}
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
