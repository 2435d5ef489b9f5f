package inbox

import (
	"fmt"
	"slices"
	"sync"

	"github.com/go-telegram/bot/models"

	"nod/store"
)

// litterMost is how many rows without effect may wait for a commit that takes them along.
const litterMost = 100

// litter is rows that Drop found to be without effect after they were stored. They are deleted many at a time: what a
// stranger writes is not worth a commit. After a crash they are read, and dropped, again.
type litter struct {
	mu  sync.Mutex
	ids []store.UpdateID
}

// drops asks Options.Drop.
func (in *Inbox) drops(tx *store.Tx, u *models.Update) (drop bool, err error) {
	if in.opts.Drop == nil {
		return false, nil
	}
	return in.opts.Drop(tx, u)
}

// discard leaves a stored update to a later commit when it has no effect by now.
func (in *Inbox) discard(e *entry) (bool, error) {
	var drop bool
	err := in.db.View(func(tx *store.Tx) (err error) {
		drop, err = in.drops(tx, &e.update)
		return err
	})
	if err != nil || !drop {
		return false, err
	}
	in.litter.mu.Lock()
	in.litter.ids = append(in.litter.ids, e.id)
	full := len(in.litter.ids) >= litterMost
	in.litter.mu.Unlock()
	if full {
		err = in.db.Update(in.sweep)
	}
	return true, err
}

// sweep deletes the litter within a commit.
func (in *Inbox) sweep(tx *store.Tx) error {
	in.litter.mu.Lock()
	ids := slices.Clone(in.litter.ids)
	in.litter.mu.Unlock()
	for _, id := range ids {
		if err := rows.Delete(tx, id); err != nil {
			return fmt.Errorf("deleting updates without effect: %w", err)
		}
	}
	tx.OnCommit(func() {
		in.litter.mu.Lock()
		defer in.litter.mu.Unlock()
		in.litter.ids = slices.DeleteFunc(in.litter.ids, func(id store.UpdateID) bool { return slices.Contains(ids, id) })
	})
	return nil
}
