package approvals

import (
	"fmt"
	"time"

	"nod/store"
)

// Migrate rewrites where live requests are asked, when a group became a supergroup. What a nod is bound to does not change.
func Migrate(tx *store.Tx, from, to store.ChatID) error {
	var moved []Pending
	err := liveTable.Scan(tx, nil, func(id store.ApprovalID, _ time.Time) (bool, error) {
		p, ok, err := pendingTable.Get(tx, id)
		if ok && p.Request.Cards.Chat == from {
			moved = append(moved, p)
		}
		return true, err
	})
	for _, p := range moved {
		p.Request.Cards.Chat = to
		if err == nil {
			err = pendingTable.Put(tx, p.ID, p)
		}
	}
	if err != nil {
		return fmt.Errorf("moving the requests of chat %d: %w", from, err)
	}
	return nil
}
