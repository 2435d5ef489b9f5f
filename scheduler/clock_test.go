package scheduler

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nod/store"
)

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
