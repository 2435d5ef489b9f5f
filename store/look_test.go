package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// crash ends a process as a kill would, as far as the files tell: the note of the clean stop is that of an earlier one.
func crash(t *testing.T, path string) {
	t.Helper()
	if err := noteLeft(path, 1); err != nil {
		t.Fatal(err)
	}
}

func TestFILE6_AFileIsCheckedAfterAnUncleanStop(t *testing.T) {
	page := os.Getpagesize()
	tests := []struct {
		name   string
		damage func(t *testing.T, path string, b []byte) []byte
		reason string
	}{
		{"a page of a bucket scrambled", func(t *testing.T, path string, b []byte) []byte {
			copy(b[rootPage(t, path):], bytes.Repeat([]byte{0xff}, page))
			return b
		}, "damaged"},
		{"a bucket that leads in circles", func(t *testing.T, path string, b []byte) []byte {
			lead(b, rootPage(t, path), page)
			return b
		}, "damaged"},
		{"a bucket that leads out of the file", func(t *testing.T, path string, b []byte) []byte {
			at := rootPage(t, path)
			lead(b, at, page)
			binary.NativeEndian.PutUint64(b[at+16+8:], 1<<40)
			return b
		}, "damaged"},
		{"cut in half", func(_ *testing.T, _ string, b []byte) []byte { return b[:len(b)/2] }, "cut off"},
		{"zeros", func(_ *testing.T, _ string, b []byte) []byte { return make([]byte, len(b)) }, "damaged"},
		{"a freelist that holds what is in use", func(t *testing.T, path string, b []byte) []byte {
			free(b, page, uint64(rootPage(t, path)/page))
			return b
		}, "damaged"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path, content := filled(t)
			content = test.damage(t, path, content)
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			crash(t, path)
			begun := time.Now()
			err := Look(t.Context(), path)
			damage, ok := errors.AsType[*DamagedError](err)
			if !ok || !strings.Contains(damage.Reason, test.reason) {
				t.Fatalf("got %v", err)
			}
			if took := time.Since(begun); took > 10*time.Second {
				t.Errorf("it took %s", took)
			}
			if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, content) {
				t.Errorf("the file was changed: %v", err)
			}
		})
	}
}

// lead makes the page at an offset a branch whose one child is itself.
func lead(b []byte, at, page int) {
	order := binary.NativeEndian
	clear(b[at+8 : at+page])
	order.PutUint16(b[at+8:], 1)  // flags: a branch
	order.PutUint16(b[at+10:], 1) // count
	order.PutUint32(b[at+16:], 16)
	order.PutUint64(b[at+16+8:], uint64(at/page))
}

// free writes a page into the freelist of the newest meta, in place of another one.
func free(b []byte, page int, id uint64) {
	order := binary.NativeEndian
	newest, err := newestMeta(bytes.NewReader(b))
	if err != nil {
		panic(err) // bytes can be read
	}
	for _, at := range []int{0, page} {
		if order.Uint64(b[at+16+48:]) != newest.tx {
			continue
		}
		list := int(order.Uint64(b[at+16+32:])) * page
		order.PutUint16(b[list+10:], 1)
		order.PutUint64(b[list+16:], id)
		sum := fnv.New64a()
		sum.Write(b[at+16 : at+16+56])
		order.PutUint64(b[at+16+56:], sum.Sum64())
	}
}

