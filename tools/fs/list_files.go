package fs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"nod/tools"
)

const (
	listDepth     = 3
	maxListDepth  = 20
	maxEntries    = 1000
	maxEntriesOne = 300 // of one folder, so that a big one doesn't hide its neighbours
)

type listIn struct {
	Path     string `json:"path,omitempty" jsonschema:"folder, relative to the workspace or absolute (default the workspace)"`
	Depth    int    `json:"depth,omitempty" jsonschema:"levels to go down (default 3)"`
	DirsOnly bool   `json:"dirs_only,omitempty" jsonschema:"folders only (default false)"`
}

// Refine bounds the depth.
func (listIn) Refine(p map[string]*jsonschema.Schema) {
	p["depth"].Minimum = jsonschema.Ptr(1.0)
	p["depth"].Maximum = jsonschema.Ptr(float64(maxListDepth))
}

func listFiles(w *tools.Workspace) tools.Tool {
	return tools.New(tools.Spec[listIn]{
		Name: tools.ListFiles,
		Description: "Lists the files in a folder and below, as paths relative to it; folders end with a slash. Leaves out .git, secrets/ " +
			"and what .gitignore names. Use this and not ls, tree or find in execute_cmd.",
		Traits: reads,
		Check: func(in *listIn) error {
			if in.Depth == 0 {
				in.Depth = listDepth
			}
			if in.Path == "" {
				in.Path = "."
			}
			return nil
		},
		Label: func(in listIn, _ bool) string { return tools.Quote(w.Shown(in.Path)) },
		Judge: judgeRead(func(in listIn) string { return in.Path }),
		Run:   runListFiles,
	})
}

func runListFiles(ctx context.Context, call tools.Call, in listIn) (tools.Output, error) {
	held, err := hold(call, in.Path, tools.ForReading)
	if err != nil {
		return tools.Output{}, err
	}
	defer held.Close()
	if !held.IsFolder() {
		return tools.Output{}, notAFolder(held)
	}
	l := &listing{ctx: ctx, in: in, walk: walk{guard: call.Scope.Workspace.Guard()}}
	top, err := l.walk.begin(held, call.Scope.Workspace)
	if err != nil {
		return tools.Output{}, fmt.Errorf("opening %s: %w", held.Path.Shown, reason(err))
	}
	if err := errors.Join(l.folder(top, 1), top.done()); err != nil {
		return tools.Output{}, fmt.Errorf("listing %s: %w", held.Path.Shown, reason(err))
	}
	return tools.Output{Text: l.text()}, nil
}

// notAFolder says what is there instead.
func notAFolder(held *tools.Held) error {
	if _, err := held.Folder().Lstat(held.Name()); err != nil {
		return fmt.Errorf("there is no folder %s", held.Path.Shown)
	}
	return fmt.Errorf("%s is a file, not a folder; read_file shows it", held.Path.Shown)
}

type listing struct {
	ctx     context.Context
	in      listIn
	walk    walk
	entries int
	full    bool
	out     strings.Builder
}

func (l *listing) folder(f *folder, depth int) error {
	entries, err := l.walk.list(f)
	if err != nil {
		return err
	}
	if l.in.DirsOnly {
		entries = slices.DeleteFunc(entries, func(e entry) bool { return !e.kind.IsDir() })
	}
	for i, e := range entries {
		if l.ctx.Err() != nil {
			return l.ctx.Err()
		}
		if i >= maxEntriesOne {
			fmt.Fprintf(&l.out, "%s… (%d more)\n", printable(f.rel), len(entries)-i)
			return nil
		}
		if err := l.entry(f, e, depth); err != nil || l.full {
			return err
		}
	}
	return nil
}

func (l *listing) entry(f *folder, e entry, depth int) error {
	var below *folder
	if e.kind.IsDir() {
		if below = l.walk.down(f, e.name); below == nil {
			return nil
		}
	}
	if l.full = l.entries >= maxEntries || l.out.Len() > maxText; l.full {
		return closeFolder(below)
	}
	l.entries++
	fmt.Fprintf(&l.out, "%s%s\n", printable(f.rel+e.name), mark(e.kind))
	if below == nil || depth >= l.in.Depth {
		return closeFolder(below)
	}
	err := l.folder(below, depth+1)
	if errors.Is(err, fs.ErrPermission) {
		l.walk.skipped++
		err = nil
	}
	return errors.Join(err, below.done())
}

func closeFolder(f *folder) error {
	if f == nil {
		return nil
	}
	return f.done()
}

// mark is what follows a name: a slash for a folder, a word for what is no file.
func mark(kind fs.FileMode) string {
	switch {
	case kind.IsDir():
		return "/"
	case kind&fs.ModeSymlink != 0:
		return " (link)"
	case kind.IsRegular():
		return ""
	}
	return " (not a regular file)"
}

func (l *listing) text() string {
	if l.full {
		fmt.Fprintf(&l.out, "[the list ends here, after %d entries; list a folder further down, or with a smaller depth]\n", l.entries)
	}
	if l.walk.skipped > 0 {
		fmt.Fprintf(&l.out, "[%s could not be opened]\n", count(l.walk.skipped, "folder"))
	}
	if l.out.Len() == 0 {
		return "The folder is empty."
	}
	return l.out.String()
}
