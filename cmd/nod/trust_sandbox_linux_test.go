package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"nod/bot/emulator"
	"nod/tools/shell"
)

// trustSandbox has commands try what they must not be able to do, in the sandbox and without, and times what it adds. The
// whole matrix, at every level that a machine can have, is TestSE9_SC8_SandboxMatrix of tools/shell.
func trustSandbox(t *testing.T, table *trustTable) {
	h := newHideout(t)
	var auto shell.Runner
	off := shell.Runner{Mode: shell.Off}
	strength, why := auto.Strength()
	escaped, open, must := 0, 0, 0
	for _, a := range h.attempts() {
		got, control := h.succeeds(t, &auto, a), h.succeeds(t, &off, a)
		switch {
		case a.may && !got:
			t.Errorf("in the sandbox this does not work: %s", a.line)
		case a.may:
			continue
		}
		must++
		if control {
			open++
		}
		if got {
			escaped++
			if strength == shell.Full {
				t.Errorf("in the sandbox this works: %s", a.line)
			}
		}
	}
	table.add(t, trustRow{
		"11. sandbox " + auto.Describe() + ": what commands must not do, and can", fmt.Sprintf("%d of %d", escaped, must), "0",
		fmt.Sprintf("sandbox none: %d of %d", open, must),
	}, escaped == 0 || strength != shell.Full, open > 0)
	if strength == shell.Full {
		timeSandbox(t, table, &auto)
	} else {
		t.Logf("NOT MEASURED: the full sandbox, which this machine has not: %v", why)
	}
	if *trustLong {
		t.Logf("%s", wholeMatrix(t))
	}
}

// hideout is a workspace with a home of nod and other things around it.
type hideout struct {
	base, workspace, home, outside string
	dir                            *shell.Dir
	port                           string
}

