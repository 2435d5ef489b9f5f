package fs

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"nod/tools"
)

const (
	gitFolder     = ".git"
	gitIgnore     = ".gitignore"
	maxIgnore     = 1 << 20 // bytes of a .gitignore that are read
	maxWalkFolder = 200     // folders within each other that a walk goes down
)

// walk is one way through a folder and what lies in it. It leaves out .git, secrets/, what belongs to nod, and what a
// .gitignore names; links are not followed.
type walk struct {
	guard tools.Guard
	// skipped counts folders that could not be opened.
	skipped int
}

// folder is an open folder of a walk. It stays open while somebody uses it.
type folder struct {
	root  *os.Root
	rel   string // from where the walk began, with a slash at its end; "" there
	path  string // absolute
	rules *ignore
	users atomic.Int32
}

// entry is a name in a folder.
type entry struct {
	name string
	kind fs.FileMode
}

func (f *folder) use() { f.users.Add(1) }

func (f *folder) done() error {
	if f.users.Add(-1) > 0 {
		return nil
	}
	return f.root.Close()
}

// begin opens the folder that a walk begins in. Files named .gitignore above it count as far as the workspace reaches.
func (w *walk) begin(held *tools.Held, workspace *tools.Workspace) (*folder, error) {
	root, err := held.Folder().OpenRoot(".")
	if err != nil {
		return nil, err
	}
	top := &folder{root: root, path: held.Path.Canonical}
	if held.Inside {
		top.rules = ignoresAbove(workspace, held.Path.Canonical)
	}
	top.use()
	return top, nil
}

// ignoresAbove reads the .gitignore of each folder from the workspace down to the one above path, as far as they can be opened.
func ignoresAbove(workspace *tools.Workspace, path string) (rules *ignore) {
	rel, err := filepath.Rel(workspace.Dir(), path)
	if err != nil || rel == "." {
		return nil
	}
	at, dir := workspace.Root(), workspace.Dir()
	for name := range strings.SplitSeq(rel, "/") {
		rules = readIgnore(at, dir, rules)
		next, err := tools.OpenFolder(at, name)
		if err != nil {
			return rules
		}
		defer next.Close()
		at, dir = next, filepath.Join(dir, name)
	}
	return rules
}

// readIgnore adds the .gitignore of a folder to those above. One that can't be read ignores nothing.
func readIgnore(root *os.Root, path string, above *ignore) *ignore {
	f, info, err := tools.OpenRegular(root, gitIgnore, gitIgnore)
	if err != nil {
		return above
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, min(info.Size(), maxIgnore)))
	if err != nil {
		return above
	}
	return parseIgnore(above, path, string(text))
}

// list reads a folder: what a walk sees of it, by name.
func (w *walk) list(f *folder) ([]entry, error) {
	dir, err := f.root.Open(".")
	if err != nil {
		return nil, err
	}
	found, err := dir.ReadDir(-1)
	if err := errors.Join(err, dir.Close()); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(found, func(d fs.DirEntry) bool { return d.Name() == gitIgnore }) {
		f.rules = readIgnore(f.root, f.path, f.rules)
	}
	entries := make([]entry, 0, len(found))
	for _, d := range found {
		path := strings.TrimSuffix(f.path, "/") + "/" + d.Name()
		if d.Name() == gitFolder || f.rules.matches(path, d.Name(), d.IsDir()) || !d.IsDir() && w.guard.Skips(path, nil) {
			continue
		}
		entries = append(entries, entry{name: d.Name(), kind: d.Type()})
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	return entries, nil
}

// down opens a folder in another; nil when a walk does not go there.
func (w *walk) down(f *folder, name string) *folder {
	path := strings.TrimSuffix(f.path, "/") + "/" + name
	info, err := f.root.Lstat(name)
	if err == nil && w.guard.Skips(path, info) {
		return nil
	}
	if strings.Count(f.rel, "/") >= maxWalkFolder {
		w.skipped++
		return nil
	}
	root, err := tools.OpenFolder(f.root, name)
	if err != nil {
		w.skipped++
		return nil
	}
	below := &folder{root: root, rel: f.rel + name + "/", path: path, rules: f.rules}
	below.use()
	return below
}
