package store

import (
	"encoding/binary"
	"fmt"
	"os"

	bolt "go.etcd.io/bbolt"
)

const (
	scrubBucket = "scrub" // there while Scrub runs, or after it was killed
	// scrubBatch is how many values one transaction writes, at most 2 MB.
	scrubBatch = 1000
	// scrubSlack is how many pages are written beyond those that are free, as the writing itself frees some.
	scrubSlack = 4
)

// Scrub overwrites the pages of the file that hold nothing any more. What was deleted can be read in the file, and in its
// backups, until its page is used again; call this after something was deleted that nobody may read. Pages that a backup
// under way still needs are left. It takes several short transactions, and the file grows by a few pages.
func (db *DB) Scrub() error {
	if err := db.scrub(); err != nil {
		return fmt.Errorf("overwriting what was deleted: %w", err)
	}
	return nil
}

func (db *DB) scrub() error {
	pageSize := os.Getpagesize()
	// A write transaction of its own first: it sets free what the one before it has given up.
	if err := db.bolt.Update(func(tx *bolt.Tx) error {
		_, err := tx.CreateBucketIfNotExists([]byte(scrubBucket))
		return err
	}); err != nil {
		return err
	}
	free, err := db.freePages(pageSize)
	if err != nil {
		return err
	}
	// bbolt puts no less than two values on a page (16 bytes for the page, 16 for each value, 8 for its key).
	value := make([]byte, (pageSize-16)/2-16-8-8)
	for left, key := 2*(free+scrubSlack), uint64(0); left > 0; left -= scrubBatch {
		err := db.bolt.Update(func(tx *bolt.Tx) error {
			b := tx.Bucket([]byte(scrubBucket))
			b.FillPercent = 1
			for range min(left, scrubBatch) {
				key++
				if err := b.Put(binary.BigEndian.AppendUint64(nil, key), value); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return db.bolt.Update(func(tx *bolt.Tx) error { return tx.DeleteBucket([]byte(scrubBucket)) })
}

// freePages counts the pages that are free or will be. It takes a write transaction, since others change the list of free
// pages, which it then rolls back.
func (db *DB) freePages(pageSize int) (free int, err error) {
	err = db.bolt.Update(func(tx *bolt.Tx) error {
		for id := range int(tx.Size() / int64(pageSize)) {
			page, err := tx.Page(id)
			switch {
			case err != nil:
				return err
			case page == nil: // beyond what was ever used
				return errUnchanged
			case page.Type == "free":
				free++
			}
		}
		return errUnchanged
	})
	if err == errUnchanged {
		err = nil
	}
	return free, err
}
