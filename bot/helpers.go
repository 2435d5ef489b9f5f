package bot

import (
	"nod/agent"
	"nod/store"
)

// What is shown of agents that work for another: a sub-agent's calls stand in the progress message of the turn above all,
// under the call that began them and with the agent's name, and go when it is done. A task in the background shows nothing
// before it is over, and then the agent that it reports to speaks; only its end by /stop is told here.

// maxNested is how many of a sub-agent's newest calls are shown.
const maxNested = 3

// helper takes the events of such a turn, and says whether the event was one.
func (v *View) helper(tx *store.Tx, e agent.Event) bool {
	switch e := e.(type) {
	case agent.TurnAnswered:
		return v.helped(tx, e.Turn, e.Turn.Parent != "")
	case agent.TurnFailed:
		return v.helped(tx, e.Turn, e.Turn.Parent != "")
	case agent.TurnStopped:
		return v.helped(tx, e.Turn, e.Turn.Nested())
	case agent.Commented:
		if e.Turn.Nested() {
			tx.OnCommit(func() { v.nestedCalls(e) })
		}
		return e.Turn.Nested()
	case agent.Compacted:
		return e.Session.Parent != ""
	}
	return false
}

// helped ends what is shown of a turn whose end people are told by another.
func (v *View) helped(tx *store.Tx, turn agent.Turn, is bool) bool {
	if is {
		tx.OnCommit(func() {
			v.mu.Lock()
			defer v.mu.Unlock()
			if t := v.turns[turn.ID]; t != nil && turn.Nested() {
				t.fold(turn.Call)
				v.progress(t)
			}
			v.drop(turn.ID)
		})
	}
	return is
}

// nestedCalls keeps a line for each of a sub-agent's calls.
func (v *View) nestedCalls(e agent.Commented) {
	v.mu.Lock()
	defer v.mu.Unlock()
	t := v.turnOf(e.Turn)
	for _, id := range e.Calls {
		t.insert(progressLine{call: id, under: e.Turn.Call, depth: e.Turn.Depth})
	}
}

// insert adds a line: one of a sub-agent below the call that began it and what stands below that.
func (t *turnView) insert(line progressLine) {
	at := len(t.lines)
	for i, l := range t.lines {
		if line.depth == 0 || l.call != line.under {
			continue
		}
		for at = i + 1; at < len(t.lines) && t.lines[at].depth >= line.depth; at++ {
		}
		break
	}
	t.lines = append(t.lines, progressLine{})
	copy(t.lines[at+1:], t.lines[at:])
	t.lines[at] = line
}

// fold hides the lines of a sub-agent that is done. The files that it touched can still be fetched.
func (t *turnView) fold(call store.CallID) {
	for i := range t.lines {
		if t.lines[i].under == call {
			t.lines[i].folded = true
		}
	}
}

// newest leaves of each sub-agent's lines the last few.
func newest(lines []progressLine) (kept []progressLine) {
	left := map[store.CallID]int{}
	for _, l := range lines {
		left[l.under]++
	}
	for _, l := range lines {
		if left[l.under]--; l.depth == 0 || left[l.under] < maxNested {
			kept = append(kept, l)
		}
	}
	return kept
}
