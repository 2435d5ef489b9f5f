package agent

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/agent/llm/scripted"
	"nod/approvals"
	"nod/scheduler"
	"nod/store"
)

// addJob enters a daily job at nine.
func (r *rig) addJob(title string, home store.Address) (j scheduler.Job) {
	r.Helper()
	schedule, err := scheduler.Parse("0 9 * * *", time.UTC)
	if err != nil {
		r.Fatal(err)
	}
	r.update(func(tx *store.Tx) (err error) {
		j, err = r.jobs.Add(tx, scheduler.Draft{
			Task: scheduler.Task{Title: title, Prompt: "Look at " + title + ".", Agent: MainAgent, CreatedBy: owner, Home: home}, Schedule: schedule,
		})
		return err
	})
	return j
}

// clock runs the scheduler until end is called.
func (r *rig) clock() (end func()) {
	done := make(chan error)
	ctx, cancel := context.WithCancel(r.Context())
	go func() { done <- scheduler.New(r.jobs, r.driver, r.driver.Log).Run(ctx) }()
	return func() {
		r.Helper()
		cancel()
		if err := <-done; err != nil {
			r.Error(err)
		}
	}
}

func (r *rig) history(id store.JobID) (all []scheduler.Run) {
	r.Helper()
	r.look(func(tx *store.Tx) (err error) {
		all, err = r.jobs.History(tx, id)
		return err
	})
	return all
}

// awaitRun waits until a job's last run has an outcome.
func (r *rig) awaitRun(id store.JobID, want scheduler.Outcome) scheduler.Run {
	r.Helper()
	r.until("the run to be "+string(want), func() bool {
		all := r.history(id)
		return len(all) > 0 && all[0].Outcome == want
	})
	return r.history(id)[0]
}

func TestJobsRunInASessionOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.chat(1)
		there := store.Address{Chat: -9, Topic: 2}
		job := r.addJob("mail", there)
		defer r.clock()()
		r.script.Push(scripted.Say("I look.").Call("read_it", text("inbox")), scripted.Say("Three letters."))
		time.Sleep(9*time.Hour + time.Second)
		answer := r.answered("Three letters.")
		turn := answer.Turn
		if turn.Address != there || turn.Cards != there || turn.Source != approvals.Cron || turn.By != 0 || turn.Job != job.ID || turn.Session == r.session(here).ID {
			t.Errorf("the turn is %+v", turn)
		}
		first := r.requests(3)[1]
		if len(first.Messages) != 1 || !strings.Contains(first.LastUser(), "Look at mail.") || !strings.Contains(first.LastUser(), silence) {
			t.Errorf("asked with %q", said(first))
		}
		if run := r.awaitRun(job.ID, scheduler.OutcomeDone); run.Summary != "Three letters." || run.ID != turn.Run {
			t.Errorf("the run is %+v", run)
		}
		if n := count(r.view, func(e Streaming) bool { return e.Turn.ID == turn.ID }); n != 0 {
			t.Error("a job's answer was shown as it came")
		}
	})
}

func TestJobsWithNothingToReportSayNothing(t *testing.T) {
	for answer, want := range map[string]bool{
		silence: true, "nothing to report.": true, "**Nothing to report**": true, " NOTHING TO REPORT\n": true,
		"Nothing to report about cats, but a dog came.": false, "There is nothing to report": false,
	} {
		if got := nothingToReport(answer); got != want {
			t.Errorf("%q is silence: %v", answer, got)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		job := r.addJob("cats", store.Address{})
		defer r.clock()()
		r.script.Push(scripted.Say("Nothing to report."))
		time.Sleep(9*time.Hour + time.Second)
		r.awaitRun(job.ID, scheduler.OutcomeDone)
		if e := sees(r, anyOf[TurnAnswered]); e.Text != "" || e.Turn.Address != here {
			t.Errorf("%q to %v", e.Text, e.Turn.Address)
		}
	})
}

