package shell

import (
	"encoding/json"
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
	h.putSelf(t, "attempts")
	text, err := json.Marshal(h.targets)
	if err != nil {
		t.Fatal(err)
	}
	res := h.run(t, r, network, "./attempts", asAttempts+"="+string(text), atOnce)
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

// putSelf copies this very program into the workspace.
func (h *hideout) putSelf(t *testing.T, name string) {
	t.Helper()
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	dest, err := os.OpenFile(filepath.Join(h.Workspace, name), os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(dest, self); firstError(err, dest.Close()) != nil {
		t.Fatal(err)
	}
}
