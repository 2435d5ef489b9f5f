package shell

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/landlock-lsm/go-landlock/landlock"
	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

const readDir = landlock.AccessFSSet(unix.LANDLOCK_ACCESS_FS_READ_DIR)

// landlockSelf has the kernel refuse to the calling thread, and to what it starts, whatever is not let below: opening
// files, and since ABI 6 signals to processes outside and abstract sockets. Landlock knows folders to be let but
// none to be left out of them, so that what is closed must lie outside of what is writable. It can't keep a command from
// changing modes and times of its user's files, nor from names: every folder can be listed.
//
// TCP is left alone: it would not keep a command from UDP, for which there are network namespaces and refuseCalls.
func landlockSelf(s spec) error {
	config := landlock.V9
	config.HandledAccessNet = 0
	rules, err := landlockRules(s)
	if err != nil {
		return fmt.Errorf("listing what may be read: %w", err)
	}
	fd, flags, err := config.BestEffort().NewRulesetFD(rules...)
	if err != nil {
		return fmt.Errorf("setting up Landlock: %w", err)
	}
	if fd < 0 {
		return errors.New("the kernel has no Landlock")
	}
	defer unix.Close(fd)
	if err := llsys.LandlockRestrictSelf(fd, flags); err != nil {
		return fmt.Errorf("entering Landlock: %w", err)
	}
	return nil
}

func landlockRules(s spec) ([]landlock.Rule, error) {
	var writable []string
	for _, path := range s.Writable {
		writable = append(writable, string(path))
	}
	terminals := []string{}
	if s.Walls.Mounts { // else these are everybody's
		writable = append(writable, "/tmp", "/var/tmp", "/dev/shm")
		terminals = []string{"/dev/pts"}
	}
	g := grants{closed: []string{"/dev", "/proc", "/run", "/tmp", "/var/tmp"}}
	for _, path := range s.Closed {
		if real, err := filepath.EvalSymlinks(string(path)); err == nil {
			g.closed = append(g.closed, real)
		}
	}
	if err := g.walk("/"); err != nil {
		return nil, err
	}
	return []landlock.Rule{
		landlock.PathAccess(readDir, "/"),
		landlock.RODirs(g.dirs...).IgnoreIfMissing(),
		landlock.ROFiles(g.files...).IgnoreIfMissing(),
		landlock.ROFiles(resolverFile()).IgnoreIfMissing(),
		landlock.RODirs("/proc"),
		landlock.RWFiles(slices.Concat(devices, []string{"/dev/ptmx"})...).WithIoctlDev().IgnoreIfMissing(),
		landlock.RWDirs(terminals...).WithIoctlDev().IgnoreIfMissing(),
		landlock.RWDirs(writable...).WithRefer().IgnoreIfMissing(),
	}, nil
}

// grants gathers what may be read: all but what is closed.
type grants struct {
	closed      []string
	dirs, files []string
}

// walk grants what is in a folder that holds something closed. Links are passed by: what they lead to is granted
// in its own place or not at all.
func (g *grants) walk(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrPermission) {
		return nil // nor could the command
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		within := func(closed string) bool { return strings.HasPrefix(closed, path+"/") }
		switch {
		case slices.Contains(g.closed, path):
		case e.IsDir() && slices.ContainsFunc(g.closed, within):
			if err := g.walk(path); err != nil {
				return err
			}
		case e.IsDir():
			g.dirs = append(g.dirs, path)
		case e.Type().IsRegular():
			g.files = append(g.files, path)
		}
	}
	return nil
}
