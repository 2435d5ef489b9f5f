package agent

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/agent/llm/scripted"
	"nod/approvals"
	"nod/scheduler"
	"nod/store"
	"nod/tools"
)

// thousands is the usage of an answer that used so many thousands of tokens, at the test model's dollar a million.
func thousands(n int) scripted.Usage { return scripted.Usage{In: n * 1000} }

func withSpending(s Spending) rigOption { return func(r *rig) { r.spending = s } }

// capped waits for a turn that a cap ended.
func (r *rig) capped(want CapError) {
	r.Helper()
	failed := sees(r, anyOf[TurnFailed])
	got, ok := errors.AsType[*CapError](failed.Err)
	if !ok {
		r.Fatalf("it failed with %v", failed.Err)
	}
	if diff := cmp.Diff(want, *got); diff != "" {
		r.Error(diff)
	}
}

func (r *rig) spentToday() (usd float64) {
	r.Helper()
	r.look(func(tx *store.Tx) (err error) {
		usd, err = r.driver.SpentToday(tx)
		return err
	})
	return usd
}

func TestTheDaysCapStopsBeforeTheNextCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // begins at midnight UTC
		r := newRig(t, withSpending(Spending{Daily: 1, Zone: time.FixedZone("", -2*3600)}))
		r.script.Push(scripted.Say("one").Usage(thousands(600)), scripted.Say("two").Usage(thousands(500)))
		r.say("a")
		r.answered("one")
		r.submit(message(store.Address{Chat: 43}, "b")) // all sessions count
		r.answered("two")
		r.say("c")
		r.capped(CapError{Cap: 1, Spent: 1.1})
		if n := len(r.model.Requests()); n != 2 {
			t.Errorf("the model was asked %d times", n)
		}

		r.restart()
		r.say("d")
		r.capped(CapError{Cap: 1, Spent: 1.1})

		r.view.reset()
		time.Sleep(2 * time.Hour) // the day ends at two: the zone's midnight
		if spent := r.spentToday(); spent != 0 {
			t.Errorf("the new day began with $%v", spent)
		}
		r.script.Push(scripted.Say("three").Usage(thousands(100)))
		r.say("e")
		r.answered("three")
		if spent := r.spentToday(); spent != 0.1 {
			t.Errorf("the new day has cost $%v", spent)
		}
	})
}

func TestAJobsCapEndsItsRunAndNotTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, withSpending(Spending{Job: 0.5}))
		job := r.addJob("it", store.Address{})
		defer r.clock()()
		step := scripted.Call("free_it", text("a")).Usage(thousands(300))
		r.script.Push(step, step)
		time.Sleep(9*time.Hour + time.Second)
		r.capped(CapError{Job: true, Cap: 0.5, Spent: 0.6})
		if run := r.awaitRun(job.ID, scheduler.OutcomeFailed); run.Summary != "this run has cost $0.60, and its cap is $0.50" {
			t.Errorf("the run's end: %q", run.Summary)
		}
		if n := len(r.hands.runs()); n != 2 {
			t.Errorf("%d calls ran: what was answered is done, what is not is not asked for", n)
		}

		r.script.Push(scripted.Say("fine").Usage(thousands(400)))
		time.Sleep(24 * time.Hour)
		r.answered("fine")

		r.script.Push(scripted.Say("dear").Usage(thousands(900)), scripted.Say("and again").Usage(thousands(900)))
		r.say("a person's turns have no such cap")
		r.answered("dear")
		r.say("really")
		r.answered("and again")
	})
}

func TestWhatNobodyStatedIsGuessed(t *testing.T) {
	for name, reply := range map[string]scripted.Reply{
		"no usage": scripted.Say("a long answer").Usage(scripted.Usage{}),
		"cut off":  scripted.Say("a long answer").Cut(),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, withSpending(Spending{Daily: 1}))
				r.script.Push(reply)
				r.say("a")
				r.until("the end", func() bool { return r.session(here).Turn == "" })
				if r.spentToday() == 0 {
					t.Error("it cost nothing")
				}
			})
		})
	}
	t.Run("stopped", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, withSpending(Spending{Daily: 1}))
			r.script.Push(scripted.Think("hm").Sleep(time.Hour).Say("no"))
			r.say("a")
			time.Sleep(time.Second)
			r.stop()
			sees(r, anyOf[TurnStopped])
			if r.spentToday() == 0 {
				t.Error("it cost nothing")
			}
		})
	})
	t.Run("refused", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, withSpending(Spending{Daily: 1}))
			refusal := scripted.Fail(401, "", "no")
			r.script.Push(refusal, refusal)
			r.say("a")
			sees(r, anyOf[TurnFailed])
			if spent := r.spentToday(); spent != 0 {
				t.Errorf("it cost $%v", spent)
			}
		})
	})
}

