package approvals

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/store"
)

// TestPrune: requests and bypasses go once they have long been over; what is alive stays, whatever its age.
func TestPrune(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		used, rejected := command("one"), command("two")
		nod := r.decide(r.ask(used).ID, VerbGrant15)
		if _, err := r.redeem(nod.ID, used); err != nil {
			t.Fatal(err)
		}
		r.decide(r.ask(rejected).ID, VerbReject)
		r.decide(r.ask(command("three")).ID, VerbGrantSession)
		forever := command("four")
		var interrupted Pending
		r.update(func(tx *store.Tx) (err error) {
			interrupted, err = r.gate.Ask(tx, Interrupted, forever, nil, "unknown")
			return err
		})
		prune := func() int {
			n, err := Prune(t.Context(), r.db, time.Now().Add(-90*24*time.Hour))
			if err != nil {
				t.Error(err)
			}
			return n
		}
		time.Sleep(89 * 24 * time.Hour)
		if n := prune(); n != 0 {
			t.Errorf("after 89 days %d are pruned", n)
		}
		recent := r.decide(r.ask(command("five")).ID, VerbReject)
		time.Sleep(2 * 24 * time.Hour)
		if n := prune(); n != 3 { // two requests, and the bypass of 15 minutes; the third's nod was never redeemed
			t.Errorf("%d are pruned", n)
		}
		left := map[store.ApprovalID]bool{}
		r.update(func(tx *store.Tx) error {
			return pendingTable.Scan(tx, nil, func(id store.ApprovalID, p Pending) (bool, error) {
				left[id] = true
				return true, nil
			})
		})
		if !left[interrupted.ID] || !left[recent.ID] || len(left) != 3 {
			t.Errorf("left are %v", left)
		}
		r.update(func(tx *store.Tx) error {
			if _, known, err := r.gate.Find(tx, used.Call); known || err != nil {
				t.Errorf("the used request is still found, %v", err)
			}
			if p, known, err := r.gate.Find(tx, forever.Call); !known || p.State != Waiting || err != nil {
				t.Errorf("the interrupted call's request is %+v, %v", p, err)
			}
			return nil
		})
		var held []string
		for _, gr := range r.grants() {
			held = append(held, gr.Category)
		}
		if diff := cmp.Diff([]string{"shell"}, held); diff != "" {
			t.Errorf("bypasses: %s", diff)
		}
	})
}
