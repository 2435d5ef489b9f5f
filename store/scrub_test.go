package store

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestScrub: what was deleted is in the file and its backups no more. The control: before that it often is.
func TestScrub(t *testing.T) {
	db := OpenTest(t)
	table := NewTable[Text, string]("inbox", ParseText[Text])
	update := func(fn func(*Tx) error) {
		t.Helper()
		if err := db.Update(fn); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 300 { // something that stays, and pages that become free
		update(func(tx *Tx) error {
			if i%3 == 0 && i > 30 {
				if err := table.Delete(tx, Text(fmt.Sprint("key", i-30))); err != nil {
					return err
				}
			}
			return table.Put(tx, Text(fmt.Sprint("key", i)), strings.Repeat("kept ", i*7%900))
		})
	}
	lingered := 0
	for i := range 12 {
		canary := fmt.Sprintf("canary-%d-5up3r-secret", i)
		update(func(tx *Tx) error { return table.Put(tx, "typed", strings.Repeat("x", i*100)+canary) })
		update(func(tx *Tx) error { return table.Delete(tx, "typed") })
		if holds(t, db, canary) {
			lingered++
		}
		if err := db.Scrub(); err != nil {
			t.Fatal(err)
		}
		if holds(t, db, canary) {
			t.Errorf("%s is still in the file", canary)
		}
	}
	if lingered == 0 {
		t.Error("nothing was ever left behind: this test shows nothing")
	}
	backup := filepath.Join(t.TempDir(), "backup")
	if err := db.Backup(backup); err != nil {
		t.Fatal(err)
	}
	if raw, err := os.ReadFile(backup); err != nil || bytes.Contains(raw, []byte("5up3r")) {
		t.Errorf("the backup holds a secret (%v)", err)
	}
	if size := db.Size(); size > 2<<20 {
		t.Errorf("the file has grown to %d KiB", size>>10)
	}
	update(func(tx *Tx) error {
		all, err := table.All(tx, nil)
		if len(all) != 211 {
			t.Errorf("%d records are left", len(all))
		}
		return err
	})
}

func holds(t *testing.T, db *DB, text string) bool {
	t.Helper()
	raw, err := os.ReadFile(db.Path())
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Contains(raw, []byte(text))
}
