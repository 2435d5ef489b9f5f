package approvals

import (
	"context"
	"time"

	"nod/store"
)

// Prune deletes requests and bypasses that came to their end before a time, and says how many. What is alive stays, and so
// does the newest request of a call as long as that is alive.
func Prune(ctx context.Context, db *store.DB, before time.Time) (int, error) {
	requests, err := store.Sweep(ctx, db, pendingTable, func(_ *store.Tx, _ store.ApprovalID, p Pending) (store.Verdict, error) {
		return dropIf(!p.State.alive() && p.over().Before(before)), nil
	}, forgetCall)
	if err != nil {
		return requests, err
	}
	grants, err := store.Sweep(ctx, db, grantsTable, func(_ *store.Tx, _ store.Text, gr Grant) (store.Verdict, error) {
		return dropIf(!gr.holds(before) && gr.over().Before(before)), nil
	}, nil)
	return requests + grants, err
}

func dropIf(yes bool) store.Verdict {
	if yes {
		return store.Drop
	}
	return store.Keep
}

// forgetCall takes a request off the list of its call's newest one.
func forgetCall(tx *store.Tx, id store.ApprovalID, p Pending) error {
	newest, ok, err := callsTable.Get(tx, p.Request.Call)
	if err != nil || !ok || newest != id {
		return err
	}
	return callsTable.Delete(tx, p.Request.Call)
}

// over is when the request came to its end.
func (p Pending) over() time.Time { return latest(p.Created, p.Decided, p.Ended) }

// over is when the bypass ended: taken back, or by itself.
func (gr Grant) over() time.Time {
	if !gr.Ended.IsZero() {
		return gr.Ended
	}
	return gr.Until
}

func latest(times ...time.Time) (last time.Time) {
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last
}
