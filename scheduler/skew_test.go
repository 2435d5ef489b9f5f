package scheduler

import (
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/store"
)

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
