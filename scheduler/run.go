package scheduler

import (
	"fmt"
	"strings"
	"time"

	"nod/store"
)

// Outcome is how a run stands.
type Outcome string

// The outcomes of a run. Failed also stands for a run that could not be launched.
const (
	OutcomeRunning     Outcome = "running"
	OutcomeDone        Outcome = "done"
	OutcomeFailed      Outcome = "failed"
	OutcomeInterrupted Outcome = "interrupted" // the program ended under it; what it had done is unknown
	OutcomeStopped     Outcome = "stopped"     // by a person
	OutcomeMissed      Outcome = "missed"      // it never started
)

// Run is one due time of a job and what became of it. Every Run that this package hands out carries its job.
type Run struct {
	ID      store.RunID `json:"id"`
	Job     Job         `json:"-"`
	Due     time.Time   `json:"due"`                // by the schedule; of a run by hand, when it was asked for
	Since   time.Time   `json:"since,omitzero"`     // the first of the due times before this one that were missed with it
	Started time.Time   `json:"started,omitzero"`   // zero when it was missed
	Ended   time.Time   `json:"ended,omitzero"`     // zero while it runs
	Manual  bool        `json:"manual,omitempty"`   // asked for by hand
	CatchUp bool        `json:"catch_up,omitempty"` // makes up for a missed due time
	Skipped int         `json:"skipped,omitempty"`  // due times that passed while it ran
	Outcome Outcome     `json:"outcome"`
	Summary string      `json:"summary,omitempty"` // a short line; of a missed or failed one, why
}

// onTime is how late a run may start without a word about it. The clock looks at least every heartbeat.
const onTime = 2 * heartbeat

// Note says in words what the reader of a late run should know; it is empty for one on time.
func (r Run) Note() string {
	late := r.Started.Sub(r.Due)
	if r.Manual || r.Started.IsZero() || late < onTime && r.Since.IsZero() {
		return ""
	}
	var parts []string
	if late >= onTime {
		parts = append(parts, fmt.Sprintf("this run was due on %s and starts %s late", r.Job.stamp(r.Due), roughly(late)))
	}
	if !r.Since.IsZero() {
		parts = append(parts, fmt.Sprintf("earlier due times since %s were missed", r.Job.stamp(r.Since)))
	}
	return strings.Join(parts, "; ")
}

// report is what a person reads about a run that did not happen.
func (r Run) report() string {
	text := "This job did not run. It was due on " + r.Job.stamp(r.Due)
	switch {
	case r.Outcome == OutcomeMissed:
		text += fmt.Sprintf(", %s ago, which is too late to make up for.", roughly(r.Ended.Sub(r.Due)))
	default:
		text += " and " + r.Summary + "."
	}
	if !r.Since.IsZero() {
		text += fmt.Sprintf(" Earlier due times since %s were missed too.", r.Job.stamp(r.Since))
	}
	return text + r.ahead()
}

// forgone is what a person reads about a run that was let pass after a restore.
func (r Run) forgone() string {
	return "This job was due on " + r.Job.stamp(r.Due) + ". It may have run then, before the backup was put in place, so it was not run again." + r.ahead()
}

// ahead says when the job is due next.
func (r Run) ahead() string {
	if r.Job.State != StateActive {
		return " It is not due again; /jobs can run it now."
	}
	return fmt.Sprintf(" It is due next on %s; /jobs can run it now.", r.Job.stamp(r.Job.NextAt))
}

// stamp writes a time as the job's owner reads it.
func (j Job) stamp(t time.Time) string {
	zone, err := Zone(j.Zone)
	if err != nil {
		zone = time.UTC
	}
	return t.In(zone).Format("Mon 2 Jan 15:04") + inZone(zone)
}

// roughly writes a delay to the minute, or to the hour when it is a day or more.
func roughly(d time.Duration) string {
	hours, minutes := int(d.Hours()), int(d.Minutes())%60
	switch {
	case hours >= 24 && hours%24 == 0:
		return fmt.Sprintf("%d d", hours/24)
	case hours >= 24:
		return fmt.Sprintf("%d d %d h", hours/24, hours%24)
	case hours > 0 && minutes == 0:
		return fmt.Sprintf("%d h", hours)
	case hours > 0:
		return fmt.Sprintf("%d h %d min", hours, minutes)
	}
	return fmt.Sprintf("%d min", minutes)
}

// key files a run under its job and due time, in milliseconds. Schedules are due on whole seconds and runs by hand never
// are (see byHand), so neither can take the other's place.
func (r Run) key() store.Seq[store.JobID] {
	return store.Seq[store.JobID]{Of: r.Job.ID, N: uint64(r.Due.UnixMilli())}
}

// byHand is the run that was asked for.
func byHand(asked, now time.Time) Run {
	due := asked.UTC().Truncate(time.Millisecond)
	if due.Nanosecond() == 0 {
		due = due.Add(time.Millisecond)
	}
	return Run{ID: store.NewRunID(), Due: due, Manual: true, Started: now.UTC(), Outcome: OutcomeRunning}
}
