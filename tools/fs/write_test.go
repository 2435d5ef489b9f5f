package fs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/approvals"
	"nod/tools"
	nodfs "nod/tools/fs"
	"nod/tools/tooltest"
)

// edits are calls on a file called f.txt: its content, the call and what it makes of the file, or the error.
var edits = []struct {
	name, before string
	tool         string
	args         args
	after        string
	err          string
}{
	{
		name: "edit once", before: "a\nb\nc\n", tool: tools.EditFile, args: args{"old": "b", "new": "B"},
		after: "a\nB\nc\n",
	},
	{
		name: "edit keeps the missing final newline", before: "a\nb", tool: tools.EditFile, args: args{"old": "b", "new": "B"},
		after: "a\nB",
	},
	{
		name: "edit keeps CRLF", before: "a\r\nb\r\nc\r\n", tool: tools.EditFile, args: args{"old": "a\nb", "new": "A\nA2\nb"},
		after: "A\r\nA2\r\nb\r\nc\r\n",
	},
	{
		name: "edit keeps mixed ends", before: "a\r\nb\nc\r\n", tool: tools.EditFile, args: args{"old": "b\n", "new": "B\n"},
		after: "a\r\nB\nc\r\n",
	},
	{
		name: "edit finds CRLF among mixed ends", before: "x\na\r\nb\r\n", tool: tools.EditFile, args: args{"old": "a\nb", "new": "c"},
		after: "x\nc\r\n",
	},
	{
		name: "edit deletes", before: "a\nb\nc\n", tool: tools.EditFile, args: args{"old": "b\n", "new": ""},
		after: "a\nc\n",
	},
	{
		name: "edit replaces all", before: "x x\nx\n", tool: tools.EditFile, args: args{"old": "x", "new": "y", "replace_all": true},
		after: "y y\ny\n",
	},
	{
		name: "edit is ambiguous", before: "x\ny\nx\n", tool: tools.EditFile, args: args{"old": "x", "new": "y"},
		err: "old stands 2 times in f.txt, at lines 1, 3; give more of the lines around it, or set replace_all",
	},
	{
		name: "edit overlaps", before: "aaa", tool: tools.EditFile, args: args{"old": "aa", "new": "b"},
		err: "old stands 2 times in f.txt, at line 1; give more of the lines around it, or set replace_all",
	},
	{
		name: "edit misses by white space", before: "if x {\n\treturn\n}\n", tool: tools.EditFile, args: args{"old": "if x {\n    return\n}", "new": "y"},
		err: "old does not stand in f.txt; with other white space it stands at line 1, as:\nif x {\n\treturn\n}\n",
	},
	{
		name: "edit misses by a later line", before: "a\nb\nc\n", tool: tools.EditFile, args: args{"old": "a\nb\nd", "new": "y"},
		err: "old does not stand in f.txt; its first 2 lines are as at line 1, but then the file has:\nc\n",
	},
	{
		name: "edit misses by line numbers", before: "a\nb\n", tool: tools.EditFile, args: args{"old": "1\ta\n2\tb", "new": "y"},
		err: "old does not stand in f.txt; leave out the line numbers that read_file puts before the lines",
	},
	{
		name: "edit misses", before: "a\n", tool: tools.EditFile, args: args{"old": "zzz", "new": "y"},
		err: "old does not stand in f.txt; read the file again and copy the text from there",
	},
	{
		name: "edit with empty old", before: "a\n", tool: tools.EditFile, args: args{"old": "", "new": "y"},
		err: "The call was not run: old is empty; insert_at_line adds text, and write_file replaces the whole file",
	},
	{
		name: "edit that changes nothing", before: "a\n", tool: tools.EditFile, args: args{"old": "a", "new": "a"},
		err: "The call was not run: old and new are the same, so there is nothing to change",
	},
	{
		name: "edit of a binary file", before: "a\x00b", tool: tools.EditFile, args: args{"old": "a", "new": "c"},
		err: "f.txt is not text but binary data, 3 bytes. send_attachment sends it to the user. It can't be edited as text.",
	},
	{
		name: "insert after", before: "a\nb\n", tool: tools.InsertAtLine, args: args{"line": 1, "content": "new"},
		after: "a\nnew\nb\n",
	},
	{
		name: "insert before", before: "a\nb\n", tool: tools.InsertAtLine, args: args{"line": 1, "content": "new\n", "placement": "before"},
		after: "new\na\nb\n",
	},
	{
		name: "insert at the end without newline", before: "a\nb", tool: tools.InsertAtLine, args: args{"line": 2, "content": "c\nd"},
		after: "a\nb\nc\nd",
	},
	{
		name: "insert with CRLF", before: "a\r\nb\r\n", tool: tools.InsertAtLine, args: args{"line": 2, "content": "c\nd"},
		after: "a\r\nb\r\nc\r\nd\r\n",
	},
	{
		name: "insert an empty line", before: "a\nb\n", tool: tools.InsertAtLine, args: args{"line": 1, "content": ""},
		after: "a\n\nb\n",
	},
	{
		name: "insert into an empty file", before: "", tool: tools.InsertAtLine, args: args{"line": 1, "content": "a"},
		after: "a\n",
	},
	{
		name: "insert after a byte order mark", before: "\ufeffa\n", tool: tools.InsertAtLine, args: args{"line": 1, "content": "n", "placement": "before"},
		after: "\ufeffn\na\n",
	},
	{
		name: "insert past the end", before: "a\n", tool: tools.InsertAtLine, args: args{"line": 3, "content": "x"},
		err: "there is no line 3: f.txt has 1 line",
	},
	{
		name: "replace lines", before: "a\nb\nc\nd\n", tool: tools.ReplaceLines, args: args{"from_line": 2, "to_line": 3, "new": "x"},
		after: "a\nx\nd\n",
	},
	{
		name: "replace the last lines without newline", before: "a\nb\nc", tool: tools.ReplaceLines, args: args{"from_line": 2, "to_line": 3, "new": "x\ny\n"},
		after: "a\nx\ny",
	},
	{
		name: "delete lines", before: "a\nb\nc\n", tool: tools.ReplaceLines, args: args{"from_line": 1, "to_line": 2, "new": ""},
		after: "c\n",
	},
	{
		name: "replace past the end", before: "a\n", tool: tools.ReplaceLines, args: args{"from_line": 1, "to_line": 2, "new": "x"},
		err: "there is no line 2: f.txt has 1 line",
	},
	{
		name: "replace backwards", before: "a\nb\n", tool: tools.ReplaceLines, args: args{"from_line": 2, "to_line": 1, "new": "x"},
		err: "The call was not run: to_line (1) is before from_line (2)",
	},
	{
		name: "write the same", before: "a\n", tool: tools.WriteFile, args: args{"content": "a\n"},
		err: "f.txt has exactly this content already",
	},
	{
		name: "write over", before: "a\n", tool: tools.WriteFile, args: args{"content": "b"},
		after: "b",
	},
}

