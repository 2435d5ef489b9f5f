package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"nod/approvals"
	"nod/scheduler"
	"nod/store"
	"nod/tools"
)

// executions and nods are records of the victim, read and, by a control, changed between its starts.
var (
	executions = store.NewTable[store.CallID, tools.Execution]("executions", store.ParseCallID)
	nods       = store.NewTable[store.ApprovalID, approvals.Pending]("approvals", store.ParseApprovalID)
	liveNods   = store.NewTable[store.ApprovalID, time.Time]("approvals_live", store.ParseApprovalID)
	nodsOfCall = store.NewTable[store.CallID, store.ApprovalID]("approvals_calls", store.ParseCallID)
)

// open opens the database of the dead.
func (w *crashWorld) open(fn func(db *store.DB, tx *store.Tx) error) {
	w.t.Helper()
	db, err := store.Open(filepath.Join(w.home, databaseName))
	if err != nil {
		w.t.Fatalf("after a kill: %v", err)
	}
	if err := db.Update(func(tx *store.Tx) error { return fn(db, tx) }); err != nil {
		w.t.Errorf("after a kill: %v", err)
	}
	if err := db.Close(); err != nil {
		w.t.Error(err)
	}
}

// cutOff lists the calls with effects whose outcome is unknown.
func cutOff(tx *store.Tx) (calls []tools.Execution, err error) {
	err = executions.Scan(tx, nil, func(_ store.CallID, e tools.Execution) (bool, error) {
		if e.State == tools.Running && e.Effect == tools.Write {
			calls = append(calls, e)
		}
		return true, nil
	})
	return calls, err
}

// look notes what a kill has cut off.
func (k *killer) look() {
	k.w.open(func(db *store.DB, tx *store.Tx) error {
		calls, err := cutOff(tx)
		if err != nil {
			return err
		}
		for _, e := range calls {
			k.unknown[e.Call] = errandForm.FindString(string(e.Args))
		}
		running, err := scheduler.NewJobs(db).Running(tx)
		k.runCut = len(running) > 0
		for _, r := range running {
			k.runs[r.ID] = true
		}
		return err
	})
}

// owner is the person whose errand it is.
func (w *crashWorld) owner(errand string) *crashPerson {
	at := slices.IndexFunc(w.people, func(p *crashPerson) bool { return strings.Contains(errand, "-"+p.name+"-") })
	return w.people[max(at, 0)]
}

// untold lists the interrupted calls that nobody was told of.
func (k *killer) untold() (errands []string) {
	for _, errand := range k.unknown {
		if !k.w.owner(errand).toldInterrupted(errand) {
			errands = append(errands, errand)
		}
	}
	return errands
}

// reports counts what was told of interrupted runs of the job.
func (k *killer) reports() (n int) {
	for _, m := range k.w.people[0].Messages() {
		if m.From.IsBot && strings.Contains(m.Shown(), "nod was restarted while this ran") {
			n++
		}
	}
	return n
}

// awaitTold gives the last reports the time that the chat's pace takes.
func (k *killer) awaitTold(limit time.Duration) {
	ctx, cancel := context.WithTimeout(k.w.t.Context(), limit)
	defer cancel()
	_ = k.w.telegram.Wait(ctx, func() bool {
		return len(k.untold()) == 0 && k.reports() >= len(k.runs) && len(k.w.count().openCards) == 0
	}) // judge tells
}

