package outbox

import (
	"context"
	"time"

	"nod/store"
)

// Prune forgets the slots that were filled before a time, but none as young as may still be edited, and says how many. A
// start forgets the same.
func Prune(ctx context.Context, db *store.DB, before time.Time) (int, error) {
	if young := time.Now().Add(-slotLife); before.After(young) {
		before = young
	}
	return store.Sweep(ctx, db, slots, func(_ *store.Tx, _ store.Text, h held) (store.Verdict, error) {
		if h.At.Before(before) {
			return store.Drop, nil
		}
		return store.Keep, nil
	}, func(tx *store.Tx, _ store.Text, h held) error { return places.Delete(tx, place{h.Chat, h.Message}) })
}