// lasting makes a folder where the sandbox has no folder of its own, as it has for /tmp and /var/tmp: in them nothing of the
// host's is to be seen, which would make many attempts vain.
func lasting(t *testing.T) string {
	t.Helper()
	for _, at := range []string{"/var/lib", os.Getenv("HOME"), "."} {
		dir, err := os.MkdirTemp(at, "nod-trust-")
		if err != nil {
			continue
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		if dir, err = filepath.Abs(dir); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	return t.TempDir()
}

const hiddenText = "canary-of-the-hideout"

func newHideout(t *testing.T) *hideout {
	base := lasting(t)
	h := &hideout{base: base, workspace: filepath.Join(base, "work"), home: filepath.Join(base, "home"), outside: filepath.Join(base, "outside")}
	for _, name := range []string{"work/secrets/token", "home/nod.db", "home/key", "outside/file"} {
		path := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(hiddenText), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if h.dir, err = shell.OpenDir(h.workspace); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.dir.Close() })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	_, h.port, err = net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// attemptLine is a command that ends with 0 when it could do what it tried.
type attemptLine struct {
	line string
	may  bool
}

func (h *hideout) attempts() (all []attemptLine) {
	nod := os.Getpid()
	for _, line := range []string{
		"cat secrets/token", "ln -s secrets/token l; cat l", "cat " + h.home + "/nod.db", "cat " + h.home + "/key", "ls " + h.home + " | grep .",
		"ln " + h.home + "/key h && cat h", "echo x >" + h.home + "/nod.yaml", "mkdir " + h.home + "/agents", "echo x >>" + h.outside + "/file", "echo x >" + h.outside + "/new",
		"rm " + h.outside + "/file", "chmod 600 " + h.outside + "/file", "touch -t 200001010000 " + h.outside + "/file", "mv " + h.outside + "/file .",
		fmt.Sprintf("tr '\\0' '\\n' </proc/%d/environ | grep .", nod), fmt.Sprintf("grep . /proc/%d/cmdline", nod), fmt.Sprintf("kill -0 %d", nod),
		fmt.Sprintf("ls -l /proc/%d/fd | grep .", nod), "exec 3<>/dev/tcp/127.0.0.1/" + h.port, "unshare -r true", "unshare -m true",
		"mkdir -p m && mount -t tmpfs none m && umount m", "umount secrets", "echo x >/etc/nod-trust", "chroot / true",
	} {
		all = append(all, attemptLine{line: line})
	}
	for _, line := range []string{"cat /etc/passwd", "echo x >new && cat new", "echo x >~/kept", "f=$(mktemp) && rm $f", "ls / >/dev/null", "sleep 0 & wait"} {
		all = append(all, attemptLine{line: line, may: true})
	}
	return all
}

// succeeds runs an attempt without the network.
func (h *hideout) succeeds(t *testing.T, r *shell.Runner, a attemptLine) bool {
	t.Helper()
	line := a.line
	if strings.Contains(line, "/dev/tcp/") {
		if _, err := exec.LookPath("bash"); err != nil {
			return false
		}
		line = "bash -c '" + line + "'"
	}
	res, err := r.Run(t.Context(), shell.Command{
		Line: line, Dir: h.dir, Timeout: time.Minute, Sandbox: &shell.Sandbox{Workspace: h.workspace, Closed: []string{h.home, filepath.Join(h.workspace, "secrets")}},
	})
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	h.restore(t)
	return res.Exit == 0
}

// restore undoes what attempts have done.
func (h *hideout) restore(t *testing.T) {
	t.Helper()
	for _, name := range []string{"outside/new", "home/nod.yaml", "home/agents", "work/l", "work/h", "work/m", "work/file"} {
		if err := os.RemoveAll(filepath.Join(h.base, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove("/etc/nod-trust"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.outside, "file"), []byte(hiddenText), 0o644); err != nil {
		t.Fatal(err)
	}
}

// timeSandbox tells what the sandbox of nod adds to a command, in the middle of several measurements of 25 commands each. The
// control is a program that starts more slowly, this test binary, of which the same measurement has to tell more.
func timeSandbox(t *testing.T, table *trustTable, runner *shell.Runner) {
	middle, late := overhead(t, trustSize(1, 1, 12))
	larger, err := runner.Overhead(t.Context(), trustSize(5, 25, 300))
	if err != nil {
		t.Fatal(err)
	}
	added := middle.median()
	table.add(t, trustRow{
		"    added time per command, p50 / p95", fmt.Sprintf("%s / %s", millis(added), millis(late.median())), "p50 ≤ 10 ms",
		fmt.Sprintf("a larger program, the tests' own: %s / %s", millis(larger.Added(0.5)), millis(larger.Added(0.95))),
	}, added <= 10*time.Millisecond || !*trustLong || !calm(), larger.Added(0.5) > added || !calm())
}

// overheadForm is how "nod check" tells what the sandbox costs.
var overheadForm = regexp.MustCompile(`it adds ([0-9.]+ ms) to a command, seldom more than ([0-9.]+ ms)`)

// overhead asks the program itself, so often, what its sandbox adds to a command: this test binary is a larger one, which
// takes longer to start.
func overhead(t *testing.T, times int) (middle, late samples) {
	program, dir := build(t, "."), t.TempDir()
	for range times {
		cmd := exec.CommandContext(t.Context(), program, "check")
		cmd.Env = append(os.Environ(), "NOD_HOME="+filepath.Join(dir, "home"), "NOD_WORKSPACE="+filepath.Join(dir, "work"),
			"TELEGRAM_BOT_TOKEN="+emulator.Token, "NOD_TELEGRAM_API=http://127.0.0.1:1", "OPENAI_API_KEY=none", "OPENAI_BASE_URL=http://127.0.0.1:1/v1")
		out, _ := cmd.Output() // it fails, since there is neither a Telegram nor a model
		told := overheadForm.FindSubmatch(out)
		if told == nil {
			t.Fatalf("nod check does not say what the sandbox adds:\n%s", out)
		}
		for i, all := range []*samples{&middle, &late} {
			d, err := time.ParseDuration(strings.ReplaceAll(string(told[i+1]), " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			*all = append(*all, d)
		}
	}
	return middle, late
}

// wholeMatrix is what the test of every level prints.
func wholeMatrix(t *testing.T) string {
	cmd := exec.CommandContext(t.Context(), "go", "test", "nod/tools/shell", "-run", "^TestSE9_SC8_SandboxMatrix$", "-count=1", "-v")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("the whole matrix: %v", err)
	}
	return string(out)
}
