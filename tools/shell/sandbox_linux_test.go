package shell

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

const canary = "canary-5up3r-secret"

// hideout is a workspace with things around it that a command must not reach, and a stand-in for nod.
type hideout struct {
	targets
	dir    *Dir
	closed []string
}

// lasting is a new folder that does not lie where the sandbox has folders of its own, if there is such a place.
func lasting(t *testing.T) string {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{here, os.Getenv("HOME"), "/var/lib", "/srv", "/opt"} {
		if place == "" || fleeting(place) {
			continue
		}
		dir, err := os.MkdirTemp(place, ".sandbox-test-")
		if err != nil {
			continue
		}
		t.Cleanup(func() {
			if err := os.RemoveAll(dir); err != nil {
				t.Error(err)
			}
		})
		return dir
	}
	t.Log("NOT TESTED: covers outside of /tmp, since nothing else can be written")
	return t.TempDir()
}

// fleeting says whether a folder lies where the sandbox puts an empty one of its own.
func fleeting(path string) bool {
	return slices.ContainsFunc([]string{"/tmp", "/var/tmp", "/dev/shm", "/run"}, func(dir string) bool {
		return path == dir || strings.HasPrefix(path, dir+"/")
	})
}

func newHideout(t *testing.T) *hideout {
	t.Helper()
	base := lasting(t)
	h := &hideout{targets: targets{
		Workspace: filepath.Join(base, "work"), Home: filepath.Join(base, "home"), Outside: filepath.Join(base, "outside"),
		Key: filepath.Join(base, "key"), Control: filepath.Join(base, "home", "s"), Path: filepath.Join(base, "outside", "s"),
		Abstract: "@" + filepath.Base(base),
	}}
	files := map[string]string{
		"work/secrets/token": canary, "home/nod.db": canary, "home/linked": canary, "outside/file": "", "outside/doomed": "", "key": canary,
	}
	for name, text := range files {
		path := filepath.Join(base, name)
		if err := firstError(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	work := func(name string) string { return filepath.Join(h.Workspace, name) }
	if err := firstError(os.Symlink("secrets/token", work("link")), os.Link(filepath.Join(h.Home, "linked"), work("hard"))); err != nil {
		t.Fatal(err)
	}
	if runtime.GOARCH == "amd64" {
		if err := os.WriteFile(work("foreign"), foreignProgram(), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if h.dir, err = OpenDir(h.Workspace); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.dir.Close() })
	h.closed = []string{h.Home, h.Key, work("secrets")}
	h.serve(t)
	h.startNod(t)
	return h
}

// serve opens a socket of each kind.
func (h *hideout) serve(t *testing.T) {
	t.Helper()
	listen := func(network, address string) net.Listener {
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				c.Close()
			}
		}()
		t.Cleanup(func() { l.Close() })
		return l
	}
	h.TCP = listen("tcp", "127.0.0.1:0").Addr().String()
	for _, path := range []string{h.Path, h.Control, h.Abstract} {
		listen("unix", path)
	}
	echo, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.UDP = echo.LocalAddr().String()
	go func() {
		b := make([]byte, 1)
		for {
			n, from, err := echo.ReadFrom(b)
			if err != nil {
				return
			}
			echo.WriteTo(b[:n], from)
		}
	}()
	t.Cleanup(func() { echo.Close() })
}

// startNod starts a process with a token in its environment.
func (h *hideout) startNod(t *testing.T) {
	t.Helper()
	nod := exec.Command("/bin/sh", "-c", "exec sleep 600")
	nod.Env = []string{"PATH=" + os.Getenv("PATH"), "TELEGRAM_BOT_TOKEN=" + canary}
	if err := nod.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		nod.Process.Kill()
		nod.Wait()
	})
	h.Nod = nod.Process.Pid
}

