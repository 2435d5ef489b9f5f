package inbox_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/bot/emulator"
	"nod/bot/inbox"
	"nod/store"
)

// hours are how long after the bubble's beginning the ends of each told gap were, rounded.
func (r *rig) gapHours() (all [][2]int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	start := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, g := range r.gaps {
		all = append(all, [2]int{int(g[0].Sub(start).Round(time.Hour).Hours()), int(g[1].Sub(start).Round(time.Hour).Hours())})
	}
	return all
}

func (r *rig) wantGaps(want ...[2]int) {
	r.Helper()
	synctest.Wait()
	if diff := cmp.Diff(want, r.gapHours()); diff != "" {
		r.Errorf("gaps: %s", diff)
	}
}

// TestTheOwnerIsToldOfAGapOfMoreThanADay: Telegram keeps updates for 24 hours.
func TestTheOwnerIsToldOfAGapOfMoreThanADay(t *testing.T) {
	t.Run("while nod was down", func(t *testing.T) {
		inBubble(t, func(r *rig) {
			r.start()
			time.Sleep(5 * time.Hour) // without any update
			r.stopAll()
			time.Sleep(23 * time.Hour)
			r.start()
			time.Sleep(time.Hour)
			r.wantGaps()
			r.stopAll()
			time.Sleep(40 * time.Hour)
			r.start()
			time.Sleep(time.Hour)
			r.wantGaps([2]int{29, 45})
			r.stopAll()
			r.start()
			time.Sleep(time.Hour)
			r.wantGaps([2]int{29, 45})
		})
	})
	t.Run("with a backlog", func(t *testing.T) {
		inBubble(t, func(r *rig) {
			r.start()
			time.Sleep(time.Hour)
			r.stopAll()
			time.Sleep(30 * time.Hour)
			r.ann.SendText("are you there")
			r.start()
			r.wantGaps([2]int{1, 7})
			r.want("are you there")
		})
	})
	t.Run("while polling was broken", func(t *testing.T) {
		inBubble(t, func(r *rig) {
			r.start()
			time.Sleep(time.Hour)
			r.server.Inject("getUpdates", 1_000_000, emulator.BadGateway())
			time.Sleep(30 * time.Hour)
			r.server.ClearFaults()
			time.Sleep(time.Hour)
			r.wantGaps([2]int{1, 7})
		})
	})
	t.Run("after a kill", func(t *testing.T) {
		inBubble(t, func(r *rig) {
			r.start()
			time.Sleep(5*time.Hour + 5*time.Minute)
			asOfNow := filepath.Join(t.TempDir(), "copy.db")
			if err := r.db.Backup(asOfNow); err != nil {
				t.Fatal(err)
			}
			r.stopAll()
			killed, err := store.Open(asOfNow)
			if err != nil {
				t.Fatal(err)
			}
			r.db = killed
			defer killed.Close()
			defer func() { r.stopAll() }()
			time.Sleep(30 * time.Hour)
			r.start()
			time.Sleep(time.Hour)
			r.wantGaps([2]int{5, 11})
		})
	})
	t.Run("not after a restore", func(t *testing.T) {
		inBubble(t, func(r *rig) {
			r.start()
			time.Sleep(time.Hour)
			r.stopAll()
			time.Sleep(100 * time.Hour)
			if err := r.db.Update(inbox.Restored); err != nil {
				t.Fatal(err)
			}
			r.start()
			time.Sleep(time.Hour)
			r.wantGaps()
		})
	})
}

// commits is the number of the newest commit, as bbolt's two meta pages tell it.
func (r *rig) commits() (newest uint64) {
	r.Helper()
	raw, err := os.ReadFile(r.db.Path())
	if err != nil {
		r.Fatal(err)
	}
	for _, at := range []int{0, os.Getpagesize()} {
		newest = max(newest, binary.NativeEndian.Uint64(raw[at+16+48:]))
	}
	return newest
}

// TestAnIdlePollCostsNoCommit: the time of the last poll is put on disk six times an hour.
func TestAnIdlePollCostsNoCommit(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.start()
		time.Sleep(time.Hour)
		before := r.commits()
		time.Sleep(10 * time.Hour)
		if n := r.commits() - before; n < 55 || n > 65 {
			t.Errorf("%d commits in ten hours", n)
		}
	})
}

// TestRECV4_AServiceThatComesAndGoesIsToldFewTimes: three minutes without, three with, for an hour.
func TestRECV4_AServiceThatComesAndGoesIsToldFewTimes(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.start()
		for range 10 {
			r.server.Inject("getUpdates", 1_000_000, emulator.BadGateway())
			time.Sleep(3 * time.Minute)
			r.server.ClearFaults()
			time.Sleep(3 * time.Minute)
		}
		time.Sleep(2 * time.Hour)
		down := "Telegram can't be reached. What you write arrives late; the log of nod has the details."
		want := []string{
			down, "over: Telegram can be reached again.",
			down + " It comes and goes; I tell you when there has been an hour without.", "over: Telegram can be reached again.",
		}
		if diff := cmp.Diff(want, r.troubles()); diff != "" {
			t.Error(diff)
		}
	})
}

// TestRECV3_AClockThatJumpsForwardRepeatsNothing: a machine without a clock boots in the past, and is put right later.
func TestRECV3_AClockThatJumpsForwardRepeatsNothing(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.start()
		r.ann.SendText("hello")
		synctest.Wait()
		// The wall clock can't be set here; moving what was stored back comes to the same.
		if err := r.db.Update(func(tx *store.Tx) error { return inbox.Age(tx, 365*24*time.Hour) }); err != nil {
			t.Fatal(err)
		}
		if offset, err := r.inbox.Offset(); err != nil || offset == 0 {
			t.Errorf("offset %d, %v", offset, err)
		}
	})
}
