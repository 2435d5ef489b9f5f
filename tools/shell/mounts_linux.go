package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// devices are those that every program may count on. In a view of its own a command can open no others: for root they
// would include the disks.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}

// runFolder is where sockets are by which others do what they are asked: container engines, the service manager, the
// message bus.
const runFolder = "/run"

// ownView builds the file system that the command sees. All of it can be read and, in the end, none of it be written
// but for a new temporary folder and the places that are let; what is closed is covered. What is not there yet
// can't be made either, its folder being read-only. It takes Linux 5.12, and works on the calling process.
func ownView(s spec) error {
	// Copies of what stays as it is are taken before the rest changes, and put in their places after.
	var keep []*tree
	defer func() {
		for _, t := range keep {
			t.close()
		}
	}()
	places := append([]string{resolverFile()}, devices...)
	for _, path := range s.Writable {
		places = append(places, string(path))
	}
	for _, path := range places {
		t, err := copyTree(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		keep = append(keep, t)
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &attr); err != nil {
		return fmt.Errorf("making / read-only: %w", err)
	}
	if err := freshFolders(); err != nil {
		return err
	}
	for _, t := range keep {
		if err := t.attach(); err != nil {
			return err
		}
	}
	attr = unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(unix.AT_FDCWD, runFolder, 0, &attr); err != nil {
		return fmt.Errorf("making %s read-only: %w", runFolder, err)
	}
	for _, path := range s.Closed {
		if err := cover(string(path)); err != nil {
			return err
		}
	}
	return nil
}

// freshFolders mounts what begins empty and ends with the command: temporary folders, terminals, and the folder of
// sockets.
func freshFolders() error {
	const flags = unix.MS_NOSUID | unix.MS_NODEV
	mounts := []struct {
		source, target, kind string
		flags                uintptr
		options              string
	}{
		{"tmpfs", "/tmp", "tmpfs", flags, "mode=1777,size=25%"}, // of the machine's memory
		{"/tmp", "/var/tmp", "", unix.MS_BIND, ""},
		{"tmpfs", "/dev/shm", "tmpfs", flags, "mode=1777,size=25%"},
		{"devpts", "/dev/pts", "devpts", unix.MS_NOSUID | unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=600"},
		{"/dev/pts/ptmx", "/dev/ptmx", "", unix.MS_BIND, ""},
		{"tmpfs", runFolder, "tmpfs", flags, "mode=755,size=1m"},
	}
	system, linkErr := os.Readlink("/run/current-system") // by which NixOS finds its programs
	for _, m := range mounts {
		err := unix.Mount(m.source, m.target, m.kind, m.flags, m.options)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("mounting the sandbox's %s: %w", m.target, err)
		}
	}
	if linkErr == nil {
		if err := os.Symlink(system, "/run/current-system"); err != nil {
			return fmt.Errorf("keeping the system's programs: %w", err)
		}
	}
	return nil
}

// resolverFile is what /etc/resolv.conf leads to, which often lies in the folder of sockets.
func resolverFile() string {
	path, err := filepath.EvalSymlinks("/etc/resolv.conf")
	if err != nil {
		return "/etc/resolv.conf" // which is then not there
	}
	return path
}

// tree is a copy of the mounts at a path and beneath it, with their present flags.
type tree struct {
	path string
	fd   int
	dir  bool
}

// copyTree follows no link in the path's last component: one that is there now was put in the place of what was meant.
func copyTree(path string) (*tree, error) {
	info, err := os.Lstat(path)
	if err == nil && info.Mode().Type() == fs.ModeSymlink {
		err = errors.New("it was replaced by a link")
	}
	if err != nil {
		return nil, fmt.Errorf("keeping %s for the sandbox: %w", path, err)
	}
	const flags = unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE | unix.AT_SYMLINK_NOFOLLOW
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, flags)
	if err != nil {
		return nil, fmt.Errorf("keeping %s for the sandbox: %w", path, err)
	}
	return &tree{path: path, fd: fd, dir: info.IsDir()}, nil
}

// attach puts the copy over its path, which is made where a fresh folder has taken its place.
func (t *tree) attach() error {
	err := makePlace(t.path, t.dir)
	if err == nil {
		err = unix.MoveMount(t.fd, "", unix.AT_FDCWD, t.path, unix.MOVE_MOUNT_F_EMPTY_PATH)
	}
	if err != nil {
		return fmt.Errorf("keeping %s in the sandbox: %w", t.path, err)
	}
	return nil
}

func (t *tree) close() { unix.Close(t.fd) }

func makePlace(path string, dir bool) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if dir {
		return os.MkdirAll(path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, nil, 0o644)
}

// cover puts something empty over a path: a folder that nobody may enter, or a file. What the command could not reach
// anyway needs no cover.
func cover(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, unix.ENOTDIR):
		return nil
	case err == nil && info.IsDir():
		err = unix.Mount("tmpfs", path, "tmpfs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "size=4k,mode=0")
	case err == nil:
		err = unix.Mount("/dev/null", path, "", unix.MS_BIND, "")
	}
	if err != nil {
		return fmt.Errorf("hiding %s from the sandbox: %w", path, err)
	}
	return nil
}
