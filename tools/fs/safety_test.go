package fs_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"nod/approvals"
	"nod/tools"
	nodfs "nod/tools/fs"
	"nod/tools/tooltest"
)

const secret = "the-secret-content"

// yard is a workspace with things around it that must not be reached: a sibling folder, secrets/ and nod's home.
type yard struct {
	*tooltest.Rig
	sibling, home string
}

func newYard(t testing.TB) *yard {
	t.Helper()
	around := t.TempDir()
	if real, err := filepath.EvalSymlinks(around); err == nil {
		around = real
	}
	y := &yard{sibling: filepath.Join(around, "sibling"), home: filepath.Join(around, "nodhome")}
	y.Rig = tooltest.NewIn(t, filepath.Join(around, "work"), nodfs.Tools, y.home, filepath.Join(around, "not-yet/nod.sock"))
	y.Write("in/a.txt", "inside\n")
	y.Write("secrets/tok", secret+"\n")
	y.Write("data/keep", "\n")
	tooltest.WriteFile(t, filepath.Join(y.sibling, "b.txt"), secret+"\n")
	tooltest.WriteFile(t, filepath.Join(y.home, "nod.yaml"), secret+"\n")
	tooltest.WriteFile(t, y.Workspace.Dir()+"evil/c.txt", secret+"\n")
	return y
}

func (y *yard) link(target, name string) {
	y.T.Helper()
	if err := os.Symlink(target, y.Path(name)); err != nil {
		y.T.Fatal(err)
	}
}

// check runs a call that nobody nods to and says what became of it: done, rejected, failed or asked.
func (y *yard) check(tool string, a args) (string, tools.Outcome) {
	y.T.Helper()
	asked := len(y.Cards())
	y.OnCard = func(approvals.Pending) approvals.Decision { return approvals.Decision{Verb: approvals.VerbReject} }
	out := y.Call(tool, a)
	if strings.Contains(out.Text, secret) {
		y.T.Errorf("%s %v told the secret", tool, a)
	}
	if len(y.Cards()) > asked {
		return "asked", out
	}
	return string(out.State), out
}

func TestSC1SC2SC8Paths(t *testing.T) {
	y := newYard(t)
	y.link("in/a.txt", "to-inside")
	y.link(y.Path("in"), "to-inside-folder")
	y.link("../sibling/b.txt", "to-outside")
	y.link(y.sibling, "to-outside-folder")
	y.link("secrets/tok", "to-secret")
	y.link("secrets", "to-secrets")
	y.link("to-secrets", "chain")
	y.link("secrets/new", "dangling-secret")
	y.link("/proc/self/root"+y.sibling, "through-proc")
	y.link("loop", "loop")
	y.link(y.home, "to-home")
	outside := filepath.Join(y.sibling, "b.txt")
	reads := []struct{ path, want string }{
		{"in/a.txt", "completed"},
		{"./in/../in//a.txt", "completed"},
		{y.Path("in/a.txt"), "completed"},
		{"to-inside", "completed"},
		{"to-inside-folder/a.txt", "completed"},
		{"../sibling/b.txt", "asked"},
		{outside, "asked"},
		{"in/../../sibling/b.txt", "asked"},
		{y.Workspace.Dir() + "evil/c.txt", "asked"},
		{"to-outside", "asked"},
		{"to-outside-folder/b.txt", "asked"},
		{"through-proc/b.txt", "asked"},
		{"/proc/self/root" + outside, "asked"},
		{"secrets/tok", "rejected"},
		{"in/../secrets/tok", "rejected"},
		{"to-secret", "rejected"},
		{"to-secrets/tok", "rejected"},
		{"chain/tok", "rejected"},
		{"dangling-secret", "rejected"},
		{"secrets/none", "rejected"},
		{filepath.Join(y.home, "nod.yaml"), "rejected"},
		{"to-home/nod.yaml", "rejected"},
		{y.home, "rejected"},
		{"loop", "failed"},
		{"in/a.txt/", "completed"},
		{"in/a.txt/x", "failed"},
		{"~/x", "failed"},
		{"in/\x00a.txt", "failed"},
		{"in/a.txt\nb", "failed"},
		{strings.Repeat("x/", 4000), "failed"},
		{"", "failed"},
	}
	for _, tt := range reads {
		if got, out := y.check(tools.ReadFile, args{"path": tt.path}); got != tt.want {
			t.Errorf("reading %.80q is %s, not %s: %s", tt.path, got, tt.want, out.Text)
		}
	}
	notYet := filepath.Join(filepath.Dir(y.home), "not-yet")
	writes := []struct{ path, want string }{
		{"data/new", "completed"},
		{"in/new", "asked"},
		{"data/../in/new", "asked"},
		{"../sibling/new", "asked"},
		{"to-outside-folder/new", "asked"},
		{"to-secrets/new", "rejected"},
		{"secrets/new", "rejected"},
		{"dangling-secret/x", "rejected"},
		{"to-inside", "failed"},       // a link at the end is never written through
		{"dangling-secret", "failed"}, // and would make what it points to
		{filepath.Join(y.home, "nod.yaml"), "rejected"},
		{filepath.Join(y.home, "agents/main.md"), "rejected"}, // not there yet
		{"to-home/commands/x/COMMAND.md", "rejected"},
		{filepath.Join(notYet, "nod.sock"), "rejected"},
		{filepath.Join(notYet, "nod.sock/x"), "rejected"},
		{"in", "failed"},
		{"in/a.txt/x", "failed"},
		{".", "failed"},
	}
	for _, tt := range writes {
		if got, out := y.check(tools.WriteFile, args{"path": tt.path, "content": "x"}); got != tt.want {
			t.Errorf("writing %q is %s, not %s: %s", tt.path, got, tt.want, out.Text)
		}
	}
	for _, path := range []string{"secrets/new", "in/new"} {
		if _, err := os.Lstat(y.Path(path)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s was made: %v", path, err)
		}
	}
}

