package outline

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nod/approvals"
	"nod/tools"
	"nod/tools/tooltest"
)

const goFile = "package x\n\nfunc F(a int) error {\n\treturn nil\n}\n"

func outlined(t *testing.T, r *tooltest.Rig, path string) tools.Outcome {
	t.Helper()
	return r.Call(tools.GetASTOutline, map[string]any{"path": path})
}

// TestTool: reading in the workspace is free, and what can't be outlined is said with what to do instead.
func TestTool(t *testing.T) {
	r := tooltest.New(t, Tools)
	r.Write("a/x.go", goFile)
	r.Write("X.GO", goFile)
	r.Write("bad.go", "package x\n\nfunc F( {\n\nfunc G() {}\n")
	r.Write("empty.py", "")
	r.Write("none.py", "# nothing\n")
	r.Write("image.png", "x")
	r.Write("zeros.c", "int x;\x00")
	r.Write("large.md", strings.Repeat("# x\n", MaxFile/4+1))
	if err := os.Symlink("x.go", r.Path("a/link.go")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../image.png", r.Path("a/picture.go")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"a/x.go":         "a/x.go, 5 lines, 1 definition:\n3–5\tfunc F(a int) error\n",
		r.Path("a/x.go"): "a/x.go, 5 lines, 1 definition:",
		"X.GO":           "func F(a int) error",
		"a/link.go":      "a/x.go, 5 lines",
		"bad.go":         "bad.go, 5 lines, 1 definition (it has syntax errors, the first in line 3",
		"empty.py":       "empty.py, 0 lines: no definitions were found",
		"none.py":        "none.py, 1 line",
		"image.png":      "image.png has no outline: its ending is none of .c .cc .cpp .css",
		"a/picture.go":   "image.png has no outline",
		"Makefile":       "Makefile has no outline",
		"a":              "a has no outline",
		"missing.go":     "there is no file missing.go",
		"zeros.c":        "zeros.c is not text",
		"large.md":       "files over 2097152 bytes are not outlined; use search_file or read_file",
		"":               "path is empty",
	} {
		if out := outlined(t, r, path); !strings.Contains(out.Text, want) {
			t.Errorf("%q: got %q, want %q", path, out.Text, want)
		}
	}
	if n := len(r.Cards()); n > 0 {
		t.Errorf("%d cards were shown", n)
	}
}

// TestSC_ReadRules: the tool obeys what read_file obeys: secrets/ and nod's own folders are closed, by any name; outside
// of the workspace a person is asked, and nothing of the file shows before.
func TestSC_ReadRules(t *testing.T) {
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	r := tooltest.NewIn(t, filepath.Join(dir, "work"), Tools, home)
	r.Write("secrets/k.py", "def secret(): pass\n")
	tooltest.WriteFile(t, filepath.Join(home, "h.py"), "def secret(): pass\n")
	tooltest.WriteFile(t, filepath.Join(dir, "out.py"), "def outside(): pass\n")
	for name, target := range map[string]string{"s.py": "secrets/k.py", "h.py": filepath.Join(home, "h.py"), "o.py": filepath.Join(dir, "out.py")} {
		if err := os.Symlink(target, r.Path(name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, closed := range []string{"secrets/k.py", "s.py", filepath.Join(home, "h.py"), "h.py"} {
		if out := outlined(t, r, closed); out.State != tools.Rejected || strings.Contains(out.Text, "secret()") {
			t.Errorf("%s: %s %q", closed, out.State, out.Text)
		}
	}
	if n := len(r.Cards()); n > 0 {
		t.Errorf("%d cards were shown", n)
	}
	r.OnCard = func(p approvals.Pending) approvals.Decision {
		if strings.Contains(p.Request.Subject.Text, "outside()") {
			t.Errorf("the card shows what is in the file: %q", p.Request.Subject.Text)
		}
		return tooltest.Approve(p)
	}
	if out := outlined(t, r, "o.py"); !strings.Contains(out.Text, "def outside()") || len(r.Cards()) != 1 {
		t.Errorf("got %q after %d cards", out.Text, len(r.Cards()))
	}
}

// TestSTOP2_StoppedCall: a stopped call is cancelled, and its child has ended then (see TestMain). A dialog stops one that
// works.
func TestSTOP2_StoppedCall(t *testing.T) {
	r := tooltest.New(t, Tools)
	r.Write("x.go", goFile)
	ctx, stop := context.WithCancelCause(t.Context())
	stop(tools.ErrStopped)
	if out := r.CallContext(ctx, tools.GetASTOutline, map[string]any{"path": "x.go"}); out.State != tools.Cancelled {
		t.Errorf("got %s %q", out.State, out.Text)
	}
}
