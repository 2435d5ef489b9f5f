package tools

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"nod/approvals"
)

// Access is what a call wants with a path.
type Access bool

const (
	ForReading Access = false
	ForWriting Access = true
)

const (
	maxPath  = 4096 // bytes of a path, as on Linux
	maxLinks = 40   // links followed for one path, as on Linux
)

// Place is where a path of a call leads, found out before anybody is asked. Hold opens it afterwards.
type Place struct {
	Path approvals.Path
	// Inside says that it lies in the workspace.
	Inside bool
	// Private says that nothing of what is there may reach the model before a rule or a person let it: outside of the
	// workspace, and secrets/.
	Private bool
	// Denied says that no rule or person can open it. The gate refuses it by BuiltInDeny, and Hold does too.
	Denied bool

	folder string // the deepest folder that there is on the way, canonical; for reading it may be the place itself
	below  string // from folder to the place, "." for the folder itself
	id     string // what folder is, whatever its name
}

// Facts bind a nod to the folder that was looked at.
func (p Place) Facts() []approvals.Fact {
	return []approvals.Fact{{Name: factFolder, Value: p.folder}, {Name: factFolderID, Value: p.id}}
}

const (
	factFolder   = "folder"
	factFolderID = "folder id"
)

// NewFolders are the folders on the way that are not there yet, outermost first.
func (p Place) NewFolders() []string {
	dir := filepath.Dir(p.below)
	if dir == "." {
		return nil
	}
	return strings.Split(dir, "/")
}

// Resolve finds out where a path leads: relative to the workspace (or the folder that In chose) or absolute, with every
// link resolved, but for the last component of a path to be written, which is never followed. What is not there yet counts
// as a plain name. The error is for the model.
func (w *Workspace) Resolve(path string, access Access) (Place, error) {
	if err := checkPath(path); err != nil {
		return Place{}, err
	}
	named := cmp.Or(path, ".")
	if !filepath.IsAbs(named) {
		named = filepath.Join(w.base, named)
	}
	named = filepath.Clean(named)
	canonical, err := canonicalPath(named, access)
	if err != nil {
		return Place{}, fmt.Errorf("%s can't be used: %w", path, plainError(err))
	}
	return w.place(w.asSecret(canonical), access)
}

func (w *Workspace) place(canonical string, access Access) (Place, error) {
	p := Place{Path: approvals.Path{Canonical: canonical, Shown: w.Shown(canonical), Write: bool(access)}}
	_, p.Inside = beneath(w.dir, canonical)
	_, secret := beneath(filepath.Join(w.dir, secretsDir), canonical)
	p.Private = secret || !p.Inside
	p.Denied = w.denies(canonical)
	p.folder = canonical
	if access == ForWriting {
		p.folder = filepath.Dir(canonical)
	}
	for {
		info, err := os.Lstat(p.folder)
		if err == nil && info.IsDir() {
			p.id = identity(info)
			break
		}
		if p.folder == filepath.Dir(p.folder) {
			return Place{}, fmt.Errorf("%s can't be used: %w", p.Path.Shown, plainError(err))
		}
		p.folder = filepath.Dir(p.folder)
	}
	p.below, _ = beneath(p.folder, canonical)
	return p, nil
}

// checkPath refuses what would look like something else on a card, or what a shell would have to expand first.
func checkPath(path string) error {
	switch {
	case len(path) > maxPath:
		return fmt.Errorf("the path is longer than %d bytes", maxPath)
	case strings.ContainsFunc(path, unicode.IsControl):
		return fmt.Errorf("the path %q holds control characters; use a name without them", path)
	case path == "~" || strings.HasPrefix(path, "~/"):
		return fmt.Errorf("the path %s begins with ~, which is not expanded; write it relative to the workspace, or absolute", path)
	}
	return nil
}

func canonicalOf(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return canonicalPath(abs, ForReading)
}

// canonicalPath resolves the links of an absolute, clean path, dangling ones too: what a dangling link points to is what
// a write through it would make. A path to be written keeps its last component.
func canonicalPath(path string, access Access) (string, error) {
	last := ""
	if access == ForWriting && path != "/" {
		path, last = filepath.Split(path)
	}
	todo, done, links := components(path), "/", 0
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		if name == ".." {
			done = filepath.Dir(done)
			continue
		}
		next := filepath.Join(done, name)
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			done = next
			continue
		case err != nil:
			return "", err
		case info.Mode().Type() != fs.ModeSymlink:
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", errors.New("too many links lead one to the other")
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(target) {
			done = "/"
		}
		todo = slices.Concat(components(target), todo)
	}
	return filepath.Join(done, last), nil
}

func components(path string) []string {
	return slices.DeleteFunc(strings.Split(path, "/"), func(c string) bool { return c == "" || c == "." })
}

// identity is a file's device and inode.
func identity(info fs.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
}

// plainError drops the path that package os puts before an error: the texts here name it as the caller did.
func plainError(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}