// TestSC2Approved: what a person lets through outside of the workspace is done there, and only there.
func TestSC2Approved(t *testing.T) {
	y := newYard(t)
	y.OnCard = tooltest.Approve
	path := filepath.Join(y.sibling, "b.txt")
	if out := y.Call(tools.ReadFile, args{"path": "../sibling/b.txt"}); !strings.Contains(out.Text, secret) {
		t.Errorf("reading after a nod is %s: %s", out.State, out.Text)
	}
	if out := y.Call(tools.EditFile, args{"path": path, "old": secret, "new": "changed"}); out.State != tools.Completed {
		t.Errorf("editing after a nod is %s: %s", out.State, out.Text)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "changed\n" {
		t.Errorf("the file is %q, %v", got, err)
	}
	cards := y.Cards()
	if subject := cards[1].Request.Subject; subject.Kind != approvals.Diff || cards[1].Request.Paths[0].Canonical != path {
		t.Errorf("the card is %v on %v", subject, cards[1].Request.Paths)
	}
}

// TestPrivateContentIsNoOracle: a call that a person has not let through tells nothing of what is there, not even whether
// a text stands in it.
func TestPrivateContentIsNoOracle(t *testing.T) {
	y := newYard(t)
	for _, path := range []string{"secrets/tok", filepath.Join(y.sibling, "b.txt"), "../sibling/none", "secrets/none"} {
		_, right := y.check(tools.EditFile, args{"path": path, "old": secret, "new": "x"})
		_, wrong := y.check(tools.EditFile, args{"path": path, "old": "a wrong guess", "new": "x"})
		if right.Text != wrong.Text || right.State != tools.Rejected {
			t.Errorf("%s: %s %q and %s %q", path, right.State, right.Text, wrong.State, wrong.Text)
		}
	}
}

func TestSC2FolderSwappedAfterTheNod(t *testing.T) {
	y := newYard(t)
	tooltest.WriteFile(t, filepath.Join(y.sibling, "sub/x.txt"), "ok\n")
	sub := filepath.Join(y.sibling, "sub")
	swap := func() {
		if err := os.Rename(sub, sub+".away"); err != nil {
			t.Error(err)
		}
		tooltest.WriteFile(t, filepath.Join(sub, "x.txt"), secret+"\n")
	}
	y.OnCard = func(approvals.Pending) approvals.Decision {
		if len(y.Cards()) == 1 {
			swap()
			return approvals.Decision{Verb: approvals.VerbApprove}
		}
		return approvals.Decision{Verb: approvals.VerbReject}
	}
	out := y.Call(tools.ReadFile, args{"path": filepath.Join(sub, "x.txt")})
	if strings.Contains(out.Text, secret) || len(y.Cards()) != 2 {
		t.Errorf("after a swap the call is %s with %d cards: %s", out.State, len(y.Cards()), out.Text)
	}
}

func TestSC4HardLink(t *testing.T) {
	y := newYard(t)
	if err := os.Link(y.Path("secrets/tok"), y.Path("in/hard")); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(y.Path("secrets/tok"), y.Path("data/hard")); err != nil {
		t.Fatal(err)
	}
	for _, call := range []struct {
		tool string
		args args
	}{
		{tools.ReadFile, args{"path": "in/hard"}},
		{tools.SearchFile, args{"path": "in/hard", "query": "secret"}},
		{tools.GrepFiles, args{"path": "in/hard", "pattern": "secret"}},
		{tools.EditFile, args{"path": "data/hard", "old": "secret", "new": "x"}},
		{tools.WriteFile, args{"path": "data/hard", "content": "x"}},
	} {
		if got, out := y.check(call.tool, call.args); got != "failed" || !strings.Contains(out.Text, "hard links") {
			t.Errorf("%s is %s: %s", call.tool, got, out.Text)
		}
	}
	if _, out := y.check(tools.GrepFiles, args{"path": ".", "pattern": "secret"}); !strings.Contains(out.Text, "no match; 2 files could not be read") {
		t.Errorf("grep: %s", out.Text)
	}
	if got := y.Read("secrets/tok"); got != secret+"\n" {
		t.Errorf("the secret is %q now", got)
	}
}

func TestSC5SpecialFiles(t *testing.T) {
	y := newYard(t)
	if err := syscall.Mkfifo(y.Path("in/fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Chdir(y.Path("in")) // the name of a socket must be short
	socket, err := net.Listen("unix", "sock")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	sparse, err := os.Create(y.Path("in/sparse"))
	if err != nil {
		t.Fatal(err)
	}
	defer sparse.Close()
	if err := sparse.Truncate(1 << 40); err != nil {
		t.Fatal(err)
	}
	y.OnCard = tooltest.Approve
	for path, want := range map[string]string{
		"in/fifo":      "in/fifo is a FIFO, not a regular file",
		"in/sock":      "in/sock is a socket, not a regular file",
		"in/sparse":    "in/sparse is not text but binary data, 1099511627776 bytes. send_attachment sends it to the user.",
		"/dev/null":    "/dev/null is a device, not a regular file",
		"in":           "in is a folder; list_files shows what is in it",
		"/proc/mounts": "", // says that it is empty, and is not
	} {
		out := y.Call(tools.ReadFile, args{"path": path})
		if want == "" {
			if out.State != tools.Completed || strings.Contains(out.Text, "is empty") {
				t.Errorf("reading %s is %s: %.200s", path, out.State, out.Text)
			}
		} else if out.Text != want {
			t.Errorf("reading %s: %s", path, out.Text)
		}
		if out := y.Call(tools.WriteFile, args{"path": path, "content": "x"}); want != "" && out.State != tools.Failed {
			t.Errorf("writing %s is %s: %s", path, out.State, out.Text)
		}
	}
	if _, out := y.check(tools.GrepFiles, args{"path": ".", "pattern": "zzz"}); out.State != tools.Completed {
		t.Errorf("grep over special files: %s", out.Text)
	}
}

// TestSC5GrowingFile: a file that is written to faster than it is read is read up to the size that it had.
func TestSC5GrowingFile(t *testing.T) {
	y := newYard(t)
	y.Write("in/log", strings.Repeat("a line of the log\n", 1000))
	f, err := os.OpenFile(y.Path("in/log"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	done := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		more := []byte(strings.Repeat("and another line\n", 5000))
		for written := 0; written < 256<<20; written += len(more) {
			select {
			case <-done:
				return
			default:
			}
			if _, err := f.Write(more); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for _, call := range []struct {
		tool string
		args args
		want tools.State
	}{
		{tools.ReadFile, args{"path": "in/log"}, tools.Completed},
		{tools.GrepFiles, args{"path": "in", "pattern": "zzz"}, tools.Completed},
		{tools.SearchFile, args{"path": "in/log", "query": "zzz"}, tools.Completed},
	} {
		if out := y.Call(call.tool, call.args); out.State != call.want {
			t.Errorf("%s of a growing file is %s: %.200s", call.tool, out.State, out.Text)
		}
	}
	close(done)
	writing.Wait()
}

// TestSC6TrailingSlash: CVE-2026-39822 let a link with a slash behind it out of an os.Root.
func TestSC6TrailingSlash(t *testing.T) {
	y := newYard(t)
	y.link(y.sibling, "out")
	if got, out := y.check(tools.ListFiles, args{"path": "out/"}); got != "asked" {
		t.Errorf("listing a link that leads out is %s: %s", got, out.Text)
	}
	if f, err := y.Workspace.Root().Open("out/"); err == nil {
		t.Errorf("this Go opens %s through an os.Root; it must be 1.26.5 or later", f.Name())
	}
}

func TestWalksLeaveOut(t *testing.T) {
	y := newYard(t)
	y.link(y.sibling, "out")
	y.link("secrets", "sec")
	y.Write(".git/config", secret)
	y.Write("logs/x.log", secret)
	y.Write("logs/keep.log", "kept\n")
	y.Write(".gitignore", "*.log\n!keep.log\n/build/\nnode_modules/\n")
	y.Write("build/out.txt", secret)
	y.Write("sub/build/in.txt", "deep\n")
	y.Write("sub/node_modules/m.js", secret)
	y.Write("sub/secrets/s.go", "package secrets\n") // a folder of that name elsewhere is not ours to hide
	_, out := y.check(tools.ListFiles, args{"path": "."})
	want := strings.Join([]string{
		".gitignore", "data/", "data/keep", "in/", "in/a.txt", "logs/", "logs/keep.log", "out (link)", "sec (link)",
		"sub/", "sub/build/", "sub/build/in.txt", "sub/secrets/", "sub/secrets/s.go", "",
	}, "\n")
	if out.Text != want {
		t.Errorf("the list is\n%s", out.Text)
	}
	if _, out := y.check(tools.GrepFiles, args{"path": ".", "pattern": "."}); strings.Contains(out.Text, "m.js") {
		t.Errorf("grep found\n%s", out.Text)
	}
	y.OnCard = tooltest.Approve
	if out := y.Call(tools.GrepFiles, args{"path": filepath.Dir(y.home), "pattern": "the-secret"}); strings.Contains(out.Text, "nod.yaml") {
		t.Errorf("grep above nod's home found\n%s", out.Text)
	}
}
