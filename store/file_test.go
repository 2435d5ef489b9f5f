package store

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// filled makes a database of several pages and closes it.
func filled(t *testing.T) (path string, content []byte) {
	t.Helper()
	path = tempPath(t)
	db := open(t, path)
	for _, fill := range []string{"w", "y", "x"} { // commits, so that both meta pages are of this schema and pages were freed
		update(t, db, func(tx *Tx) error {
			for c := range 200 {
				if err := notes.Put(tx, Text([]byte{byte(c)}), strings.Repeat(fill, 300)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	shut(t, db)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, content
}

// rootPage is where the file's tree of buckets begins.
func rootPage(t *testing.T, path string) (offset int) {
	t.Helper()
	db := open(t, path)
	defer shut(t, db)
	err := db.bolt.View(func(tx *bolt.Tx) error {
		offset = int(tx.Bucket([]byte("rules")).Root()) * tx.DB().Info().PageSize
		return nil
	})
	if err != nil || offset == 0 {
		t.Fatalf("page at %d, %v", offset, err)
	}
	return offset
}

func TestFILE6_DamagedFileIsRefusedAndKept(t *testing.T) {
	page := os.Getpagesize()
	tests := []struct {
		name   string
		damage func(t *testing.T, path string, content []byte) []byte // nil: no file
	}{
		{"missing", func(*testing.T, string, []byte) []byte { return nil }},
		{"empty", func(*testing.T, string, []byte) []byte { return []byte{} }},
		{"five bytes", func(*testing.T, string, []byte) []byte { return []byte("hello") }},
		{"text", func(*testing.T, string, []byte) []byte { return bytes.Repeat([]byte("not a database\n"), 10_000) }},
		{"zeros", func(_ *testing.T, _ string, b []byte) []byte { return make([]byte, len(b)) }},
		{"both metas zeroed", func(_ *testing.T, _ string, b []byte) []byte { clear(b[:2*page]); return b }},
		{"cut in half", func(_ *testing.T, _ string, b []byte) []byte { return b[:len(b)/2] }},
		{"cut to the metas", func(_ *testing.T, _ string, b []byte) []byte { return b[:2*page] }},
		{"cut inside the second meta", func(_ *testing.T, _ string, b []byte) []byte { return b[:page+40] }},
		{"a page of a bucket scrambled", func(t *testing.T, path string, b []byte) []byte {
			at := rootPage(t, path)
			copy(b[at:], bytes.Repeat([]byte{0xff}, page))
			return b
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path, content := filled(t)
			backup := filepath.Join(filepath.Dir(path), backupsDir, "last.db")
			if err := os.MkdirAll(filepath.Dir(backup), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(backup, content, 0o600); err != nil {
				t.Fatal(err)
			}
			content = test.damage(t, path, bytes.Clone(content))
			if content == nil {
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			} else if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second time shows that the first gave back the lock
				checkDamaged(t, path, backup)
			}
			after, err := os.ReadFile(path)
			if content == nil && !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a file came up: %v", err)
			}
			if content != nil && !bytes.Equal(content, after) {
				t.Error("the damaged file was changed")
			}

			if _, err := Restore(path, backup); err != nil {
				t.Fatal(err)
			}
			shut(t, open(t, path))
		})
	}
}

func checkDamaged(t *testing.T, path, backup string) {
	t.Helper()
	_, err := Open(path)
	damage, ok := errors.AsType[*DamagedError](err)
	if !ok {
		t.Fatalf("got %v, want a *DamagedError", err)
	}
	if damage.Path != path || damage.Backup != backup || damage.Reason == "" {
		t.Errorf("got %+v", damage)
	}
	for _, want := range []string{path, backup, "nod restore " + backup} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}

func TestDamagedWithoutBackup(t *testing.T) {
	path, _ := filled(t)
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	_, err := Open(path)
	if err == nil || !strings.Contains(err.Error(), "No backup is known") {
		t.Errorf("got %v", err)
	}
}

// A commit that a power cut tore leaves one meta page unreadable; the other one holds the commit before.
func TestOneTornMetaOpens(t *testing.T) {
	for meta := range 2 {
		path, content := filled(t)
		at := meta * os.Getpagesize()
		for i := at + 16 + 32; i < at+16+56; i++ {
			content[i] = 0xff // freelist, high-water page and transaction, beyond anything sensible
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		db := open(t, path)
		view(t, db, func(tx *Tx) error {
			all, err := notes.All(tx, nil)
			if len(all) != 200 {
				t.Errorf("meta %d: %d records", meta, len(all))
			}
			return err
		})
		shut(t, db)
	}
}

// What was no nod database is not claimed: it does not become the reason to refuse a new one later.
func TestFileOfAnotherProgram(t *testing.T) {
	path := tempPath(t)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	foreign, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = foreign.Update(func(tx *bolt.Tx) error {
		_, err := tx.CreateBucket([]byte("theirs"))
		return err
	})
	if err := errors.Join(err, foreign.Close()); err != nil {
		t.Fatal(err)
	}
	_, err = Open(path)
	if _, ok := errors.AsType[*DamagedError](err); !ok {
		t.Errorf("got %v", err)
	}
	if there, err := exists(path + markerSuffix); there || err != nil {
		t.Errorf("marked as ours: %v, %v", there, err)
	}
}

func TestMarkerIsMadeAnew(t *testing.T) {
	path, _ := filled(t)
	if err := os.Remove(path + markerSuffix); err != nil {
		t.Fatal(err)
	}
	shut(t, open(t, path))
	if there, err := exists(path + markerSuffix); !there || err != nil {
		t.Errorf("marked: %v, %v", there, err)
	}
}

func TestRestore(t *testing.T) {
	path := tempPath(t)
	backup := filepath.Join(t.TempDir(), "backup.db")
	db := open(t, path)
	update(t, db, func(tx *Tx) error { return notes.Put(tx, "k", "then") })
	if err := db.Backup(backup); err != nil {
		t.Fatal(err)
	}
	update(t, db, func(tx *Tx) error { return notes.Put(tx, "k", "now") })
	if _, err := Restore(path, backup); !errors.Is(err, ErrLocked) {
		t.Errorf("restored over a database in use: %v", err)
	}
	shut(t, db)

	for n, want := range []string{path + ".before-restore", path + ".before-restore.2"} {
		kept, err := Restore(path, backup)
		if err != nil || kept != want {
			t.Fatalf("restore %d kept %q, %v, want %q", n, kept, err, want)
		}
		checkNote(t, path, "then")
	}
	checkNote(t, path+".before-restore", "now")
}

func TestRestoreOnAnEmptyHome(t *testing.T) {
	_, content := filled(t)
	backup := filepath.Join(t.TempDir(), "backup.db")
	if err := os.WriteFile(backup, content, 0o600); err != nil {
		t.Fatal(err)
	}
	path := tempPath(t)
	kept, err := Restore(path, backup)
	if err != nil || kept != "" {
		t.Fatalf("kept %q, %v", kept, err)
	}
	shut(t, open(t, path))
}

func TestRestoreRefusesWhatIsNoDatabase(t *testing.T) {
	path, content := filled(t)
	backup := filepath.Join(t.TempDir(), "backup.db")
	if _, err := Restore(path, backup); err == nil {
		t.Error("a backup that is not there was restored")
	}
	for _, bad := range [][]byte{{}, []byte("hello"), content[:len(content)/2]} {
		if err := os.WriteFile(backup, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Restore(path, backup); err == nil {
			t.Errorf("a backup of %d bytes was restored", len(bad))
		}
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(content, after) {
		t.Errorf("the database was changed: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".restore-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func checkNote(t *testing.T, path, want string) {
	t.Helper()
	db := open(t, path)
	defer shut(t, db)
	view(t, db, func(tx *Tx) error {
		if got, _, err := notes.Get(tx, "k"); got != want || err != nil {
			t.Errorf("%s holds %q, %v, want %q", path, got, err, want)
		}
		return nil
	})
}

func TestAfterRestore(t *testing.T) {
	path := tempPath(t)
	backup := filepath.Join(t.TempDir(), "backup.db")
	db := open(t, path)
	calls := func(db *DB, fail error) (n int) {
		err := db.AfterRestore(func(tx *Tx) error {
			n++
			return errors.Join(notes.Put(tx, "k", "after"), fail)
		})
		if !errors.Is(err, fail) {
			t.Error(err)
		}
		return n
	}
	if calls(db, nil) != 0 {
		t.Error("a new database counts as restored")
	}
	if err := db.Backup(backup); err != nil {
		t.Fatal(err)
	}
	shut(t, db)
	if _, err := Restore(path, backup); err != nil {
		t.Fatal(err)
	}
	db = open(t, path)
	defer func() { shut(t, db) }()
	if calls(db, errors.New("not now")) != 1 || calls(db, nil) != 1 {
		t.Error("it is not told until it was seen to")
	}
	if calls(db, nil) != 0 {
		t.Error("it is told again")
	}
}

func TestMakeFolder(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "b", "c")
	for range 2 { // the second time it is there
		if err := MakeFolder(path); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder above is %v, %v", info, err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := MakeFolder(filepath.Join(file, "below")); err == nil {
		t.Error("a folder was made below a file")
	}
}
