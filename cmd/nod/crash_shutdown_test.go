package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestFILE5_ASecondStartOnTheSameHome ends at once with a clear message, and does not disturb the first.
func TestFILE5_ASecondStartOnTheSameHome(t *testing.T) {
	w := newCrashWorld(t, 1, nil)
	p := w.people[0]
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	first := w.launch("")
	p.perform(ctx, errandSay)
	w.launch("").awaitExit(exitFailure, time.Now().Add(10*time.Second))
	if log := w.logTail(3); !strings.Contains(log, "in use by another nod") {
		t.Errorf("the second start said:\n%s", log)
	}
	p.perform(ctx, errandCmd)
	first.terminate()
	if sum := w.count(); len(sum.lost)+len(sum.twice)+len(sum.neverRun)+sum.duplicates > 0 {
		t.Errorf("the first start was disturbed: %+v", sum)
	}
}

// TestTerminateInTheMiddle ends nod while it is doing one thing of each kind. What can end by itself does, and is told
// before the end; the rest goes on after the next start, and nothing is done or said twice.
func TestTerminateInTheMiddle(t *testing.T) {
	w := newCrashWorld(t, 6, nil)
	mulls, waits, sleeps, asks, hangs, late := w.people[0], w.people[1], w.people[2], w.people[3], w.people[4], w.people[5]
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	nod := w.launch("")
	long, asked := sleeps.say(errandStop), asks.say(errandCmd)
	if !sleeps.until(ctx, func() bool { return sleeps.approved[long] }) {
		t.Fatal("no card came")
	}
	if _, err := asks.WaitButton(ctx, approveButton); err != nil {
		t.Fatal(err)
	}
	hung, short := hangs.say(errandHang), waits.say(errandWait)
	if !waits.until(ctx, func() bool { return waits.approved[short] }) {
		t.Fatal("no card came")
	}
	w.awaitTrace(ctx, long, short)
	mulled := mulls.say(errandMull)
	for _, errand := range []string{mulled, hung} {
		if err := w.model.awaitAsked(ctx, errand); err != nil {
			t.Fatalf("waiting until the model is asked for %s: %v", errand, err)
		}
	}

	var missed string
	nod.terminate(func() { missed = late.say(errandSay) })
	for p, errand := range map[*crashPerson]string{mulls: mulled, waits: short} {
		if p.answersTo(errand) != 1 {
			t.Errorf("%s could end in time, and was not told before the end:\n%s", errand, p.Transcript())
		}
	}
	w.processesGone()

	nod = w.launch("")
	for p, errand := range map[*crashPerson]string{sleeps: long, asks: asked, hangs: hung, late: missed} {
		p.awaitDone(ctx, errand)
	}
	if !sleeps.toldInterrupted(long) {
		t.Error("the command that was cut off was not told")
	}
	nod.terminate()
	sum := w.count()
	refused, _ := w.model.faults()
	if len(sum.lost)+len(sum.twice)+len(sum.neverRun)+sum.duplicates+len(refused) > 0 {
		t.Errorf("after the restart: %+v; refused: %q", sum, refused)
	}
}

// TestTerminateWithAFullOutbox ends nod while more messages wait than the chat's pace lets out. Each is sent once, before
// the end or after the next start.
func TestTerminateWithAFullOutbox(t *testing.T) {
	const messages = 10
	w := newCrashWorld(t, 1, nil)
	p := w.people[0]
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	nod := w.launch("")
	for range messages {
		p.SendText("/id")
	}
	answers := func() (n int) {
		for _, m := range p.Messages() {
			if m.From.IsBot && strings.Contains(m.Shown(), fmt.Sprint("Your id is ", p.user.ID)) {
				n++
			}
		}
		return n
	}
	if !p.until(ctx, func() bool { return answers() > 0 }) {
		t.Fatal("no answer came")
	}
	nod.terminate()
	before := answers()
	nod = w.launch("")
	if !p.until(ctx, func() bool { return answers() >= messages }) {
		t.Errorf("%d of %d answers came", answers(), messages)
	}
	nod.terminate()
	if n := answers(); n != messages || before == messages {
		t.Errorf("%d answers before the end and %d in all, want fewer than %d and exactly that many", before, n, messages)
	}
}

// TestRestartCarriesOn has nod replace its own process in the middle of a turn.
func TestRestartCarriesOn(t *testing.T) {
	w := newCrashWorld(t, 2, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	nod := w.launch("")
	other := w.people[1].say(errandAsk) // its card waits over the restart
	if _, err := w.people[1].WaitButton(ctx, yesButton); err != nil {
		t.Fatal(err)
	}
	w.people[0].perform(ctx, errandBoot)
	w.people[1].awaitDone(ctx, other)
	nod.terminate()
	calls := w.telegram.Calls("getMe")
	if sum := w.count(); len(calls) != 2 || len(sum.lost)+sum.duplicates > 0 {
		t.Errorf("%d starts, want 2; %+v", len(calls), sum)
	}
}

// awaitTrace waits until the commands of errands have left their trace.
func (w *crashWorld) awaitTrace(ctx context.Context, errands ...string) {
	w.t.Helper()
	for _, errand := range errands {
		for {
			raw, err := os.ReadFile(filepath.Join(w.workspace, runsFile))
			if err == nil && strings.Contains(string(raw), errand) {
				break
			}
			if ctx.Err() != nil {
				w.t.Fatalf("the command of %s left no trace: %v", errand, err)
			}
			time.Sleep(5 * time.Millisecond) // the file tells nobody that it has changed
		}
	}
}
