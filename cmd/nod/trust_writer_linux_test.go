package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"nod/store"
)

// writerVariable makes the test binary a program that commits: "kind:first:commits:folder".
const writerVariable = "NOD_TRUST_WRITER"

// The folders and files of a writer. It notes each commit in the last, once it was acknowledged.
const (
	writerHome  = "home"
	writerNotes = "acked"
)

// writerRow is a row of a commit, which writes the same number to two.
type writerRow struct {
	N   int
	Pad string
}

// writerKeys is how many pairs of rows there are: commits overwrite each other's, so that pages are freed and used again.
const writerKeys = 40

var writerTable = store.NewTable[store.CallID, writerRow]("executions", store.ParseCallID)

func writerRows(n int) (keys [2]store.CallID, row writerRow) {
	for i := range keys {
		keys[i] = store.CallID(fmt.Sprintf("%03d-%d", n%writerKeys, i))
	}
	return keys, writerRow{N: n, Pad: strings.Repeat("x", n*n*37%6000)}
}

// playWriter is called in TestMain.
func playWriter() (played bool) {
	task := strings.SplitN(os.Getenv(writerVariable), ":", 4)
	if len(task) != 4 {
		return false
	}
	first, err := strconv.Atoi(task[1])
	commits, err2 := strconv.Atoi(task[2])
	if err := errors.Join(err, err2, writeCommits(task[0], task[3], first, commits)); err != nil {
		fmt.Fprintln(os.Stderr, "the writer:", err)
		os.Exit(exitFailure)
	}
	return true
}

func writeCommits(kind, at string, first, commits int) error {
	home := filepath.Join(at, writerHome)
	if err := store.MakeFolder(home); err != nil { // as nod does
		return err
	}
	db, err := store.Open(filepath.Join(home, databaseName))
	if err != nil {
		return err
	}
	commit := func(n int) error {
		return db.Update(func(tx *store.Tx) error {
			keys, row := writerRows(n)
			return errors.Join(writerTable.Put(tx, keys[0], row), writerTable.Put(tx, keys[1], row))
		})
	}
	if kind == "nosync" {
		if commit, err = withoutSync(db); err != nil {
			return err
		}
	}
	notes, err := os.OpenFile(filepath.Join(at, writerNotes), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	for n := first; n < first+commits; n++ {
		if err := commit(n); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(notes, n); err != nil {
			return err
		}
	}
	return nil // and no close: the power goes while it is open
}

// withoutSync is the control: the same database and rows, with bbolt's NoSync.
func withoutSync(db *store.DB) (commit func(n int) error, err error) {
	if err := db.Close(); err != nil {
		return nil, err
	}
	b, err := bolt.Open(db.Path(), 0o600, &bolt.Options{NoSync: true, NoGrowSync: true, Timeout: time.Second})
	if err != nil {
		return nil, err
	}
	return func(n int) error {
		return b.Update(func(tx *bolt.Tx) error {
			keys, row := writerRows(n)
			raw, err := json.Marshal(row)
			if err != nil {
				return err
			}
			bucket := tx.Bucket([]byte("executions"))
			return errors.Join(bucket.Put(keys[0].Bytes(), raw), bucket.Put(keys[1].Bytes(), raw))
		})
	}, nil
}