func TestCompactionsCountAndAreCapped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, withSpending(Spending{Daily: 1}))
		there := store.Address{Chat: 43}
		r.script.Push(scripted.Say("one").Usage(thousands(10)), scripted.Say("two").Usage(thousands(10)), scripted.Say("a summary").Usage(thousands(980)))
		r.say("a")
		r.answered("one")
		r.submit(message(there, "b"))
		r.answered("two")
		compact := func(at store.Address) {
			r.update(func(tx *store.Tx) error {
				_, err := r.driver.Compact(tx, at)
				return err
			})
		}
		compact(here)
		sees(r, func(e Compacted) bool { return e.Err == nil })
		if spent := r.spentToday(); spent != 1 {
			t.Errorf("the day has cost $%v", spent)
		}
		compact(there)
		sees(r, func(e Compacted) bool {
			var capped *CapError
			return errors.As(e.Err, &capped)
		})
		if n := len(r.model.Requests()); n != 3 {
			t.Errorf("the model was asked %d times", n)
		}
	})
}

func TestOldSpendingIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		for range 40 {
			r.script.Push(scripted.Say("fine").Usage(thousands(1)))
			r.say("a")
			r.until("the answer", func() bool { return r.session(here).Turn == "" })
			time.Sleep(24 * time.Hour)
		}
		days := 0
		r.look(func(tx *store.Tx) error {
			return spendings.Scan(tx, nil, func(store.Text, spent) (bool, error) { days++; return true, nil })
		})
		if days > 33 {
			t.Errorf("%d days are remembered", days)
		}
	})
}

// TestAJobPaysForItsSubAgents: what they cost counts for the run, in each of them and above, also after a restart.
func TestAJobPaysForItsSubAgents(t *testing.T) {
	for name, restarts := range map[string]bool{"in one process": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, c := newCast(t, withSpending(Spending{Job: 1}))
				c.on(jobCast("mail"), scripted.Call(tools.ExecuteSubtask, subtask("sort")).Usage(thousands(300)))
				c.on("sort", scripted.Call(tools.ExecuteSubtask, subtask("read")).Usage(thousands(300)))
				c.on("read", scripted.Call("do_it", text("a")).Usage(thousands(500)))
				r.job("mail")
				card := r.card(0)
				if restarts {
					r.restart()
				}
				r.decide(card, approvals.VerbApprove)
				for _, depth := range []int{2, 1, 0} {
					failed := sees(r, func(e TurnFailed) bool { return e.Turn.Depth == depth })
					if got, ok := errors.AsType[*CapError](failed.Err); !ok || *got != (CapError{Job: true, Cap: 1, Spent: 1.1}) {
						t.Errorf("at depth %d it failed with %v", depth, failed.Err)
					}
				}
				if n := len(r.model.Requests()); n != 3 {
					t.Errorf("the model was asked %d times", n)
				}
			})
		})
	}
}

// TestCallsThatCostSomethingCount for the day, for the job's run and for the sessions that they were made for, of which a
// sub-agent makes one here; at the cap the next is refused before it runs.
func TestCallsThatCostSomethingCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, c := newCast(t, withSpending(Spending{Job: 1}), func(r *rig) { r.hands.price = 0.32 })
		buy := scripted.Call("free_it", text("a")).Usage(thousands(100))
		c.on(jobCast("mail"), buy, scripted.Call(tools.ExecuteSubtask, subtask("sort")).Usage(thousands(100)))
		c.on("sort", buy, buy)
		r.job("mail")
		failed := sees(r, func(e TurnFailed) bool { return e.Turn.Depth == 0 })
		if got, ok := errors.AsType[*CapError](failed.Err); !ok || !got.Job {
			t.Fatalf("it failed with %v", failed.Err)
		}
		if n := len(r.hands.runs()); n != 2 {
			t.Errorf("%d calls ran", n)
		}
		if e := r.outcome("free_it", 2); e.State != tools.Rejected || e.Outcome.Text != "Not run: this run has cost $1.04, and its cap is $1.00." || e.Cost != 0 {
			t.Errorf("the third is %+v", e)
		}
		if spent := r.spentToday(); spent < 1.039 || spent > 1.041 {
			t.Errorf("the day has cost $%v", spent)
		}
		var above Session
		r.look(func(tx *store.Tx) (err error) {
			above, _, err = sessions.Get(tx, failed.Turn.Session)
			return err
		})
		if diff := cmp.Diff(map[string]Paid{"free_it": {Calls: 2, USD: 0.64}}, above.Paid); diff != "" {
			t.Error(diff)
		}
	})
}

// TestWhatBelongsToNoTurn is capped by the day alone.
func TestWhatBelongsToNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, withSpending(Spending{Daily: 1, Job: 0.1}))
		for range 2 {
			if err := errors.Join(r.driver.Affordable(), r.driver.PayToday(0.5)); err != nil {
				t.Fatal(err)
			}
		}
		want := CapError{Cap: 1, Spent: 1}
		if got, ok := errors.AsType[*CapError](r.driver.Affordable()); !ok || *got != want {
			t.Errorf("got %v", got)
		}
		r.say("a")
		r.capped(want)
	})
}
