package agent

import (
	"fmt"

	"nod/agent/llm"
	"nod/store"
)

// Lineage says whose work a session and its turn do. The zero value is that of what people or the clock began.
//
// An agent gives work to another in two ways. A sub-agent (Depth > 0) has a caller that waits for its answer; it shares
// the scratchpad, the grants and the progress message of the session at the root. A task (Task is set) works in the
// background, and when it is over it tells Parent. Both have the id of the call that began them, so that a call that
// is resumed finds what it began.
type Lineage struct {
	Parent store.SessionID `json:"parent,omitempty"`      // whose agent asked for it
	Call   store.CallID    `json:"parent_call,omitempty"` // by which it did
	Depth  int             `json:"depth,omitempty"`
	Root   store.SessionID `json:"root,omitempty"` // at depth 0; only for sub-agents
	Top    store.TurnID    `json:"top,omitempty"`  // the turn at depth 0 that shows what happens here; only for sub-agents
	Task   string          `json:"task,omitempty"` // a task's title; its sub-agents have it too
	// Background says that no person's message opened the session: nobody watches. Jobs are told by their source.
	Background bool `json:"background,omitempty"`
}

// Nested says whether it is a sub-agent's.
func (l Lineage) Nested() bool { return l.Depth > 0 }

// isTask says whether it is a task's, and not that of a sub-agent in one.
func (l Lineage) isTask() bool { return l.Parent != "" && l.Depth == 0 }

// root is the session whose scratchpad and grants a turn shares.
func (t Turn) root() store.SessionID {
	if t.Root != "" {
		return t.Root
	}
	return t.Session
}

// Unseen says whether nobody watches the turn: it shows no progress and no growing answer of its own.
func (t Turn) Unseen() bool { return t.Job != "" || t.Background || t.Nested() }

// offspring lists who works for a session at present: its running sub-agents and tasks.
var offspring = store.NewTable[store.Text, store.SessionID](offspringBucket, store.ParseText[store.Text])

const offspringBucket = "offspring"

func (l Lineage) key(id store.SessionID) store.Text { return store.Join(string(l.Parent), string(id)) }

// childrenOf reads the sessions that work for one.
func childrenOf(tx *store.Tx, id store.SessionID) (children []Session, err error) {
	ids, err := offspring.All(tx, store.Prefix(id))
	for _, child := range ids {
		if err != nil {
			break
		}
		var s Session
		var ok bool
		if s, ok, err = sessions.Get(tx, child); ok {
			children = append(children, s)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading who works for session %s: %w", id, err)
	}
	return children, nil
}

// adopt gives the tasks of one session to another, which is then told of their end.
func adopt(tx *store.Tx, from, to store.SessionID) error {
	children, err := childrenOf(tx, from)
	if err != nil {
		return err
	}
	for _, child := range children {
		if !child.isTask() {
			continue
		}
		if err := offspring.Delete(tx, child.key(child.ID)); err != nil {
			return err
		}
		child.Parent = to
		if err := offspring.Put(tx, child.key(child.ID), child.ID); err != nil {
			return err
		}
		if err := sessions.Put(tx, child.ID, child); err != nil {
			return err
		}
		turn, ok, err := turns.Get(tx, child.Turn)
		if err != nil {
			return err
		}
		if turn.Parent = to; ok {
			if err := turns.Put(tx, turn.ID, turn); err != nil {
				return err
			}
		}
	}
	return nil
}

// charge counts something into the sessions that a session works for, so that /cost of a chat counts all that was done
// for it.
func charge(tx *store.Tx, l Lineage, count func(*Session)) error {
	for above := l.Parent; above != ""; {
		s, ok, err := sessions.Get(tx, above)
		if err != nil || !ok {
			return err
		}
		count(&s)
		if err := sessions.Put(tx, above, s); err != nil {
			return err
		}
		above = s.Parent
	}
	return nil
}

// use counts what an answer took.
func (s *Session) use(model string, usage llm.Usage) {
	if s.Usage == nil {
		s.Usage = map[string]llm.Usage{}
	}
	s.Usage[model] = s.Usage[model].Plus(usage)
}

// paid counts what a call of a tool has cost.
func (s *Session) paid(tool string, usd float64) {
	if s.Paid == nil {
		s.Paid = map[string]Paid{}
	}
	sum := s.Paid[tool]
	s.Paid[tool] = Paid{Calls: sum.Calls + 1, USD: sum.USD + usd}
}
