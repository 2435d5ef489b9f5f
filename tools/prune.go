package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"sync"
	"time"

	"nod/store"
)

// Prune deletes the records of calls that ended before a time, and says how many. What is not over stays, also a call whose
// repetition is not. Whole outputs that were last written before that time go too.
func (w *Workspace) Prune(ctx context.Context, db *store.DB, before time.Time) (int, error) {
	n, err := pruneCalls(ctx, db, before)
	return n, errors.Join(err, w.pruneOutputs(ctx, before))
}

// outputName is what a call's whole output is called. It is made when it is needed: each command starts this program anew.
var outputName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9a-v]{20}\.txt$`)
})

// pruneOutputs reads the folder anew each time: a person may have put something else there, which stays.
func (w *Workspace) pruneOutputs(ctx context.Context, before time.Time) error {
	folder, err := descend(w.root, outputsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("opening the folder of outputs: %w", err)
	}
	defer folder.Close()
	entries, err := fs.ReadDir(folder.FS(), ".")
	if err != nil {
		return fmt.Errorf("reading the folder of outputs: %w", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || ctx.Err() != nil {
			continue
		}
		if info.Mode().IsRegular() && outputName().MatchString(e.Name()) && info.ModTime().Before(before) {
			if err := folder.Remove(e.Name()); err != nil {
				return fmt.Errorf("removing an old output: %w", err)
			}
		}
	}
	return nil
}

func pruneCalls(ctx context.Context, db *store.DB, before time.Time) (int, error) {
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
