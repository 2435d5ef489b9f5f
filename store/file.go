package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
)

const (
	backupsDir = "backups"
	// markerSuffix names the empty file which says that a database was once made here. bbolt silently starts anew on a
	// missing or empty file, and a new database forgets who the owner is.
	markerSuffix = ".initialised"
)

// prepareFile makes a first database, or refuses a file that bbolt would misread.
func prepareFile(path string) error {
	info, err := os.Stat(path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return fmt.Errorf("looking at the database: %w", err)
	}
	marked, err := exists(path + markerSuffix)
	if err != nil {
		return err
	}
	switch {
	case missing && marked:
		return damaged(path, "the file is gone, though there was one (to start anew on purpose, delete "+path+markerSuffix+")")
	case missing:
		return create(path)
	case info.Size() == 0:
		return damaged(path, "the file is empty")
	}
	if err := checkSize(path, info.Size()); err != nil {
		return err
	}
	if !marked {
		return touch(path + markerSuffix)
	}
	return nil
}

// create makes the first database in a file of another name and renames it, because a power cut during bbolt's own
// initialisation can leave a file that never opens (etcd #16596).
func create(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("making the folder of the database: %w", err)
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".new-*.db")
	if err != nil {
		return fmt.Errorf("making the database: %w", err)
	}
	defer os.Remove(temp.Name())
	if err := temp.Close(); err != nil {
		return fmt.Errorf("making the database: %w", err)
	}
	b, err := bolt.Open(temp.Name(), 0o600, nil)
	if err != nil {
		return fmt.Errorf("making the database: %w", err)
	}
	if err := errors.Join(b.Sync(), b.Close()); err != nil {
		return fmt.Errorf("making the database: %w", err)
	}
	// A link, not a rename: two first starts at once must end up with one file.
	if err := os.Link(temp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("making the database: %w", err)
	}
	if err := touch(path + markerSuffix); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// checkSize refuses a file that is shorter than its newest valid meta page says: bbolt would map it and fault.
func checkSize(path string, size int64) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("looking at the database: %w", err)
	}
	defer f.Close()
	head := make([]byte, 2*maxPageSize)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("looking at the database: %w", err)
	}
	if want := wantedSize(head[:n]); size < want {
		return damaged(path, fmt.Sprintf("the file was cut off: it has %d bytes, and needs %d", size, want))
	}
	return nil
}

const (
	maxPageSize = 64 << 10
	boltMagic   = 0xED0CDAED
)

// wantedSize reads both of bbolt's meta pages: a 16-byte page header, then magic, version, page size, flags (4 bytes
// each), root and its sequence, freelist, high-water page, transaction (8 bytes each), in the machine's byte order.
// It is 0 when neither can be read; bbolt then says what is wrong itself.
func wantedSize(head []byte) int64 {
	var newest uint64
	var want int64
	for size := 512; size <= maxPageSize; size *= 2 {
		for _, at := range []int{0, size} {
			if len(head) < at+80 {
				continue
			}
			meta := head[at+16:]
			order := binary.NativeEndian
			if order.Uint32(meta) != boltMagic || int(order.Uint32(meta[8:])) != size {
				continue
			}
			if txid := order.Uint64(meta[48:]); txid >= newest {
				newest, want = txid, int64(order.Uint64(meta[40:]))*int64(size)
			}
		}
	}
	return want
}

// writeFileAtomic writes a new file of mode 0600 that is there whole or not at all. It refuses to replace one.
func writeFileAtomic(path string, write func(io.Writer) error) (err error) {
	temp, err := os.CreateTemp(filepath.Dir(path), ".part-*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer os.Remove(temp.Name())
	if err := errors.Join(write(temp), temp.Sync(), temp.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.Link(temp.Name(), path); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("writing %s: there is such a file already; choose another name", path)
		}
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return syncDir(filepath.Dir(path))
}

func touch(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("marking the database as initialised: %w", err)
	}
	return errors.Join(f.Sync(), f.Close())
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("syncing the folder %s: %w", path, err)
	}
	return errors.Join(d.Sync(), d.Close())
}

func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Restore puts the backup at from in place of the database at path. What stood there is kept beside it, under the name
// that is returned ("" when there was nothing). It refuses while a process has the database open, and a backup that
// does not open.
func Restore(path, from string) (kept string, err error) {
	data, err := os.ReadFile(from)
	if err != nil {
		return "", fmt.Errorf("reading the backup: %w", err)
	}
	if err := tryOpen(filepath.Dir(path), data); err != nil {
		return "", fmt.Errorf("checking the backup %s: %w", from, err)
	}
	if err := refuseLocked(path); err != nil {
		return "", err
	}
	if there, err := exists(path); err != nil {
		return "", err
	} else if there {
		kept = freeName(path + ".before-restore")
		if err := os.Rename(path, kept); err != nil {
			return "", fmt.Errorf("keeping the present database: %w", err)
		}
	}
	err = writeFileAtomic(path, func(w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(data))
		return err
	})
	return kept, err
}

// tryOpen opens a copy of the backup, so that one that is no database never replaces one that is.
func tryOpen(dir string, data []byte) error {
	temp, err := os.MkdirTemp(dir, ".restore-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	path := filepath.Join(temp, "nod.db")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return err
	}
	db, err := Open(path)
	if err != nil {
		return err
	}
	return db.Close()
}

func refuseLocked(path string) error {
	if there, err := exists(path); err != nil || !there {
		return err
	}
	b, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: lockTimeout, ReadOnly: true})
	if errors.Is(err, bolt.ErrTimeout) {
		return ErrLocked
	}
	if err != nil {
		return nil // a damaged database is what a restore is for
	}
	return b.Close()
}

// freeName is the first of path, path.2, path.3 … that does not exist.
func freeName(path string) string {
	name := path
	for n := 2; ; n++ {
		if there, err := exists(name); err == nil && !there {
			return name
		}
		name = fmt.Sprintf("%s.%d", path, n)
	}
}
