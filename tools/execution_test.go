package tools

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var allStates = []State{Pending, AwaitingApproval, Running, Completed, Failed, Cancelled, Rejected}

// The arrows of doc.go; every other pair is refused.
var arrows = map[State][]State{
	Pending:          {AwaitingApproval, Running, Failed, Cancelled, Rejected},
	AwaitingApproval: {Running, Completed, Failed, Cancelled, Rejected},
	Running:          {Completed, Failed, Cancelled},
}

func TestTransitions(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, from := range allStates {
		for _, to := range allStates {
			t.Run(string(from)+" to "+string(to), func(t *testing.T) {
				e := Execution{Call: "c1", State: from}
				err := e.move(to, now)
				if !slices.Contains(arrows[from], to) {
					if diff := cmp.Diff(Execution{Call: "c1", State: from}, e); err == nil || diff != "" {
						t.Errorf("a forbidden move: %v, %s", err, diff)
					}
					return
				}
				want := Execution{Call: "c1", State: to}
				if to == Running {
					want.Began = now
				}
				if to.Over() {
					want.Ended = now
				}
				if diff := cmp.Diff(want, e); err != nil || diff != "" {
					t.Errorf("%v, %s", err, diff)
				}
			})
		}
	}
}

func TestOverIsWhereNothingFollows(t *testing.T) {
	for _, s := range allStates {
		if s.Over() != (len(next[s]) == 0) {
			t.Errorf("%s: over is %v, %v follow", s, s.Over(), next[s])
		}
	}
}

func TestWordsOnDisk(t *testing.T) {
	tests := []struct {
		state State
		word  string
		read  State // what it is read as
	}{
		{Pending, "running", Running},
		{AwaitingApproval, "pending", AwaitingApproval},
		{Running, "running", Running},
		{Completed, "done", Completed},
		{Failed, "failed", Failed},
		{Cancelled, "cancelled", Cancelled},
		{Rejected, "rejected", Rejected},
	}
	for _, test := range tests {
		raw, err := json.Marshal(test.state)
		if want := `"` + test.word + `"`; err != nil || string(raw) != want {
			t.Errorf("%s is written as %s, %v; want %s", test.state, raw, err, want)
		}
		var read State
		if err := json.Unmarshal(raw, &read); err != nil || read != test.read {
			t.Errorf("%s is read as %s, %v; want %s", raw, read, err, test.read)
		}
	}
	if _, err := json.Marshal(State("asleep")); err == nil {
		t.Error("an unknown state was written")
	}
	for _, word := range []string{"completed", "awaiting approval", ""} {
		var s State
		if err := s.UnmarshalText([]byte(word)); err == nil {
			t.Errorf("%q was read as %q", word, s)
		}
	}
}

func TestEndNeverLeavesTheModelWithoutText(t *testing.T) {
	e := Execution{State: Running}
	if err := e.end(Outcome{State: Completed}, time.Now()); err != nil || e.Outcome.Text != noOutput {
		t.Errorf("got %+v, %v", e.Outcome, err)
	}
}
