package scheduler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
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

func TestCLOCK2_NoSecondRunAfterRestart(t *testing.T) {
	inWorld(t, func(w *world) {
		w.add("evening", "0 22 * * *", "UTC")
		down := w.up()
		w.sleepTo(1, 22, 0)
		w.expect("run evening due 01 22:00:00")
		w.finish(OutcomeDone)
		down()
		w.sleepTo(1, 22, 30)
		defer w.up()()
		w.sleepTo(2, 21, 59)
		w.expect()
		w.sleepTo(2, 22, 0)
		w.expect("run evening due 02 22:00:00")
	})
}

func TestCLOCK3_MissedTimes(t *testing.T) {
	t.Run("CLOCK-3 many times missed, the last within the grace: one run with a note", func(t *testing.T) {
		inWorld(t, func(w *world) {
			w.add("quarter", "*/15 * * * *", "UTC")
			w.sleepTo(2, 13, 5)
			defer w.up()()
			w.expect("run quarter due 02 13:00:00: this run was due on Sun 2 Jan 13:00 (UTC) and starts 5 min late; " +
				"earlier due times since Sat 1 Jan 00:15 (UTC) were missed")
			w.finish(OutcomeDone)
			w.sleepTo(2, 13, 15)
			w.expect("run quarter due 02 13:15:00")
		})
	})
	t.Run("CLOCK-3 later than the grace: a report, and the next time as usual", func(t *testing.T) {
		inWorld(t, func(w *world) {
			job := w.add("news", "0 9 * * *", "Europe/Rome")
			w.sleepTo(3, 12, 0)
			defer w.up()()
			w.expect(`report This job did not run. It was due on Mon 3 Jan 09:00 (Europe/Rome), 4 h ago, which is ` +
				"too late to make up for. Earlier due times since Sat 1 Jan 09:00 (Europe/Rome) were missed too. " +
				"It is due next on Tue 4 Jan 09:00 (Europe/Rome); /jobs can run it now.")
			if got := w.history(job.ID); len(got) != 1 || got[0].Outcome != OutcomeMissed {
				t.Errorf("the history is %v", got)
			}
			w.sleepTo(4, 8, 0)
			w.expect("run news due 04 08:00:00")
		})
	})
	t.Run("CLOCK-3 the job's choice is not to catch up", func(t *testing.T) {
		inWorld(t, func(w *world) {
			job := w.add("news", "0 9 * * *", "UTC", func(d *Draft) { d.CatchUp = CatchUpSkip })
			w.sleepTo(1, 9, 10)
			defer w.up()()
			w.expect()
			if got := w.history(job.ID); len(got) != 1 || got[0].Outcome != OutcomeMissed || got[0].Summary == "" {
				t.Errorf("the history is %v", got)
			}
		})
	})
	t.Run("CLOCK-3 an interval keeps its pace", func(t *testing.T) {
		inWorld(t, func(w *world) {
			w.add("pace", "@every 90m", "UTC")
			w.sleepTo(1, 10, 40)
			defer w.up()()
			w.expect("run pace due 01 10:30:00: this run was due on Sat 1 Jan 10:30 (UTC) and starts 10 min late; " +
				"earlier due times since Sat 1 Jan 01:30 (UTC) were missed")
			w.finish(OutcomeDone)
			w.sleepTo(1, 12, 0)
			w.expect("run pace due 01 12:00:00")
		})
	})
	t.Run("CLOCK-3 a year of seconds is no burst", func(t *testing.T) {
		inWorld(t, func(w *world) {
			w.add("tick", "* * * * * *", "UTC")
			time.Sleep(366 * 24 * time.Hour)
			defer w.up()()
			w.expect("run tick due 01 00:00:00: earlier due times since Sat 1 Jan 00:00 (UTC) were missed")
		})
	})
}

