package scheduler

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"nod/store"
)

const (
	maxJobs    = 200 // active and paused ones
	maxDone    = 20  // done ones that are kept for /jobs
	maxHistory = 20  // runs kept of each job
	maxNamed   = 20  // jobs that an error names
)

var (
	jobTable = store.NewTable[store.JobID, Job]("jobs", store.ParseJobID)
	runTable = store.NewTable[store.Seq[store.JobID], Run]("job_runs", store.ParseSeq(store.ParseJobID))
)

// Jobs is the book of jobs and their runs. Its methods work in the caller's transaction and may be used from any goroutine.
type Jobs struct {
	db      *store.DB
	changed chan struct{}    // holds a token when the clock should look again
	now     func() time.Time // the wall clock
}

// NewJobs opens the book.
func NewJobs(db *store.DB) *Jobs {
	return &Jobs{
		db:      db,
		changed: make(chan struct{}, 1),
		// Without its monotonic part, so that differences are those of the wall clock also after a suspend or a jump.
		now: func() time.Time { return time.Now().Round(0) },
	}
}

// Add enters a job. It refuses a draft that lacks something, a schedule without a due time left, and more than 200 jobs.
func (b *Jobs) Add(tx *store.Tx, d Draft) (Job, error) {
	if err := d.check(); err != nil {
		return Job{}, err
	}
	now := b.now()
	job := Job{
		ID: store.NewJobID(), Task: d.Task, Spec: d.Schedule.spec, Zone: d.Schedule.zone.String(),
		Grace: d.Grace, CatchUp: d.CatchUp, State: StateActive, Created: now.UTC(), NextAt: d.Schedule.Next(now).UTC(),
	}
	if !d.Schedule.at.IsZero() {
		job.At = d.Schedule.at.UTC()
	}
	if job.NextAt.IsZero() {
		return Job{}, fmt.Errorf("%s is over by now; give a later time", Describe(d.Schedule))
	}
	if err := b.makeRoom(tx); err != nil {
		return Job{}, err
	}
	for {
		taken, err := jobTable.Has(tx, job.ID)
		if err != nil {
			return Job{}, err
		}
		if !taken {
			return job, b.save(tx, job)
		}
		job.ID = store.NewJobID()
	}
}

// makeRoom forgets the oldest done jobs, and refuses one job too many.
func (b *Jobs) makeRoom(tx *store.Tx) error {
	all, err := b.List(tx)
	if err != nil {
		return err
	}
	done := slices.DeleteFunc(slices.Clone(all), func(j Job) bool { return j.State != StateDone || j.Running != "" })
	if len(all)-len(done) >= maxJobs {
		return fmt.Errorf("there are %d jobs already; delete one first", maxJobs)
	}
	for i := range len(done) - maxDone + 1 {
		if _, err := b.Delete(tx, done[i].ID); err != nil {
			return err
		}
	}
	return nil
}

// List returns all jobs, oldest first.
func (b *Jobs) List(tx *store.Tx) ([]Job, error) {
	all, err := jobTable.All(tx, nil)
	slices.SortStableFunc(all, func(a, b Job) int { return a.Created.Compare(b.Created) })
	return all, err
}

// Get returns a job. The error for an unknown id names the known ones.
func (b *Jobs) Get(tx *store.Tx, id store.JobID) (Job, error) {
	job, ok, err := jobTable.Get(tx, id)
	if err != nil || ok {
		return job, err
	}
	all, err := b.List(tx)
	if err != nil {
		return Job{}, err
	}
	if len(all) == 0 {
		return Job{}, fmt.Errorf("there is no job %q: there are no jobs", clip(string(id), 40))
	}
	var known []string
	for _, j := range all[:min(len(all), maxNamed)] {
		known = append(known, fmt.Sprintf("%s (%s)", j.ID, clip(j.Title, 40)))
	}
	if more := len(all) - len(known); more > 0 {
		known = append(known, fmt.Sprintf("%d more", more))
	}
	return Job{}, fmt.Errorf("there is no job %q; the jobs are %s", clip(string(id), 40), join(known))
}

