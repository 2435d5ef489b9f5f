package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"nod/approvals"
)

const (
	secretsDir = "secrets"
	uploadsDir = "uploads"
	dataDir    = "data"
)

// Workspace is the folder that the agent works in, held open so that nothing swapped in its place is taken for it. Its
// methods may be called from any goroutine.
type Workspace struct {
	dir    string // canonical
	base   string // canonical: the folder at which relative paths begin
	root   *os.Root
	denied []string // canonical paths that no tool may touch, nor anything beneath them
}

// OpenWorkspace opens the folder at dir, making it if need be. denied are paths that no rule can open: the home of nod,
// its control socket. They need not exist yet.
func OpenWorkspace(dir string, denied ...string) (*Workspace, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the workspace: %w", err)
	}
	real, err := canonicalOf(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the workspace: %w", err)
	}
	w := &Workspace{dir: real, base: real}
	for _, path := range denied {
		closed, err := canonicalOf(path)
		if err != nil {
			return nil, fmt.Errorf("closing %s to tools: %w", path, err)
		}
		w.denied = append(w.denied, closed)
	}
	if w.root, err = os.OpenRoot(real); err != nil {
		return nil, fmt.Errorf("opening the workspace: %w", err)
	}
	return w, nil
}

// In is the workspace with relative paths that begin at a folder of it, named relative to the workspace. What may be
// reached stays the same: a path is looked at where it leads, wherever it began.
func (w *Workspace) In(dir string) *Workspace {
	view := *w
	view.base = filepath.Join(w.dir, dir)
	return &view
}

// Dir is the workspace's canonical path.
func (w *Workspace) Dir() string { return w.dir }

// Closed lists what a command in the workspace must not reach either: the paths that the workspace was opened without, and
// secrets/.
func (w *Workspace) Closed() []string {
	return append(slices.Clone(w.denied), filepath.Join(w.dir, secretsDir))
}

// Root is the open folder; it stays open until Close. Unlike Hold it follows links within the workspace, also into secrets/.
func (w *Workspace) Root() *os.Root { return w.root }

// OpenInside opens a regular file for nod's own reading, which nobody is asked about. Links are followed as far as they
// stay in the workspace; what a tool could not read unasked is refused.
func (w *Workspace) OpenInside(path string) (*os.File, fs.FileInfo, error) {
	p, err := w.Resolve(path, ForReading)
	if err != nil {
		return nil, nil, err
	}
	if p.Private || p.Denied {
		return nil, nil, fmt.Errorf("%s leads to %s, which is not read unasked", path, p.Path.Shown)
	}
	held, err := w.Hold(path, ForReading, approvals.Subject{Facts: p.Facts()})
	if err != nil {
		return nil, nil, err
	}
	defer held.Close()
	return held.OpenFile()
}

// Close lets the folder go.
func (w *Workspace) Close() error { return w.root.Close() }

// Shown is how people see a path: relative to the workspace where it is absolute and lies inside, else as it is.
func (w *Workspace) Shown(path string) string {
	if rel, ok := beneath(w.dir, filepath.Clean(path)); ok {
		return rel
	}
	return path
}

// CreateUpload makes a new file under uploads/ for something that a person sent, and says where read_file finds it.
// name is the sender's and may be anything; see SafeName. The caller closes the file.
func (w *Workspace) CreateUpload(name string) (f *os.File, shown string, err error) {
	return w.create(uploadsDir, name)
}

// CreateData is CreateUpload for what nod makes itself: the file lies in a folder under data/.
func (w *Workspace) CreateData(folder, name string) (f *os.File, shown string, err error) {
	return w.create(filepath.Join(dataDir, folder), name)
}