func (w *world) addAt(title, at, zoneName string) Job {
	w.t.Helper()
	s, err := At(at, zone(w.t, zoneName), w.jobs.now())
	if err != nil {
		w.t.Fatal(err)
	}
	return w.add(title, "@daily", zoneName, func(d *Draft) { d.Schedule = s })
}

func TestCLOCK4_OneShots(t *testing.T) {
	t.Run("CLOCK-4 past on start: late, with a note, and once", func(t *testing.T) {
		inWorld(t, func(w *world) {
			job := w.addAt("call mum", "2000-01-01 09:00", "Europe/Rome")
			w.sleepTo(1, 8, 30)
			down := w.up()
			w.expect("run call mum due 01 08:00:00: this run was due on Sat 1 Jan 09:00 (Europe/Rome) and starts 30 min late")
			w.finish(OutcomeFailed) // its delivery failed
			w.sleepTo(1, 12, 0)
			down()
			defer w.up()()
			w.sleepTo(3, 12, 0)
			w.expect()
			if got := w.get(job.ID); got.State != StateDone || !got.NextAt.IsZero() {
				t.Errorf("it is %s, next at %s", got.State, got.NextAt)
			}
		})
	})
	t.Run("CLOCK-4 past by more than the grace: a report", func(t *testing.T) {
		inWorld(t, func(w *world) {
			w.addAt("call mum", "2000-01-01 09:00", "UTC")
			w.sleepTo(1, 11, 0)
			defer w.up()()
			w.expect(`report This job did not run. It was due on Sat 1 Jan 09:00 (UTC), 2 h ago, which is ` +
				"too late to make up for. It is not due again; /jobs can run it now.")
		})
	})
	t.Run("CLOCK-4 its time waits for a run by hand", func(t *testing.T) {
		inWorld(t, func(w *world) {
			job := w.addAt("call mum", "2000-01-01 09:00", "UTC")
			defer w.up()()
			w.sleepTo(1, 8, 58)
			must(w, func(tx *store.Tx) (Job, error) { return w.jobs.RunNow(tx, job.ID) })
			w.expect("run call mum due 01 08:58:01")
			w.sleepTo(1, 9, 10)
			w.expect()
			w.finish(OutcomeDone)
			w.expect("run call mum due 01 09:00:00: this run was due on Sat 1 Jan 09:00 (UTC) and starts 10 min late")
		})
	})
	t.Run("CLOCK-4 refused when its time has come before it was allowed", func(t *testing.T) {
		inWorld(t, func(w *world) {
			s, err := At("09:00", time.UTC, w.jobs.now())
			if err != nil {
				t.Fatal(err)
			}
			w.sleepTo(1, 9, 0)
			_, err = try(w, func(tx *store.Tx) (Job, error) {
				return w.jobs.Add(tx, Draft{Task: Task{Title: "a", Prompt: "b", Agent: "main"}, Schedule: s})
			})
			if err == nil || !strings.Contains(err.Error(), "is over by now") {
				t.Errorf("got %v", err)
			}
		})
	})
}

