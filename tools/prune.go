package tools

import (
	"context"
	"time"

	"nod/store"
)

// Prune deletes the records of calls that ended before a time, and says how many. What is not over stays, also a call whose
// repetition is not.
func Prune(ctx context.Context, db *store.DB, before time.Time) (int, error) {
	old := func(e Execution) bool { return e.State.Over() && e.Ended.Before(before) }
	return store.Sweep(ctx, db, executions, func(tx *store.Tx, _ store.CallID, e Execution) (store.Verdict, error) {
		switch {
		case !e.Created.Before(before):
			return store.Finish, nil // the keys are in the order in which calls were made
		case !old(e):
			return store.Keep, nil
		}
		latest, ok, err := LatestExecution(tx, e.RepeatedBy)
		if err != nil || ok && !old(latest) {
			return store.Keep, err
		}
		return store.Drop, nil
	}, nil)
}