func TestJobsThatEndBadly(t *testing.T) {
	for name, tt := range map[string]struct {
		reply scripted.Reply
		then  func(*rig)
		want  scheduler.Outcome
	}{
		"failed":  {scripted.Say("I ").Cut(), func(*rig) {}, scheduler.OutcomeFailed},
		"stopped": {scripted.Call("do_it", text("a")), (*rig).stopAll, scheduler.OutcomeStopped},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				job := r.addJob("it", store.Address{})
				defer r.clock()()
				r.script.Push(tt.reply)
				time.Sleep(9*time.Hour + time.Second)
				synctest.Wait()
				tt.then(r)
				r.awaitRun(job.ID, tt.want)
			})
		})
	}
}

func (r *rig) stopAll() {
	r.update(func(tx *store.Tx) error {
		_, err := r.driver.StopAll(tx)
		return err
	})
}

// TestRunsThatARestartCutOff: a run is not repeated, unless all that is left of it is for a person to decide.
func TestRunsThatARestartCutOff(t *testing.T) {
	t.Run("while the model answered", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			job := r.addJob("it", store.Address{})
			end := r.clock()
			r.script.Push(scripted.Say("So").Sleep(time.Hour))
			time.Sleep(9*time.Hour + time.Second)
			r.requests(1)
			end()
			r.restart()
			if e := sees(r, anyOf[TurnFailed]); e.Err != ErrInterrupted {
				t.Errorf("%v", e.Err)
			}
			r.awaitRun(job.ID, scheduler.OutcomeInterrupted)
			if len(r.model.Requests()) != 1 {
				t.Error("the model was asked again")
			}
		})
	})
	t.Run("while a card waited", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			job := r.addJob("it", store.Address{})
			end := r.clock()
			r.script.Push(scripted.Call("do_it", text("a")))
			time.Sleep(9*time.Hour + time.Second)
			card := r.card(0)
			if card.Request.Job != "it" || card.Request.Source != approvals.Cron {
				t.Errorf("the card is for %+v", card.Request)
			}
			end()
			r.restart()
			r.script.Push(scripted.Say("done"))
			r.decide(card, approvals.VerbApprove)
			r.answered("done")
			r.awaitRun(job.ID, scheduler.OutcomeDone)
			if diff := cmp.Diff([]string{"a"}, r.hands.runs()); diff != "" {
				t.Error(diff)
			}
		})
	})
	t.Run("after it was stopped", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			job := r.addJob("it", store.Address{})
			end := r.clock()
			r.script.Push(scripted.Say("So").Sleep(time.Hour))
			time.Sleep(9*time.Hour + time.Second)
			r.requests(1)
			end()
			r.end()
			r.offline(func(tx *store.Tx) error {
				_, err := NewDriver(Config{}).StopAll(tx)
				return err
			})
			r.start()
			r.awaitRun(job.ID, scheduler.OutcomeStopped)
		})
	})
	t.Run("whose turn was never begun", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			synctest.Wait() // until it runs, or it would take the run for an earlier process's
			job := r.addJob("it", store.Address{})
			r.update(func(tx *store.Tx) error { _, err := r.jobs.RunNow(tx, job.ID); return err })
			// A launcher that files nothing stands for a run whose session is gone.
			ctx, cancel := context.WithCancel(r.Context())
			done := make(chan error)
			go func() { done <- scheduler.New(r.jobs, nowhere{}, r.driver.Log).Run(ctx) }()
			r.until("the run", func() bool { return len(r.history(job.ID)) == 1 })
			cancel()
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			r.restart()
			if e := sees(r, anyOf[JobReported]); e.Address != here || e.Title != "it" || !strings.Contains(e.Text, "Interrupted") {
				t.Errorf("%+v", e)
			}
			r.awaitRun(job.ID, scheduler.OutcomeInterrupted)
		})
	})
}

// nowhere is a launcher that loses what it is given.
type nowhere struct{}

func (nowhere) Launch(*store.Tx, scheduler.Run) error         { return nil }
func (nowhere) Report(*store.Tx, scheduler.Job, string) error { return nil }

func TestLateRunsAreNoted(t *testing.T) {
	got := jobWords(scheduler.Run{
		Job: scheduler.Job{Task: scheduler.Task{Title: "mail", Prompt: "Look."}}, CatchUp: true,
		Due: time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC), Started: time.Date(2026, 1, 1, 9, 40, 0, 0, time.UTC),
	})
	if !strings.HasSuffix(got, "\nLook.") || strings.Count(got, "\n") != 2 {
		t.Errorf("%q", got)
	}
}
