package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"nod/agent/llm"
	"nod/agent/llm/scripted"
	"nod/bot/emulator"
	"nod/tools"
)

var figuresFlag = flag.Bool("figures", false, "measure what README.md states, with the real binary; takes two minutes on an idle machine")

// TestFigures measures the whole program, in a process of its own and over sockets, beside the least bot that answers.
//
//	go test ./cmd/nod -run TestFigures -figures -v
//
// Without -figures it takes a few samples of nod, to show that the measuring works and that nothing is slower by orders.
func TestFigures(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := figures{t: t, nod: self, starts: 1, turns: 4, people: 4}
	if *figuresFlag {
		f.nod, f.least = build(t, "."), build(t, "./testdata/least")
		f.starts, f.turns, f.people = 25, 400, 200
	}
	f.measureStarts()
	f.measureTurns()
	if *figuresFlag {
		f.measureCrowd()
		f.measureLongTranscript()
		t.Log(f.table())
		return
	}
	for _, r := range f.rows {
		if r.value > r.never {
			t.Errorf("%s: %s; even a loaded machine does it in %s", r.what, r.show(r.value), r.show(r.never))
		}
	}
}

// build makes a program's binary, a static one: what a C library takes to load is not measured.
func build(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	cmd := exec.Command("go", "build", "-o", path, dir)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", dir, err, out)
	}
	return path
}

// figures are measured in one run, in which nod and the yardstick take turns, so that both meet the same load.
type figures struct {
	t          testing.TB
	nod, least string // binaries; without the second nothing is compared
	starts     int    // samples
	turns      int
	people     int
	rows       []figure

	turnCPU time.Duration
}

// measureStarts starts each program with a message waiting, until its answer is there.
func (f *figures) measureStarts() {
	nod, least := newStage(f.t, 1), newStage(f.t, 1)
	if f.least != "" {
		f.startOnce(nod, f.nod) // makes the home folder, as only the first start does
	}
	var took, yard samples
	for range f.starts {
		took = append(took, f.startOnce(nod, f.nod))
		if f.least != "" {
			yard = append(yard, f.startOnce(least, f.least))
		}
	}
	f.add(figure{
		what: "start of the process to first answer", value: float64(took.median()), yardstick: float64(yard.median()),
		aim: "≤ 25ms", met: took.median() <= 25*time.Millisecond, never: float64(10 * time.Second),
	})
}

func (f *figures) startOnce(s *stage, path string) time.Duration {
	f.t.Helper()
	n := s.said.Add(1)
	s.people[0].SendText(fmt.Sprint(question, n))
	began := time.Now()
	c := s.start(path)
	s.seen(s.people[0], n)
	took := time.Since(began)
	c.stop()
	return took
}

// measureTurns takes turns one after the other, each in the next chat.
func (f *figures) measureTurns() {
	plain := f.take(question)
	f.add(figure{
		what: "plain turn, one at a time", value: float64(plain.took.median()), yardstick: float64(plain.yard.median()),
		aim: "≤ 4 × yardstick", met: plain.took.median() <= 4*plain.yard.median(), never: float64(2 * time.Second),
	})
	f.turnCPU = plain.cpu
	f.add(figure{
		what: "processor time of a plain turn", value: float64(plain.cpu), yardstick: float64(plain.yardCPU),
		aim: "≤ 4ms", met: plain.cpu <= 4*time.Millisecond, never: float64(time.Second),
	})
	f.addMemory("memory after the first answer", plain.first, plain.yardFirst)
	f.addMemory(fmt.Sprintf("memory after %d turns", plain.turns), plain.last, plain.yardLast)
	if f.least == "" {
		return
	}
	tool := f.take(errand)
	f.add(figure{
		what: "turn with one tool call", value: float64(tool.took.median()), yardstick: float64(tool.yard.median()),
	})
	f.add(figure{what: "processor time of a turn with one tool call", value: float64(tool.cpu), yardstick: float64(tool.yardCPU)})
}

// taken is what a series of turns showed.
type taken struct {
	turns               int // in all
	took, yard          samples
	cpu, yardCPU        time.Duration // of a turn
	first, last         memory
	yardFirst, yardLast memory
}

// take measures one kind of turn on both programs alternately; the yardstick is always asked the plain question.
func (f *figures) take(what string) (got taken) {
	ours, theirs := newStage(f.t, f.people), newStage(f.t, f.people)
	a, b := ours.start(f.nod), (*child)(nil)
	yard := func(int) time.Duration { return 0 }
	if f.least != "" {
		b = theirs.start(f.least)
		yard = func(i int) time.Duration { return theirs.ask(theirs.people[i], question) }
	}
	ours.ask(ours.people[0], what)
	yard(0)
	got.first, got.yardFirst = a.memory(), b.memory()
	for i := range f.people { // who writes for the first time is given a session
		ours.ask(ours.people[i], what)
		yard(i)
	}
	spent, yardSpent := a.processor(), b.processor()
	for i := range f.turns {
		got.took = append(got.took, ours.ask(ours.people[i%f.people], what))
		got.yard = append(got.yard, yard(i%f.people))
	}
	got.last, got.yardLast = a.memory(), b.memory()
	got.turns = 1 + f.people + f.turns
	got.cpu = (a.processor() - spent) / time.Duration(f.turns)
	got.yardCPU = (b.processor() - yardSpent) / time.Duration(f.turns)
	a.stop()
	b.stop()
	return got
}

