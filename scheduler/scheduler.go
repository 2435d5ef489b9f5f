// Package scheduler is the clock. It owns schedules (what they mean, in which zone, when they are next due), the book of
// jobs and the history of their runs, and the decision that a run starts. What a run does belongs to the driver above,
// which implements Launcher; people and the model reach the book through Jobs.
//
// Promises. A run's row, the job's next due time and whatever the launcher writes are one commit, made before the run
// starts, so a due time has at most one run, also across kills and clocks that are set back. Runs of one job don't
// overlap: a due time that comes while the job runs is counted on that run and passed over. Due times missed while nod
// was down, asleep or its clock was elsewhere become one run or one report, never a burst. Due times are read from the
// wall clock at least every 30 seconds. Nothing runs on the clock's own goroutine: Launch only stores.
//
// Who calls what: tools and the bot use Jobs to add, list, pause, resume, delete and RunNow. The driver calls Running at
// start, and for each of those runs either carries its turn on or calls Interrupt and tells the person; it calls Finish
// when a run's turn has ended. The program calls Scheduler.Run once.
package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/robfig/cron/v3"

	"nod/store"
)

// heartbeat is how often the clock looks at the book when nothing else wakes it. It bounds the delay after a suspend or
// a jump of the wall clock, which timers don't follow.
const heartbeat = 30 * time.Second

// Launcher is what a due job needs from above. Both methods write into tx and do nothing else; what has to happen
// afterwards goes into tx.OnCommit. An error or a panic undoes the transaction, and is logged; the run then counts as
// failed, which is reported if that works.
type Launcher interface {
	// Launch files a run to be carried out: r.Job says what to do, r.Note is a word about a delay.
	Launch(tx *store.Tx, r Run) error
	// Report tells the job's home chat about a run that did not happen, or a job that had to be paused.
	Report(tx *store.Tx, job Job, text string) error
}

// Scheduler launches what is due.
type Scheduler struct {
	jobs     *Jobs
	launcher Launcher
	log      *slog.Logger
	last     time.Time // the wall clock at the last look; zero before the first
}

// New makes the clock of a book.
func New(jobs *Jobs, launcher Launcher, log *slog.Logger) *Scheduler {
	return &Scheduler{jobs: jobs, launcher: launcher, log: log}
}

// wait is a cron.Schedule that is due once its time has passed.
type wait time.Duration

// Next makes wait a cron.Schedule.
func (w wait) Next(t time.Time) time.Time { return t.Add(time.Duration(w)) }

// Run looks at the book at every due time, at every change of the book and every 30 seconds, until ctx ends. It returns
// nil then, and may be called once. A fault of one job is logged and keeps no other from running.
func (s *Scheduler) Run(ctx context.Context) error {
	wake := make(chan struct{}, 1)
	poke := cron.FuncJob(func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	})
	runner := cron.New(cron.WithLocation(time.UTC), cron.WithLogger(cron.DiscardLogger))
	runner.Start()
	defer func() { <-runner.Stop().Done() }()
	for {
		entry := runner.Schedule(wait(s.look(ctx)), poke)
		select {
		case <-ctx.Done():
			return nil
		case <-wake:
		case <-s.jobs.changed:
		}
		runner.Remove(entry)
	}
}

// look settles every job that is due, and returns how long the clock may sleep after it.
func (s *Scheduler) look(ctx context.Context) time.Duration {
	now := s.jobs.now()
	if s.last.IsZero() || now.Before(s.last) {
		s.fault("", "checking the due times after a start or a clock set back", s.jobs.db.Update(func(tx *store.Tx) error {
			return s.jobs.retime(tx, now)
		}))
	}
	s.last = now
	for _, job := range s.list() {
		if ctx.Err() != nil {
			break
		}
		if job.wants(now) {
			s.settle(job.ID, now)
		}
	}
	sleep := heartbeat
	for _, job := range s.list() {
		// What was due already and is so still could not be settled: it waits for the heartbeat.
		if job.NextAt.After(now) {
			sleep = min(sleep, max(job.NextAt.Sub(s.jobs.now()), time.Millisecond))
		}
	}
	return sleep
}

func (s *Scheduler) list() (all []Job) {
	s.fault("", "reading the jobs", s.jobs.db.View(func(tx *store.Tx) (err error) {
		all, err = s.jobs.List(tx)
		return err
	}))
	return all
}

// attempt says how a job is settled.
type attempt struct {
	now     time.Time
	failure error // why launching the very same run failed a moment ago, or nil
	mute    bool  // reporting failed as well
}

// settle deals with one job in one transaction. When its launch fails, and so undoes it, the failure is recorded and
// reported in a second one; when the report fails too, it is recorded without. So nothing is tried again at every look.
func (s *Scheduler) settle(id store.JobID, now time.Time) {
	err := s.try(id, attempt{now: now})
	if err == nil {
		return
	}
	s.fault(id, "launching a run", err)
	again := s.try(id, attempt{now: now, failure: err})
	if again == nil {
		return
	}
	s.fault(id, "reporting a failed launch", again)
	s.fault(id, "recording a failed launch", s.try(id, attempt{now: now, failure: err, mute: true}))
}

