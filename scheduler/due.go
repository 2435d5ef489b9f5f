package scheduler

import (
	"time"

	"nod/store"
)

// latestDue returns the last due time that is not after now, given one of them.
func latestDue(s Schedule, first, now time.Time) time.Time {
	due := first
	if s.every > 0 {
		return due.Add(now.Sub(due).Truncate(s.every))
	}
	// A schedule of many due times a minute may have been asleep for a month: begin as near as there is one.
	for _, back := range []time.Duration{time.Minute, time.Hour, 24 * time.Hour} {
		if t := s.Next(now.Add(-back)); t.After(due) && !t.After(now) {
			due = t
			break
		}
	}
	for t := s.Next(due); !t.IsZero() && !t.After(now); t = s.Next(due) {
		due = t
	}
	return due
}

// judge decides about a job whose due time has come, and moves the job on. Whatever was missed becomes one run: of the
// latest due time, running or, when it is too late for that, missed.
func (j *Job) judge(s Schedule, now time.Time) Run {
	run := Run{ID: store.NewRunID(), Due: latestDue(s, j.NextAt, now).UTC(), Outcome: OutcomeRunning, Started: now.UTC()}
	if run.Due.After(j.NextAt) {
		run.Since = j.NextAt
	}
	switch late := now.Sub(run.Due); {
	case late < onTime:
	case late < j.Grace && j.CatchUp == CatchUpOnce:
		run.CatchUp = true
	default:
		run.Outcome, run.Started, run.Ended = OutcomeMissed, time.Time{}, now.UTC()
		run.Summary = "missed: nod came to it " + roughly(late) + " late"
	}
	j.advance(s, run)
	return run
}

// advance files a run's due time as one that had its turn, unless it was missed, and sets the next one.
func (j *Job) advance(s Schedule, run Run) {
	if run.Outcome != OutcomeMissed {
		if j.Ran.To.IsZero() || !s.Next(j.Ran.To).Equal(run.Due) {
			j.Ran.From = run.Due
		}
		j.Ran.To = run.Due
	}
	next := s.Next(run.Due)
	if next.IsZero() {
		j.State, j.NextAt = StateDone, time.Time{}
		return
	}
	j.NextAt = next.UTC()
}
