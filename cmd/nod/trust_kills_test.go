package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nod/bot/emulator"
)

// trustKills kills the real program at random moments, half of them while a command runs, as people talk to it.
func trustKills(t *testing.T, table *trustTable) {
	kills, rounds := trustSize(5, 12, 1000), trustSize(1, 2, 25)
	var sum killTally
	for n := 0; n < kills; n += killsPerWorld {
		sum.add(killAtRandom(t, min(killsPerWorld, kills-n), uint64(n)))
	}
	lost, early := lostUnstored(t, rounds, nil), lostUnstored(t, rounds, acknowledgeEarly)
	asIs, rerun := killUnrecorded(t, rounds, func(*crashWorld) {}), killUnrecorded(t, rounds, (*crashWorld).rerunFromIntent)
	unsettled := duplicatesOfUnsettled(t, rounds)

	table.add(t, trustRow{
		"1. messages lost per 1,000 kill -9", fmt.Sprintf("%s (%d of %s messages in %s kills)", perThousand(len(sum.lost)+lost, kills+rounds), len(sum.lost)+lost, count(sum.messages+3*rounds), count(kills+rounds)), "0",
		fmt.Sprintf("updates acknowledged before they are stored: %d of %d lost", early, 3*rounds),
	}, len(sum.lost)+lost == 0, early > 0)
	twice := len(sum.twice) + asIs.twice
	table.add(t, trustRow{
		"2. commands run twice per 1,000 kill -9", fmt.Sprintf("%s (%d of %s)", perThousand(twice, kills+rounds), twice, count(sum.commands+asIs.kills)), "0",
		fmt.Sprintf("re-run from the intent: %d of %d", rerun.twice, rerun.kills),
	}, twice+len(sum.neverRun) == 0, rerun.twice > 0)
	unknown := sum.unknown + asIs.kills
	table.add(t, trustRow{
		"3. unknown outcomes told to the person", fmt.Sprintf("%d of %d, %s after the start (median)", unknown-len(sum.untold)-(asIs.kills-asIs.told), unknown, asIs.notices.median().Round(time.Millisecond)), "all",
		fmt.Sprintf("re-run from the intent: %d of %d told", rerun.told, rerun.kills),
	}, len(sum.untold) == 0 && asIs.told == asIs.kills, rerun.told < rerun.kills)
	answers := sum.messages
	table.add(t, trustRow{
		"4. answers that came twice; presses honoured twice", fmt.Sprintf("%d of %s in %s kills (%.1f %%); %d of %s, each a double tap, %s pressed once more after a restart",
			sum.duplicates, count(answers), count(kills), 100*float64(sum.duplicates)/float64(max(answers, 1)), len(sum.again)+len(sum.twice), count(sum.taps), count(sum.stale)),
		"≤ 2 %; 0", fmt.Sprintf("every kill between sending and noting it: %d of %d; a nod that can be spent again: %d of %d", unsettled, rounds, rerun.twice, rerun.kills),
	}, (!calm() || kills < 100 || 50*sum.duplicates <= answers) && len(sum.again)+len(sum.twice) == 0 && sum.stale == sum.taps && sum.taps >= sum.commands, unsettled > 0 && rerun.twice > 0)
	if len(sum.openCards) > 0 || len(sum.neverRun) > 0 {
		t.Errorf("cards with buttons after a press: %q; neither run nor told: %q", sum.openCards, sum.neverRun)
	}
	table.lines = append(table.lines, fmt.Sprintf("Processes of commands when nod was killed: %d; left: 0.", sum.alive))
}

// calm says whether the machine has little else to do. A message can come twice when nod is killed between sending it and
// noting that, which takes as long as a commit does: elsewhere the count says more of the machine than of nod.
func calm() bool {
	var last float64
	if _, err := fmt.Sscan(load(), &last); err != nil {
		return true
	}
	return last <= 2*float64(runtime.NumCPU())
}