// try makes one attempt. A panic of the launcher becomes an error, and like one it rolls the transaction back.
func (s *Scheduler) try(id store.JobID, a attempt) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicError{p, debug.Stack()}
		}
	}()
	return s.jobs.db.Update(func(tx *store.Tx) error {
		job, ok, err := jobTable.Get(tx, id)
		if err != nil || !ok {
			return err
		}
		return s.moveOn(tx, job, a)
	})
}

// moveOn gives a job that wants something its run, or says why it has none.
func (s *Scheduler) moveOn(tx *store.Tx, job Job, a attempt) error {
	busy, running, err := s.jobs.running(tx, job)
	if err != nil {
		return err
	}
	if job.due(a.now) {
		schedule, err := job.Schedule()
		switch {
		case err != nil:
			return s.pause(tx, job, err, a)
		case running:
			return s.pass(tx, job, busy, schedule, a.now)
		}
		if err := s.open(tx, &job, job.judge(schedule, a.now), a); err != nil {
			return err
		}
	}
	if running || job.Asked.IsZero() {
		return nil
	}
	return s.open(tx, &job, byHand(job.Asked, a.now), a)
}

// open files a run and the job that has moved on, and launches the run or says why there is none.
func (s *Scheduler) open(tx *store.Tx, job *Job, run Run, a attempt) error {
	run.Job = *job
	before, taken, err := runTable.Get(tx, run.key())
	if err != nil {
		return err
	}
	if taken && before.Outcome != OutcomeMissed {
		return jobTable.Put(tx, job.ID, *job) // the clock was set back over a due time that had its run
	}
	switch {
	case run.Outcome == OutcomeRunning && a.failure != nil:
		run.Outcome, run.Ended, run.Summary = OutcomeFailed, run.Started, "could not be started: "+clip(a.failure.Error(), 200)
		job.Asked = time.Time{}
	case run.Outcome == OutcomeRunning:
		job.Running, job.Asked = run.ID, time.Time{}
	}
	run.Job = *job
	if err := s.jobs.record(tx, run); err != nil {
		return err
	}
	if err := jobTable.Put(tx, job.ID, *job); err != nil {
		return err
	}
	tx.OnCommit(func() { s.log.Info("run", "job", job.ID, "run", run.ID, "due", run.Due, "outcome", run.Outcome) })
	return s.hand(tx, run, a)
}

// hand gives a run to the launcher, or its report.
func (s *Scheduler) hand(tx *store.Tx, run Run, a attempt) error {
	switch {
	case run.Outcome == OutcomeMissed && run.Job.CatchUp == CatchUpSkip:
		return nil // as was asked for: the history has it
	case run.Outcome != OutcomeRunning && a.mute:
		return nil
	case run.Outcome != OutcomeRunning:
		return s.launcher.Report(tx, run.Job, run.report())
	}
	tx.OnCommit(func() { store.Failpoint("scheduler.launched") })
	if err := s.launcher.Launch(tx, run); err != nil {
		return err
	}
	store.Failpoint("scheduler.launching")
	return nil
}

// pass lets a due time of a job that is busy go by. Only a one-shot's waits for the end of the run under way.
func (s *Scheduler) pass(tx *store.Tx, job Job, busy Run, schedule Schedule, now time.Time) error {
	if !job.At.IsZero() {
		return nil
	}
	job.judge(schedule, now)
	busy.Skipped++
	if err := runTable.Put(tx, busy.key(), busy); err != nil {
		return err
	}
	return jobTable.Put(tx, job.ID, job)
}

// pause takes a job off the clock whose schedule can't be read any more: a zone that this machine does not have.
func (s *Scheduler) pause(tx *store.Tx, job Job, cause error, a attempt) error {
	job.State, job.Reason, job.NextAt = StatePaused, cause.Error(), time.Time{}
	if err := jobTable.Put(tx, job.ID, job); err != nil || a.mute {
		return err
	}
	return s.launcher.Report(tx, job, fmt.Sprintf("This job is paused: %s.", cause))
}

// panicError is a panic of the launcher.
type panicError struct {
	value any
	stack []byte
}

func (e panicError) Error() string { return fmt.Sprint("panic: ", e.value) }

// fault logs an error, if it is one.
func (s *Scheduler) fault(id store.JobID, doing string, err error) {
	if err == nil {
		return
	}
	attrs := []any{"err", err}
	if id != "" {
		attrs = append(attrs, "job", id)
	}
	if p, ok := errors.AsType[panicError](err); ok {
		attrs = append(attrs, "stack", string(p.stack))
	}
	s.log.Error(doing, attrs...)
}
