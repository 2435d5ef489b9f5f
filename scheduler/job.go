package scheduler

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"nod/store"
)

const (
	// DefaultGrace is how late a missed due time is still made up for.
	DefaultGrace = time.Hour
	maxGrace     = 7 * 24 * time.Hour

	maxTitle  = 120    // runes
	maxPrompt = 20_000 // bytes
)

// State is what a job is up to.
type State string

// The states of a job.
const (
	StateActive State = "active" // it has a next due time
	StatePaused State = "paused" // by a person, or because its schedule can't be read: see Job.Reason
	StateDone   State = "done"   // its schedule has no due time left
)

// CatchUp is what happens to a due time that was missed by less than the job's grace.
type CatchUp string

// The choices for a missed due time.
const (
	CatchUpOnce CatchUp = "once" // run once, however many were missed; the default
	CatchUpSkip CatchUp = "skip" // note it in the history only
)

// Task is what a job does and for whom.
type Task struct {
	Title       string        `json:"title"` // one line of at most 120 runes
	Prompt      string        `json:"prompt"`
	Agent       string        `json:"agent"`
	Description string        `json:"description,omitempty"`
	CreatedBy   store.UserID  `json:"created_by"`
	Home        store.Address `json:"home,omitzero"`     // where its reports and cards go; zero: the home chat
	Context     string        `json:"context,omitempty"` // the name of the run context that its runs have
}

// Draft is a job to be added.
type Draft struct {
	Task
	Schedule Schedule
	Grace    time.Duration // 0 means DefaultGrace; at most 7 days. Under a minute late is always on time
	CatchUp  CatchUp       // "" means CatchUpOnce
}

// Job is one line of the book. Times are kept in UTC.
type Job struct {
	ID store.JobID `json:"id"`
	Task
	Spec    string        `json:"spec,omitempty"` // of a recurring job, as Parse takes it
	At      time.Time     `json:"at,omitzero"`    // of a one-shot
	Zone    string        `json:"zone"`           // IANA name; the job keeps it, whatever the server's is
	Grace   time.Duration `json:"grace"`
	CatchUp CatchUp       `json:"catch_up"`
	State   State         `json:"state"`
	Reason  string        `json:"reason,omitempty"` // why nod paused it
	Created time.Time     `json:"created"`
	NextAt  time.Time     `json:"next_at,omitzero"`  // zero unless active
	Ran     Streak        `json:"ran,omitzero"`      // the due times that had their turn
	Asked   time.Time     `json:"asked,omitzero"`    // when a run by hand was asked for that has not started
	Running store.RunID   `json:"running,omitempty"` // the run that has not finished
}

// Schedule reads the job's schedule back.
func (j Job) Schedule() (Schedule, error) {
	zone, err := Zone(j.Zone)
	if err != nil {
		return Schedule{}, err
	}
	if !j.At.IsZero() {
		return once(j.At, zone), nil
	}
	return parse(j.Spec, zone)
}

// When is the schedule in words.
func (j Job) When() string {
	s, err := j.Schedule()
	if err != nil {
		return fmt.Sprintf("cron %q (%s)", j.Spec, j.Zone)
	}
	return Describe(s)
}

// Streak is an unbroken row of due times, both ends included. It outlives the history of runs, which is short.
type Streak struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// due reports whether the job's due time has come.
func (j Job) due(now time.Time) bool { return j.State == StateActive && !j.NextAt.After(now) }

// wants reports whether there is anything for the clock to do.
func (j Job) wants(now time.Time) bool { return j.due(now) || !j.Asked.IsZero() }

// nextAfter is the job's next due time when it is now. Due times that had their turn don't come back with a clock that is
// set back.
func (j Job) nextAfter(s Schedule, now time.Time) time.Time {
	next := s.Next(now)
	if !next.IsZero() && !next.Before(j.Ran.From) && !next.After(j.Ran.To) {
		next = s.Next(j.Ran.To)
	}
	return next.UTC()
}

// check refuses a draft that can't become a job, and fills in the defaults.
func (d *Draft) check() error {
	d.Title, d.Agent = strings.TrimSpace(d.Title), strings.TrimSpace(d.Agent)
	if d.Grace == 0 {
		d.Grace = DefaultGrace
	}
	if d.CatchUp == "" {
		d.CatchUp = CatchUpOnce
	}
	switch {
	case d.Title == "":
		return errors.New("a job needs a title")
	case utf8.RuneCountInString(d.Title) > maxTitle || strings.ContainsAny(d.Title, "\r\n"):
		return fmt.Errorf("a job's title is one line of at most %d characters", maxTitle)
	case strings.TrimSpace(d.Prompt) == "":
		return errors.New("a job needs a prompt: what to do at each run")
	case len(d.Prompt) > maxPrompt:
		return fmt.Errorf("the prompt is %d bytes long; a job's prompt takes at most %d", len(d.Prompt), maxPrompt)
	case d.Agent == "":
		return errors.New("a job needs an agent")
	case d.Grace < 0 || d.Grace > maxGrace:
		return errors.New("a job's grace is from 0 to 7 days")
	case d.CatchUp != CatchUpOnce && d.CatchUp != CatchUpSkip:
		return fmt.Errorf("the choice %q for missed times is not known; give once or skip", d.CatchUp)
	case d.Schedule.zone == nil:
		return errors.New("a job needs a schedule")
	}
	return nil
}
