package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

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
	var kept []*tree
	defer func() {
		for _, t := range kept {
			t.close()
		}
	}()
	keep := func(path string, flags uint64) error {
		t, err := copyTree(path, flags)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			kept = append(kept, t)
		}
		return err
	}
	for _, path := range devices {
		// A device can be written to on a read-only mount; what can't is its mode, which is everybody's.
		if err := keep(path, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID); err != nil {
			return err
		}
	}
	for _, path := range s.Writable {
		if err := keep(string(path), unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV); err != nil {
			return err
		}
	}
	if err := setFlags(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV); err != nil {
		return err
	}
	if err := freshFolders(); err != nil {
		return err
	}
	for _, t := range kept {
		if err := t.attach(); err != nil {
			return err
		}
	}
	if err := setFlags(unix.AT_FDCWD, runFolder, 0, unix.MOUNT_ATTR_RDONLY); err != nil {
		return err
	}
	for _, path := range s.Closed {
		if err := cover(string(path)); err != nil {
			return err
		}
	}
	return toNull(0) // the one that was inherited is of the mounts outside
}

// setFlags adds flags to the mount at path, which must be one.
func setFlags(dir int, path string, how uint, flags uint64) error {
	if err := unix.MountSetattr(dir, path, how, &unix.MountAttr{Attr_set: flags}); err != nil {
		return fmt.Errorf("changing the mount at %q: %w", path, err)
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
	restore := keepOfRun()
	for _, m := range mounts {
		err := unix.Mount(m.source, m.target, m.kind, m.flags, m.options)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("mounting the sandbox's %s: %w", m.target, err)
		}
	}
	return restore()
}

// keepOfRun notes what programs need of the folder of sockets: by what names are resolved, and the link by which NixOS
// finds programs. restore puts it into the new one.
func keepOfRun() (restore func() error) {
	const systemLink = runFolder + "/current-system"
	system, _ := os.Readlink(systemLink)
	resolver := resolverFile()
	var text []byte
	if strings.HasPrefix(resolver, runFolder+"/") {
		text, _ = os.ReadFile(resolver)
	}
	return func() error {
		if system != "" {
			if err := os.Symlink(system, systemLink); err != nil {
				return fmt.Errorf("keeping the system's programs: %w", err)
			}
		}
		if len(text) == 0 {
			return nil
		}
		if err := os.MkdirAll(filepath.Dir(resolver), 0o755); err != nil {
			return fmt.Errorf("keeping %s: %w", resolver, err)
		}
		if err := os.WriteFile(resolver, text, 0o644); err != nil {
			return fmt.Errorf("keeping %s: %w", resolver, err)
		}
		return nil
	}
}

// resolverFile is what /etc/resolv.conf leads to, which often lies in the folder of sockets.
func resolverFile() string {
	path, err := filepath.EvalSymlinks("/etc/resolv.conf")
	if err != nil {
		return "/etc/resolv.conf" // which is then not there
	}
	return path
}

// tree is a copy of the mounts at a path and beneath it, with flags added to those that they have.
type tree struct {
	path string
	fd   int
}

// copyTree follows no link in the path's last component: one that is there now was put in the place of what was meant.
func copyTree(path string, flags uint64) (*tree, error) {
	info, err := os.Lstat(path)
	if err == nil && info.Mode().Type() == fs.ModeSymlink {
		err = errors.New("it was replaced by a link")
	}
	if err != nil {
		return nil, fmt.Errorf("keeping %s for the sandbox: %w", path, err)
	}
	const how = unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE | unix.AT_SYMLINK_NOFOLLOW
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, how)
	if err != nil {
		return nil, fmt.Errorf("keeping %s for the sandbox: %w", path, err)
	}
	if err := setFlags(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, flags); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("keeping %s for the sandbox: %w", path, err)
	}
	return &tree{path: path, fd: fd}, nil
}

// attach puts the copy over its path. A folder is made where a fresh one has taken its parent's place.
func (t *tree) attach() error {
	err := os.MkdirAll(filepath.Dir(t.path), 0o755)
	if _, missing := os.Lstat(t.path); err == nil && errors.Is(missing, fs.ErrNotExist) {
		err = os.Mkdir(t.path, 0o755)
	}
	if err == nil {
		err = unix.MoveMount(t.fd, "", unix.AT_FDCWD, t.path, unix.MOVE_MOUNT_F_EMPTY_PATH)
	}
	if err != nil {
		return fmt.Errorf("keeping %s in the sandbox: %w", t.path, err)
	}
	return nil
}

func (t *tree) close() { unix.Close(t.fd) }

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
