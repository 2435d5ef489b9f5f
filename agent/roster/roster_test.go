package roster

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/tools"
)

// board is a roster on a real folder.
type board struct {
	*testing.T
	*Roster
	dir  string
	logs *bytes.Buffer
}

func newBoard(t *testing.T, files ...string) *board {
	t.Helper()
	b := &board{T: t, dir: t.TempDir(), logs: &bytes.Buffer{}}
	b.Roster = New(b.dir, slog.New(slog.NewTextHandler(b.logs, nil)))
	for i := 0; i < len(files); i += 2 {
		b.file(files[i], files[i+1])
	}
	return b
}

func (b *board) file(name, content string) {
	b.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(content), 0o600); err != nil {
		b.Fatal(err)
	}
}

func (b *board) find(id string) Agent {
	b.Helper()
	a, err := b.Find(id)
	if err != nil {
		b.Fatal(err)
	}
	return a
}

func ids(all []Agent) (ids []string) {
	for _, a := range all {
		ids = append(ids, a.ID+" "+string(a.Kind))
	}
	return ids
}

func TestTheAgentsThatNodBrings(t *testing.T) {
	all, problems := New("", slog.New(slog.DiscardHandler)).All()
	if len(problems) > 0 {
		t.Error(problems)
	}
	if diff := cmp.Diff([]string{"generalist task", "main chat", "researcher task", "software-engineer task"}, ids(all)); diff != "" {
		t.Error(diff)
	}
	for _, a := range all {
		if a.Name == "" || a.Description == "" || a.Text == "" || a.Kind == Task && a.Instructions == "" {
			t.Errorf("%s says too little of itself: %+v", a.ID, a)
		}
		// Whether a tool is offered depends on the session, so the text of an agent names none.
		for _, e := range tools.Catalogue {
			if strings.Contains(a.Text, e.Tool) {
				t.Errorf("%s names %s", a.ID, e.Tool)
			}
		}
		for _, pattern := range a.Tools {
			if _, known := tools.EntryOf(pattern); !known && !strings.HasSuffix(pattern, "*") {
				t.Errorf("%s lists %s, which is no tool", a.ID, pattern)
			}
		}
	}
}

func TestTheOwnersFilesAreReadEachTime(t *testing.T) {
	b := newBoard(t, "main.md", "You are Jeeves.\n")
	if a := b.find("main"); a.Text != "You are Jeeves.\n" || a.Kind != Chat || a.Name != "nod" {
		t.Errorf("a file without front matter changes more than the text: %+v", a)
	}
	b.file("main.md", "You are Hudson.\n")
	if a := b.find("main"); a.Text != "You are Hudson.\n" {
		t.Errorf("it was not read anew: %q", a.Text)
	}
	b.file("cook.md", "# The cook\nYou cook.\n")
	if a := b.find("cook"); a.Kind != Task || a.Description != "The cook" || a.Name != "cook" {
		t.Errorf("%+v", a)
	}
	b.file("poet.md", "---\r\nname: Poet\r\ndescription: Writes\r\n  verse.\r\nkind: system\r\nmodel: big\r\ntools: [read_file, 'mcp__*']\r\nclient: web\r\ninstructions: Give it a theme.\r\n---\r\nYou write verse.\r\n")
	want := Agent{
		ID: "poet", Name: "Poet", Description: "Writes verse.", Kind: System, Model: "big", Tools: []string{"read_file", "mcp__*"},
		Client: "web", Instructions: "Give it a theme.", Text: "You write verse.\n",
	}
	if diff := cmp.Diff(want, b.find("poet")); diff != "" {
		t.Error(diff)
	}
	all, problems := b.All()
	if diff := cmp.Diff([]string{"cook task", "generalist task", "main chat", "poet system", "researcher task", "software-engineer task"}, ids(all)); diff != "" || len(problems) > 0 {
		t.Error(diff, problems)
	}
}

func TestABrokenFileIsToldAndOursStays(t *testing.T) {
	const good = "---\ndescription: d\n---\ntext\n"
	for name, tt := range map[string]struct{ content, want string }{
		"an unknown key":   {"---\ndescription: d\nkindd: task\n---\ntext\n", "line 3"},
		"no YAML":          {"---\ndescription: [\n---\ntext\n", "front matter"},
		"no end":           {"---\ndescription: d\n", "no end"},
		"no description":   {"---\nname: x\n---\ntext\n", "no description"},
		"no text":          {"---\ndescription: d\n---\n \n", "no text"},
		"empty":            {" \n", "it is empty"},
		"another id":       {"---\nid: cook\ndescription: d\n---\ntext\n", `the id "cook"`},
		"an unknown kind":  {"---\nkind: boss\ndescription: d\n---\ntext\n", `"boss" is none`},
		"no tool's name":   {"---\ntools: ['a b']\ndescription: d\n---\ntext\n", `"a b"`},
		"a star in a name": {"---\ntools: ['a*b']\ndescription: d\n---\ntext\n", `"a*b"`},
		"too long":         {good + strings.Repeat("x", maxFile), "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBoard(t, "main.md", tt.content)
			for range 3 {
				if a := b.find("main"); !strings.HasPrefix(a.Text, "You are nod") {
					t.Errorf("not ours: %.60q", a.Text)
				}
			}
			_, problems := b.All()
			if len(problems) != 1 || !strings.Contains(problems[0].Error(), tt.want) || !strings.HasPrefix(problems[0].Error(), "agents/main.md: ") {
				t.Errorf("the problems are %v", problems)
			}
			if n := strings.Count(b.logs.String(), "can't be used"); n != 1 {
				t.Errorf("it was logged %d times:\n%s", n, b.logs)
			}
			b.file("main.md", good)
			if a := b.find("main"); a.Text != "text\n" {
				t.Errorf("mended, it says %q", a.Text)
			}
		})
	}
}

func TestAgentsThatThereAreNot(t *testing.T) {
	b := newBoard(t, "Bad Name.md", "text")
	if err := os.MkdirAll(filepath.Join(b.dir, "folder.md"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.dir, "..", "outside.md"), []byte("KEY"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"ghost", "folder", "../outside", "", "a\x00b", "Main"} {
		if a, err := b.Find(id); err == nil {
			t.Errorf("%q is %+v", id, a)
		}
	}
	if _, err := b.Find("ghost"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, problems := b.All(); len(problems) != 2 {
		t.Errorf("the problems are %v", problems)
	}
}

func TestAllows(t *testing.T) {
	for _, tt := range []struct {
		list []string
		tool string
		want bool
	}{
		{nil, "read_file", true},
		{[]string{"read_file"}, "read_file", true},
		{[]string{"read_file"}, "read_files", false},
		{[]string{"mcp__*"}, "mcp__x__y", true},
		{[]string{"mcp__*"}, "mcp_", false},
		{[]string{"*"}, "anything", true},
	} {
		if got := (Agent{Tools: tt.list}).Allows(tt.tool); got != tt.want {
			t.Errorf("%q allows %s: %v", tt.list, tt.tool, got)
		}
	}
}

func TestEmbedded(t *testing.T) {
	_, problems := New("", slog.New(slog.DiscardHandler)).All()
	if len(problems) > 0 || len(Embedded()) != 4 {
		t.Errorf("%d agents, %v", len(Embedded()), problems)
	}
}
