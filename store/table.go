package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// Key files a record. Its bytes sort as the records should.
type Key interface{ Bytes() []byte }

// Table is a bucket of records of one kind, kept as JSON. The zero value is not usable: see NewTable.
type Table[K Key, V any] struct {
	bucket []byte
	parse  func([]byte) (K, error)
}

// NewTable names a table's bucket, which must be listed in buckets.go, and says how its keys are read back.
func NewTable[K Key, V any](bucket string, parse func([]byte) (K, error)) Table[K, V] {
	return Table[K, V]{bucket: []byte(bucket), parse: parse}
}

func (t Table[K, V]) in(tx *Tx) (*bolt.Bucket, error) {
	if b := tx.bolt.Bucket(t.bucket); b != nil {
		return b, nil
	}
	return nil, fmt.Errorf("bucket %q is not in the database: it must be listed in buckets.go", t.bucket)
}

// Get reads the record of k; ok is false when there is none.
func (t Table[K, V]) Get(tx *Tx, k K) (v V, ok bool, err error) {
	b, err := t.in(tx)
	if err != nil {
		return v, false, err
	}
	raw := b.Get(k.Bytes())
	if raw == nil {
		return v, false, nil
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, false, fmt.Errorf("reading a record of %s: %w", t.bucket, err)
	}
	return v, true, nil
}

// Has says whether k has a record, without reading it.
func (t Table[K, V]) Has(tx *Tx, k K) (bool, error) {
	b, err := t.in(tx)
	if err != nil {
		return false, err
	}
	return b.Get(k.Bytes()) != nil, nil
}

// Put writes the record of k, replacing an earlier one. One that is so already is left alone.
func (t Table[K, V]) Put(tx *Tx, k K, v V) error {
	b, err := t.in(tx)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("writing a record of %s: %w", t.bucket, err)
	}
	key := k.Bytes()
	if old := b.Get(key); old != nil && bytes.Equal(old, raw) {
		return nil
	}
	tx.wrote = true
	if err := b.Put(key, raw); err != nil {
		return fmt.Errorf("writing a record of %s: %w", t.bucket, err)
	}
	return nil
}

// Delete removes the record of k, if there is one.
func (t Table[K, V]) Delete(tx *Tx, k K) error {
	b, err := t.in(tx)
	if err != nil {
		return err
	}
	key := k.Bytes()
	if b.Get(key) == nil {
		return nil
	}
	tx.wrote = true
	if err := b.Delete(key); err != nil {
		return fmt.Errorf("deleting a record of %s: %w", t.bucket, err)
	}
	return nil
}

// NextSeq counts up the bucket's own counter, starting at 1; it never gives a number twice.
func (t Table[K, V]) NextSeq(tx *Tx) (uint64, error) {
	b, err := t.in(tx)
	if err != nil {
		return 0, err
	}
	tx.wrote = true
	return b.NextSequence()
}

// Scan calls fn for each record whose key begins with prefix, ascending, until fn says no more. fn must not write to
// this table: bbolt's cursor skips records then.
func (t Table[K, V]) Scan(tx *Tx, prefix []byte, fn func(K, V) (more bool, err error)) error {
	return t.walk(tx, prefix, (*bolt.Cursor).Next, func(c *bolt.Cursor) ([]byte, []byte) { return c.Seek(prefix) }, fn)
}

// ScanBack is Scan in descending order.
func (t Table[K, V]) ScanBack(tx *Tx, prefix []byte, fn func(K, V) (more bool, err error)) error {
	return t.walk(tx, prefix, (*bolt.Cursor).Prev, func(c *bolt.Cursor) ([]byte, []byte) { return seekLast(c, prefix) }, fn)
}

// ScanFrom is Scan from the first key at or after from.
func (t Table[K, V]) ScanFrom(tx *Tx, prefix []byte, from K, fn func(K, V) (more bool, err error)) error {
	return t.scanFrom(tx, prefix, from.Bytes(), fn)
}

func (t Table[K, V]) scanFrom(tx *Tx, prefix, from []byte, fn func(K, V) (more bool, err error)) error {
	start := slices.MaxFunc([][]byte{prefix, from}, bytes.Compare)
	return t.walk(tx, prefix, (*bolt.Cursor).Next, func(c *bolt.Cursor) ([]byte, []byte) { return c.Seek(start) }, fn)
}

func (t Table[K, V]) walk(tx *Tx, prefix []byte, step, start func(*bolt.Cursor) ([]byte, []byte), fn func(K, V) (bool, error)) error {
	b, err := t.in(tx)
	if err != nil {
		return err
	}
	c := b.Cursor()
	for key, raw := start(c); key != nil && bytes.HasPrefix(key, prefix); key, raw = step(c) {
		k, err := t.parse(key)
		if err != nil {
			return fmt.Errorf("reading a key of %s: %w", t.bucket, err)
		}
		var v V
		if err := json.Unmarshal(raw, &v); err != nil {
			return fmt.Errorf("reading a record of %s: %w", t.bucket, err)
		}
		more, err := fn(k, v)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// seekLast puts the cursor on the last key that begins with prefix.
func seekLast(c *bolt.Cursor, prefix []byte) (key, value []byte) {
	next := successor(prefix)
	if next == nil {
		return c.Last()
	}
	if key, _ := c.Seek(next); key == nil {
		return c.Last()
	}
	return c.Prev()
}

// successor is the least key greater than all that begin with prefix, or nil when there is none.
func successor(prefix []byte) []byte {
	next := bytes.Clone(prefix)
	for len(next) > 0 {
		if next[len(next)-1]++; next[len(next)-1] != 0 {
			return next
		}
		next = next[:len(next)-1]
	}
	return nil
}

// All reads every record whose key begins with prefix, ascending.
func (t Table[K, V]) All(tx *Tx, prefix []byte) (all []V, err error) {
	err = t.Scan(tx, prefix, func(_ K, v V) (bool, error) {
		all = append(all, v)
		return true, nil
	})
	return all, err
}

// Append files v under the next number of its owner.
func Append[K Key, V any](tx *Tx, t Table[Seq[K], V], of K, v V) (Seq[K], error) {
	n, err := t.NextSeq(tx)
	if err != nil {
		return Seq[K]{}, err
	}
	k := Seq[K]{Of: of, N: n}
	return k, t.Put(tx, k, v)
}

// DeleteFunc removes the records for which drop holds, among those whose key begins with prefix.
func (t Table[K, V]) DeleteFunc(tx *Tx, prefix []byte, drop func(K, V) bool) error {
	var dropped []K
	err := t.Scan(tx, prefix, func(k K, v V) (bool, error) {
		if drop(k, v) {
			dropped = append(dropped, k)
		}
		return true, nil
	})
	for _, k := range dropped {
		if err == nil {
			err = t.Delete(tx, k)
		}
	}
	return err
}

// DeletePrefix removes every record whose key begins with prefix and says how many there were.
func (t Table[K, V]) DeletePrefix(tx *Tx, prefix []byte) (int, error) {
	b, err := t.in(tx)
	if err != nil {
		return 0, err
	}
	var keys [][]byte
	c := b.Cursor()
	for key, _ := c.Seek(prefix); key != nil && bytes.HasPrefix(key, prefix); key, _ = c.Next() {
		keys = append(keys, bytes.Clone(key))
	}
	for _, key := range keys {
		tx.wrote = true
		if err := b.Delete(key); err != nil {
			return 0, fmt.Errorf("deleting a record of %s: %w", t.bucket, err)
		}
	}
	return len(keys), nil
}
