package tools_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"nod/approvals"
	"nod/store"
	"nod/tools"
)

// TestPrune: records of calls go once they have long been over, but not as long as their repetition is open.
func TestPrune(t *testing.T) {
	p := &pen{}
	r := newRig(t, kit(p)...)
	done, open := r.call("free_note", `{"text":"done"}`), r.call("free_note", `{"text":"open"}`)
	r.run(done)
	r = leaveRunning(r, p, open)
	f := r.resume(t.Context(), open)
	again := r.card()
	count := func() (n int) {
		if err := r.db.View(func(tx *store.Tx) error {
			for _, id := range []store.CallID{done.ID, open.ID} {
				if _, ok, err := tools.FindExecution(tx, id); err != nil {
					return err
				} else if ok {
					n++
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	prune := func(before time.Time) int {
		n, err := r.scope.Workspace.Prune(t.Context(), r.db, before)
		if err != nil {
			t.Error(err)
		}
		return n
	}
	outputs := filepath.Join(r.scope.Workspace.Dir(), "data/outputs")
	old := time.Now().Add(-time.Hour)
	own := string(done.ID) + ".txt"
	if err := os.MkdirAll(outputs, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{own, string(open.ID) + ".txt", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(outputs, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chtimes(filepath.Join(outputs, own), old, old), os.Chtimes(filepath.Join(outputs, "notes.txt"), old, old)); err != nil {
		t.Fatal(err)
	}
	if n := prune(time.Now().Add(-time.Minute)); n != 0 || count() != 2 {
		t.Errorf("%d young records are pruned", n)
	}
	if left, err := filepath.Glob(filepath.Join(outputs, "*")); err != nil || len(left) != 2 || slices.Contains(left, filepath.Join(outputs, own)) {
		t.Errorf("left are the outputs %q, %v", left, err)
	}
	soon := time.Now().Add(time.Hour)
	if n := prune(soon); n != 1 || count() != 1 {
		t.Errorf("%d records are pruned while one call is open, %d are left", n, count())
	}
	r.verb(again, approvals.VerbAgain)
	if out := r.lands(f); out.State != tools.Completed {
		t.Errorf("the repetition is %+v", out)
	}
	if n := prune(soon); n != 2 || count() != 0 {
		t.Errorf("%d records are pruned in the end, %d are left", n, count())
	}
}
