package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
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
	return checkSize(path, info.Size())
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
	return mark(path)
}

// Exists says whether a database was ever made at path, also when its file is gone.
func Exists(path string) (bool, error) {
	there, err := exists(path)
	if err != nil || there {
		return there, err
	}
	return exists(path + markerSuffix)
}

// mark notes that there is a database, which makes a missing or empty one later on an error.
func mark(path string) error {
	if there, err := exists(path + markerSuffix); err != nil || there {
		return err
	}
	f, err := os.OpenFile(path+markerSuffix, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("marking the database as initialised: %w", err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("marking the database as initialised: %w", err)
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
// each), root and its sequence, freelist, high-water page, transaction (8 bytes each), and the FNV-1a sum of all that, in
// the machine's byte order. It is 0 when neither can be read; bbolt then says what is wrong itself.
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
			sum := fnv.New64a()
			sum.Write(meta[:56]) // a hash never returns an error
			if order.Uint32(meta) != boltMagic || int(order.Uint32(meta[8:])) != size || order.Uint64(meta[56:]) != sum.Sum64() {
				continue
			}
			if txid := order.Uint64(meta[48:]); txid >= newest {
				newest, want = txid, int64(order.Uint64(meta[40:]))*int64(size)
			}
		}
	}
	return want
}

// WriteNew writes a new file of mode 0600 that is there whole or not at all. It refuses to replace one.
func WriteNew(path string, write func(io.Writer) error) (err error) {
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
