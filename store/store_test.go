package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if Dispatch(os.Args) {
		return
	}
	goleak.VerifyTestMain(m)
}

func tempPath(t *testing.T) string { return filepath.Join(t.TempDir(), "home", "nod.db") }

func open(t *testing.T, path string) *DB {
	t.Helper()
	db, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func shut(t *testing.T, db *DB) {
	t.Helper()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func update(t *testing.T, db *DB, fn func(*Tx) error) {
	t.Helper()
	if err := db.Update(fn); err != nil {
		t.Fatal(err)
	}
}

func view(t *testing.T, db *DB, fn func(*Tx) error) {
	t.Helper()
	if err := db.View(fn); err != nil {
		t.Fatal(err)
	}
}

// notes is a table of this test, in a bucket that is there anyway.
var notes = NewTable[Text, string]("rules", ParseText[Text])

func TestFILE5_SecondOpenIsRefused(t *testing.T) {
	path := tempPath(t)
	db := open(t, path)
	_, err := Open(path)
	if !errors.Is(err, ErrLocked) {
		t.Fatalf("got %v", err)
	}
	if !strings.Contains(err.Error(), "NOD_HOME") {
		t.Errorf("%q does not say what to do", err)
	}
	shut(t, db)
	shut(t, open(t, path))
}

func TestFirstStartsAtOnce(t *testing.T) {
	path := tempPath(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			db, err := Open(path)
			if errors.Is(err, ErrLocked) {
				return
			}
			if err != nil {
				t.Error(err)
				return
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	shut(t, open(t, path))
}

func TestOpenLeavesOnlyItsFiles(t *testing.T) {
	path := tempPath(t)
	shut(t, open(t, path))
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, %v", e.Name(), info.Mode(), err)
		}
	}
	if diff := cmp.Diff([]string{"nod.db", "nod.db" + markerSuffix}, names); diff != "" {
		t.Error(diff)
	}
}

func TestUpdateIsAllOrNothing(t *testing.T) {
	db := OpenTest(t)
	wrong := errors.New("wrong")
	err := db.Update(func(tx *Tx) error {
		if err := notes.Put(tx, "a", "1"); err != nil {
			return err
		}
		return wrong
	})
	if err != wrong {
		t.Errorf("got %v, want the very error", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_ = db.Update(func(tx *Tx) error {
			_ = notes.Put(tx, "b", "1")
			panic("wrong")
		})
	}()
	view(t, db, func(tx *Tx) error {
		all, err := notes.All(tx, nil)
		if len(all) != 0 {
			t.Errorf("kept %v", all)
		}
		return err
	})
}

func TestOnCommit(t *testing.T) {
	db := OpenTest(t)
	var got []string
	update(t, db, func(tx *Tx) error {
		for _, name := range []string{"a", "b", "c"} {
			tx.OnCommit(func() {
				// Outside of the transaction: another one can be opened, and sees what was committed.
				view(t, db, func(tx *Tx) error {
					note, _, err := notes.Get(tx, "k")
					got = append(got, name+note)
					return err
				})
			})
		}
		return notes.Put(tx, "k", "!")
	})
	if diff := cmp.Diff([]string{"a!", "b!", "c!"}, got); diff != "" {
		t.Error(diff)
	}
	got = nil
	_ = db.Update(func(tx *Tx) error {
		tx.OnCommit(func() { got = append(got, "rolled back") })
		return errors.New("wrong")
	})
	view(t, db, func(tx *Tx) error {
		tx.OnCommit(func() { got = append(got, "view") })
		return nil
	})
	if len(got) != 0 {
		t.Errorf("ran %v", got)
	}
}

// TestAnUpdateThatChangesNothingIsNotCommitted reads the number of the last commit, which bbolt counts.
func TestAnUpdateThatChangesNothingIsNotCommitted(t *testing.T) {
	db := OpenTest(t)
	update(t, db, func(tx *Tx) error { return notes.Put(tx, "k", "v") })
	commits := func() (n int) {
		view(t, db, func(tx *Tx) error { n = tx.bolt.ID(); return nil })
		return n
	}
	tests := []struct {
		name   string
		fn     func(*Tx) error
		commit bool
	}{
		{"reading", func(tx *Tx) error { _, _, err := notes.Get(tx, "k"); return err }, false},
		{"the same again", func(tx *Tx) error { return notes.Put(tx, "k", "v") }, false},
		{"deleting what is not there", func(tx *Tx) error { return notes.Delete(tx, "other") }, false},
		{"deleting none", func(tx *Tx) error { _, err := notes.DeletePrefix(tx, []byte("o")); return err }, false},
		{"another value", func(tx *Tx) error { return notes.Put(tx, "k", "w") }, true},
		{"counting", func(tx *Tx) error { _, err := notes.NextSeq(tx); return err }, true},
		{"deleting by prefix", func(tx *Tx) error { _, err := notes.DeletePrefix(tx, []byte("k")); return err }, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before, ran := commits(), false
			update(t, db, func(tx *Tx) error {
				tx.OnCommit(func() { ran = true })
				return test.fn(tx)
			})
			if got := commits() != before; got != test.commit || !ran {
				t.Errorf("committed: %v, want %v; what follows ran: %v", got, test.commit, ran)
			}
		})
	}
}

func TestReopenRemembers(t *testing.T) {
	path := tempPath(t)
	db := open(t, path)
	update(t, db, func(tx *Tx) error { return notes.Put(tx, "k", "v") })
	shut(t, db)
	db = open(t, path)
	defer shut(t, db)
	view(t, db, func(tx *Tx) error {
		if got, ok, err := notes.Get(tx, "k"); got != "v" || !ok || err != nil {
			t.Errorf("got %q, %v, %v", got, ok, err)
		}
		return nil
	})
	if db.Path() != path || db.Size() <= 0 {
		t.Errorf("%s of %d bytes", db.Path(), db.Size())
	}
}

func TestClosedDatabase(t *testing.T) {
	db := open(t, tempPath(t))
	shut(t, db)
	if err := db.Update(func(*Tx) error { return nil }); err == nil {
		t.Error("an update after the end was taken")
	}
	if err := db.View(func(*Tx) error { return nil }); err == nil {
		t.Error("a view after the end was taken")
	}
	if db.Size() != 0 {
		t.Error("it has a size")
	}
}

func TestBackupUnderWrites(t *testing.T) {
	dir := t.TempDir()
	db := OpenTest(t)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			// Both or none: the copy must never hold one of a pair.
			err := db.Update(func(tx *Tx) error {
				key := Text(fmt.Sprintf("%09d", n))
				return errors.Join(notes.Put(tx, "a"+key, strings.Repeat("x", 500)), notes.Put(tx, "b"+key, ""))
			})
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	for n := range 10 {
		copied := filepath.Join(dir, fmt.Sprint("copy", n, ".db"))
		if err := db.Backup(copied); err != nil {
			t.Fatal(err)
		}
		checkPairs(t, copied)
		if err := db.Backup(copied); err == nil {
			t.Error("a backup was written over")
		}
	}
	close(stop)
	wg.Wait()
	if err := db.Backup(filepath.Join(dir, "missing", "x.db")); err == nil {
		t.Error("a backup into a folder that is not there worked")
	}
	left, err := filepath.Glob(filepath.Join(dir, ".part-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func checkPairs(t *testing.T, path string) {
	t.Helper()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
	db := open(t, path)
	defer shut(t, db)
	err := db.bolt.View(func(tx *bolt.Tx) error {
		for err := range tx.Check() {
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	view(t, db, func(tx *Tx) error {
		a, err := notes.All(tx, []byte("a"))
		if err != nil {
			return err
		}
		b, err := notes.All(tx, []byte("b"))
		if len(a) != len(b) {
			t.Errorf("%d and %d of a pair", len(a), len(b))
		}
		return err
	})
}

func TestLastBackup(t *testing.T) {
	path := tempPath(t)
	db := open(t, path)
	defer shut(t, db)
	if got, _ := LastBackup(path); got != "" {
		t.Errorf("got %s", got)
	}
	dir := filepath.Join(filepath.Dir(path), backupsDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	names := []string{"z.db", "b.db", "a.db"}
	for i, name := range slices.Backward(names) {
		name = filepath.Join(dir, name)
		if err := db.Backup(name); err != nil {
			t.Fatal(err)
		}
		when := modTime(path).AddDate(0, 0, -i)
		if err := os.Chtimes(name, when, when); err != nil {
			t.Fatal(err)
		}
	}
	got, at := LastBackup(path)
	if filepath.Base(got) != "z.db" || !at.Equal(modTime(path)) {
		t.Errorf("got %s of %s", got, at)
	}
	elsewhere := filepath.Join(t.TempDir(), "by hand.db")
	if err := errors.Join(db.Backup(elsewhere), NoteBackup(path, elsewhere)); err != nil {
		t.Fatal(err)
	}
	if got, _ := LastBackup(path); got != elsewhere {
		t.Errorf("got %s", got)
	}
	if err := os.Remove(elsewhere); err != nil {
		t.Fatal(err)
	}
	if got, _ := LastBackup(path); filepath.Base(got) != "z.db" {
		t.Errorf("a backup that is gone: got %s", got)
	}
}
