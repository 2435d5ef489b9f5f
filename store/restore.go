package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	bolt "go.etcd.io/bbolt"
)

// Restore puts the backup at from in place of the database at path. What stood there is kept beside it, under the name
// that is returned ("" when there was nothing). It refuses while a process has the database open, and a backup that
// does not open. A crash in between leaves the old database or the new one. What came of the backup's unfinished work is
// not known to it: the new database says so to AfterRestore.
func Restore(path, from string) (kept string, err error) {
	data, err := os.ReadFile(from)
	if err != nil {
		return "", fmt.Errorf("reading the backup: %w", err)
	}
	if err := MakeFolder(filepath.Dir(path)); err != nil {
		return "", fmt.Errorf("making the folder of the database: %w", err)
	}
	temp, err := os.MkdirTemp(filepath.Dir(path), ".restore-*")
	if err != nil {
		return "", fmt.Errorf("restoring the database: %w", err)
	}
	defer os.RemoveAll(temp)
	err = tryOpen(filepath.Join(temp, "try.db"), data)
	if damaged, ok := errors.AsType[*DamagedError](err); ok { // which speaks of the copy
		return "", fmt.Errorf("%s can't be restored, and nothing was changed: %s", from, damaged.Reason)
	}
	if err != nil {
		return "", fmt.Errorf("checking the backup %s: %w", from, err)
	}
	unlock, err := lock(path)
	if err != nil {
		return "", err
	}
	defer unlock()
	if kept, err = keep(path); err != nil {
		return "", fmt.Errorf("keeping the present database: %w", err)
	}
	// The bytes of the backup, not of the copy that was tried: opening may have brought that one's schema up to date.
	fresh := filepath.Join(temp, "fresh.db")
	if err := writeSynced(fresh, data); err != nil {
		return kept, fmt.Errorf("restoring the database: %w", err)
	}
	if err := markRestored(fresh); err != nil {
		return kept, fmt.Errorf("restoring the database: %w", err)
	}
	if err := os.Rename(fresh, path); err != nil {
		return kept, fmt.Errorf("restoring the database: %w", err)
	}
	return kept, SyncFolder(filepath.Dir(path))
}

// tryOpen opens a copy of the backup, so that one that is no database never replaces one that is.
func tryOpen(path string, data []byte) error {
	if err := writeSynced(path, data); err != nil {
		return err
	}
	db, err := Open(path)
	if err != nil {
		return err
	}
	return db.Close()
}

func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

// restoredKey stands in the meta bucket from a restore to the first start after it.
const restoredKey = "restored"

func markRestored(path string) error {
	b, err := openBolt(path)
	if err != nil {
		return err
	}
	err = b.Update(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte(metaBucket)).Put([]byte(restoredKey), []byte{1})
	})
	return errors.Join(err, b.Close())
}

// AfterRestore runs fn once after the database was restored from a backup, in the commit that forgets that it was;
// otherwise it does nothing.
func (db *DB) AfterRestore(fn func(*Tx) error) error {
	return db.Update(func(tx *Tx) error {
		meta := tx.bolt.Bucket([]byte(metaBucket))
		if meta.Get([]byte(restoredKey)) == nil {
			return nil
		}
		tx.wrote = true
		return errors.Join(fn(tx), meta.Delete([]byte(restoredKey)))
	})
}

// lock takes the lock that bbolt takes, without opening the database: it may be damaged, which is what a restore is for.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return func() {}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("locking the database: %w", err)
	}
	unlock = func() { f.Close() } // which gives back the lock
	switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		unlock()
		return nil, ErrLocked
	case err != nil:
		unlock()
		return nil, fmt.Errorf("locking the database: %w", err)
	}
	return unlock, nil
}

// keep gives the file at path a second name, the first of path.before-restore, path.before-restore.2 … that is free.
func keep(path string) (kept string, err error) {
	if there, err := exists(path); err != nil || !there {
		return "", err
	}
	for n := 1; ; n++ {
		kept = path + ".before-restore"
		if n > 1 {
			kept = fmt.Sprintf("%s.%d", kept, n)
		}
		if err := os.Link(path, kept); !errors.Is(err, os.ErrExist) {
			return kept, err
		}
	}
}