// Pause takes a job off the clock. A run under way goes on.
func (b *Jobs) Pause(tx *store.Tx, id store.JobID) (Job, error) {
	job, err := b.Get(tx, id)
	if err != nil {
		return Job{}, err
	}
	if job.State == StateDone {
		return Job{}, fmt.Errorf("the job %s is done: there is nothing to pause", id)
	}
	job.State, job.Reason, job.NextAt = StatePaused, "", time.Time{}
	return job, b.save(tx, job)
}

// Resume puts a paused job back on the clock, counting from now: what it missed meanwhile stays missed.
func (b *Jobs) Resume(tx *store.Tx, id store.JobID) (Job, error) {
	job, err := b.Get(tx, id)
	if err != nil || job.State == StateActive {
		return job, err
	}
	s, err := job.Schedule()
	if err != nil {
		return Job{}, fmt.Errorf("the job %s can't be resumed: %w", id, err)
	}
	next := job.nextAfter(s, b.now())
	if next.IsZero() {
		return Job{}, fmt.Errorf("the job %s has no due time left; run it now, or add a new one", id)
	}
	job.State, job.Reason, job.NextAt = StateActive, "", next
	return job, b.save(tx, job)
}

// Delete removes a job and its history. A run under way goes on; its Finish finds nothing to do.
func (b *Jobs) Delete(tx *store.Tx, id store.JobID) (Job, error) {
	job, err := b.Get(tx, id)
	if err != nil {
		return Job{}, err
	}
	if _, err := runTable.DeletePrefix(tx, store.Prefix(id)); err != nil {
		return Job{}, err
	}
	b.touch(tx)
	return job, jobTable.Delete(tx, id)
}

// RunNow asks the clock for a run by hand, of an active, paused or done job. It starts right after the commit, or when
// nod is next up.
func (b *Jobs) RunNow(tx *store.Tx, id store.JobID) (Job, error) {
	job, err := b.Get(tx, id)
	if err != nil {
		return Job{}, err
	}
	if job.Running != "" {
		return Job{}, fmt.Errorf("the job %s is running already; wait for it to end, or stop it", id)
	}
	job.Asked = b.now().UTC()
	return job, b.save(tx, job)
}

// History returns a job's last runs, at most 20, latest due time first.
func (b *Jobs) History(tx *store.Tx, id store.JobID) ([]Run, error) {
	job, err := b.Get(tx, id)
	if err != nil {
		return nil, err
	}
	var runs []Run
	err = runTable.ScanBack(tx, store.Prefix(id), func(_ store.Seq[store.JobID], r Run) (bool, error) {
		r.Job = job
		runs = append(runs, r)
		return true, nil
	})
	return runs, err
}

// Running returns the runs that have not finished. When the program starts they are those of the process before it: the
// driver carries each on, or gives it up with Interrupt; until then its job can't run again.
func (b *Jobs) Running(tx *store.Tx) ([]Run, error) {
	all, err := b.List(tx)
	if err != nil {
		return nil, err
	}
	var runs []Run
	for _, job := range all {
		run, ok, err := b.running(tx, job)
		if err != nil {
			return nil, err
		}
		if ok {
			runs = append(runs, run)
		}
	}
	return runs, nil
}

// running finds the job's unfinished run.
func (b *Jobs) running(tx *store.Tx, job Job) (found Run, ok bool, err error) {
	if job.Running == "" {
		return Run{}, false, nil
	}
	err = runTable.ScanBack(tx, store.Prefix(job.ID), func(_ store.Seq[store.JobID], r Run) (bool, error) {
		if ok = r.ID == job.Running; ok {
			found, found.Job = r, job
		}
		return !ok, nil
	})
	return found, ok, err
}

