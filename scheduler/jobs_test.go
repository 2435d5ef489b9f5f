package scheduler

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/store"
)

func TestAddRefuses(t *testing.T) {
	inWorld(t, func(w *world) {
		for _, c := range []struct {
			want   string
			change func(*Draft)
		}{
			{"needs a title", func(d *Draft) { d.Title = " " }},
			{"one line", func(d *Draft) { d.Title = "a\nb" }},
			{"one line", func(d *Draft) { d.Title = strings.Repeat("è", 121) }},
			{"needs a prompt", func(d *Draft) { d.Prompt = "\n" }},
			{"20001 bytes", func(d *Draft) { d.Prompt = strings.Repeat("a", 20_001) }},
			{"needs an agent", func(d *Draft) { d.Agent = "" }},
			{"0 to 7 days", func(d *Draft) { d.Grace = -time.Second }},
			{"0 to 7 days", func(d *Draft) { d.Grace = 8 * 24 * time.Hour }},
			{"once or skip", func(d *Draft) { d.CatchUp = "always" }},
			{"needs a schedule", func(d *Draft) { d.Schedule = Schedule{} }},
		} {
			d := Draft{Task: Task{Title: "news", Prompt: "look", Agent: "main"}, Schedule: mustParse(t, "@daily", "UTC")}
			c.change(&d)
			if job, err := try(w, func(tx *store.Tx) (Job, error) { return w.jobs.Add(tx, d) }); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %+v, %v; want an error that says %q", job, err, c.want)
			}
		}
	})
}

