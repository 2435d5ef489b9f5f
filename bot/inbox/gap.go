package inbox

import (
	"fmt"
	"time"

	"nod/store"
)

const (
	// kept is how long Telegram keeps updates that nobody fetches (https://core.telegram.org/bots/api#getting-updates).
	kept = 24 * time.Hour
	// noteEvery bounds how often the time of a poll that brought nothing is put on disk, and so how wrong it can be.
	noteEvery = 10 * time.Minute
)

// clockSet is the first year that is no sign of a machine whose clock has not been set since it was switched on.
const clockSet = 2000

// storeError is a failure of our own database rather than Telegram's.
type storeError struct{ error }

func (e *storeError) Unwrap() error { return e.error }

// lastPoll is when a poll last came back, as far as it was put on disk; zero if none ever was.
func (in *Inbox) lastPoll() (at time.Time, err error) {
	err = in.db.View(func(tx *store.Tx) error {
		l, _, err := seen.Get(tx, in.opts.Bot)
		at = l.Poll
		return err
	})
	if err != nil {
		return at, &storeError{fmt.Errorf("reading the time of the last poll: %w", err)}
	}
	return at, nil
}

// notePoll puts the time of a poll on disk. A gap begins with the poll before; its zero value is none.
func (in *Inbox) notePoll(now, gap time.Time) error {
	err := in.db.Update(func(tx *store.Tx) error {
		l, _, err := seen.Get(tx, in.opts.Bot)
		if err != nil {
			return err
		}
		l.Poll = now.UTC()
		if err := seen.Put(tx, in.opts.Bot, l); err != nil {
			return err
		}
		if gap.IsZero() || in.opts.OnGap == nil {
			return nil
		}
		return in.opts.OnGap(tx, gap, now.Add(-kept))
	})
	if err != nil {
		return &storeError{fmt.Errorf("noting the time of a poll: %w", err)}
	}
	return nil
}

// Restored forgets the time of the last poll: what a backup remembers is not when this bot was last reached.
func Restored(tx *store.Tx) error {
	bots := map[store.UserID]last{}
	err := seen.Scan(tx, nil, func(bot store.UserID, l last) (bool, error) { bots[bot] = l; return true, nil })
	if err != nil {
		return err
	}
	for bot, l := range bots {
		l.Poll = time.Time{}
		if err := seen.Put(tx, bot, l); err != nil {
			return err
		}
	}
	return nil
}

// polled notes that a poll came back with that many updates, and tells when Telegram may have dropped some before it.
func (p *Poller) polled(now time.Time, updates int) error {
	before := p.LastPoll()
	if before.IsZero() {
		var err error
		if before, err = p.inbox.lastPoll(); err != nil {
			return err
		}
		p.noted = before
	}
	gap := time.Time{}
	if before.Year() >= clockSet && now.Sub(before) > kept {
		gap = before
	}
	due := gap != (time.Time{}) || now.Sub(p.noted) >= noteEvery || now.Before(p.noted)
	if due && (updates == 0 || gap != (time.Time{})) { // else its updates are stored with it
		if err := p.inbox.notePoll(now, gap); err != nil {
			return err
		}
		p.noted = now
	}
	p.last.Store(now.UnixNano())
	return nil
}

// leave puts the time of the last poll on disk when the program ends in order.
func (p *Poller) leave() {
	last := p.LastPoll()
	if last.IsZero() || last.Sub(p.noted) < time.Minute {
		return
	}
	if err := p.inbox.notePoll(last, time.Time{}); err != nil {
		p.log.Warn("noting when Telegram was last reached", "err", err)
	}
}
