package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// world makes a crash world whose NOD_HOME is on the disk.
func (l *powerLab) world(people int, lies bool) *crashWorld {
	l.disk.format(lies)
	w := newCrashWorld(l.t, people, nil)
	was := "NOD_HOME=" + w.home
	w.home = filepath.Join(l.at, "home")
	w.env[slices.Index(w.env, was)] = "NOD_HOME=" + w.home
	return w
}

// cutNod has people talk to the real program, whose power goes in the windows between two commits and at random.
func (l *powerLab) cutNod(cuts int) (sum nodTally) {
	w := l.world(3, false)
	busy, rest := context.WithCancel(l.t.Context())
	defer rest()
	var crowd sync.WaitGroup
	for i, p := range w.people {
		kinds := []string{errandCmd, errandSay, errandNote, errandAsk, errandSlow}
		kinds = slices.Concat(kinds[i:], kinds[:i])
		crowd.Go(func() { p.live(l.t.Context(), busy, kinds, 40*time.Second) })
	}
	windows := failpoints(l.t)
	for n := range cuts {
		at := ""
		if n%2 == 0 {
			at = fmt.Sprint(windows[l.coin.IntN(len(windows))], ":", 1+l.coin.IntN(3))
		}
		nod := w.launch(at)
		nod.killedWithin(time.Duration(50+l.coin.IntN(600)) * time.Millisecond)
		l.disk.cutPower(fates[l.coin.IntN(2)], l.coin)
	}
	rest()
	nod := w.launch("")
	crowd.Wait()
	nod.terminate()
	sum.Cuts = cuts
	sum.add(w.count())
	l.t.Logf("%d power cuts of nod: %+v", cuts, sum)
	return sum
}

func (n *nodTally) add(t tally) {
	n.Messages, n.Commands, n.Duplicates = t.messages, t.commands, t.duplicates
	n.Lost, n.Twice, n.NeverRun = t.lost, t.twice, t.neverRun
}

// cutThought cuts the power while the model thinks, once for each message, and then waits for the answers. On a disk that
// lies about its writes they never come.
func (l *powerLab) cutThought(cuts int, lies bool) (sum nodTally) {
	w := l.world(1, lies)
	p := w.people[0]
	ctx, cancel := context.WithTimeout(l.t.Context(), 2*time.Minute)
	defer cancel()
	start := func() *realNod {
		began := time.Now()
		nod := w.launch("")
		if !p.hears(ctx, "/id", "Your id") {
			l.t.Error("nod does not answer")
		}
		sum.Ready = append(sum.Ready, time.Since(began))
		return nod
	}
	for range cuts {
		nod := start()
		errand := p.say(errandMull)
		if err := w.model.awaitAsked(ctx, errand); err != nil {
			l.t.Fatal(err)
		}
		if err := w.telegram.WaitAcknowledged(ctx); err != nil {
			l.t.Fatal(err)
		}
		nod.kill()
		l.disk.cutPower(dropped, l.coin)
	}
	nod := start()
	sum.Ready = sum.Ready[1:] // the first was no start after a cut
	p.perform(ctx, errandSay) // order is kept, so what came before is answered by now, or never
	nod.terminate()
	for _, errand := range p.sent {
		if p.answersTo(errand) == 0 && !slices.Contains(p.lost, errand) {
			p.lost = append(p.lost, errand)
		}
	}
	sum.Cuts = cuts
	sum.add(w.count())
	if lies { // what nod says of that is its own affair, and no fault
		if err := os.Truncate(w.log, 0); err != nil {
			l.t.Fatal(err)
		}
	}
	l.t.Logf("%d power cuts while the model thought: lost %s", cuts, strings.Join(sum.Lost, " "))
	return sum
}