// Finish records how a run ended, with a short summary. The driver calls it in the transaction that ends the run's turn.
// A run that has finished already, or whose job was deleted, is left as it is.
func (b *Jobs) Finish(tx *store.Tx, id store.RunID, outcome Outcome, summary string) error {
	switch outcome {
	case OutcomeDone, OutcomeFailed, OutcomeInterrupted, OutcomeStopped:
	default:
		return fmt.Errorf("a run can't end as %q", outcome)
	}
	runs, err := b.Running(tx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(runs, func(r Run) bool { return r.ID == id })
	if i < 0 {
		return nil
	}
	run := runs[i]
	run.Outcome, run.Summary, run.Ended = outcome, clip(summary, 300), b.now().UTC()
	if err := runTable.Put(tx, run.key(), run); err != nil {
		return err
	}
	run.Job.Running = ""
	return b.save(tx, run.Job)
}

// Interrupt is Finish for a run that an earlier process left unfinished and that is not carried on. Whoever calls it
// tells the person; the run is not repeated.
func (b *Jobs) Interrupt(tx *store.Tx, id store.RunID) error {
	return b.Finish(tx, id, OutcomeInterrupted, "nod ended while it ran; what it had done by then is not known")
}

// Forgo lets every due time that has come pass without a run, and reports it, for when it is not known whether it had
// one: the book was restored from a backup.
func (b *Jobs) Forgo(tx *store.Tx, report func(*store.Tx, Job, string) error) error {
	all, err := b.List(tx)
	if err != nil {
		return err
	}
	now := b.now()
	for _, job := range all {
		s, err := job.Schedule()
		if err != nil || !job.wants(now) {
			continue // what can't be read is paused by the clock
		}
		job.Asked = time.Time{}
		if !job.due(now) {
			err = b.save(tx, job)
		} else {
			err = b.forgo(tx, job, s, now, report)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *Jobs) forgo(tx *store.Tx, job Job, s Schedule, now time.Time, report func(*store.Tx, Job, string) error) error {
	run := Run{ID: store.NewRunID(), Due: latestDue(s, job.NextAt, now).UTC(), Outcome: OutcomeRunning}
	job.advance(s, run) // as one that had its turn
	run.Job, run.Outcome, run.Ended = job, OutcomeMissed, now.UTC()
	run.Summary = "passed: a backup was restored, so it may have run already"
	return errors.Join(b.record(tx, run), b.save(tx, job), report(tx, job, run.forgone()))
}

// record files a run and forgets the oldest ones beyond the history's length, but never the one that is running.
func (b *Jobs) record(tx *store.Tx, run Run) error {
	if err := runTable.Put(tx, run.key(), run); err != nil {
		return err
	}
	var keys []store.Seq[store.JobID]
	err := runTable.ScanBack(tx, store.Prefix(run.Job.ID), func(k store.Seq[store.JobID], r Run) (bool, error) {
		if r.Outcome != OutcomeRunning && r.ID != run.ID {
			keys = append(keys, k)
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	for _, k := range keys[min(len(keys), maxHistory-1):] {
		if err := runTable.Delete(tx, k); err != nil {
			return err
		}
	}
	return nil
}

// retime sets right the due times that lie ahead, which are no longer the next ones when the clock was set back, or when
// a zone's rules have changed since.
func (b *Jobs) retime(tx *store.Tx, now time.Time) error {
	all, err := b.List(tx)
	if err != nil {
		return err
	}
	for _, job := range all {
		if job.State != StateActive || job.due(now) {
			continue
		}
		s, err := job.Schedule()
		if err != nil {
			continue // the clock pauses it once it is due
		}
		next := job.nextAfter(s, now)
		if next.IsZero() || next.Equal(job.NextAt) || s.every > 0 && next.After(job.NextAt) {
			continue
		}
		job.NextAt = next
		if err := jobTable.Put(tx, job.ID, job); err != nil {
			return err
		}
	}
	return nil
}

func (b *Jobs) save(tx *store.Tx, job Job) error {
	b.touch(tx)
	return jobTable.Put(tx, job.ID, job)
}

// touch makes the clock look again after the commit.
func (b *Jobs) touch(tx *store.Tx) {
	tx.OnCommit(func() {
		select {
		case b.changed <- struct{}{}:
		default:
		}
	})
}

// clip shortens a text to one line of at most n runes.
func clip(text string, n int) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) <= n {
		return string(runes)
	}
	return string(runes[:n-1]) + "…"
}
