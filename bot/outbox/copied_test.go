package outbox_test

import (
	"testing"

	"nod/bot/outbox"
	"nod/store"
)

// TestCopied: of what an earlier process left in the queue nobody knows whether it was sent, so another copy may stand in the
// chat; of what this one was given first it is known.
func TestCopied(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		r.stop()
		r.put(outbox.Item{To: store.Address{Chat: 101}, Slot: "left", Plain: "Which colour?"})
		r.start(outbox.Options{})
		r.put(outbox.Item{To: store.Address{Chat: 101}, Slot: "new", Plain: "Which size?"})
		r.flush()
		for slot, want := range map[outbox.Slot]bool{"left": true, "new": false, "none": false} {
			err := r.db.View(func(tx *store.Tx) error {
				got, err := r.out.Copied(tx, slot)
				if got != want {
					t.Errorf("%s: %v", slot, got)
				}
				return err
			})
			if err != nil {
				t.Error(err)
			}
		}
	})
}
