package tools_test

import (
	"os"
	"path/filepath"
	"testing"

	"nod/approvals"
	"nod/tools"
	"nod/tools/fs"
	"nod/tools/tooltest"
)

// TestPathsBeginAtTheFolder of a run context, and lead no further than from anywhere else.
func TestPathsBeginAtTheFolder(t *testing.T) {
	rig := tooltest.New(t, func(*tools.Workspace) []tools.Tool { return nil })
	rig.Write("house/facts.md", "x")
	rig.Write("facts.md", "x")
	rig.Write("secrets/key", "KEY")
	outside := filepath.Join(t.TempDir(), "outside")
	tooltest.WriteFile(t, filepath.Join(outside, "facts.md"), "x")
	for link, target := range map[string]string{"door": outside, "vault": "secrets"} {
		if err := os.Symlink(target, rig.Path(link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		dir, path, shown string
		inside, private  bool
	}{
		{"", "facts.md", "facts.md", true, false},
		{"house", "facts.md", "house/facts.md", true, false},
		{"house", "", "house", true, false},
		{"house", "../facts.md", "facts.md", true, false},
		{"house", "../secrets/key", "secrets/key", true, true},
		{"house", "../../outside", filepath.Join(filepath.Dir(rig.Workspace.Dir()), "outside"), false, true},
		{"house", rig.Path("facts.md"), "facts.md", true, false},
		{"house", "/etc/hosts", "/etc/hosts", false, true},
		{"door", "facts.md", filepath.Join(outside, "facts.md"), false, true},
		{"vault", "key", "secrets/key", true, true},
		{"gone", "new.md", "gone/new.md", true, false},
	} {
		place, err := rig.Workspace.In(tt.dir).Resolve(tt.path, tools.ForReading)
		if err != nil {
			t.Errorf("%s in %s: %v", tt.path, tt.dir, err)
			continue
		}
		if place.Path.Shown != tt.shown || place.Inside != tt.inside || place.Private != tt.private {
			t.Errorf("%s in %s leads to %s, inside %v, private %v", tt.path, tt.dir, place.Path.Shown, place.Inside, place.Private)
		}
	}
	if got, err := rig.Workspace.Resolve("facts.md", tools.ForReading); err != nil || got.Path.Shown != "facts.md" {
		t.Errorf("the workspace itself has changed: %v, %v", got.Path, err)
	}
}

// TestLabelsNameFilesRelativeToTheWorkspace, whatever the folder of the run context: the file that is fetched by the label's
// button is the one that the call was about.
func TestLabelsNameFilesRelativeToTheWorkspace(t *testing.T) {
	rig := tooltest.New(t, fs.Tools)
	rig.OnCard = tooltest.Approve
	rig.Write("house/facts.md", "in the house")
	rig.Write("facts.md", "in the garden")
	rig.Scope.Dir, rig.Scope.Workspace = "house", rig.Workspace.In("house")
	for path, want := range map[string]tools.Execution{
		"facts.md":             {Short: "read_file `house/facts.md`", Target: "house/facts.md"},
		"../facts.md":          {Short: "read_file `facts.md`", Target: "facts.md"},
		rig.Path("facts.md"):   {Short: "read_file `facts.md`", Target: "facts.md"},
		rig.Path("house/x.md"): {Short: "read_file `house/x.md`", Target: "house/x.md"},
	} {
		e := rig.Record(tools.ReadFile, map[string]string{"path": path})
		if e.Short != want.Short || e.Full != want.Short || e.Target != want.Target {
			t.Errorf("%s: %q, %q, target %q", path, e.Short, e.Full, e.Target)
		}
	}
	if out := rig.Call(tools.WriteFile, map[string]string{"path": "new.md", "content": "x\n"}); out.State != tools.Completed {
		t.Fatal(out.Text)
	}
	if card := rig.Cards()[0]; card.Request.Paths[0] != (approvals.Path{Canonical: rig.Path("house/new.md"), Shown: "house/new.md", Write: true}) {
		t.Errorf("the card is about %+v", card.Request.Paths)
	}
	if rig.Read("house/new.md") != "x\n" {
		t.Error("it was written elsewhere")
	}
}
