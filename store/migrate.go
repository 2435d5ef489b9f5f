package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
)

const (
	metaBucket = "meta"
	schemaKey  = "schema"
)

// A migration brings raw records from one schema version to the next, in one transaction. It knows the shapes of both
// versions by itself: the types above may have moved on.
type migration func(*bolt.Tx) error

// migrations[i] leads from version i+1 to i+2. A database that was just made starts at the newest version.
var migrations = []migration{}

func (db *DB) migrate(steps []migration) error {
	newest := uint64(len(steps) + 1)
	version, empty, err := db.schema()
	if err != nil {
		return err
	}
	switch {
	case version == 0 && !empty:
		return damaged(db.path, "it holds records but no schema version, so it is not nod's")
	case version == 0:
		return db.finish(newest, nil)
	case version > newest:
		return fmt.Errorf("the database %s has schema %d and this nod knows up to %d: upgrade nod, or restore an older backup", db.path, version, newest)
	case version < newest:
		if err := db.backUpBefore(version); err != nil {
			return err
		}
	}
	for ; version < newest; version++ {
		if err := db.finish(version+1, steps[version-1]); err != nil {
			return fmt.Errorf("migrating the database to schema %d: %w", version+1, err)
		}
	}
	return db.finish(newest, nil)
}

// finish runs one step, makes missing buckets and records the version, in one commit. It writes nothing when nothing changes.
func (db *DB) finish(version uint64, step migration) error {
	if step == nil && db.complete(version) {
		return nil
	}
	return db.bolt.Update(func(tx *bolt.Tx) error {
		for _, name := range buckets {
			if _, err := tx.CreateBucketIfNotExists([]byte(name)); err != nil {
				return fmt.Errorf("making bucket %s: %w", name, err)
			}
		}
		if step != nil {
			if err := step(tx); err != nil {
				return err
			}
		}
		return tx.Bucket([]byte(metaBucket)).Put([]byte(schemaKey), binary.BigEndian.AppendUint64(nil, version))
	})
}

func (db *DB) complete(version uint64) bool {
	errIncomplete := errors.New("incomplete")
	return db.bolt.View(func(tx *bolt.Tx) error {
		for _, name := range buckets {
			if tx.Bucket([]byte(name)) == nil {
				return errIncomplete
			}
		}
		if readSchema(tx) != version {
			return errIncomplete
		}
		return nil
	}) == nil
}

// schema is the version of the database, and whether it holds nothing at all, as one that was just made.
func (db *DB) schema() (version uint64, empty bool, err error) {
	err = db.bolt.View(func(tx *bolt.Tx) error {
		version = readSchema(tx)
		name, _ := tx.Cursor().First()
		empty = name == nil
		return nil
	})
	return version, empty, err
}

// readSchema is 0 where no version is recorded.
func readSchema(tx *bolt.Tx) uint64 {
	b := tx.Bucket([]byte(metaBucket))
	if b == nil {
		return 0
	}
	raw := b.Get([]byte(schemaKey))
	if len(raw) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(raw)
}

func (db *DB) backUpBefore(version uint64) error {
	dir := filepath.Join(filepath.Dir(db.path), backupsDir)
	if err := MakeFolder(dir); err != nil {
		return fmt.Errorf("making the folder for backups: %w", err)
	}
	name := fmt.Sprintf("schema-%d-%s.db", version, time.Now().UTC().Format("20060102-150405.000"))
	if err := db.Backup(filepath.Join(dir, name)); err != nil {
		return fmt.Errorf("backing up before a migration: %w", err)
	}
	return nil
}