func TestEdits(t *testing.T) {
	r := tooltest.New(t, nodfs.Tools)
	r.OnCard = tooltest.Approve
	for _, tt := range edits {
		t.Run(tt.name, func(t *testing.T) {
			r.Write("f.txt", tt.before)
			asked := len(r.Cards())
			tt.args["path"] = "f.txt"
			out := r.Call(tt.tool, tt.args)
			if tt.err != "" {
				if diff := cmp.Diff(failed(tt.err), out); diff != "" {
					t.Error(diff)
				}
				if len(r.Cards()) > asked {
					t.Error("a call that can't work was put before a person")
				}
				tt.after = tt.before
			} else if out.State != tools.Completed {
				t.Errorf("the call is %s: %s", out.State, out.Text)
			}
			if diff := cmp.Diff(tt.after, r.Read("f.txt")); diff != "" {
				t.Error(diff)
			}
		})
	}
	noTemporaryFiles(t, r)
}

func noTemporaryFiles(t *testing.T, r *tooltest.Rig) {
	t.Helper()
	err := filepath.WalkDir(r.Workspace.Dir(), func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".part") {
			t.Errorf("left behind: %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestWriteShowsTheDiff(t *testing.T) {
	r := tooltest.New(t, nodfs.Tools)
	r.OnCard = tooltest.Approve
	r.Write("crlf.txt", "a\r\nb\r\n")
	tests := []struct {
		name, tool string
		args       args
		text       string
		notes      []string
	}{
		{
			"new file", tools.WriteFile,
			args{"path": "x/y/n.txt", "content": "one\n"},
			"--- /dev/null\n+++ x/y/n.txt\n@@ -0,0 +1 @@\n+one\n",
			[]string{"Makes 2 new folders on the way."},
		},
		{"empty file", tools.WriteFile, args{"path": "e.txt", "content": ""}, "--- /dev/null\n+++ e.txt\n(an empty file)\n", nil},
		{
			"edit", tools.EditFile,
			args{"path": r.Path("x/y/n.txt"), "old": "one", "new": "two"},
			"--- x/y/n.txt\n+++ x/y/n.txt\n@@ -1 +1 @@\n-one\n+two\n", nil,
		},
		{
			"CRLF", tools.EditFile,
			args{"path": "crlf.txt", "old": "b", "new": "c"},
			"--- crlf.txt\n+++ crlf.txt\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n",
			[]string{"Lines end with CRLF, before and after."},
		},
		{
			"NOD-8 hidden characters reach the card as they are", tools.WriteFile,
			args{"path": "no\u202ete.txt", "content": "zero\u200bwidth\n"},
			"--- /dev/null\n+++ no\u202ete.txt\n@@ -0,0 +1 @@\n+zero\u200bwidth\n", nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := r.Call(tt.tool, tt.args)
			if out.State != tools.Completed {
				t.Fatalf("the call is %s: %s", out.State, out.Text)
			}
			cards := r.Cards()
			subject := cards[len(cards)-1].Request.Subject
			if diff := cmp.Diff(tt.text, subject.Text); diff != "" || subject.Kind != approvals.Diff {
				t.Errorf("%s %s", subject.Kind, diff)
			}
			if diff := cmp.Diff(tt.notes, subject.Notes); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWriteFreely(t *testing.T) {
	r := tooltest.New(t, nodfs.Tools)
	for _, path := range []string{"memory/MEMORY.md", "data/a/b/c.json"} {
		if out := r.Call(tools.WriteFile, args{"path": path, "content": "x"}); out.State != tools.Completed {
			t.Errorf("writing %s is %s: %s", path, out.State, out.Text)
		}
	}
	if len(r.Cards()) > 0 {
		t.Errorf("asked for %v", r.Cards())
	}
}

// TestSC7AtomicWrite: the content is replaced as a whole by a rename, mode and nothing else of the name stays.
func TestSC7AtomicWrite(t *testing.T) {
	r := tooltest.New(t, nodfs.Tools)
	r.Write("data/tool.sh", "old\n")
	if err := os.Chmod(r.Path("data/tool.sh"), 0o750); err != nil {
		t.Fatal(err)
	}
	before, err := os.Open(r.Path("data/tool.sh"))
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	if out := r.Call(tools.WriteFile, args{"path": "data/tool.sh", "content": "new\n"}); out.State != tools.Completed {
		t.Fatal(out.Text)
	}
	held := make([]byte, 10)
	if n, _ := before.Read(held); string(held[:n]) != "old\n" {
		t.Errorf("the old file was written in place: %q", held[:n])
	}
	if info, err := os.Stat(r.Path("data/tool.sh")); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if out := r.Call(tools.WriteFile, args{"path": "data/new.txt", "content": ""}); out.State != tools.Completed {
		t.Fatal(out.Text)
	}
	if info, err := os.Stat(r.Path("data/new.txt")); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("mode of a new file %v, %v", info.Mode(), err)
	}
	noTemporaryFiles(t, r)
}

// TestNOD7ChangedWhileTheCardWaits, S-A3: what was nodded to is one content; another is asked about anew.
func TestNOD7ChangedWhileTheCardWaits(t *testing.T) {
	r := tooltest.New(t, nodfs.Tools)
	r.Write("f.txt", "a\nb\n")
	r.OnCard = func(p approvals.Pending) approvals.Decision {
		if len(r.Cards()) == 1 {
			r.Write("f.txt", "a\nb\nslipped in\n")
		}
		return approvals.Decision{Verb: approvals.VerbApprove}
	}
	out := r.Call(tools.EditFile, args{"path": "f.txt", "old": "b", "new": "B"})
	if out.State != tools.Completed {
		t.Fatalf("the call is %s: %s", out.State, out.Text)
	}
	cards := r.Cards()
	if len(cards) != 2 || !strings.Contains(cards[1].Request.Subject.Text, "slipped in") {
		t.Fatalf("%d cards were shown; the last is %v", len(cards), cards[len(cards)-1].Request.Subject)
	}
	if got := r.Read("f.txt"); got != "a\nB\nslipped in\n" {
		t.Errorf("the file is %q", got)
	}
}

// TestNOD7NoLongerFits: what can't be done any more after the nod is not done.
func TestNOD7NoLongerFits(t *testing.T) {
	r := tooltest.New(t, nodfs.Tools)
	r.Write("f.txt", "a\n")
	r.OnCard = func(approvals.Pending) approvals.Decision {
		r.Write("f.txt", "other\n")
		return approvals.Decision{Verb: approvals.VerbApprove}
	}
	out := r.Call(tools.EditFile, args{"path": "f.txt", "old": "a", "new": "A"})
	if out.State != tools.Failed || r.Read("f.txt") != "other\n" {
		t.Errorf("the call is %s: %s; the file is %q", out.State, out.Text, r.Read("f.txt"))
	}
}
