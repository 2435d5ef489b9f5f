package main

import "fmt"

// powerFigures is what the lab found.
type powerFigures struct {
	Refused string // why there is no lab on this machine
	Store   cutTally
	Control cutTally // the same with NoSync
	Nod     nodTally
	Liar    nodTally // fewer cuts, on a disk whose fsync does nothing
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