func TestCLOCK5_NoOverlap(t *testing.T) {
	t.Run("CLOCK-5 longer than its interval", func(t *testing.T) {
		inWorld(t, func(w *world) {
			job := w.add("slow", "* * * * *", "UTC")
			w.add("other", "5 0 * * *", "UTC")
			defer w.up()()
			w.sleepTo(1, 0, 10)
			w.expect("run slow due 01 00:01:00", "run other due 01 00:05:00")
			w.finish(OutcomeDone)
			w.sleepTo(1, 0, 11)
			w.expect("run slow due 01 00:11:00")
			if got := w.history(job.ID); len(got) != 2 || got[1].Skipped != 9 || got[1].Outcome != OutcomeDone || got[1].Job.ID != job.ID {
				t.Errorf("the history is %+v", got)
			}
		})
	})
	t.Run("CLOCK-5 a second process on the database", func(t *testing.T) {
		inWorld(t, func(w *world) {
			other, err := store.Open(w.db.Path())
			if !errors.Is(err, store.ErrLocked) {
				t.Errorf("opened twice: %v, %v", other, err)
			}
		})
	})
	t.Run("CLOCK-5 a run that an earlier process left", func(t *testing.T) {
		inWorld(t, func(w *world) {
			job := w.add("slow", "0 * * * *", "UTC")
			down := w.up()
			w.sleepTo(1, 1, 0)
			w.expect("run slow due 01 01:00:00")
			down()
			defer w.up()()
			w.sleepTo(1, 2, 0)
			w.expect()
			left := must(w, w.jobs.Running)
			if len(left) != 1 || left[0].Job.Title != "slow" {
				t.Fatalf("running are %v", left)
			}
			must(w, func(tx *store.Tx) (any, error) { return nil, w.jobs.Interrupt(tx, left[0].ID) })
			w.sleepTo(1, 3, 0)
			w.expect("run slow due 01 03:00:00")
			if got := w.history(job.ID); got[1].Outcome != OutcomeInterrupted || got[1].Skipped != 1 {
				t.Errorf("the history is %+v", got)
			}
		})
	})
}

func TestCLOCK6_JobKeepsItsZone(t *testing.T) {
	inWorld(t, func(w *world) {
		tokyo := w.add("tokyo", "0 9 * * *", "Asia/Tokyo")
		w.add("lima", "0 9 * * *", "America/Lima")
		w.addAt("once", "2000-01-02 09:00", "Asia/Kathmandu")
		defer w.up()()
		w.sleepTo(2, 23, 0)
		w.expect("run lima due 01 14:00:00", "run tokyo due 02 00:00:00", "run once due 02 03:15:00")
		if got, want := w.get(tokyo.ID).When(), "every day at 09:00 (Asia/Tokyo)"; got != want {
			t.Errorf("when: %q, want %q", got, want)
		}
	})
}

func TestClockWakesInTime(t *testing.T) {
	inWorld(t, func(w *world) {
		defer w.up()()
		time.Sleep(7 * time.Second)
		w.add("soon", "8 0 0 * * *", "UTC")
		time.Sleep(time.Second)
		w.expect("run soon due 01 00:00:08")
	})
}

func TestClockEverySecond(t *testing.T) {
	inWorld(t, func(w *world) {
		w.add("tick", "* * * * * *", "UTC")
		defer w.up()()
		for range 100 {
			time.Sleep(time.Second)
			synctest.Wait()
			w.finish(OutcomeDone)
		}
		w.desk.mu.Lock()
		defer w.desk.mu.Unlock()
		if len(w.desk.runs) != 100 {
			t.Errorf("%d runs in 100 seconds", len(w.desk.runs))
		}
	})
}

func TestSuspendDelaysByOneHeartbeat(t *testing.T) {
	inWorld(t, func(w *world) {
		w.add("morning", "0 9 * * *", "UTC")
		defer w.up()()
		w.sleepTo(1, 1, 0)
		w.jump(8*time.Hour + 20*time.Minute)
		time.Sleep(heartbeat)
		w.expect("run morning due 01 09:00:00: this run was due on Sat 1 Jan 09:00 (UTC) and starts 20 min late")
	})
}

func TestClockSetBackRepeatsNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		job := w.add("minute", "* * * * *", "UTC")
		defer w.up()()
		seen := map[time.Time]bool{}
		watch := func(minutes int) (launched int) {
			for range minutes {
				time.Sleep(time.Minute)
				synctest.Wait()
				w.finish(OutcomeDone)
			}
			w.desk.mu.Lock()
			defer w.desk.mu.Unlock()
			for _, r := range w.desk.runs {
				if seen[r.Due] {
					t.Errorf("%s ran twice", r.Due)
				}
				seen[r.Due] = true
				launched++
			}
			w.desk.runs = nil
			return launched
		}
		watch(90)
		w.jump(-time.Hour)
		if got := watch(59); got != 0 {
			t.Errorf("%d runs in the repeated hour", got)
		}
		if got := watch(10); got < 9 {
			t.Errorf("%d runs in the ten minutes after it", got)
		}
		if got := w.history(job.ID); len(got) != 20 {
			t.Errorf("the history holds %d runs, want 20", len(got))
		}
	})
}

