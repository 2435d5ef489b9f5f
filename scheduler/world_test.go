package scheduler

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/store"
)

// desk is a launcher that notes what it gets, as far as it was committed.
type desk struct {
	mu     sync.Mutex
	lines  []string
	runs   []Run
	refuse func(Run) error // asked before a launch
	deaf   bool            // no report gets through
}

func (d *desk) Launch(tx *store.Tx, r Run) error {
	if d.refuse != nil {
		if err := d.refuse(r); err != nil {
			return err
		}
	}
	tx.OnCommit(func() {
		line := "run " + r.Job.Title + " due " + r.Due.Format("02 15:04:05")
		if note := r.Note(); note != "" {
			line += ": " + note
		}
		d.note(line, r)
	})
	return nil
}

func (d *desk) Report(tx *store.Tx, job Job, text string) error {
	if d.deaf {
		return errors.New("nobody is at home")
	}
	text = strings.ReplaceAll(text, string(job.ID), "ID")
	tx.OnCommit(func() { d.note("report "+text, Run{}) })
	return nil
}

func (d *desk) note(line string, r Run) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
	if r.ID != "" {
		d.runs = append(d.runs, r)
	}
}

// world is a database, its book and the desk, inside a synctest bubble whose clock begins on Saturday 2000-01-01 00:00 UTC.
type world struct {
	t    *testing.T
	db   *store.DB
	jobs *Jobs
	desk *desk
	skew atomic.Int64 // how far the wall clock is from the bubble's, in nanoseconds
	log  strings.Builder
}

func inWorld(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, db: store.OpenTest(t), desk: &desk{}}
		w.jobs = NewJobs(w.db)
		w.jobs.now = func() time.Time { return time.Now().Add(time.Duration(w.skew.Load())).Round(0) }
		test(w)
	})
}

// up runs a clock as a process would, until down is called.
func (w *world) up() (down func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	s := New(w.jobs, w.desk, slog.New(slog.NewTextHandler(io.Writer(&w.log), nil)))
	go func() { ended <- s.Run(ctx) }()
	synctest.Wait()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Errorf("the clock ended with %v", err)
		}
	}
}

// jump sets the wall clock while no timer notices, as a suspend or a correction does.
func (w *world) jump(d time.Duration) { w.skew.Add(int64(d)) }

func (w *world) sleepTo(day, hour, minute int) {
	to := time.Date(2000, 1, day, hour, minute, 0, 0, time.UTC).Add(time.Second)
	time.Sleep(to.Sub(w.jobs.now()))
	synctest.Wait()
}

func (w *world) add(title, spec, zoneName string, change ...func(*Draft)) Job {
	w.t.Helper()
	d := Draft{Task: Task{Title: title, Prompt: "look", Agent: "main"}, Schedule: mustParse(w.t, spec, zoneName)}
	for _, c := range change {
		c(&d)
	}
	return must(w, func(tx *store.Tx) (Job, error) { return w.jobs.Add(tx, d) })
}

// must runs fn in a transaction that has to succeed.
func must[T any](w *world, fn func(*store.Tx) (T, error)) T {
	w.t.Helper()
	v, err := try(w, fn)
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

func try[T any](w *world, fn func(*store.Tx) (T, error)) (v T, err error) {
	err = w.db.Update(func(tx *store.Tx) error {
		v, err = fn(tx)
		return err
	})
	return v, err
}

func (w *world) get(id store.JobID) Job {
	w.t.Helper()
	return must(w, func(tx *store.Tx) (Job, error) { return w.jobs.Get(tx, id) })
}

func (w *world) history(id store.JobID) []Run {
	w.t.Helper()
	return must(w, func(tx *store.Tx) ([]Run, error) { return w.jobs.History(tx, id) })
}

// finish ends every run under way.
func (w *world) finish(outcome Outcome) {
	w.t.Helper()
	must(w, func(tx *store.Tx) (int, error) {
		runs, err := w.jobs.Running(tx)
		for _, r := range runs {
			err = errors.Join(err, w.jobs.Finish(tx, r.ID, outcome, "as told"))
		}
		return len(runs), err
	})
}

// expect compares what the desk got since the last call.
func (w *world) expect(want ...string) {
	w.t.Helper()
	synctest.Wait()
	w.desk.mu.Lock()
	defer w.desk.mu.Unlock()
	if diff := cmp.Diff(want, w.desk.lines); diff != "" {
		w.t.Errorf("the desk (-want +got):\n%s", diff)
	}
	w.desk.lines = nil
}

func (w *world) addAt(title, at, zoneName string) Job {
	w.t.Helper()
	s, err := At(at, zone(w.t, zoneName), w.jobs.now())
	if err != nil {
		w.t.Fatal(err)
	}
	return w.add(title, "@daily", zoneName, func(d *Draft) { d.Schedule = s })
}
