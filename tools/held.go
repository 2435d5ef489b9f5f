package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"nod/approvals"
)

// ErrMoved says that a folder on the way to a path is not the one that was looked at when the call was let through.
var ErrMoved = errors.New("a folder on the way was moved or replaced meanwhile, so nothing was done; look again and repeat the call")

// Held is a place whose folder is open: whatever is renamed or linked now, it stays that folder.
type Held struct {
	Place
	root *os.Root
}

// Hold finds the path again and opens the folder on its way, which must be the one that the nod is bound to. The caller
// closes what it gets.
func (w *Workspace) Hold(path string, access Access, nod approvals.Subject) (*Held, error) {
	p, err := w.Resolve(path, access)
	if err != nil {
		return nil, err
	}
	if p.Denied {
		return nil, fmt.Errorf("%s %s", p.Path.Shown, ownedByNod)
	}
	for _, fact := range p.Facts() {
		if fact.Value == "" || fact.Value != nod.Fact(fact.Name) {
			return nil, fmt.Errorf("%s: %w", p.Path.Shown, ErrMoved)
		}
	}
	root, err := w.openFolder(p)
	if err != nil {
		return nil, fmt.Errorf("opening the folder of %s: %w", p.Path.Shown, plainError(err))
	}
	info, err := root.Stat(".")
	if err != nil || identity(info) != p.id {
		return nil, errors.Join(fmt.Errorf("%s: %w", p.Path.Shown, ErrMoved), root.Close())
	}
	return &Held{Place: p, root: root}, nil
}

// openFolder opens the place's folder. Inside of the workspace the way goes down from its handle; outside the system
// looks the path up, since folders on the way there may be searchable only.
func (w *Workspace) openFolder(p Place) (*os.Root, error) {
	if rel, ok := beneath(w.dir, p.folder); ok {
		return descend(w.root, rel)
	}
	root, err := os.OpenRoot(p.folder + "/.") // with a dot it can't hang on a FIFO
	if err != nil {
		return nil, err
	}
	if again, err := canonicalPath(p.folder, ForReading); err != nil || again != p.folder {
		return nil, errors.Join(ErrMoved, root.Close())
	}
	return root, nil
}

// Close lets the folder go.
func (h *Held) Close() error { return h.root.Close() }

// Folder is the open folder.
func (h *Held) Folder() *os.Root { return h.root }

// Name is the place from the folder: a name, a path when folders are missing on the way, or "." for the folder itself.
func (h *Held) Name() string { return h.below }

// IsFolder says whether the place is a folder that is there.
func (h *Held) IsFolder() bool { return h.below == "." }

// MakeFolders makes the folders that are missing on the way and goes down to the last.
func (h *Held) MakeFolders() error {
	for _, name := range h.NewFolders() {
		if err := h.root.Mkdir(name, 0o755); err != nil {
			if errors.Is(err, fs.ErrExist) {
				err = errors.New("there is something of that name which is no folder")
			}
			return fmt.Errorf("making the folder %s: %w", name, plainError(err))
		}
		next, err := descend(h.root, name)
		if err != nil {
			return fmt.Errorf("opening the folder %s: %w", name, plainError(err))
		}
		if err := errors.Join(SyncFolder(h.root), h.root.Close()); err != nil {
			return errors.Join(err, next.Close())
		}
		h.root, h.below = next, strings.TrimPrefix(h.below, name+"/")
	}
	return nil
}

// OpenFile opens the place for reading, see OpenRegular.
func (h *Held) OpenFile() (*os.File, fs.FileInfo, error) {
	if h.IsFolder() {
		return nil, nil, fmt.Errorf("%s is a folder; list_files shows what is in it", h.Path.Shown)
	}
	if len(h.NewFolders()) > 0 {
		return nil, nil, missing(h.Path.Shown)
	}
	return OpenRegular(h.root, h.below, h.Path.Shown)
}

// OpenRegular opens a regular file by its name in an open folder, and nothing that a link or a swap puts in its place.
// Links, devices, FIFOs, sockets, folders and files with several names are refused; shown stands for the file in errors.
func OpenRegular(folder *os.Root, name, shown string) (*os.File, fs.FileInfo, error) {
	before, err := folder.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil, missing(shown)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("looking at %s: %w", shown, plainError(err))
	}
	if err := checkRegular(before, shown); err != nil {
		return nil, nil, err
	}
	// O_NONBLOCK: a FIFO that was put there since Lstat must not hold the call up.
	f, err := folder.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("opening %s: %w", shown, plainError(err))
	}
	info, err := f.Stat()
	if err == nil && !os.SameFile(before, info) {
		err = errors.New("it was replaced meanwhile")
	}
	if err == nil {
		err = checkRegular(info, shown)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("opening %s: %w", shown, plainError(err)), f.Close())
	}
	return f, info, nil
}

// checkRegular refuses everything but a regular file with one name. A hard link is a way to have a file from elsewhere in
// a folder where it is free to read.
func checkRegular(info fs.FileInfo, shown string) error {
	switch kind := info.Mode().Type(); {
	case kind == fs.ModeDir:
		return fmt.Errorf("%s is a folder; list_files shows what is in it", shown)
	case kind == fs.ModeSymlink:
		return fmt.Errorf("%s is a link, and links are not followed here; name the file that it points to", shown)
	case kind == fs.ModeNamedPipe:
		return fmt.Errorf("%s is a FIFO, not a regular file", shown)
	case kind == fs.ModeSocket:
		return fmt.Errorf("%s is a socket, not a regular file", shown)
	case kind != 0:
		return fmt.Errorf("%s is a device, not a regular file", shown)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Nlink > 1 {
		return fmt.Errorf("%s has %d names (hard links), so it may be a file from elsewhere; make a plain copy of it and use that", shown, stat.Nlink)
	}
	return nil
}

// descend opens the folder at rel beneath root without following a link: each component must be a folder, and what was
// opened the one that was looked at.
func descend(root *os.Root, rel string) (*os.Root, error) {
	at, err := root.OpenRoot(".")
	for _, name := range components(rel) {
		if err != nil {
			return nil, err
		}
		next, stepErr := OpenFolder(at, name)
		err = errors.Join(stepErr, at.Close())
		at = next
	}
	return at, err
}

// OpenFolder opens a folder by its name in another, and nothing that a link or a swap puts in its place.
func OpenFolder(at *os.Root, name string) (*os.Root, error) {
	before, err := at.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.IsDir() {
		return nil, fmt.Errorf("%s is no folder", name)
	}
	next, err := at.OpenRoot(filepath.Clean(name) + "/.") // with a dot it can't hang on a FIFO
	if err != nil {
		return nil, err
	}
	after, err := next.Stat(".")
	if err != nil || !os.SameFile(before, after) {
		return nil, errors.Join(ErrMoved, next.Close())
	}
	return next, nil
}

// SyncFolder makes the names in an open folder last through a power cut.
func SyncFolder(folder *os.Root) error {
	d, err := folder.Open(".")
	if err != nil {
		return fmt.Errorf("syncing a folder: %w", err)
	}
	return errors.Join(d.Sync(), d.Close())
}

// missingError says that there is no such file; it is fs.ErrNotExist to errors.Is.
type missingError struct{ shown string }

func missing(shown string) error { return &missingError{shown} }

func (e *missingError) Error() string {
	return "there is no file " + e.shown + "; list_files shows what there is"
}

func (e *missingError) Is(target error) bool { return target == fs.ErrNotExist }
