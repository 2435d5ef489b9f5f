package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
)

// shout is a step between schemas on raw bytes: it puts every value of notes in capitals and marks it.
func shout(mark string) migration {
	return func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte("rules"))
		changed := map[string][]byte{}
		err := b.ForEach(func(k, v []byte) error {
			changed[string(k)] = append(bytes.ToUpper(v[:len(v)-1]), mark+`"`...)
			return nil
		})
		for k, v := range changed {
			err = errors.Join(err, b.Put([]byte(k), v))
		}
		return err
	}
}

func noteOf(t *testing.T, db *DB) (note string) {
	t.Helper()
	view(t, db, func(tx *Tx) (err error) {
		note, _, err = notes.Get(tx, "k")
		return err
	})
	return note
}

func backups(t *testing.T, path string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(filepath.Dir(path), backupsDir, "*.db"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestMigrate(t *testing.T) {
	path := tempPath(t)
	db := open(t, path)
	defer func() { shut(t, db) }()
	update(t, db, func(tx *Tx) error { return notes.Put(tx, "k", "v") })

	base := make([]migration, len(migrations))
	steps := append(base, shout("1"), shout("2"))
	if err := db.migrate(steps); err != nil {
		t.Fatal(err)
	}
	if got := noteOf(t, db); got != "V12" {
		t.Errorf("got %q", got)
	}
	if version, _, err := db.schema(); version != uint64(len(steps)+1) || err != nil {
		t.Errorf("schema %d, %v", version, err)
	}
	saved := backups(t, path)
	if len(saved) != 1 || !strings.HasPrefix(filepath.Base(saved[0]), "schema-1-") {
		t.Fatalf("backups %v", saved)
	}
	checkNote(t, saved[0], "v")
	if err := db.migrate(steps); err != nil {
		t.Fatal(err)
	}
	if got := noteOf(t, db); got != "V12" || len(backups(t, path)) != 1 {
		t.Errorf("migrating twice made %q and %v", got, backups(t, path))
	}
}

// A step that fails leaves the schema before it, and the next start tries it again.
func TestMigrationThatFails(t *testing.T) {
	path := tempPath(t)
	db := open(t, path)
	defer func() { shut(t, db) }()
	update(t, db, func(tx *Tx) error { return notes.Put(tx, "k", "v") })
	wrong := errors.New("wrong")
	base := make([]migration, len(migrations))
	err := db.migrate(append(base, shout("1"), func(tx *bolt.Tx) error { return errors.Join(shout("2")(tx), wrong) }))
	if !errors.Is(err, wrong) || !strings.Contains(err.Error(), "schema 3") {
		t.Errorf("got %v", err)
	}
	if got := noteOf(t, db); got != "V1" {
		t.Errorf("got %q", got)
	}
	if version, _, err := db.schema(); version != 2 || err != nil {
		t.Errorf("schema %d, %v", version, err)
	}
	if err := db.migrate(append(base, shout("1"), shout("2"))); err != nil {
		t.Fatal(err)
	}
	if got := noteOf(t, db); got != "V12" {
		t.Errorf("got %q", got)
	}
}

func TestMigrationWithoutBackupDoesNotStart(t *testing.T) {
	path := tempPath(t)
	db := open(t, path)
	defer shut(t, db)
	update(t, db, func(tx *Tx) error { return notes.Put(tx, "k", "v") })
	blocked := filepath.Join(filepath.Dir(path), backupsDir)
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	base := make([]migration, len(migrations))
	if err := db.migrate(append(base, shout("1"))); err == nil {
		t.Error("migrated without a backup")
	}
	if got := noteOf(t, db); got != "v" {
		t.Errorf("got %q", got)
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	path := tempPath(t)
	db := open(t, path)
	err := db.bolt.Update(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte(metaBucket)).Put([]byte(schemaKey), binary.BigEndian.AppendUint64(nil, 99))
	})
	if err != nil {
		t.Fatal(err)
	}
	shut(t, db)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time shows that the first gave back the lock
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "99") || !strings.Contains(err.Error(), "upgrade nod") {
			t.Errorf("got %v", err)
		}
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file was changed: %v", err)
	}
	if _, err := Restore(path, path); err == nil {
		t.Error("a backup of a newer schema was restored")
	}
}

// An update that lists a further bucket gets it at the next start, without a migration; a start that needs nothing writes nothing.
func TestMissingBucketIsMade(t *testing.T) {
	path := tempPath(t)
	db := open(t, path)
	err := db.bolt.Update(func(tx *bolt.Tx) error { return tx.DeleteBucket([]byte("rules")) })
	if err != nil {
		t.Fatal(err)
	}
	shut(t, db)
	db = open(t, path)
	update(t, db, func(tx *Tx) error { return notes.Put(tx, "k", "v") })
	shut(t, db)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	shut(t, open(t, path))
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("a plain start wrote: %v", err)
	}
	if len(backups(t, path)) != 0 {
		t.Error("a plain start made a backup")
	}
}

func TestFailpoint(t *testing.T) {
	Failpoint("nobody listens")
	var got []string
	OnFailpoint(func(name string) { got = append(got, name) })
	t.Cleanup(func() { failpoint.Store(nil) })
	Failpoint("here")
	if len(got) != 1 || got[0] != "here" {
		t.Errorf("got %v", got)
	}
}
