package fs

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"nod/tools"
)

// replace puts data in place of the file called name, or makes it where old is nil. The new content is written beside it,
// synced and renamed over it: a crash leaves the old content or the new one, and a link that appears at the name is
// replaced, never followed. Mode and, as far as allowed, owner stay.
func replace(folder *os.Root, name string, data []byte, old fs.FileInfo) (err error) {
	temp := "." + strings.ToLower(rand.Text()[:12]) + ".part"
	f, err := folder.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return reason(err)
	}
	defer func() {
		if err == nil {
			return
		}
		if gone := folder.Remove(temp); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}()
	if err := errors.Join(fill(f, data, old), f.Close()); err != nil {
		return reason(err)
	}
	if err := same(folder, name, old); err != nil {
		return err
	}
	if err := folder.Rename(temp, name); err != nil {
		return reason(err)
	}
	return tools.SyncFolder(folder)
}

func fill(f *os.File, data []byte, old fs.FileInfo) error {
	if _, err := f.Write(data); err != nil {
		return err
	}
	mode := newMode
	if old != nil {
		mode = old.Mode().Perm()
		if stat, ok := old.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
			// Only root may give files away; for others the file becomes the writer's own.
			_ = f.Chown(int(stat.Uid), int(stat.Gid))
		}
	}
	if err := f.Chmod(mode); err != nil {
		return err
	}
	return f.Sync()
}

// same says whether the name still means what was read.
func same(folder *os.Root, name string, old fs.FileInfo) error {
	now, err := folder.Lstat(name)
	switch {
	case old == nil && errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && old != nil && os.SameFile(old, now) && old.Size() == now.Size() && old.ModTime().Equal(now.ModTime()):
		return nil
	}
	return errors.New("the file changed just now, so nothing was written; read it again and repeat the edit")
}

// reason drops the operation and the name from an error of package os: our texts name the file as the model did.
func reason(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("the system refuses: %w", pathErr.Err)
	}
	if linkErr, ok := errors.AsType[*os.LinkError](err); ok {
		return fmt.Errorf("the system refuses: %w", linkErr.Err)
	}
	return err
}
