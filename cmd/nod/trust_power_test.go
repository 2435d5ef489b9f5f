package main

import (
	"fmt"
	"testing"
	"time"
)

// trustPower cuts the power of the database and of the whole program, on a disk that forgets what was not synced.
func trustPower(t *testing.T, table *trustTable) {
	got := measurePower(t)
	if got.Refused != "" {
		table.miss(t, "5. acknowledged commits lost in power cuts; databases damaged", "0; 0", needsFuse+got.Refused)
	}
	if got.Store.First != "" {
		t.Error("after a power cut:", got.Store.First)
	}
	bad := got.Store.LostCuts + got.Store.Unusable + got.Store.Torn
	lost := len(got.Nod.Lost) + len(got.Nod.Twice) + len(got.Nod.NeverRun) + len(got.Thought.Lost)
	table.add(t, trustRow{
		"5. acknowledged commits lost in power cuts; databases damaged",
		fmt.Sprintf("%d; %d (%s cuts in %s commits)", got.Store.LostCuts, got.Store.Unusable+got.Store.Torn, count(got.Store.Cuts), count(got.Store.Commits)), "0; 0",
		fmt.Sprintf("NoSync: commits lost in %s of %s cuts", count(got.Control.LostCuts), count(got.Control.Acked)),
	}, bad == 0, got.Control.LostCuts*10 > got.Control.Acked*9)
	table.add(t, trustRow{
		"   the whole program: messages lost, commands run twice or never",
		fmt.Sprintf("%d (%d power cuts, %d messages, %d commands)", lost, got.Nod.Cuts+got.Thought.Cuts, got.Nod.Messages+got.Thought.Messages, got.Nod.Commands), "0",
		fmt.Sprintf("a disk whose fsync does nothing: %d of %d messages lost", len(got.Liar.Lost), got.Liar.Cuts),
	}, lost == 0, len(got.Liar.Lost) > 0)
	table.lines = append(table.lines, fmt.Sprintf("From power-on after a cut to the first reply: %s (median of %d).", got.Thought.Ready.median().Round(time.Millisecond), len(got.Thought.Ready)))
}

// needsFuse is said where there are no disks of our own making. With fuseVariable that is a fault, not a lack: see .ci/run.
const (
	needsFuse    = "it needs a FUSE file system in a mount namespace, which this machine refuses: "
	fuseVariable = "NOD_FUSE"
)

// powerFigures is what the lab found.
type powerFigures struct {
	Refused string // why there is no lab on this machine
	Store   cutTally
	Control cutTally // the same with NoSync
	Nod     nodTally
	Thought nodTally // the power went while the model thought
	Liar    nodTally // the same on a disk whose fsync does nothing
}

// cutTally counts what the database was like after power cuts.
type cutTally struct {
	Commits, Cuts  int
	Acked          int // cuts after which there was something to lose
	Unusable       int // the database did not open, or bbolt's Check found errors
	LostCuts, Lost int // cuts after which acknowledged commits were missing, and how many at most
	Torn           int // commits of which one of two rows was there
	First          string
}

func (c *cutTally) fault(n *int, format string, args ...any) {
	*n++
	if c.First == "" {
		c.First = fmt.Sprintf(format, args...)
	}
}

// nodTally counts what became of what people asked a nod for whose power was cut again and again.
type nodTally struct {
	Cuts, Messages, Commands int
	Lost, Twice, NeverRun    []string
	Duplicates               int
	Ready                    samples // from the start after a cut to the first reply
}
