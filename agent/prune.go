package agent

import (
	"context"
	"time"

	"nod/store"
	"nod/tools/chat"
)

// Prune deletes what nobody comes back to, and says how many records: turns that ended before a time; sessions that no
// address uses any more, such as those of jobs' runs and those before /new, when nothing has happened in them since, with
// their transcripts; and of the present ones what a summary has stood for since before that time. What is under way stays,
// and so does all that a present session shows to the model or counts for /context and /cost.
func Prune(ctx context.Context, db *store.DB, before time.Time) (int, error) {
	p := &pruning{before: before}
	entries, err := store.Sweep(ctx, db, transcripts, p.entry, nil)
	if err != nil {
		return entries, err
	}
	gone, err := store.Sweep(ctx, db, sessions, p.session, func(tx *store.Tx, id store.SessionID, _ Session) error {
		return chat.Forget(tx, id)
	})
	if err != nil {
		return entries + gone, err
	}
	ended, err := store.Sweep(ctx, db, turns, p.turn, nil)
	return entries + gone + ended, err
}

// pruning knows the session that was looked at last: the entries of one stand together.
type pruning struct {
	before time.Time
	tx     *store.Tx
	of     Session
	over   bool
}

func (p *pruning) entry(tx *store.Tx, k store.Seq[store.SessionID], e Entry) (store.Verdict, error) {
	if !e.At.Before(p.before) {
		return store.Keep, nil
	}
	if p.tx != tx || p.of.ID != k.Of {
		s, _, err := sessions.Get(tx, k.Of)
		if err != nil {
			return store.Keep, err
		}
		s.ID = k.Of
		over, _, err := p.abandoned(tx, s)
		if err != nil {
			return store.Keep, err
		}
		p.tx, p.of, p.over = tx, s, over
	}
	if p.over || k.N < p.of.Keep {
		return store.Drop, nil
	}
	return store.Keep, nil
}

func (p *pruning) session(tx *store.Tx, _ store.SessionID, s Session) (store.Verdict, error) {
	over, empty, err := p.abandoned(tx, s)
	if err != nil || !over || !empty {
		return store.Keep, err
	}
	return store.Drop, nil
}

func (p *pruning) turn(_ *store.Tx, _ store.TurnID, t Turn) (store.Verdict, error) {
	switch {
	case !t.Began.Before(p.before):
		return store.Finish, nil // the keys are in the order in which turns began
	case t.Ended.IsZero() || !t.Ended.Before(p.before):
		return store.Keep, nil
	}
	return store.Drop, nil
}

// abandoned says whether a session is one that nobody comes back to, and whether its transcript is empty.
func (p *pruning) abandoned(tx *store.Tx, s Session) (over, empty bool, err error) {
	if s.Turn != "" || s.Compact || !s.Created.Before(p.before) {
		return false, false, nil
	}
	present, ok, err := addresses.Get(tx, s.Address)
	if err != nil || ok && present == s.ID {
		return false, false, err
	}
	over, empty = true, true
	err = transcripts.ScanBack(tx, store.Prefix(s.ID), func(_ store.Seq[store.SessionID], e Entry) (bool, error) {
		over, empty = e.At.Before(p.before), false
		return false, nil
	})
	if err != nil || !over {
		return false, empty, err
	}
	err = mailboxes.Scan(tx, store.Prefix(s.ID), func(store.Seq[store.SessionID], mail) (bool, error) {
		over = false
		return false, nil
	})
	return over, empty, err
}
