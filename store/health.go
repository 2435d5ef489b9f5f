package store

import (
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	bolterrors "go.etcd.io/bbolt/errors"
)

// health tells when commits can't be written, and when they can be again.
type health struct {
	watch  atomic.Pointer[func(error)]
	failed atomic.Bool
}

// Watch has fn told of each commit that could not be written, as on a disk that is full, and with nil of the first one that
// was written after such. fn must not block and must not use the database.
func (db *DB) Watch(fn func(error)) { db.health.watch.Store(&fn) }

// note takes the outcome of a commit.
func (h *health) note(err error) {
	if errors.Is(err, bolterrors.ErrDatabaseNotOpen) || err == nil && !h.failed.Swap(false) {
		return
	}
	if err != nil {
		h.failed.Store(true)
	}
	if fn := h.watch.Load(); fn != nil {
		(*fn)(err)
	}
}

const probeKey = "probe"

// Probe commits something that nobody reads, to see whether the database can be written to.
func (db *DB) Probe() error {
	return db.Update(func(tx *Tx) error {
		tx.wrote = true
		return tx.bolt.Bucket([]byte(metaBucket)).Put([]byte(probeKey), strconv.AppendInt(nil, time.Now().UnixNano(), 10))
	})
}