// ran counts the runs of each errand's command.
func (w *crashWorld) ran() map[string]int {
	raw, err := os.ReadFile(filepath.Join(w.workspace, runsFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Fatal(err)
	}
	runs := map[string]int{}
	for line := range strings.Lines(string(raw)) {
		runs[strings.TrimSpace(line)]++
	}
	return runs
}

// tally is what became of everything.
type tally struct {
	messages, commands, answers, stops int
	lost, twice, neverRun, openCards   []string
	toldTwice                          []string // results of tasks, and notifications
	duplicates                         int
}

func (w *crashWorld) count() (sum tally) {
	runs := w.ran()
	for _, p := range w.people {
		sum.messages += len(p.sent) + p.commands
		sum.answers += p.answers
		sum.stops += len(p.stopped)
		sum.lost = append(sum.lost, p.lost...)
		sum.openCards = append(sum.openCards, p.openCards()...)
		sum.duplicates += p.duplicates()
		for _, errand := range p.sent {
			if runs[errand] > 1+p.repeats[errand] {
				sum.twice = append(sum.twice, errand)
			}
			if p.told(errand) > 1 {
				sum.toldTwice = append(sum.toldTwice, errand)
			}
		}
		for errand := range p.approved {
			if strings.HasPrefix(errand, errandJob) {
				continue
			}
			sum.commands++
			if runs[errand] == 0 && !p.stopped[errand] && !p.toldInterrupted(errand) {
				sum.neverRun = append(sum.neverRun, errand)
			}
		}
	}
	return sum
}

// notified lists what a job has notified of, but for what may still have been on its way at the end.
func (w *crashWorld) notified() (news []string) {
	w.open(func(_ *store.DB, tx *store.Tx) error {
		return executions.Scan(tx, nil, func(_ store.CallID, e tools.Execution) (bool, error) {
			if e.Tool == tools.Notify && e.State == tools.Completed && time.Since(e.Ended) > 10*time.Second {
				news = append(news, newsForm.FindString(string(e.Args)))
			}
			return true, nil
		})
	})
	return news
}

// judge prints the figures and fails the test for each that is not what was promised.
func (k *killer) judge() {
	t, sum, untold := k.w.t, k.w.count(), k.untold()
	refused, misread := k.w.model.faults()
	news := k.w.notified()
	untoldNews := slices.DeleteFunc(slices.Clone(news), func(n string) bool { return k.w.people[0].told(n) > 0 })
	for _, n := range news {
		if k.w.people[0].told(n) > 1 {
			sum.toldTwice = append(sum.toldTwice, n)
		}
	}
	inWindows := 0
	for _, n := range k.windows {
		inWindows += n
	}
	t.Logf("%d kills (%d in %d windows, %d at random): %d messages, %d lost; %d commands approved, %d run twice, %d never run without being told; "+
		"%d unknown outcomes, %d told; %d cut-off runs of a job, %d told; %d questions answered, %d answers misread; %d duplicate replies; "+
		"%d notifications, %d told; %d requests refused; %d processes at kills, 0 left",
		inWindows+k.random, inWindows, len(k.windows), k.random, sum.messages, len(sum.lost), sum.commands, len(sum.twice), len(sum.neverRun),
		len(k.unknown), len(k.unknown)-len(untold), len(k.runs), min(k.reports(), len(k.runs)), sum.answers, len(misread), sum.duplicates,
		len(news), len(news)-len(untoldNews), len(refused), k.alive)
	for what, list := range map[string][]string{
		"lost": sum.lost, "run twice": sum.twice, "neither run nor told": sum.neverRun, "of unknown outcome and not told": untold,
		"answers to questions taken for messages": misread, "refused by the model service": refused, "cards with buttons after a press": sum.openCards,
		"results and notifications told twice": sum.toldTwice, "notifications not told": untoldNews,
	} {
		if len(list) > 0 {
			t.Errorf("%s: %q", what, list)
		}
	}
	if k.reports() < len(k.runs) {
		t.Errorf("%d runs of the job were cut off, %d told", len(k.runs), k.reports())
	}
	if sum.duplicates > inWindows+k.random {
		t.Errorf("more than one duplicate reply for each kill: %d", sum.duplicates)
	}
	if len(k.unknown) == 0 || sum.answers == 0 || sum.stops == 0 || k.alive == 0 || len(k.runs) == 0 || len(news) == 0 {
		t.Error("the kills did not meet all that they are meant to meet")
	}
}
