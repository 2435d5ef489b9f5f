// Package jobs is the tools for scheduled jobs, execute_task and delete_cron_job, and the two that list and switch all
// kinds of things, list_items and toggle_item; other kinds than jobs plug in as Items.
//
// It owns their words. The book of jobs is the scheduler's, and changes in the commit of a call's outcome.
package jobs

import (
	"fmt"
	"strings"
	"time"

	"nod/scheduler"
	"nod/store"
	"nod/tools"
)

// desk is what the tools work with.
type desk struct {
	db     *store.DB
	book   *scheduler.Jobs
	zone   *time.Location // of schedules that name none
	agents []string       // ids that a job can name; the first is the default
}

// Tools are the tools for jobs alone. zone is that of schedules which name none, agents are the ids that a job may be
// given to, the first being the default.
func Tools(db *store.DB, book *scheduler.Jobs, zone *time.Location, agents ...string) []tools.Tool {
	d := &desk{db: db, book: book, zone: zone, agents: agents}
	return []tools.Tool{d.executeTask(), d.deleteCronJob()}
}

// config are the traits of the tools that change a job: offered only on demand, and never covered by a bypass.
var config = tools.Traits{Category: tools.Config, Effect: tools.Write, Group: tools.ConfigGroup, NoBypass: true}

// get reads a job. Its error names the jobs that there are.
func (d *desk) get(id string) (job scheduler.Job, err error) {
	err = d.db.View(func(tx *store.Tx) error {
		job, err = d.book.Get(tx, store.JobID(id))
		return err
	})
	return job, err
}

// describe is a job as a card shows it; that the usual agent does it goes without saying.
func (d *desk) describe(task scheduler.Task, when string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n", task.Title, when)
	if task.Agent != d.agents[0] {
		fmt.Fprintf(&b, "Agent: %s\n", task.Agent)
	}
	if task.Context != "" {
		fmt.Fprintf(&b, "Run context: %s\n", task.Context)
	}
	if task.Description != "" {
		fmt.Fprintf(&b, "%s\n", task.Description)
	}
	fmt.Fprintf(&b, "\n%s", task.Prompt)
	return b.String()
}

const (
	dayForm   = "Mon 2 Jan 2006 "
	clockForm = "15:04:05"
	timeForm  = dayForm + clockForm
)

// nextTimes are the next n due times of a schedule, or fewer. The day of one is said where it is another than before.
func nextTimes(s scheduler.Schedule, after time.Time, n int) []string {
	var times []string
	var before string
	for range n {
		if after = s.Next(after); after.IsZero() {
			break
		}
		day, text := after.Format(dayForm), strings.TrimSuffix(after.Format(clockForm), ":00")
		if day != before {
			text = day + text
		}
		times, before = append(times, text), day
	}
	return times
}