func TestASoundFileIsCheckedOnce(t *testing.T) {
	path, content := filled(t)
	crash(t, path)
	if err := Look(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if sound, err := left(path); !sound || err != nil {
		t.Errorf("it is not noted as sound: %v", err)
	}
	// What is broken from here on is not looked for: nothing was committed since.
	copy(content[rootPage(t, path):], bytes.Repeat([]byte{0xff}, os.Getpagesize()))
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Look(t.Context(), path); err != nil {
		t.Errorf("it was checked again: %v", err)
	}
}

func TestOnlyACleanStopIsOne(t *testing.T) {
	path := tempPath(t)
	sound := func(want bool) {
		t.Helper()
		if got, err := left(path); got != want || err != nil {
			t.Errorf("sound: %v, %v", got, err)
		}
	}
	change := func(db *DB, text string) {
		t.Helper()
		update(t, db, func(tx *Tx) error { return notes.Put(tx, "a", text) })
	}
	db := open(t, path)
	change(db, "one")
	sound(false) // a kill now would leave it so
	shut(t, db)
	sound(true)
	shut(t, open(t, path)) // nothing was committed
	sound(true)

	db = open(t, path)
	change(db, "two")
	crash(t, path)
	if err := db.bolt.Close(); err != nil {
		t.Fatal(err)
	}
	db = open(t, path) // by a command that does not look
	change(db, "three")
	shut(t, db)
	sound(false)
	if err := Look(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	sound(true)
	if err := os.Remove(path + markerSuffix); err != nil { // as an older nod leaves it
		t.Fatal(err)
	}
	sound(false)
}

func TestLookLeavesADatabaseInUseAlone(t *testing.T) {
	path := tempPath(t)
	db := open(t, path)
	defer shut(t, db)
	update(t, db, func(tx *Tx) error { return notes.Put(tx, "a", "b") })
	if err := Look(t.Context(), path); !errors.Is(err, ErrLocked) {
		t.Errorf("got %v", err)
	}
	if err := SetAside(&DamagedError{Path: path}); !errors.Is(err, ErrLocked) {
		t.Errorf("got %v", err)
	}
}

func TestLookEndsWithItsContext(t *testing.T) {
	path, _ := filled(t)
	crash(t, path)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Look(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestLookWithoutADatabase(t *testing.T) {
	if err := Look(t.Context(), tempPath(t)); err != nil {
		t.Error(err)
	}
}

// TestFILE6_ADamagedFileIsKeptAside: never silently new, also at the second start, and a restore ends it.
func TestFILE6_ADamagedFileIsKeptAside(t *testing.T) {
	path, content := filled(t)
	backup := filepath.Join(t.TempDir(), "backup.db")
	if err := errors.Join(os.WriteFile(backup, content, 0o600), NoteBackup(path, backup), os.Truncate(path, 5000)); err != nil {
		t.Fatal(err)
	}
	_, err := Open(path)
	damage, ok := errors.AsType[*DamagedError](err)
	if !ok {
		t.Fatal(err)
	}
	err = SetAside(damage)
	if told, ok := errors.AsType[*DamagedError](err); !ok || !strings.HasPrefix(told.Kept, path+asideSuffix) || !strings.Contains(err.Error(), "nod restore "+backup) {
		t.Fatalf("got %v", err)
	}
	kept := setAsideBefore(path)
	if info, err := os.Stat(kept); err != nil || info.Size() != 5000 {
		t.Errorf("%s: %v", kept, err)
	}
	_, err = Open(path)
	if again, ok := errors.AsType[*DamagedError](err); !ok || again.Kept != kept || again.Backup != backup {
		t.Errorf("the second start: %v", err)
	}
	if err := SetAside(damage); !errors.Is(err, damage) {
		t.Errorf("set aside twice: %v", err)
	}
	if _, err := Restore(path, backup); err != nil {
		t.Fatal(err)
	}
	if err := Look(t.Context(), path); err != nil {
		t.Error(err)
	}
	shut(t, open(t, path))
}

func TestWatchTellsOfCommitsThatFailAndOfTheFirstThatDoesNot(t *testing.T) {
	db := open(t, tempPath(t))
	var told []error
	db.Watch(func(err error) { told = append(told, err) })
	put := func(text string) error { return db.Update(func(tx *Tx) error { return notes.Put(tx, "a", text) }) }
	full := errors.New("no space left on device")
	if err := put("one"); err != nil {
		t.Fatal(err)
	}
	db.bolt.AllocSize, db.bolt.MaxSize = 1, 1
	if err := db.Update(func(tx *Tx) error { return notes.Put(tx, "a", strings.Repeat("x", 1<<20)) }); err == nil {
		t.Error("it was written")
	}
	db.bolt.MaxSize = 0
	if err := db.Probe(); err != nil {
		t.Error(err)
	}
	if err := db.Update(func(*Tx) error { return full }); !errors.Is(err, full) {
		t.Error(err)
	}
	if err := errors.Join(put("two"), put("three")); err != nil {
		t.Fatal(err)
	}
	shut(t, db)
	if len(told) != 2 || told[0] == nil || told[1] != nil {
		t.Errorf("told %v", told)
	}
}
