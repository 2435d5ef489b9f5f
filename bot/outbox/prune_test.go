package outbox

import (
	"testing"
	"testing/synctest"
	"time"

	"nod/store"
)

func TestPrune(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.OpenTest(t)
		hold := func(s Slot, m store.MessageID) {
			if err := db.Update(func(tx *store.Tx) error { return fill(tx, s, held{Chat: 1, Message: m}) }); err != nil {
				t.Fatal(err)
			}
		}
		hold("old", 1)
		time.Sleep(slotLife - time.Hour)
		hold("young", 2)
		if n, err := Prune(t.Context(), db, time.Now()); n != 0 || err != nil {
			t.Errorf("%d slots that may still be edited are forgotten, %v", n, err)
		}
		time.Sleep(2 * time.Hour)
		if n, err := Prune(t.Context(), db, time.Now()); n != 1 || err != nil {
			t.Errorf("%d slots are forgotten, %v", n, err)
		}
		if err := db.View(func(tx *store.Tx) error {
			_, old, err := places.Get(tx, place{1, 1})
			s, young, err2 := places.Get(tx, place{1, 2})
			if old || !young || s != "young" {
				t.Errorf("places: old %v, young %v as %s", old, young, s)
			}
			if err == nil {
				err = err2
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	})
}