func (f *figures) addMemory(what string, nod, yardstick memory) {
	if nod.resident == 0 {
		return
	}
	mib := func(v float64) string { return fmt.Sprintf("%.1f MiB", v/(1<<20)) }
	f.add(figure{
		what: what, value: float64(nod.resident), yardstick: float64(yardstick.resident), aim: "≤ 20 MiB",
		met: nod.resident <= 20<<20, never: 2 << 30, show: mib,
	})
	f.add(figure{what: "  of it not pages of its binary", value: float64(nod.owned), yardstick: float64(yardstick.owned), show: mib})
}

// measureCrowd has 200 people write so often that nod takes half a processor, while the model takes 300 ms for each answer.
func (f *figures) measureCrowd() {
	const rounds = 3 // what each says: below the burst that the outbox allows a chat
	s := newStage(f.t, f.people)
	s.think = 300 * time.Millisecond
	c := s.start(f.nod)
	defer c.stop()
	f.everybody(s, 5*time.Millisecond, 1)
	time.Sleep(4 * time.Second) // until the chats' bursts are whole again
	var single samples
	for i := range 20 {
		single = append(single, s.ask(s.people[i], question))
	}
	time.Sleep(2 * time.Second)
	every := 2 * max(f.turnCPU, time.Millisecond)
	took := f.everybody(s, every, rounds)
	for _, share := range []struct {
		name string
		at   float64
	}{{"median", 0.5}, {"95 %", 0.95}} {
		r := figure{
			what:  fmt.Sprintf("turn among %d chats, one message each %s, %s", f.people, every.Round(100*time.Microsecond), share.name),
			value: float64(took.at(share.at)), yardstick: float64(single.median()), base: "one chat",
		}
		if share.at > 0.9 {
			r.aim, r.met = "≤ 3 × one chat", took.at(share.at) <= 3*single.median()
		}
		f.add(r)
	}
}

// everybody has each person write in turn, a number of rounds.
func (f *figures) everybody(s *stage, every time.Duration, rounds int) (took samples) {
	took = make(samples, rounds*len(s.people))
	var wg sync.WaitGroup
	tick := time.NewTicker(every)
	defer tick.Stop()
	for i := range took {
		<-tick.C
		wg.Go(func() { took[i] = s.ask(s.people[i%len(s.people)], question) })
	}
	wg.Wait()
	return took
}

// longTranscript is how many messages the grown session has.
const longTranscript = 10_000

// measureLongTranscript compares a turn in a session of 10,000 messages with one in a fresh session. The long one is
// grown by the program itself, turn by turn, with a compaction now and then and one at the end: what the model is sent
// is then as short as in the other, and what is measured is the weight of what lies behind.
func (f *figures) measureLongTranscript() {
	long, fresh := newStage(f.t, 1), newStage(f.t, 1)
	f.grow(long)
	a, b := long.start(f.nod), fresh.start(f.nod)
	defer a.stop()
	defer b.stop()
	var grown, empty samples
	for i := range 20 {
		// What is first after a rest is slower, so they take turns at that.
		for _, grownNow := range []bool{i%2 == 0, i%2 != 0} {
			if grownNow {
				grown = append(grown, long.ask(long.people[0], question))
			} else {
				empty = append(empty, fresh.ask(fresh.people[0], question))
			}
		}
		time.Sleep(1100 * time.Millisecond) // the pace that the outbox allows one chat
	}
	grown, empty = grown[1:], empty[1:] // the first reads the session
	f.add(figure{
		what: fmt.Sprintf("plain turn at %d messages", longTranscript), value: float64(grown.median()), yardstick: float64(empty.median()),
		base: "fresh session", aim: "≤ 1.3 × fresh", met: float64(grown.median()) <= 1.3*float64(empty.median()),
	})
}

// grow has the program take turns, without the pace of a real chat, until the transcript is long.
func (f *figures) grow(s *stage) {
	stop := s.runHere()
	for i := range longTranscript / 2 {
		s.ask(s.people[0], question)
		if i%100 == 99 {
			s.compact(s.people[0])
		}
	}
	stop()
}

// runHere runs nod in this process, without sockets and without the pace of a real chat.
func (s *stage) runHere() (stop func()) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	done, ready := make(chan error, 1), make(chan struct{})
	go func() {
		done <- run(ctx, wiring{
			config: Config{
				Token: llm.Secret(emulator.Token), API: "http://telegram.invalid", Home: filepath.Join(s.dir, "home"),
				Workspace: filepath.Join(s.dir, "workspace"), Zone: time.UTC, Owners: s.owners(), Profile: tools.BusinessProfile,
				Models: []llm.Model{{Name: "scripted", BaseURL: "http://model.invalid/v1", ContextWindow: 128_000}},
			},
			log: slog.New(slog.DiscardHandler), telegram: emulator.Transport(s.telegram),
			model: scripted.Transport(scripted.New(s.reply)), unpaced: true, notice: s.t.Output(), ready: func() { close(ready) },
		})
	}()
	<-ready
	return func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Error(err)
		}
	}
}

// BenchmarkTurn takes plain turns in this process, for profiles.
func BenchmarkTurn(b *testing.B) {
	for _, kind := range []string{question, errand} {
		b.Run(strings.TrimSpace(kind), func(b *testing.B) {
			s := newStage(b, 500) // so that no transcript grows long
			stop := s.runHere()
			for i := 0; b.Loop(); i++ {
				s.ask(s.people[i%len(s.people)], kind)
			}
			stop()
		})
	}
}
