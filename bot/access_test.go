package bot

import (
	"testing"
	"testing/synctest"
	"time"

	"nod/store"
)

// TestSD1_TheOldestStrangerIsForgotten: at most as many strangers as are remembered are answered a day, and after it
// somebody new is heard again, in the place of who was answered longest ago.
func TestSD1_TheOldestStrangerIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := store.OpenTest(t)
		next := store.UserID(1000)
		asked := 0
		write := func(id store.UserID) (answered bool) {
			if err := db.Update(func(tx *store.Tx) error {
				heard, err := Access{}.Unheard(tx, id, false)
				if err != nil {
					return err
				}
				var ask bool
				answered, ask, err = Access{}.FirstContact(tx, id, "Stranger", true)
				if ask {
					asked++
				}
				if answered == heard {
					t.Errorf("%d is answered: %v, unheard: %v", id, answered, heard)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
			return answered
		}
		flood := func(n int) (answered int) {
			for range n {
				next++
				if write(next) {
					answered++
				}
			}
			return answered
		}
		first := next + 1
		for range maxStrangers {
			time.Sleep(time.Minute)
			if flood(1) != 1 {
				t.Fatal("a stranger is not answered while there is room")
			}
		}
		if n := flood(1000); n != 0 {
			t.Errorf("%d are answered beyond the bound", n)
		}
		if write(first) {
			t.Error("one is answered twice a day")
		}
		time.Sleep(strangerPause - maxStrangers*time.Minute + 10*time.Minute)
		if n := flood(1000); n != 10 {
			t.Errorf("%d are answered, and 10 could be forgotten", n)
		}
		if asked < 10 || asked > 30 { // five an hour, in the first 200 minutes and on the next day
			t.Errorf("an owner is asked %d times", asked)
		}
		if err := db.View(func(tx *store.Tx) error {
			count, oldest, err := strangers(tx)
			if count != maxStrangers || oldest.ID != first+10 {
				t.Errorf("%d are remembered, the oldest is %d", count, oldest.ID)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	})
}