func (h *hideout) run(t *testing.T, r rung, network bool, line string, env ...string) Result {
	t.Helper()
	res, err := r.Run(t.Context(), Command{
		Line: line, Dir: h.dir, Timeout: time.Minute, Env: env,
		Sandbox: &Sandbox{Workspace: h.Workspace, Closed: h.closed, Network: network},
	})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// attempt runs the program of attempts in the sandbox and gives back the error of each, "" for what worked.
func (h *hideout) attempt(t *testing.T, r rung, network bool) map[string]string {
	t.Helper()
	program := filepath.Join(h.Workspace, "attempts")
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	dest, err := os.OpenFile(program, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(dest, self); firstError(err, dest.Close()) != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(h.targets)
	if err != nil {
		t.Fatal(err)
	}
	res := h.run(t, r, network, "./attempts", asAttempts+"="+string(text))
	got := map[string]string{}
	for d := json.NewDecoder(strings.NewReader(res.Output)); ; {
		var a attemptResult
		if err := d.Decode(&a); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("the attempts' output: %v\n%s", err, res.Output)
		}
		got[a.Name] = a.Err
	}
	if len(got) != len(attempts()) {
		t.Fatalf("%d of %d attempts were made: %+v", len(got), len(attempts()), res)
	}
	return got
}

// What the walls let through although it leads outside: every other attempt must fail.
var (
	always = []string{
		"write in the workspace", "write in HOME", "write a temporary file", "write to /dev/null", "read /etc/passwd", "list /",
		// It is a file of the workspace like others; tools refuse files with several names (S-C4).
		"read a hard link made before",
	}
	withNetwork   = []string{"TCP to the host", "UDP to the host"}
	withoutMounts = []string{"read secrets/token", "read it by a link", "chmod outside", "touch outside", "read /proc/NOD/cmdline"}
	// In a folder that is neither closed nor the sandbox's own, and only where abstract sockets are cut off by other means.
	withUnixSockets = []string{"a socket by path elsewhere"}
)

// TestSE9_SC8_SandboxMatrix prints what a command can do at each isolation and checks all of it (SAFETY.md 2.3).
func TestSE9_SC8_SandboxMatrix(t *testing.T) {
	var names []string
	for _, a := range attempts() {
		names = append(names, a.name)
	}
	type column struct {
		head string
		got  map[string]string
	}
	var columns []column
	for _, network := range []bool{false, true} {
		for i, iso := range sandboxLadder() {
			head := fmt.Sprintf("%d %v", i, map[bool]string{false: "off", true: "on"}[network])
			t.Run(fmt.Sprintf("%v, network %v", iso, network), func(t *testing.T) {
				if err := probe(iso); err != nil {
					t.Skipf("NOT TESTED, this machine has no %v: %v", iso, err)
				}
				h := newHideout(t)
				got := h.attempt(t, forced(iso), network)
				columns = append(columns, column{head, got})
				allowed := slices.Clone(always)
				if network {
					allowed = append(allowed, withNetwork...)
				}
				if !iso.walls.Mounts {
					allowed = append(allowed, withoutMounts...)
					if os.Geteuid() == 0 {
						allowed = append(allowed, "chmod /dev/null", "chmod the standard input")
					}
				} else if iso.walls.Landlock || !network {
					allowed = append(allowed, withUnixSockets...)
				}
				for _, name := range names {
					if want := slices.Contains(allowed, name); want != (got[name] == "") {
						t.Errorf("%s: allowed = %v, want %v (%s)", name, got[name] == "", want, got[name])
					}
				}
			})
		}
	}
	columns = append(columns, column{"without", controlAttempts(t)})
	var b strings.Builder
	for i, iso := range sandboxLadder() {
		fmt.Fprintf(&b, "%d: %v (%v)\n", i, iso, iso.strength())
	}
	fmt.Fprintf(&b, "as uid %d\n%-34s", os.Geteuid(), "")
	for _, c := range columns {
		fmt.Fprintf(&b, "%-8s", c.head)
	}
	for _, name := range names {
		fmt.Fprintf(&b, "\n%-34s", name)
		for _, c := range columns {
			fmt.Fprintf(&b, "%-8s", map[bool]string{false: "-", true: "ALLOWED"}[c.got[name] == ""])
		}
	}
	t.Logf("what the sandbox lets through:\n%s", b.String())
}

// controlAttempts makes the attempts without a sandbox, where an ordinary user succeeds with these at least. What fails
// here too would prove nothing.
func controlAttempts(t *testing.T) map[string]string {
	t.Helper()
	steps := ladder()
	r := forced(steps[len(steps)-1])
	got := newHideout(t).attempt(t, r, true)
	for _, name := range []string{
		"read secrets/token", "read it by a link", "read a hard link made before", "read the database", "read a token file",
		"create a file in NOD_HOME", "write outside", "create outside", "remove outside", "chmod outside", "touch outside",
		"read /proc/NOD/environ", "read /proc/NOD/cmdline", "kill nod", "TCP to the host", "UDP to the host", "nod's control socket",
		"a socket by path elsewhere", "an abstract socket", "unshare", "ptrace", "write in the own home's parent",
	} {
		if got[name] != "" {
			t.Errorf("without a sandbox: %s: %s", name, got[name])
		}
	}
	return got
}

// sandboxes runs test once for every sandbox that this machine and user can have.
func sandboxes(t *testing.T, test func(t *testing.T, r rung)) {
	t.Helper()
	isolations(t, func(t *testing.T, _ int, r rung) {
		if !r.iso.walls.none() {
			test(t, r)
		}
	})
}

// Everyday work goes on in a sandbox as it does without. A command whose program is not installed is passed by.
func TestSandboxEverydayCommands(t *testing.T) {
	tests := []struct{ program, line, want string }{
		{"git", "git init -q . && git add work.txt && git -c user.name=N -c user.email=n@n.test commit -qm first && git log --oneline | wc -l", "1\n"},
		{"python3", `python3 -c 'import tempfile; tempfile.mkdtemp(); print([1, 2])'`, "[1, 2]\n"},
		{"tar", "mkdir -p a && echo x >a/b && tar czf a.tgz a && rm -r a && tar xzf a.tgz && cat a/b", "x\n"},
		{"make", "printf 'all:\\n\\techo made\\n' >Makefile && make -s", "made\n"},
		{"gcc", "echo 'int main(){return 7;}' >m.c && gcc m.c -o m && ./m; echo $?", "7\n"},
		{"go", "go version | cut -d' ' -f1,2", "go version\n"},
		{"ls", "ls work.txt /etc/passwd", "/etc/passwd\nwork.txt\n"},
		{"find", "find . -name work.txt", "./work.txt\n"},
		{"sh", "echo out >/dev/stdout; echo err >/dev/stderr; echo null >/dev/null", "out\nerr\n"},
		{"mktemp", "f=$(mktemp) && echo t >$f && cat $f && rm $f", "t\n"},
		{"mkfifo", "mkfifo f && (echo f >f &) && cat f", "f\n"},
		{"mv", "mkdir -p x/y z && echo m >x/y/m && mv x/y/m z && cat z/m", "m\n"},
		{"flock", "flock lock echo held", "held\n"},
		{"nproc", "test $(nproc) -ge 1 && echo some", "some\n"},
		{"id", "test $(id -u) = $(stat -c %u work.txt) && echo own", "own\n"},
	}
	sandboxes(t, func(t *testing.T, r rung) {
		for _, tt := range tests {
			if _, err := exec.LookPath(tt.program); err != nil {
				t.Logf("NOT TESTED, this machine has no %s", tt.program)
				continue
			}
			t.Run(tt.program, func(t *testing.T) {
				dir, err := OpenDir(lasting(t))
				if err != nil {
					t.Fatal(err)
				}
				defer dir.Close()
				if err := os.WriteFile(filepath.Join(dir.Path, "work.txt"), []byte("w"), 0o644); err != nil {
					t.Fatal(err)
				}
				if res, err := r.Run(t.Context(), Command{Line: tt.line, Dir: dir, Timeout: time.Minute}); err != nil || res.Output != tt.want {
					t.Errorf("result = %+v, %v, want %q", res, err, tt.want)
				}
			})
		}
	})
}

// Semaphores and terminals are in folders of /dev, which are its own only with mounts.
func TestSandboxDevices(t *testing.T) {
	tests := []struct{ program, line, want string }{
		{"python3", `python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1, 2]))'`, "[1, 2]\n"},
		{"script", "script -qc 'tty' /dev/null", "/dev/pts/0\n"},
	}
	sandboxes(t, func(t *testing.T, r rung) {
		for _, tt := range tests {
			if _, err := exec.LookPath(tt.program); err != nil {
				t.Logf("NOT TESTED, this machine has no %s", tt.program)
			} else if res := run(t, r, tt.line); r.iso.walls.Mounts && res.Output != tt.want {
				t.Errorf("%s: %+v", tt.program, res)
			}
		}
	})
}

func TestSandboxTemporaryFilesArePrivate(t *testing.T) {
	sandboxes(t, func(t *testing.T, r rung) {
		h := newHideout(t)
		mine, err := os.CreateTemp("/tmp", "nod-test-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { firstError(mine.Close(), os.Remove(mine.Name())) })
		line := fmt.Sprintf(`cat %s && echo seen; echo x >"${TMPDIR:-/tmp}/%s" && echo written`, mine.Name(), filepath.Base(h.Workspace))
		if res := h.run(t, r, false, line); strings.Contains(res.Output, "seen") || !strings.Contains(res.Output, "written") {
			t.Errorf("result = %+v", res)
		}
		if _, err := os.Stat(filepath.Join("/tmp", filepath.Base(h.Workspace))); err == nil {
			t.Error("a temporary file of the command is there for others")
		}
		if !r.iso.walls.Mounts {
			return
		}
		if res := h.run(t, r, false, "ls -A /tmp /var/tmp /dev/shm; ls -A /run | grep -v systemd; echo z >/dev/shm/z && cat /dev/shm/z"); strings.Count(res.Output, "\n") > 12 || !strings.HasSuffix(res.Output, "z\n") {
			t.Errorf("fresh folders are not empty: %+v", res)
		}
	})
}

func TestSandboxHome(t *testing.T) {
	home := lasting(t)
	t.Setenv("HOME", home)
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[user]\n\tname = Ada\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	sandboxes(t, func(t *testing.T, r rung) {
		h := newHideout(t)
		if res := h.run(t, r, false, "cd && pwd && echo kept >.kept"); res.Output != filepath.Join(h.Workspace, homeName)+"\n" {
			t.Errorf("result = %+v", res)
		}
		if res := h.run(t, r, false, `cat ~/.kept; git init -q . && git status --porcelain -unormal 2>/dev/null | grep home; git config user.name`); res.Output != "kept\nAda\n" {
			t.Errorf("HOME does not last, or git sees it: %+v", res)
		}
		text, err := os.ReadFile(filepath.Join(h.Workspace, homeName, ".gitconfig"))
		if err != nil || !strings.Contains(string(text), home) {
			t.Errorf("the person's git settings are not known: %q, %v", text, err)
		}
		// What a command puts in the place of HOME leads nowhere.
		h.run(t, r, false, "rm -rf .home && ln -s "+h.Outside+" .home")
		h.run(t, r, false, "echo x >~/escaped")
		if _, err := os.Stat(filepath.Join(h.Outside, "escaped")); err == nil {
			t.Error("HOME led outside")
		}
	})
}

// The network is another one only where namespaces are; the host's answers when a command may have it.
func TestSandboxNetwork(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("NOT TESTED, this machine has no python3")
	}
	const connect = `python3 -c 'import socket,sys; socket.create_connection(("127.0.0.1", int(sys.argv[1])), 2); print("connected")' `
	const own = `python3 -c 'import socket as s; l = s.create_server(("127.0.0.1", 0)); s.create_connection(l.getsockname(), 2); print("connected")'`
	sandboxes(t, func(t *testing.T, r rung) {
		h := newHideout(t)
		_, port, err := net.SplitHostPort(h.TCP)
		if err != nil {
			t.Fatal(err)
		}
		if res := h.run(t, r, true, connect+port); res.Output != "connected\n" {
			t.Errorf("with the network: %+v", res)
		}
		if res := h.run(t, r, false, connect+port); res.Exit == 0 {
			t.Errorf("without the network: %+v", res)
		}
		if res := h.run(t, r, false, own); r.iso.walls.Mounts && res.Output != "connected\n" {
			t.Errorf("to itself, without the network: %+v", res)
		}
	})
}

func TestSandboxLimits(t *testing.T) {
	sandboxes(t, func(t *testing.T, r rung) {
		want := fmt.Sprintf("0\n%d\n", maxFile/512)
		if res := run(t, r, "ulimit -c; ulimit -f"); res.Output != want {
			t.Errorf("core and file size = %q, want %q", res.Output, want)
		}
		if res := run(t, r, "truncate -s 4G f && echo x >>f"); res.Exit == 0 && res.Signal == "" {
			t.Errorf("a file grew: %+v", res)
		}
		res := run(t, r, "grep -E '^(Cap(Inh|Prm|Eff|Amb)|NoNewPrivs|Seccomp:)' /proc/self/status | cut -f2 | sort -u | tr '\\n' ' '")
		if res.Output != "0000000000000000 1 2 " {
			t.Errorf("capabilities, no_new_privs and seccomp = %s", res.Output)
		}
	})
}

// Folders that the configuration lets be written.
func TestSandboxWritable(t *testing.T) {
	sandboxes(t, func(t *testing.T, r rung) {
		h := newHideout(t)
		r.Writable = []string{h.Outside}
		res := h.run(t, r, false, "echo x >../outside/new && cat ../outside/new; echo y >../denied || echo refused")
		if !strings.HasPrefix(res.Output, "x\n") || !strings.HasSuffix(res.Output, "refused\n") {
			t.Errorf("result = %+v", res)
		}
	})
}

// S-E9: a secret is sought in ten ways, and in each that its output shows.
func TestSE9_SecretsAreNotToBeReached(t *testing.T) {
	lines := []string{
		"cat ../home/nod.db", "cat ../home/* ../key", "cp ../home/nod.db . && cat nod.db", "base64 ../key", "od -c ../key; strings ../key",
		"tar cf - .. 2>/dev/null", "cat /proc/[0-9]*/environ", "find .. -type f ! -path '*/work/*' -exec cat {} +", "ln ../home/nod.db h; ln -s ../key k; cat h k",
		"cd ../home && cat nod.db", "python3 -c 'print(open(\"../key\").read())'", "cat /proc/1/environ /proc/$PPID/environ", "cat /proc/1/root/$PWD/../key", "cat /proc/self/cwd/../key",
		"grep -r canary .. /proc/*/environ 2>/dev/null", "exec 3<../key; cat <&3", "env; set; export",
		"mount --bind ../home . ; cat nod.db", "unshare -Ur cat ../key", "dd if=/dev/[sv]da bs=1M count=64 | grep -a canary",
	}
	sandboxes(t, func(t *testing.T, r rung) {
		h := newHideout(t)
		// What holds only with mounts is in the matrix; here is what holds at every level.
		if err := firstError(os.RemoveAll(filepath.Join(h.Workspace, "secrets")), os.Remove(filepath.Join(h.Workspace, "hard"))); err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			res := h.run(t, r, true, line)
			for _, form := range []string{canary, "Y2FuYXJ5LTV1cDNyLXNlY3JldA", "c   a   n   a   r   y"} {
				if strings.Contains(res.Output, form) {
					t.Errorf("%s shows %q", line, form)
				}
			}
		}
	})
}
