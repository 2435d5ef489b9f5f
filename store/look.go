package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// asideSuffix begins what SetAside puts behind the name of a damaged file.
const asideSuffix = ".damaged-"

// Look checks a database that no clean stop has left as it is, page by page, in a process of its own: what is damaged can
// end the process that reads it, or use up its memory. After a clean stop, and where there is no database, it does nothing.
// It returns a *DamagedError or ErrLocked; any other error says that the file could not be checked. The program's main must
// call Dispatch.
func Look(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	if err != nil || info.Size() == 0 {
		return nil // Open says what that means
	}
	if sound, err := left(path); err != nil || sound {
		return err
	}
	if err := checkSize(path, info.Size()); err != nil {
		return err
	}
	limit := lookTime(info.Size())
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if !dispatches.Load() {
		return errNoDispatch
	}
	var out, log bytes.Buffer
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("checking the database: %w", err)
	}
	child := exec.CommandContext(ctx, self)
	child.Args, child.Env = []string{lookName, path}, lookEnv
	child.Stdout, child.Stderr = &capped{to: &out}, &capped{to: &log}
	err = child.Run()
	exit, ended := errors.AsType[*exec.ExitError](err)
	switch {
	case err == nil:
		tx, err := strconv.ParseUint(strings.TrimSpace(out.String()), 10, 64)
		if err != nil {
			return fmt.Errorf("checking the database: %w", err)
		}
		return noteLeft(path, tx)
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return damaged(path, fmt.Sprintf("it could not be read to its end within %s", limit.Round(time.Second)))
	case ctx.Err() != nil:
		return ctx.Err()
	case !ended:
		return fmt.Errorf("checking the database: %w", err)
	case exit.ExitCode() == lookLocked:
		return ErrLocked
	case exit.ExitCode() == lookBad:
		return damaged(path, "it is damaged ("+strings.TrimPrefix(strings.TrimSpace(out.String()), "panic: ")+")")
	}
	first, _, _ := strings.Cut(strings.TrimSpace(log.String()), "\n")
	return damaged(path, fmt.Sprintf("it is damaged (reading it ended with %s: %s)", exit.ProcessState, first))
}

// lookTime is how long a check may take: a disk gives 5 MB a second at the least.
func lookTime(size int64) time.Duration {
	return 30*time.Second + time.Duration(size/(5<<20))*time.Second
}

// capped keeps the beginning of what is written to it.
type capped struct{ to *bytes.Buffer }

func (c *capped) Write(p []byte) (int, error) {
	c.to.Write(p[:min(len(p), max(0, 4096-c.to.Len()))])
	return len(p), nil
}

// left says whether the file is as a clean stop left it: nothing was committed since, and it was sound then.
func left(path string) (bool, error) {
	noted, err := os.ReadFile(path + markerSuffix)
	if err != nil || len(noted) == 0 {
		return false, nil // none was ever noted
	}
	now, err := readMeta(path)
	if err != nil {
		return false, err
	}
	tx, err := strconv.ParseUint(strings.TrimSpace(string(noted)), 10, 64)
	return err == nil && now.tx == tx && now.tx > 0, nil
}

// noteLeft notes that the file is sound as of its transaction tx. The note holds for no later one, so it need be neither
// taken back at the next start nor synced.
func noteLeft(path string, tx uint64) error {
	if err := os.WriteFile(path+markerSuffix, fmt.Appendf(nil, "%d\n", tx), 0o600); err != nil {
		return fmt.Errorf("noting a clean stop: %w", err)
	}
	return nil
}

// SetAside gives a damaged database another name, which tells the time, so that a backup can be put in its place. Nothing is
// lost, and no new database comes up by itself. It returns the error that is to be told: d with the new name.
func SetAside(d *DamagedError) error {
	unlock, err := lock(d.Path)
	if err != nil {
		return err
	}
	defer unlock()
	kept := d.Path + asideSuffix + time.Now().Format("20060102-150405")
	switch err := os.Link(d.Path, kept); {
	case errors.Is(err, os.ErrNotExist):
		return d // it has been set aside already, or is gone
	case err != nil:
		return errors.Join(d, fmt.Errorf("keeping the damaged database: %w", err))
	}
	if err := errors.Join(os.Remove(d.Path), mark(d.Path), SyncFolder(filepath.Dir(d.Path))); err != nil {
		return errors.Join(d, fmt.Errorf("keeping the damaged database: %w", err))
	}
	told := *d
	told.Kept = kept
	return &told
}

// setAsideBefore is the damaged file that was set aside last, or "", while no database stands in its place.
func setAsideBefore(path string) string {
	if there, err := exists(path); err != nil || there {
		return ""
	}
	names, _ := filepath.Glob(path + asideSuffix + "*") // see LastBackup
	if len(names) == 0 {
		return ""
	}
	return slices.Max(names)
}

// lower sets one of this process's limits without raising it.
func lower(resource int, most uint64) {
	var now syscall.Rlimit
	if syscall.Getrlimit(resource, &now) != nil {
		return
	}
	now.Max = min(now.Max, most)
	now.Cur = now.Max
	// Where it can't be set, the parent's time limit is left.
	_ = syscall.Setrlimit(resource, &now)
}
