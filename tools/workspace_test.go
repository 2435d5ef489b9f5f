package tools_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"nod/approvals"
	"nod/tools"
)

func openWorkspace(t testing.TB, denied ...string) *tools.Workspace {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "work")
	w, err := tools.OpenWorkspace(dir, denied...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// TestFILE1SafeName: whatever a sender called a file becomes one harmless component.
func TestFILE1SafeName(t *testing.T) {
	tests := map[string]string{
		"report.pdf":                      "report.pdf",
		"../../../CLAUDE.md":              "CLAUDE.md",
		"/etc/x":                          "x",
		`C:\Users\me\a.txt`:               "a.txt",
		"":                                "file",
		".":                               "file",
		"..":                              "file",
		"/":                               "file",
		".bashrc":                         "bashrc",
		"-rf":                             "rf",
		"nul\x00byte.txt":                 "nulbyte.txt",
		"two\nlines.txt":                  "two lines.txt",
		"rtl\u202egpj.exe":                "rtlgpj.exe",
		"zero\u200bwidth.txt":             "zerowidth.txt",
		"تقرير.pdf":                       "تقرير.pdf",
		"a$(rm -rf ~)`b`.sh":              "a_(rm -rf ~)_b_.sh",
		"broken\xff.txt":                  "broken.txt",
		"dots... ":                        "dots",
		strings.Repeat("x", 300) + ".pdf": strings.Repeat("x", 116) + ".pdf",
		strings.Repeat("ü", 300):          strings.Repeat("ü", 60),
		"x." + strings.Repeat("e", 300):   "x." + strings.Repeat("e", 118),
		"tag\U000E0041\U000E0042.txt":     "tag.txt",
		"trailing/":                       "trailing",
		"no\u2028break.txt":               "nobreak.txt",
		"emoji 👩‍👩‍👧 family.png":          "emoji 👩👩👧 family.png",
	}
	for name, want := range tests {
		if got := tools.SafeName(name); got != want {
			t.Errorf("SafeName(%.60q) = %q, not %q", name, got, want)
		}
	}
}

func FuzzSafeName(f *testing.F) {
	for _, seed := range []string{"a.txt", "../x", "\u202e.", strings.Repeat("é", 200) + ".tar.gz", "-.", "\x00"} {
		f.Add(seed)
	}
	w := openWorkspace(f)
	f.Fuzz(func(t *testing.T, name string) {
		safe := tools.SafeName(name)
		switch {
		case safe == "" || len(safe) > 120 || !utf8.ValidString(safe):
			t.Errorf("%q has %d bytes", safe, len(safe))
		case strings.ContainsAny(safe, "/\\\x00") || strings.ContainsFunc(safe, func(r rune) bool { return !unicode.IsPrint(r) }):
			t.Errorf("%q is not one visible component", safe)
		case strings.HasPrefix(safe, ".") || strings.HasPrefix(safe, "-"):
			t.Errorf("%q begins with a dot or dash", safe)
		case tools.SafeName(safe) != safe:
			t.Errorf("%q becomes %q when made safe again", safe, tools.SafeName(safe))
		}
		file, shown, err := w.CreateUpload(name)
		if err != nil {
			t.Fatal(err)
		}
		defer os.Remove(filepath.Join(w.Dir(), shown))
		if err := file.Close(); err != nil {
			t.Error(err)
		}
		if filepath.Dir(shown) != "uploads" || !filepath.IsLocal(shown) {
			t.Errorf("the upload is at %q", shown)
		}
	})
}

func TestFILE1UploadsAreUnique(t *testing.T) {
	w := openWorkspace(t)
	var got []string
	for _, name := range []string{"a.txt", "a.txt", "../a.txt", "b", "b", strings.Repeat("x", 120), strings.Repeat("x", 121)} {
		f, shown, err := w.CreateUpload(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(name); err != nil {
			t.Error(err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		got = append(got, shown)
	}
	want := []string{
		"uploads/a.txt", "uploads/a-2.txt", "uploads/a-3.txt", "uploads/b", "uploads/b-2",
		"uploads/" + strings.Repeat("x", 120), "uploads/" + strings.Repeat("x", 118) + "-2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestFILE1ManyOfOneName(t *testing.T) {
	w := openWorkspace(t)
	seen := map[string]bool{}
	for range 60 {
		f, shown, err := w.CreateUpload("photo.jpg")
		if err != nil || seen[shown] || !strings.HasSuffix(shown, ".jpg") {
			t.Fatalf("%q, %v", shown, err)
		}
		seen[shown] = true
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSC2UploadsThroughALink: a folder for uploads that is a link leads nowhere.
func TestSC2UploadsThroughALink(t *testing.T) {
	w := openWorkspace(t)
	elsewhere := t.TempDir()
	for _, target := range []string{elsewhere, "secrets"} {
		if err := os.Symlink(target, filepath.Join(w.Dir(), "uploads")); err != nil {
			t.Fatal(err)
		}
		if f, shown, err := w.CreateUpload("a.txt"); err == nil {
			t.Errorf("an upload went to %s, %v", shown, f.Close())
		}
		if err := os.Remove(filepath.Join(w.Dir(), "uploads")); err != nil {
			t.Fatal(err)
		}
	}
	if entries, err := os.ReadDir(elsewhere); err != nil || len(entries) > 0 {
		t.Errorf("the other folder holds %v, %v", entries, err)
	}
}

func TestSC8DeniedPathsHaveMoreNames(t *testing.T) {
	around := t.TempDir()
	home := filepath.Join(around, "home")
	if err := os.MkdirAll(filepath.Join(home, "agents"), 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(around, "link-to-home")
	if err := os.Symlink(home, link); err != nil {
		t.Fatal(err)
	}
	w := openWorkspace(t, link, filepath.Join(around, "later"))
	if err := os.Symlink(filepath.Join(around, "later"), filepath.Join(w.Dir(), "later")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{home, link, home + "/agents/main.md", link + "/new", around + "/later", "later", "later/x/y", around + "/x/../later"} {
		place, err := w.Resolve(path, tools.ForReading)
		if err != nil || !place.Denied {
			t.Errorf("%s: denied %v, %v", path, place.Denied, err)
			continue
		}
		if _, denied := w.BuiltInDeny(place.Path); !denied {
			t.Errorf("the gate would let %s through", path)
		}
		if held, err := w.Hold(path, tools.ForReading, approvals.Subject{Facts: place.Facts()}); err == nil {
			t.Errorf("%s was opened as %s", path, held.Name())
		}
	}
	for _, path := range []string{around, home + "sick", around + "/laterx", "."} {
		if place, err := w.Resolve(path, tools.ForReading); err != nil || place.Denied {
			t.Errorf("%s: denied %v, %v", path, place.Denied, err)
		}
	}
}

func TestHoldNeedsTheBoundFolder(t *testing.T) {
	w := openWorkspace(t)
	if err := os.MkdirAll(filepath.Join(w.Dir(), "a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, bound := range map[string]approvals.Subject{
		"no facts":       {},
		"another folder": {Facts: []approvals.Fact{{Name: "folder", Value: w.Dir() + "/a"}, {Name: "folder id", Value: "1:2"}}},
	} {
		if held, err := w.Hold("a/x", tools.ForWriting, bound); !errors.Is(err, tools.ErrMoved) {
			t.Errorf("%s: %v, %v", name, held, err)
		}
	}
}

func TestSeededRules(t *testing.T) {
	w := openWorkspace(t)
	rules := tools.SeededRules(w)
	sets := tools.ToolSets()
	first := func(tool, path string) approvals.Action {
		req := approvals.Request{Tool: tool, Source: approvals.Telegram}
		if path != "" {
			req.Paths = []approvals.Path{{Canonical: path}}
		}
		best, action := -1000, approvals.Action("none")
		for _, r := range rules {
			if r.Priority > best && r.Matches(req, sets) {
				best, action = r.Priority, r.Action
			}
		}
		return action
	}
	in := func(path string) string { return filepath.Join(w.Dir(), path) }
	tests := []struct {
		tool, path string
		want       approvals.Action
	}{
		{tools.ReadFile, in("a"), approvals.ActionAllow},
		{tools.ReadFile, w.Dir() + "evil", approvals.ActionRequire},
		{tools.ReadFile, "/etc/passwd", approvals.ActionRequire},
		{tools.ReadFile, in("secrets/x"), approvals.ActionDeny},
		{tools.ListFiles, in("secrets"), approvals.ActionDeny},
		{tools.ReadFile, in("secretsx"), approvals.ActionAllow},
		{tools.WriteFile, in("a"), approvals.ActionRequire},
		{tools.WriteFile, in("memory/a"), approvals.ActionAllow},
		{tools.EditFile, in("data/a"), approvals.ActionAllow},
		{tools.ReplaceLines, in("secrets/a"), approvals.ActionDeny},
		{tools.SendAttachment, in("a"), approvals.ActionAllow},
		{tools.SendAttachment, in("secrets/a"), approvals.ActionDeny},
		{tools.SendAttachment, "/etc/passwd", approvals.ActionDeny},
		{tools.ExecuteCmd, "", approvals.ActionRequire},
		{tools.Restart, "", approvals.ActionRequire},
		{tools.WriteTodos, "", approvals.ActionAllow},
		{tools.ListItems, "", approvals.ActionAllow},
		{tools.ExecuteTask, "", approvals.ActionAllow}, // a job asks by itself
		{tools.ExecuteSubtask, "", approvals.ActionAllow},
		{"mcp__x__y", "", approvals.ActionRequire},
	}
	for _, tt := range tests {
		if got := first(tt.tool, tt.path); got != tt.want {
			t.Errorf("%s %s: %s, not %s", tt.tool, tt.path, got, tt.want)
		}
	}
}

// TestEveryFileToolIsInItsSet: the rules about secrets/, memory/ and what is outside of the workspace speak of the sets,
// so they would not hold a file tool that is in none.
func TestEveryFileToolIsInItsSet(t *testing.T) {
	sets := tools.ToolSets()
	for _, e := range tools.Catalogue {
		set := approvals.FSRead
		if e.Effect == tools.Write {
			set = approvals.FSWrite
		}
		if e.Category == tools.Filesystem && !slices.Contains(sets[set], e.Tool) {
			t.Errorf("%s is not in the set %s; ToolSets in rules.go says what is", e.Tool, set)
		}
	}
}

// FuzzPath: whatever a path looks like, what is opened lies where Resolve said, and inside only when it said inside.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"a", "../x", "in/link/x", "/etc/passwd", "in/../../y", "out/b", "chain/b", "in//./a.txt/", "~", "loop/x", ".", "/"} {
		f.Add(seed, false)
		f.Add(seed, true)
	}
	w := openWorkspace(f)
	outside := f.TempDir()
	for name, target := range map[string]string{"out": outside, "chain": "out", "in/link": "../sub", "loop": "loop", "dangling": "secrets/new"} {
		path := filepath.Join(w.Dir(), name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(target, path)); err != nil {
			f.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(filepath.Join(w.Dir(), "sub"), 0o755), os.WriteFile(filepath.Join(w.Dir(), "in/a.txt"), []byte("x"), 0o600)); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, path string, write bool) {
		access := tools.Access(write)
		place, err := w.Resolve(path, access)
		if err != nil {
			return
		}
		canonical := place.Path.Canonical
		if !filepath.IsAbs(canonical) || filepath.Clean(canonical) != canonical {
			t.Fatalf("%q is not canonical", canonical)
		}
		if inside := canonical == w.Dir() || strings.HasPrefix(canonical, w.Dir()+"/"); inside != place.Inside {
			t.Fatalf("%q: inside %v", canonical, place.Inside)
		}
		if real, err := filepath.EvalSymlinks(filepath.Dir(canonical)); err == nil && real != filepath.Dir(canonical) {
			t.Fatalf("%q has a link on its way: %q", canonical, real)
		}
		held, err := w.Hold(path, access, approvals.Subject{Facts: place.Facts()})
		if err != nil {
			return
		}
		defer held.Close()
		opened, err := held.Folder().Stat(".")
		if err != nil {
			t.Fatal(err)
		}
		named, err := os.Lstat(strings.TrimSuffix(strings.TrimSuffix(canonical, held.Name()), "/"))
		if held.Name() == "." {
			named, err = os.Lstat(canonical)
		}
		if held.Path.Canonical == "/" || canonical == "/"+held.Name() {
			named, err = os.Lstat("/")
		}
		if err != nil || !os.SameFile(opened, named) {
			t.Fatalf("%q: the folder that was opened is another, %v", canonical, err)
		}
		if _, info, err := openFile(held); err == nil && write == false && info.Mode().Type() != 0 {
			t.Fatalf("%q opened as %v", canonical, info.Mode())
		}
	})
}

func openFile(held *tools.Held) (name string, info fs.FileInfo, err error) {
	f, info, err := held.OpenFile()
	if err != nil {
		return "", nil, err
	}
	return f.Name(), info, f.Close()
}
