package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"
)

// floors says which floor a top-level folder stands on. A package imports from lower floors and from its own folder.
var floors = map[string]int{"store": 1, "approvals": 2, "scheduler": 2, "tools": 3, "agent": 4, "bot": 5, "cmd": 6}

// TestFloors reads the import lines of every file, tests included. It reads them itself, since what a test asks of
// `go list` is answered from the test cache after a wrong import was added.
func TestFloors(t *testing.T) {
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && name != ".":
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		src, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			checkImport(t, name, imported)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkImport(t *testing.T, file, imported string) {
	t.Helper()
	if strings.HasSuffix(imported, "/template") && !strings.HasSuffix(file, "_test.go") {
		t.Errorf("%s imports %s, for which the linker keeps every method: 4 MB of the binary, 3 of them in memory", file, imported)
	}
	own, ok := strings.CutPrefix(imported, "nod/")
	if !ok {
		return
	}
	from, _, _ := strings.Cut(file, "/")
	to, _, _ := strings.Cut(own, "/")
	if from != to && floors[from] <= floors[to] {
		t.Errorf("%s imports %s: floor %d may not import from floor %d", file, imported, floors[from], floors[to])
	}
}

// TestTopLevel holds what stands in the root of the repository.
func TestTopLevel(t *testing.T) {
	allowed := map[string]bool{
		"go.mod": true, "go.sum": true, "README.md": true, "LICENSE": true,
		"cmd": true, "bot": true, "agent": true, "tools": true, "approvals": true, "scheduler": true, "store": true,
	}
	entries, err := os.ReadDir("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !allowed[e.Name()] && !(e.IsDir() && strings.HasPrefix(e.Name(), ".")) && e.Name() != ".git" {
			t.Errorf("%s does not belong in the root", e.Name())
		}
	}
}