func TestClockThatWasAheadDelaysNothing(t *testing.T) {
	for _, ahead := range []time.Duration{5 * time.Hour, 24 * 365 * 10 * time.Hour} {
		t.Run(ahead.String(), func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.add("hour", "0 * * * *", "UTC")
				defer w.up()()
				w.sleepTo(1, 1, 10)
				w.finish(OutcomeDone)
				w.jump(ahead)
				time.Sleep(heartbeat)
				synctest.Wait()
				w.finish(OutcomeDone)
				w.jump(-ahead)
				w.desk.mu.Lock()
				w.desk.lines = nil
				w.desk.mu.Unlock()
				for hour := 2; hour < 6; hour++ {
					w.sleepTo(1, hour, 0)
					w.expect(fmt.Sprintf("run hour due 01 %02d:00:00", hour))
					w.finish(OutcomeDone)
				}
			})
		})
	}
}

func TestRefusedLaunchIsReportedOnce(t *testing.T) {
	for name, refuse := range map[string]func(Run) error{
		"error": func(Run) error { return errors.New("no agent of that name") },
		"panic": func(Run) error { panic("no agent of that name") },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(w *world) {
				w.desk.refuse = func(r Run) error {
					if r.Job.Title == "bad" {
						return refuse(r)
					}
					return nil
				}
				bad := w.add("bad", "0 9 * * *", "UTC")
				w.add("good", "0 9 * * *", "UTC")
				defer w.up()()
				w.sleepTo(1, 10, 0)
				w.desk.mu.Lock()
				lines := strings.Join(w.desk.lines, "\n")
				w.desk.mu.Unlock()
				if strings.Count(lines, "report") != 1 || !strings.Contains(lines, "no agent of that name") || !strings.Contains(lines, "run good") {
					t.Errorf("the desk got:\n%s", lines)
				}
				if n := strings.Count(w.log.String(), "level=ERROR"); n != 1 || !strings.Contains(w.log.String(), "job="+string(bad.ID)) {
					t.Errorf("the log has %d errors:\n%s", n, w.log.String())
				}
				if got := w.history(bad.ID); len(got) != 1 || got[0].Outcome != OutcomeFailed || got[0].Ended.IsZero() {
					t.Errorf("the history is %+v", got)
				}
				if got := w.get(bad.ID); got.Running != "" || got.State != StateActive {
					t.Errorf("the job is %+v", got)
				}
			})
		})
	}
}

func TestNobodyToReportTo(t *testing.T) {
	inWorld(t, func(w *world) {
		w.desk.deaf, w.desk.refuse = true, func(Run) error { return errors.New("nobody is at home") }
		failed := w.add("failed", "0 9 * * *", "UTC")
		missed := w.add("missed", "0 2 * * *", "UTC")
		gone := w.add("gone", "0 3 * * *", "UTC")
		gone.Zone = "Mars/Base"
		must(w, func(tx *store.Tx) (any, error) { return nil, jobTable.Put(tx, gone.ID, gone) })
		w.sleepTo(1, 8, 0)
		defer w.up()()
		w.sleepTo(1, 12, 0)
		for id, want := range map[store.JobID]Outcome{failed.ID: OutcomeFailed, missed.ID: OutcomeMissed} {
			if got := w.history(id); len(got) != 1 || got[0].Outcome != want {
				t.Errorf("the history is %+v, want one %s", got, want)
			}
		}
		if got := w.get(gone.ID); got.State != StatePaused {
			t.Errorf("the job without a zone is %s", got.State)
		}
		if n := strings.Count(w.log.String(), "level=ERROR"); n != 6 {
			t.Errorf("%d errors in four hours, want 2 of each job:\n%s", n, w.log.String())
		}
	})
}

