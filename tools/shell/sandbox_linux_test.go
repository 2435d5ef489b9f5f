package shell

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

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
