package store

import (
	"context"
	"errors"
	"fmt"
)

// Bounds of one transaction of a sweep: nobody who wants to write waits long for it.
const (
	sweepReads   = 500
	sweepDeletes = 100
)

// Verdict is what a sweep does with a record.
type Verdict int

const (
	Keep   Verdict = iota
	Drop           // delete it
	Finish         // keep it and all that follow
)

// Sweep goes through a table in the order of its keys and deletes what judge drops, many records in all but few in each
// transaction. judge is asked twice: once to find a record, and once more in the transaction that deletes it, where
// along, if there is one, deletes what hangs on it. The records of a table that is written to meanwhile are seen or not.
// It ends early, without an error, when ctx does.
func Sweep[K Key, V any](ctx context.Context, db *DB, t Table[K, V], judge func(*Tx, K, V) (Verdict, error), along func(*Tx, K, V) error) (dropped int, err error) {
	var next []byte // where to go on
	for more := true; more && ctx.Err() == nil; {
		var found []K
		err := db.View(func(tx *Tx) (err error) {
			found, next, more, err = t.collect(tx, next, judge)
			return err
		})
		if err == nil && len(found) > 0 {
			var n int
			n, err = t.drop(db, found, judge, along)
			dropped += n
		}
		if err != nil {
			return dropped, fmt.Errorf("sweeping %s: %w", t.bucket, err)
		}
	}
	return dropped, nil
}

// collect reads on from a key and gathers what is to be dropped.
func (t Table[K, V]) collect(tx *Tx, from []byte, judge func(*Tx, K, V) (Verdict, error)) (found []K, next []byte, more bool, err error) {
	reads := 0
	err = t.scanFrom(tx, nil, from, func(k K, v V) (bool, error) {
		if reads++; reads > sweepReads || len(found) == sweepDeletes {
			next, more = k.Bytes(), true
			return false, nil
		}
		verdict, err := judge(tx, k, v)
		if verdict == Drop {
			found = append(found, k)
		}
		return verdict != Finish, err
	})
	return found, next, more, err
}

func (t Table[K, V]) drop(db *DB, found []K, judge func(*Tx, K, V) (Verdict, error), along func(*Tx, K, V) error) (n int, err error) {
	err = db.Update(func(tx *Tx) error {
		n = 0
		for _, k := range found {
			v, ok, err := t.Get(tx, k)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			verdict, err := judge(tx, k, v)
			if err == nil && verdict == Drop {
				n++
				err = t.Delete(tx, k)
				if along != nil {
					err = errors.Join(err, along(tx, k, v))
				}
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}
