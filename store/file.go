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
	// markerSuffix names the file which says that a database was once made here. bbolt silently starts anew on a missing or
	// empty file, and a new database forgets who the owner is. It holds the last transaction of a clean stop; see Look.
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
		return damaged(path, "the file is gone, though there was one")
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
	if err := MakeFolder(filepath.Dir(path)); err != nil {
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
	// The mark must not outlive a power cut that the name did not.
	if err := SyncFolder(filepath.Dir(path)); err != nil {
		return err
	}
	if err := mark(path); err != nil {
		return err
	}
	first, err := readMeta(path)
	if err != nil {
		return err
	}
	return noteLeft(path, first.tx)
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
	return SyncFolder(filepath.Dir(path))
}

// checkSize refuses a file that is shorter than its newest valid meta page says: bbolt would map it and fault.
func checkSize(path string, size int64) error {
	newest, err := readMeta(path)
	if err != nil {
		return err
	}
	if size < newest.size {
		return damaged(path, fmt.Sprintf("the file was cut off: it has %d bytes, and needs %d", size, newest.size))
	}
	return nil
}

// meta is what one of bbolt's two meta pages says of the file.
type meta struct {
	tx   uint64 // the commit that wrote it
	size int64  // of the file at least, in bytes
}

// readMeta reads the newest meta page; the zero meta when none can be read.
func readMeta(path string) (meta, error) {
	f, err := os.Open(path)
	if err != nil {
		return meta{}, fmt.Errorf("looking at the database: %w", err)
	}
	defer f.Close()
	newest, err := newestMeta(f)
	if err != nil {
		return meta{}, fmt.Errorf("looking at the database: %w", err)
	}
	return newest, nil
}

const (
	maxPageSize = 64 << 10
	boltMagic   = 0xED0CDAED
)

// newestMeta reads both of bbolt's meta pages: a 16-byte page header, then magic, version, page size, flags (4 bytes
// each), root and its sequence, freelist, high-water page, transaction (8 bytes each), and the FNV-1a sum of all that, in
// the machine's byte order. It is zero when neither can be read; bbolt then says what is wrong itself.
func newestMeta(r io.ReaderAt) (newest meta, err error) {
	head := make([]byte, 80)
	for size := 512; size <= maxPageSize; size *= 2 {
		for _, at := range []int{0, size} {
			if _, err := r.ReadAt(head, int64(at)); errors.Is(err, io.EOF) {
				continue
			} else if err != nil {
				return newest, err
			}
			page, order := head[16:], binary.NativeEndian
			sum := fnv.New64a()
			sum.Write(page[:56]) // a hash never returns an error
			if order.Uint32(page) != boltMagic || int(order.Uint32(page[8:])) != size || order.Uint64(page[56:]) != sum.Sum64() {
				continue
			}
			if tx := order.Uint64(page[48:]); tx >= newest.tx {
				newest = meta{tx: tx, size: int64(order.Uint64(page[40:])) * int64(size)}
			}
		}
	}
	return newest, nil
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
	return SyncFolder(filepath.Dir(path))
}

// MakeFolder makes a folder of mode 0700 and those above it that are missing. They outlive a power cut: the name of each is
// synced, which lies in the folder above.
func MakeFolder(path string) error {
	if _, err := os.Stat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	above := filepath.Dir(path)
	if err := MakeFolder(above); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return SyncFolder(above)
}

// SyncFolder makes the names in a folder as safe as an fsync makes the content of a file.
func SyncFolder(path string) error {
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