// create makes a new file in a folder, without following a link on the way to it.
func (w *Workspace) create(dir, name string) (f *os.File, shown string, err error) {
	for at := range parents(dir) {
		if err := w.mkdir(at); err != nil {
			return nil, "", fmt.Errorf("making the folder %s: %w", at, err)
		}
	}
	folder, err := descend(w.root, dir)
	if err != nil {
		return nil, "", fmt.Errorf("opening the folder %s: %w", dir, err)
	}
	defer folder.Close()
	safe := SafeName(name)
	for n := 1; ; n++ {
		unique := alternative(safe, n)
		f, err := folder.OpenFile(unique, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
		if err == nil {
			return f, filepath.Join(dir, unique), nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, "", fmt.Errorf("making a file in %s: %w", dir, err)
		}
	}
}

// parents yields a relative path's folders, the outermost first, and the path itself last.
func parents(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i, c := range path {
			if c == filepath.Separator && !yield(path[:i]) {
				return
			}
		}
		yield(path)
	}
}

// mkdir makes one folder, unless it is there.
func (w *Workspace) mkdir(path string) error {
	parent, err := descend(w.root, filepath.Dir(path))
	if err != nil {
		return err
	}
	defer parent.Close()
	if err := parent.Mkdir(filepath.Base(path), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

const ownedByNod = "belongs to nod itself, and no tool may touch it"

// BuiltInDeny is the gate's built-in deny: the paths that the workspace was opened without.
func (w *Workspace) BuiltInDeny(p approvals.Path) (reason string, denied bool) {
	if w.denies(p.Canonical) {
		return p.Shown + " " + ownedByNod, true
	}
	return "", false
}

// denies says whether a canonical path is one that no rule can open. Beside the names it compares what the folders on the
// way are, since a file system that folds case, or a second mount, has more than one name for a folder.
func (w *Workspace) denies(canonical string) bool {
	for _, closed := range w.denied {
		if _, in := beneath(closed, canonical); in {
			return true
		}
	}
	closed := w.closedFolders()
	for at := canonical; len(closed) > 0 && at != filepath.Dir(at); at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		if err != nil {
			continue
		}
		for _, c := range closed {
			if os.SameFile(info, c) {
				return true
			}
		}
	}
	return false
}

// asSecret gives what lies in secrets/ under another name of that folder the name that the rules know.
func (w *Workspace) asSecret(canonical string) string {
	secrets := filepath.Join(w.dir, secretsDir)
	folder, err := os.Lstat(secrets)
	if err != nil || !folder.IsDir() {
		return canonical
	}
	for at := canonical; at != filepath.Dir(at); at = filepath.Dir(at) {
		if info, err := os.Lstat(at); err == nil && os.SameFile(info, folder) {
			rest, _ := beneath(at, canonical)
			return filepath.Join(secrets, rest)
		}
	}
	return canonical
}

func (w *Workspace) closedFolders() []fs.FileInfo {
	var closed []fs.FileInfo
	for _, path := range w.denied {
		if info, err := os.Lstat(path); err == nil {
			closed = append(closed, info)
		}
	}
	return closed
}

// Guard tells a walk through folders which of them to leave out. It is made once a walk.
type Guard struct {
	w      *Workspace
	closed []fs.FileInfo
}

// Guard is for one walk.
func (w *Workspace) Guard() Guard {
	g := Guard{w: w, closed: w.closedFolders()}
	if secrets, err := os.Lstat(filepath.Join(w.dir, secretsDir)); err == nil {
		g.closed = append(g.closed, secrets)
	}
	return g
}

// Skips says whether a walk that began higher up leaves out the entry at a canonical path: what no rule can open, and
// secrets/.
func (g Guard) Skips(canonical string, info fs.FileInfo) bool {
	if _, secret := beneath(filepath.Join(g.w.dir, secretsDir), canonical); secret {
		return true
	}
	for _, path := range g.w.denied {
		if _, in := beneath(path, canonical); in {
			return true
		}
	}
	for _, c := range g.closed {
		if os.SameFile(info, c) {
			return true
		}
	}
	return false
}

// beneath says whether path, absolute and clean, is dir or lies in it, and as what: component by component, so that
// /x/safevil is not in /x/safe.
func beneath(dir, path string) (rel string, ok bool) {
	if path == dir {
		return ".", true
	}
	return strings.CutPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}
