package approvals

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nod/store"
)

// maxSleep bounds how late an expiry can be when the machine slept or its clock was set: timers don't count that.
const maxSleep = 30 * time.Second

// Run lets requests expire on time until ctx ends. It sleeps while nothing waits. What goes wrong is logged and tried again.
func (g *Gate) Run(ctx context.Context) error {
	for {
		changed := g.changes.listen()
		wake, err := g.expire(wallNow())
		if err != nil {
			g.options.Log.Error("letting requests expire", "err", err)
			wake = maxSleep
		}
		if !sleep(ctx, changed, wake) {
			return nil
		}
	}
}

// sleep waits for wake (or for ever when it is 0), a change or the end; it says whether to go on.
func sleep(ctx context.Context, changed <-chan struct{}, wake time.Duration) bool {
	var alarm <-chan time.Time
	if wake > 0 {
		timer := time.NewTimer(min(wake, maxSleep))
		defer timer.Stop()
		alarm = timer.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-changed:
	case <-alarm:
	}
	return true
}

// expire ends what is overdue and says how long until it must be looked at again; 0 when nothing will expire.
func (g *Gate) expire(now time.Time) (wake time.Duration, err error) {
	next, err := g.nextExpiry()
	if err != nil || next.IsZero() {
		return 0, err
	}
	if now.Before(next) {
		return next.Sub(now), nil
	}
	var late []Pending
	err = g.db.View(func(tx *store.Tx) error {
		late, err = g.alive(tx, func(p Pending) bool { return p.overdue(now) })
		return err
	})
	for _, p := range late {
		err = errors.Join(err, g.expireOne(p.ID, now))
	}
	return maxSleep, err // each expiry rings, so the next one is looked for at once
}

// expireOne has a commit of its own, so that one request that can't be closed keeps no other one open.
func (g *Gate) expireOne(id store.ApprovalID, now time.Time) error {
	err := g.db.Update(func(tx *store.Tx) error {
		p, err := mustGet(tx, id)
		if err != nil || !p.overdue(now) {
			return err
		}
		return g.settle(tx, &p, Expired, now)
	})
	if err != nil {
		return fmt.Errorf("approval %s: %w", id, err)
	}
	return nil
}

func (g *Gate) nextExpiry() (next time.Time, err error) {
	err = g.db.View(func(tx *store.Tx) error {
		return liveTable.Scan(tx, nil, func(_ store.ApprovalID, expires time.Time) (bool, error) {
			if !expires.IsZero() && (next.IsZero() || expires.Before(next)) {
				next = expires
			}
			return true, nil
		})
	})
	return next, err
}