func TestZoneThatIsGonePausesTheJob(t *testing.T) {
	inWorld(t, func(w *world) {
		job := w.add("news", "0 9 * * *", "UTC")
		job.Zone = "Mars/Base"
		must(w, func(tx *store.Tx) (any, error) { return nil, jobTable.Put(tx, job.ID, job) })
		defer w.up()()
		w.sleepTo(1, 12, 0)
		w.expect(`report This job is paused: the time zone "Mars/Base" is not known; give an IANA name, such as Europe/Rome.`)
		if got := w.get(job.ID); got.State != StatePaused || got.Reason == "" {
			t.Errorf("the job is %+v", got)
		}
	})
}

func TestZoneRulesThatChangedMoveTheNextTime(t *testing.T) {
	inWorld(t, func(w *world) {
		job := w.add("news", "0 9 * * *", "Europe/Rome")
		job.NextAt = job.NextAt.Add(time.Hour) // as older rules would have it
		must(w, func(tx *store.Tx) (any, error) { return nil, jobTable.Put(tx, job.ID, job) })
		defer w.up()()
		w.sleepTo(1, 12, 0)
		w.expect("run news due 01 08:00:00")
	})
}

func TestRunIsThereBeforeItStarts(t *testing.T) {
	inWorld(t, func(w *world) {
		job := w.add("news", "0 9 * * *", "UTC")
		var inside []Run
		w.desk.refuse = func(r Run) error { inside = append(inside, r); return errors.New("killed") }
		defer w.up()()
		w.sleepTo(1, 9, 0)
		if len(inside) != 1 || inside[0].Job.Running != inside[0].ID || !inside[0].Job.NextAt.After(inside[0].Due) {
			t.Fatalf("the launcher saw %+v", inside)
		}
		// The refusal rolled the row back: only the failure is there.
		if got := w.history(job.ID); len(got) != 1 || got[0].ID == inside[0].ID {
			t.Errorf("the history is %+v", got)
		}
	})
}

func TestCopyOfTheDatabaseRunsOn(t *testing.T) {
	inWorld(t, func(w *world) {
		w.add("news", "0 9 * * *", "Europe/Rome", func(d *Draft) { d.CreatedBy, d.Home = 7, store.Address{Chat: -100, Topic: 3} })
		path := filepath.Join(t.TempDir(), "copy.db")
		if err := w.db.Backup(path); err != nil {
			t.Fatal(err)
		}
		db, err := store.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		before := must(w, w.jobs.List)
		w.db = db
		after := must(w, NewJobs(db).List)
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("(-before +after):\n%s", diff)
		}
	})
}

func TestForgoLetsDueTimesPass(t *testing.T) {
	inWorld(t, func(w *world) {
		daily := w.add("daily", "0 9 * * *", "UTC", func(*Draft) {})
		later := w.add("later", "0 9 1 6 *", "UTC", func(*Draft) {})
		time.Sleep(49 * time.Hour)
		told := map[store.JobID]string{}
		err := w.db.Update(func(tx *store.Tx) error {
			if _, err := w.jobs.RunNow(tx, later.ID); err != nil {
				return err
			}
			return w.jobs.Forgo(tx, func(_ *store.Tx, job Job, text string) error {
				told[job.ID] = text
				return nil
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(told) != 1 || !strings.Contains(told[daily.ID], "may have run then") {
			t.Errorf("told of %q", told)
		}
		for _, job := range must(w, w.jobs.List) {
			if job.wants(time.Now()) || job.State != StateActive {
				t.Errorf("the clock still has to do with %+v", job)
			}
		}
		if got := w.history(daily.ID); len(got) != 1 || got[0].Outcome != OutcomeMissed {
			t.Errorf("the history is %+v", got)
		}
	})
}