// killsPerWorld keeps the chats short: with their length grows what the emulated Telegram and its people have to do.
const killsPerWorld = 50

// killTally is what came of kills, in one world or several.
type killTally struct {
	tally
	unknown, alive int
	taps, stale    int      // presses of buttons, all of them double; those that were made once more later
	untold, again  []string // again are buttons of which two presses counted
}

func (k *killTally) add(other killTally) {
	k.messages, k.commands, k.duplicates = k.messages+other.messages, k.commands+other.commands, k.duplicates+other.duplicates
	k.unknown, k.alive = k.unknown+other.unknown, k.alive+other.alive
	k.taps, k.stale = k.taps+other.taps, k.stale+other.stale
	for to, from := range map[*[]string][]string{
		&k.lost: other.lost, &k.twice: other.twice, &k.neverRun: other.neverRun, &k.openCards: other.openCards, &k.untold: other.untold, &k.again: other.again,
	} {
		*to = append(*to, from...)
	}
}

// killAtRandom kills nod so often while everybody is busy, and lets it come to rest. People tap twice on each button, and once
// more after nod was killed, at the latest when all is done: then an approval is long spent.
func killAtRandom(t *testing.T, kills int, seed uint64) killTally {
	w := newCrashWorld(t, crashPeople, nil)
	busy, rest := context.WithCancel(t.Context())
	defer rest()
	var crowd sync.WaitGroup
	for i, p := range w.people {
		kinds := []string{errandCmd, errandSay, errandSlow, errandAsk, errandTree, errandRead, errandNote, errandCmd}
		kinds = slices.Concat(kinds[i:], kinds[:i])
		p.eager = true
		crowd.Go(func() { p.live(t.Context(), busy, kinds, 40*time.Second) })
	}
	k := newKiller(w)
	k.rand = rand.New(rand.NewPCG(*crashSeed, seed))
	for range kills {
		k.killOnce("")
	}
	rest()
	nod := w.launch("")
	crowd.Wait()
	k.awaitTold(20 * time.Second)
	sum := killTally{unknown: len(k.unknown), alive: k.alive}
	nod.terminate()
	nod = w.launch("")
	for _, p := range w.people {
		for p.stale = 0; p.pressAgain(); {
		}
		sum.taps, sum.stale = sum.taps+len(p.taps), sum.stale+p.stale
	}
	w.comeToRest()
	nod.terminate()
	for _, p := range w.people {
		for _, made := range p.taps {
			if made.honoured() > 1 {
				sum.again = append(sum.again, made.data)
			}
		}
	}
	sum.tally, sum.untold = w.count(), k.untold()
	return sum
}

// comeToRest waits until nod has seen to all presses and messages: order is kept, so that an answer comes after what they led to.
func (w *crashWorld) comeToRest() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 40*time.Second)
	defer cancel()
	for _, p := range w.people {
		p.perform(ctx, errandSay)
	}
}

// duplicatesOfUnsettled kills nod so often right after an answer was sent and before that is noted: Telegram has no way to
// say that a message is the same one.
func duplicatesOfUnsettled(t *testing.T, rounds int) int {
	w := newCrashWorld(t, 1, nil)
	p := w.people[0]
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second+time.Duration(rounds)*5*time.Second)
	defer cancel()
	for range rounds {
		nod := w.launch("outbox.sent:1")
		p.say(errandSay)
		nod.killedWithin(10 * time.Second)
	}
	nod := w.launch("")
	p.perform(ctx, errandSay)
	nod.terminate()
	return p.duplicates()
}

// hears says something and waits until the bot answers with a text.
func (p *crashPerson) hears(ctx context.Context, said, text string) bool {
	asked := p.SendText(said)
	return p.until(ctx, func() bool {
		return slices.ContainsFunc(p.Messages(), func(m emulator.Message) bool { return m.ID > asked.ID && strings.Contains(m.Shown(), text) })
	})
}
