package shell

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Dir is a folder held open, so that a path which is pointed elsewhere later can't move a command.
type Dir struct {
	Path     string // absolute, without symbolic links when it was opened
	Dev, Ino uint64 // the folder's identity while it exists
	f        *os.File
}

// OpenDir resolves the links of path, which must be absolute, and holds the folder open.
func OpenDir(path string) (*Dir, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("the folder %q is not an absolute path", path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, fmt.Errorf("resolving the folder: %w", err)
	}
	f, err := os.OpenFile(real, dirFlags, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the folder: %w", err)
	}
	dev, ino, err := identity(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("looking at the folder %s: %w", real, err), f.Close())
	}
	return &Dir{Path: real, Dev: dev, Ino: ino, f: f}, nil
}

// Close lets go of the folder.
func (d *Dir) Close() error { return d.f.Close() }

func identity(f *os.File) (dev, ino uint64, err error) {
	fi, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, errors.New("the system tells no device and inode")
	}
	return uint64(st.Dev), st.Ino, nil
}

// enter makes the folder at path the working folder of this process, provided that it is the one
// which held is open on. The path is opened anew because a descriptor from before a mount namespace
// leads to the mounts outside it, where getcwd(2) finds no path.
func enter(path string, held *os.File) error {
	f, err := os.OpenFile(path, dirFlags, 0)
	if err != nil {
		return fmt.Errorf("opening the folder: %w", err)
	}
	defer f.Close()
	dev, ino, err := identity(f)
	if err != nil {
		return fmt.Errorf("looking at the folder %s: %w", path, err)
	}
	heldDev, heldIno, err := identity(held)
	if err != nil {
		return fmt.Errorf("looking at the folder: %w", err)
	}
	if dev != heldDev || ino != heldIno {
		return fmt.Errorf("the folder %s was moved or replaced since the command was checked, so nothing ran", path)
	}
	if err := syscall.Fchdir(int(f.Fd())); err != nil {
		return fmt.Errorf("entering the folder %s: %w", path, err)
	}
	return nil
}
