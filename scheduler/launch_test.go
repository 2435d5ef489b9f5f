package scheduler

import (
	"errors"
	"strings"
	"testing"
	"time"

	"nod/store"
)

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
