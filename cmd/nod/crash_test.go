package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nod/approvals"
	"nod/store"
	"nod/tools"
)

var (
	crashKills = flag.Int("crash.kills", 60, "kills in the crash test, at least")
	crashSeed  = flag.Uint64("crash.seed", 1, "seed of the crash test's choices")
)

// crashPeople is how many owners talk at the same time. Many chats keep each below its pace, which starts anew with
// every start of nod.
const crashPeople = 6

// TestCrash_RECV1_RECV2_NOD1_STOP2_MODEL1 kills the real program again and again, at random and in every window between
// two commits, while people talk to it, and then counts what became of all that they asked for.
func TestCrash_RECV1_RECV2_NOD1_STOP2_MODEL1(t *testing.T) {
	w := newCrashWorld(t, crashPeople+1, nil)
	clockmaker, people := w.people[crashPeople], w.people[:crashPeople]
	// The first owner's chat is the home: reports of interrupted runs go there.
	nod := w.launch("")
	setup, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	clockmaker.perform(setup, errandJob)
	if len(clockmaker.lost) > 0 {
		t.Fatal("the job could not be made")
	}
	nod.kill()

	busy, rest := context.WithCancel(t.Context())
	defer rest()
	var crowd sync.WaitGroup
	for i, p := range people {
		kinds := []string{errandCmd, errandSay, errandSlow, errandAsk, errandStop, errandTree, errandRead, errandPack, errandNote, errandHelp, errandTask, errandStop, errandHelp, errandAsk}
		kinds = slices.Concat(kinds[i:], kinds[:i])
		crowd.Go(func() { p.live(t.Context(), busy, kinds, 40*time.Second) })
	}
	k := newKiller(w)
	k.killAll(*crashKills)
	rest()
	nod = w.launch("")
	crowd.Wait()
	k.awaitTold(20 * time.Second)
	nod.terminate()
	k.judge()
}

// TestCrashControl_OffsetAheadOfTheInbox kills nod between receiving updates and storing them. As it is it loses none;
// behind a transport that acknowledges them early it does, and the crash test's count sees it.
func TestCrashControl_OffsetAheadOfTheInbox(t *testing.T) {
	const rounds = 4
	right, wrong := lostUnstored(t, rounds, nil), lostUnstored(t, rounds, acknowledgeEarly)
	t.Logf("%d kills before updates are stored: %d of %d messages lost; acknowledged early: %d lost", rounds, right, 3*rounds+1, wrong)
	if right != 0 {
		t.Errorf("%d messages were lost", right)
	}
	if wrong == 0 {
		t.Error("the control lost none, so the crash test could not see a loss")
	}
}

// lostUnstored kills nod so often between receiving updates and storing them, and counts the messages that it lost: of
// three for each kill, and one more. between may stand between nod and Telegram.
func lostUnstored(t *testing.T, rounds int, between func(http.Handler) http.Handler) int {
	w := newCrashWorld(t, 1, between)
	p := w.people[0]
	for range rounds {
		nod := w.launch("inbox.received:1")
		for range 3 {
			p.say(errandSay)
		}
		nod.killedWithin(10 * time.Second)
	}
	nod := w.launch("")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	p.perform(ctx, errandSay) // order is kept, so what came before is answered by now, or never
	for _, errand := range p.sent[:len(p.sent)-1] {
		if p.answersTo(errand) == 0 {
			p.lost = append(p.lost, errand)
		}
	}
	nod.terminate()
	return len(p.lost)
}

// acknowledgeEarly stands between nod and Telegram and makes of nod's poller what many libraries are: it acknowledges a
// batch of updates before anybody has stored it.
func acknowledgeEarly(telegram http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/getUpdates") {
			telegram.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		telegram.ServeHTTP(answer, r)
		var batch struct {
			Result []struct {
				ID int64 `json:"update_id"`
			}
		}
		if err := json.Unmarshal(answer.Body.Bytes(), &batch); err == nil && len(batch.Result) > 0 {
			next := fmt.Sprintf("?timeout=0&limit=1&offset=%d", batch.Result[len(batch.Result)-1].ID+1)
			telegram.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, r.URL.Path+next, nil))
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes()) // nod may be gone
	})
}

// TestCrashControl_RerunFromIntent kills nod between the end of a command and the record of its outcome. As it is it
// asks; when each interrupted call is made one that was nodded to and has not begun, commands run twice.
func TestCrashControl_RerunFromIntent(t *testing.T) {
	const rounds = 4
	asIs, rerun := killUnrecorded(t, rounds, func(*crashWorld) {}), killUnrecorded(t, rounds, (*crashWorld).rerunFromIntent)
	right, wrong := asIs.twice, rerun.twice
	t.Logf("%d kills before outcomes are recorded: %d commands run twice; re-run from intent: %d", rounds, right, wrong)
	if right != 0 {
		t.Errorf("%d commands ran twice", right)
	}
	if wrong == 0 {
		t.Error("the control ran none twice, so the crash test could not see a second run")
	}
}

// unrecorded is what became of commands whose outcome was never recorded.
type unrecorded struct {
	kills, twice int
	told         int     // people were told that it is unknown
	notices      samples // how long after the start that took
}

// killUnrecorded kills nod so often between the end of a command and the record of its outcome. between is done before
// each start.
func killUnrecorded(t *testing.T, rounds int, between func(*crashWorld)) (sum unrecorded) {
	w := newCrashWorld(t, 1, nil)
	p := w.people[0]
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second+time.Duration(rounds)*5*time.Second)
	defer cancel()
	for range rounds {
		nod := w.launch("tools.ran:1")
		dead, died := context.WithCancel(ctx)
		go func() { <-nod.ended; died() }()
		errand := p.say(errandCmd)
		p.until(dead, func() bool { return false })
		nod.killedWithin(10 * time.Second)
		between(w)
		began := time.Now()
		nod = w.launch("")
		p.until(ctx, func() bool { return p.toldInterrupted(errand) || p.answersTo(errand) > 0 })
		if p.toldInterrupted(errand) {
			sum.told++
			sum.notices = append(sum.notices, time.Since(began))
		}
		p.awaitDone(ctx, errand)
		nod.kill()
	}
	if len(p.lost) > 0 {
		t.Errorf("not answered: %q", p.lost)
	}
	sum.kills, sum.twice = rounds, len(w.count().twice)
	return sum
}

// rerunFromIntent makes of nod what resumes a call from its intent: the nod that was spent on it can be spent again.
func (w *crashWorld) rerunFromIntent() {
	w.open(func(_ *store.DB, tx *store.Tx) error {
		calls, err := cutOff(tx)
		for _, e := range calls {
			if err == nil {
				err = unspend(tx, e)
			}
		}
		return err
	})
}

func unspend(tx *store.Tx, e tools.Execution) error {
	id, _, err := nodsOfCall.Get(tx, e.Call)
	if err != nil {
		return err
	}
	p, ok, err := nods.Get(tx, id)
	if err != nil || !ok {
		return err
	}
	e.State, e.Began = tools.AwaitingApproval, time.Time{}
	p.State, p.Ended = approvals.Nodded, time.Time{}
	if err := executions.Put(tx, e.Call, e); err != nil {
		return err
	}
	if err := liveNods.Put(tx, id, p.Expires); err != nil {
		return err
	}
	return nods.Put(tx, id, p)
}