func TestAddFillsIn(t *testing.T) {
	inWorld(t, func(w *world) {
		job := w.add(" news ", "0 9 * * MON-fri", "Europe/Rome")
		want := Job{
			ID: job.ID, Task: Task{Title: "news", Prompt: "look", Agent: "main"}, Spec: "0 9 * * mon-fri", Zone: "Europe/Rome",
			Grace: time.Hour, CatchUp: CatchUpOnce, State: StateActive,
			Created: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), NextAt: time.Date(2000, 1, 3, 8, 0, 0, 0, time.UTC),
		}
		if diff := cmp.Diff(want, w.get(job.ID)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestUnknownJob(t *testing.T) {
	inWorld(t, func(w *world) {
		calls := map[string]func(*store.Tx, store.JobID) (Job, error){
			"Get": w.jobs.Get, "Pause": w.jobs.Pause, "Resume": w.jobs.Resume, "Delete": w.jobs.Delete, "RunNow": w.jobs.RunNow,
		}
		check := func(want string) {
			t.Helper()
			for name, call := range calls {
				for _, id := range []store.JobID{"nosuch", ""} {
					_, err := try(w, func(tx *store.Tx) (Job, error) { return call(tx, id) })
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("%s(%q): %v, want %q", name, id, err, want)
					}
				}
			}
		}
		check("there are no jobs")
		a := w.add("news", "@daily", "UTC")
		time.Sleep(time.Second)
		b := w.add("tea", "@daily", "UTC")
		check("the jobs are " + string(a.ID) + " (news) and " + string(b.ID) + " (tea)")
		for range 30 {
			w.add("more", "@daily", "UTC")
		}
		check("12 more")
	})
}

func TestPauseAndResume(t *testing.T) {
	inWorld(t, func(w *world) {
		job := w.add("news", "0 9 * * *", "UTC")
		defer w.up()()
		paused := must(w, func(tx *store.Tx) (Job, error) { return w.jobs.Pause(tx, job.ID) })
		if paused.State != StatePaused || !paused.NextAt.IsZero() {
			t.Errorf("paused: %+v", paused)
		}
		must(w, func(tx *store.Tx) (Job, error) { return w.jobs.Pause(tx, job.ID) }) // again is no fault
		w.sleepTo(3, 9, 20)
		w.expect()
		for range 2 {
			resumed := must(w, func(tx *store.Tx) (Job, error) { return w.jobs.Resume(tx, job.ID) })
			if want := time.Date(2000, 1, 4, 9, 0, 0, 0, time.UTC); resumed.State != StateActive || !resumed.NextAt.Equal(want) {
				t.Errorf("resumed: %+v", resumed)
			}
		}
		w.sleepTo(4, 9, 0)
		w.expect("run news due 04 09:00:00")
	})
}

func TestDoneJob(t *testing.T) {
	inWorld(t, func(w *world) {
		job := w.addAt("once", "09:00", "UTC")
		defer w.up()()
		w.sleepTo(1, 9, 0)
		w.expect("run once due 01 09:00:00")
		w.finish(OutcomeDone)
		for name, call := range map[string]func(*store.Tx, store.JobID) (Job, error){"nothing to pause": w.jobs.Pause, "no due time left": w.jobs.Resume} {
			if _, err := try(w, func(tx *store.Tx) (Job, error) { return call(tx, job.ID) }); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("got %v, want %q", err, name)
			}
		}
		must(w, func(tx *store.Tx) (Job, error) { return w.jobs.RunNow(tx, job.ID) })
		w.expect("run once due 01 09:00:01")
		if got := w.history(job.ID); len(got) != 2 || !got[0].Manual || got[1].Manual {
			t.Errorf("the history is %+v", got)
		}
	})
}

func TestRunNow(t *testing.T) {
	inWorld(t, func(w *world) {
		job := w.add("news", "0 9 * * *", "UTC")
		runNow := func(tx *store.Tx) (Job, error) { return w.jobs.RunNow(tx, job.ID) }
		must(w, func(tx *store.Tx) (Job, error) { return w.jobs.Pause(tx, job.ID) })
		must(w, runNow) // while nod is down
		w.sleepTo(1, 3, 0)
		defer w.up()()
		w.expect("run news due 01 00:00:00")
		if _, err := try(w, runNow); err == nil || !strings.Contains(err.Error(), "running already") {
			t.Errorf("got %v", err)
		}
		w.finish(OutcomeStopped)
		must(w, runNow)
		w.expect("run news due 01 03:00:01")
		if got := w.get(job.ID); got.State != StatePaused || !got.Asked.IsZero() {
			t.Errorf("the job is %+v", got)
		}
	})
}

func TestRunByHandTakesNoDueTime(t *testing.T) {
	inWorld(t, func(w *world) {
		job := w.add("news", "0 9 * * *", "UTC")
		defer w.up()()
		time.Sleep(9*time.Hour - time.Second)
		must(w, func(tx *store.Tx) (Job, error) { return w.jobs.RunNow(tx, job.ID) })
		w.expect("run news due 01 08:59:59")
		w.finish(OutcomeDone)
		time.Sleep(time.Second)
		w.expect("run news due 01 09:00:00")
		w.finish(OutcomeDone)
		must(w, func(tx *store.Tx) (Job, error) { return w.jobs.RunNow(tx, job.ID) })
		w.expect("run news due 01 09:00:00")
		if got := w.history(job.ID); len(got) != 3 {
			t.Errorf("the history holds %d runs, want 3", len(got))
		}
	})
}

func TestDeleteUnderARun(t *testing.T) {
	inWorld(t, func(w *world) {
		job := w.add("news", "0 9 * * *", "UTC")
		defer w.up()()
		w.sleepTo(1, 9, 0)
		w.expect("run news due 01 09:00:00")
		must(w, func(tx *store.Tx) (Job, error) { return w.jobs.Delete(tx, job.ID) })
		run := w.desk.runs[0]
		must(w, func(tx *store.Tx) (any, error) { return nil, w.jobs.Finish(tx, run.ID, OutcomeDone, "") })
		if got := must(w, w.jobs.List); len(got) != 0 {
			t.Errorf("the book holds %+v", got)
		}
		w.sleepTo(3, 9, 0)
		w.expect()
	})
}

func TestFinish(t *testing.T) {
	inWorld(t, func(w *world) {
		job := w.add("news", "0 9 * * *", "UTC")
		defer w.up()()
		w.sleepTo(1, 9, 0)
		run := w.desk.runs[0]
		finish := func(o Outcome, summary string) error {
			_, err := try(w, func(tx *store.Tx) (any, error) { return nil, w.jobs.Finish(tx, run.ID, o, summary) })
			return err
		}
		for _, o := range []Outcome{OutcomeRunning, OutcomeMissed, ""} {
			if finish(o, "") == nil {
				t.Errorf("a run ended as %q", o)
			}
		}
		for _, err := range []error{finish(OutcomeDone, "two\n\nlines "+strings.Repeat("ü", 400)), finish(OutcomeFailed, "too late")} {
			if err != nil {
				t.Error(err)
			}
		}
		got := w.history(job.ID)[0]
		if got.Outcome != OutcomeDone || !strings.HasPrefix(got.Summary, "two lines ü") || len([]rune(got.Summary)) != 300 || got.Ended.IsZero() {
			t.Errorf("the run is %+v", got)
		}
	})
}

func TestBookIsBounded(t *testing.T) {
	inWorld(t, func(w *world) {
		must(w, func(tx *store.Tx) (any, error) {
			for i := range maxJobs - 1 + 40 {
				job := Job{ID: store.NewJobID(), Zone: "UTC", Spec: "@daily", State: StateActive, NextAt: year(2001), Created: year(1990 + i%10)}
				if i < 40 {
					job.State, job.NextAt = StateDone, time.Time{}
				}
				if err := jobTable.Put(tx, job.ID, job); err != nil {
					return nil, err
				}
			}
			return nil, nil
		})
		w.add("the last one", "@daily", "UTC")
		all, done := must(w, w.jobs.List), 0
		for _, j := range all {
			if j.State == StateDone {
				done++
			}
		}
		if done > maxDone || len(all)-done != maxJobs {
			t.Errorf("%d jobs and %d done ones", len(all)-done, done)
		}
		_, err := try(w, func(tx *store.Tx) (Job, error) {
			return w.jobs.Add(tx, Draft{Task: Task{Title: "a", Prompt: "b", Agent: "main"}, Schedule: mustParse(t, "@daily", "UTC")})
		})
		if err == nil || !strings.Contains(err.Error(), "delete one first") {
			t.Errorf("got %v", err)
		}
	})
}

func TestNote(t *testing.T) {
	due := year(2026)
	for _, c := range []struct {
		late  time.Duration
		since time.Time
		want  string
	}{
		{0, time.Time{}, ""},
		{59 * time.Second, time.Time{}, ""},
		{time.Minute, time.Time{}, "this run was due on Thu 1 Jan 00:00 (UTC) and starts 1 min late"},
		{61 * time.Minute, time.Time{}, "this run was due on Thu 1 Jan 00:00 (UTC) and starts 1 h 1 min late"},
		{50 * time.Hour, time.Time{}, "this run was due on Thu 1 Jan 00:00 (UTC) and starts 2 d 2 h late"},
		{0, due.Add(-time.Hour), "earlier due times since Wed 31 Dec 23:00 (UTC) were missed"},
	} {
		r := Run{Job: Job{Zone: "UTC"}, Due: due, Started: due.Add(c.late), Since: c.since}
		if got := r.Note(); got != c.want {
			t.Errorf("%s late: %q, want %q", c.late, got, c.want)
		}
	}
}
