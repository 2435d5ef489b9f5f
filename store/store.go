// Package store remembers. It owns the one bbolt file of a nod home, the ids that records are filed under, the list of
// buckets and the order of migrations. It knows no record: each package above keeps its own in a Table.
//
// Promises: a change made in Update is on disk (fsync) when Update returns nil, or it never happened. Updates are serial,
// views are snapshots. Functions given to Update and View must do no I/O and must not open a second transaction, which
// would deadlock. What has to follow a commit goes into Tx.OnCommit. A file that is damaged, cut off or gone is never replaced
// by a new one: Look finds that out in a process of its own before the file is opened, SetAside keeps it.
package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// ErrLocked says that another process has the database open.
var ErrLocked = errors.New("the database is in use by another nod; stop that one first, or give this one its own NOD_HOME")

// DamagedError says that a database file can't be used as it is. What the file holds is left untouched.
type DamagedError struct {
	Path   string // the database
	Reason string // what is wrong with it
	Kept   string // where the file lies now, when SetAside has given it another name
	Backup string // the last backup that is known, or ""
}

func (e *DamagedError) Error() string {
	text := fmt.Sprintf("the database %s can't be used: %s. ", e.Path, e.Reason)
	if e.Kept != "" {
		text += "The file is kept as " + e.Kept + ". "
	}
	if e.Backup != "" {
		return text + "Put the last backup in its place: nod restore " + e.Backup
	}
	return text + "No backup is known; if there is one, put it in its place: nod restore FILE. To begin anew, with nothing remembered, delete " + e.Path + markerSuffix
}

// lockTimeout is how long Open waits for the file lock of a process that is just ending.
const lockTimeout = time.Second

// DB is an open database. Its methods may be called from any goroutine.
type DB struct {
	bolt   *bolt.DB
	path   string
	sound  bool // the file was as a clean stop had left it, so that the next clean stop may be noted
	health health
}

// Open opens the database at path, or makes a new one where none has ever been, and brings its schema up to date.
// It returns ErrLocked when another process holds the file, a *DamagedError when the file is unusable or has gone
// missing, and an error that names both versions when the schema is newer than this program.
func Open(path string) (*DB, error) {
	if err := prepareFile(path); err != nil {
		return nil, err
	}
	sound, err := left(path)
	if err != nil {
		return nil, err
	}
	b, err := openBolt(path)
	if err != nil {
		return nil, err
	}
	db := &DB{bolt: b, path: path, sound: sound}
	if err := db.migrate(migrations); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	if err := mark(path); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return db, nil
}

// openBolt opens and walks the file with page faults turned into panics, since bbolt maps the file and a short or
// scrambled one would otherwise end the process.
func openBolt(path string) (b *bolt.DB, err error) {
	var file *os.File
	options := &bolt.Options{
		Timeout: lockTimeout, FreelistType: bolt.FreelistMapType, NoStatistics: true,
		// Not O_CREATE: a file that vanished meanwhile must not come up anew and empty.
		OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
			file, err = os.OpenFile(name, flag&^os.O_CREATE, mode)
			return file, err
		},
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			// bbolt can't close what it fell over. Its mapping keeps the file open, so the lock is given back by hand.
			unlock := syscall.Flock(int(file.Fd()), syscall.LOCK_UN)
			b, err = nil, errors.Join(damaged(path, fmt.Sprintf("it is damaged (%v)", p)), unlock, file.Close())
		}
	}()
	b, err = bolt.Open(path, 0o600, options)
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, ErrLocked
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum), errors.Is(err, bolterrors.ErrVersionMismatch),
		err != nil && strings.HasPrefix(err.Error(), "file size too small"): // bbolt 1.5 has no name for this one
		return nil, damaged(path, "it is damaged ("+err.Error()+")")
	case err != nil:
		return nil, fmt.Errorf("opening the database %s: %w", path, err)
	}
	if err := checkBuckets(b); err != nil {
		return nil, errors.Join(damaged(path, "it is damaged ("+err.Error()+")"), b.Close())
	}
	return b, nil
}

// checkBuckets reads every bucket's root, which touches the pages that a cut-off file lacks.
func checkBuckets(b *bolt.DB) error {
	return b.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(_ []byte, bucket *bolt.Bucket) error {
			if bucket == nil {
				return errors.New("a bucket has no root page")
			}
			bucket.Cursor().Last()
			return nil
		})
	})
}

// Close waits for open transactions and releases the file.
func (db *DB) Close() error {
	var last uint64
	// A transaction can't be begun on a database that is closed already, which Close takes well.
	_ = db.bolt.View(func(tx *bolt.Tx) error { last = uint64(tx.ID()); return nil })
	if err := db.bolt.Close(); err != nil {
		return fmt.Errorf("closing the database: %w", err)
	}
	if db.sound && last > 0 {
		return noteLeft(db.path, last)
	}
	return nil
}

// Tx is one transaction, valid until the function it was given to returns.
type Tx struct {
	bolt  *bolt.Tx
	wrote bool // anything that needs a commit
	after []func()
}

// OnCommit runs fn after this transaction is safely on disk, outside of it and in the order of the calls; never after a rollback.
func (tx *Tx) OnCommit(fn func()) { tx.after = append(tx.after, fn) }

// errUnchanged rolls back a transaction that succeeded without a write: its commit would sync the file twice for nothing.
var errUnchanged = errors.New("nothing was written")

// Update runs fn in a read-write transaction and commits it. An error from fn rolls everything back and is returned as it is.
func (db *DB) Update(fn func(*Tx) error) error {
	var tx Tx
	committing := false
	err := db.bolt.Update(func(b *bolt.Tx) error {
		tx.bolt = b
		if err := fn(&tx); err != nil {
			return err
		}
		if committing = tx.wrote; !committing {
			return errUnchanged
		}
		return nil
	})
	if committing {
		db.health.note(err)
	}
	if err != nil && err != errUnchanged {
		return err
	}
	for _, fn := range tx.after {
		fn()
	}
	return nil
}

// View runs fn on a snapshot.
func (db *DB) View(fn func(*Tx) error) error {
	return db.bolt.View(func(tx *bolt.Tx) error { return fn(&Tx{bolt: tx}) })
}

// Size is the database's size in bytes.
func (db *DB) Size() (size int64) {
	// A read-only transaction fails only on a closed database, whose size is 0 to whoever still asks.
	_ = db.bolt.View(func(tx *bolt.Tx) error { size = tx.Size(); return nil })
	return size
}

// Path is the database's file.
func (db *DB) Path() string { return db.path }

// WriteTo writes a consistent copy of the database while work goes on.
func (db *DB) WriteTo(w io.Writer) (n int64, err error) {
	err = db.bolt.View(func(tx *bolt.Tx) error {
		n, err = tx.WriteTo(w)
		return err
	})
	return n, err
}

// Backup writes a consistent copy to path, which must not exist yet, while work goes on.
func (db *DB) Backup(path string) error {
	return WriteNew(path, func(w io.Writer) error {
		_, err := db.WriteTo(w)
		return err
	})
}

func damaged(path, reason string) error {
	backup, _ := LastBackup(path)
	return &DamagedError{Path: path, Reason: reason, Kept: setAsideBefore(path), Backup: backup}
}
