package store

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSweep drops every third record of more than fit into one transaction, with what hangs on it.
func TestSweep(t *testing.T) {
	db := OpenTest(t)
	main := NewTable[Text, int]("sessions", ParseText[Text])
	beside := NewTable[Text, int]("turns", ParseText[Text])
	const records = 3 * sweepReads
	key := func(i int) Text { return Text(fmt.Sprintf("%05d", i)) }
	fill := func(tx *Tx) error {
		for i := range records {
			if err := errors.Join(main.Put(tx, key(i), i), beside.Put(tx, key(i), i)); err != nil {
				return err
			}
		}
		return nil
	}
	if err := db.Update(fill); err != nil {
		t.Fatal(err)
	}
	third := func(_ *Tx, _ Text, v int) (Verdict, error) {
		switch {
		case v >= records-30:
			return Finish, nil
		case v%3 == 0:
			return Drop, nil
		}
		return Keep, nil
	}
	n, err := Sweep(t.Context(), db, main, third, func(tx *Tx, k Text, _ int) error { return beside.Delete(tx, k) })
	if want := (records - 30) / 3; n != want || err != nil {
		t.Errorf("%d are dropped, want %d: %v", n, want, err)
	}
	if err := db.View(func(tx *Tx) error {
		a, errA := main.All(tx, nil)
		b, errB := beside.All(tx, nil)
		if diff := cmp.Diff(a, b); diff != "" || len(a) != records-n {
			t.Errorf("%d are left: %s", len(a), diff)
		}
		return errors.Join(errA, errB)
	}); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if n, err := Sweep(over, db, main, third, nil); n != 0 || err != nil {
		t.Errorf("after the end %d are dropped, %v", n, err)
	}
	broken := errors.New("broken")
	if _, err := Sweep(t.Context(), db, main, func(*Tx, Text, int) (Verdict, error) { return Drop, broken }, nil); !errors.Is(err, broken) {
		t.Errorf("an error of judge becomes %v", err)
	}
	// What changed between the look and the deletion stays.
	asked := 0
	n, err = Sweep(t.Context(), db, main, func(*Tx, Text, int) (Verdict, error) {
		if asked++; asked == 1 {
			return Drop, nil
		}
		return Keep, nil
	}, nil)
	if n != 0 || err != nil {
		t.Errorf("%d are dropped that were not to be, %v", n, err)
	}
}
