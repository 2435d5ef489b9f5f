package shell

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestRunOutcomes(t *testing.T) {
	tests := []struct {
		name, line string
		want       Result
	}{
		{"says nothing", "true", Result{}},
		{"both streams in order", "echo a; echo b >&2; echo c", Result{Output: "a\nb\nc\n", Total: 6}},
		{"exit code", "exit 3", Result{Exit: 3}},
		{"not found", "exec /no/such/program 2>/dev/null", Result{Exit: 127}},
		{"killed", "kill -KILL $$", Result{Exit: -1, Signal: "SIGKILL"}},
		{"crashed", "kill -SEGV $$", Result{Exit: -1, Signal: "SIGSEGV"}},
		{"no stdin", "cat; read x || echo none", Result{Output: "none\n", Total: 5}},
		{"bytes are kept", "printf %s '\xff\xfe' | od -An -tx1", Result{Output: " ff fe\n", Total: 7}},
		{"quotes and newlines", "echo \"it's\"\necho '$HOME'", Result{Output: "it's\n$HOME\n", Total: 11}},
		{"blocking output", "sh -c 'sleep 0.02; seq 1 20000' | tail -n 1", Result{Output: "20000\n", Total: 6}},
	}
	isolations(t, func(t *testing.T, _ int, r rung) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				got := run(t, r, tt.line)
				if got.Duration <= 0 {
					t.Errorf("duration = %v", got.Duration)
				}
				if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(Result{}, "Duration")); diff != "" {
					t.Errorf("result (-want +got):\n%s", diff)
				}
			})
		}
	})
}

func TestRunRefusesBadCommands(t *testing.T) {
	dir := tempDir(t)
	good := Command{Line: "echo >ran", Dir: dir, Timeout: time.Second}
	tests := []struct {
		name   string
		change func(*Command)
		want   string
	}{
		{"empty", func(c *Command) { c.Line = " \n" }, "empty"},
		{"NUL", func(c *Command) { c.Line += "\x00" }, "NUL"},
		{"too long", func(c *Command) { c.Line += strings.Repeat(" ", MaxLine) }, "script file"},
		{"no folder", func(c *Command) { c.Dir = nil }, "no folder"},
		{"no timeout", func(c *Command) { c.Timeout = 0 }, "timeout"},
		{"long timeout", func(c *Command) { c.Timeout = MaxTimeout + 1 }, "timeout"},
		{"variable", func(c *Command) { c.Env = []string{"=x"} }, "NAME=value"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := good
			tt.change(&c)
			_, err := new(Runner).Run(t.Context(), c)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("err = %v, want one with %q", err, tt.want)
			}
			if _, err := os.Stat(filepath.Join(dir.Path, "ran")); err == nil {
				t.Error("it ran")
			}
		})
	}
}

func TestRunTakesTheLongestLine(t *testing.T) {
	line := "echo "
	line += strings.Repeat("x", MaxLine-len(line))
	res, err := new(Runner).Run(t.Context(), Command{Line: line, Dir: tempDir(t), Timeout: time.Minute})
	if err != nil || res.Total != int64(len(line)-len("echo ")+1) {
		t.Errorf("total = %d, err = %v", res.Total, err)
	}
}

func TestRunDoesNotStartWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := tempDir(t)
	res, err := new(Runner).Run(ctx, Command{Line: "echo >ran", Dir: dir, Timeout: time.Second})
	if err != nil || !res.Cancelled || res.Exit != -1 {
		t.Errorf("result = %+v, %v", res, err)
	}
	if _, err := os.Stat(filepath.Join(dir.Path, "ran")); err == nil {
		t.Error("it ran")
	}
}

func TestRunSideBySide(t *testing.T) {
	var r Runner
	results := make(chan string)
	for i := range 8 {
		dir := tempDir(t)
		go func() {
			res, err := r.Run(t.Context(), Command{Line: "echo $N; pwd", Dir: dir, Timeout: time.Minute, Env: []string{"N=" + string(rune('a'+i))}})
			if err != nil || res.Output != string(rune('a'+i))+"\n"+dir.Path+"\n" {
				t.Errorf("command %d: %+v, %v", i, res, err)
			}
			results <- res.Output
		}()
	}
	for range 8 {
		<-results
	}
}

func TestSE9_CommandSeesACleanEnvironment(t *testing.T) {
	const canary = "canary-5up3r-secret"
	t.Setenv("TELEGRAM_BOT_TOKEN", canary)
	t.Setenv("OPENAI_API_KEY", canary)
	t.Setenv("LC_ALL", canary)
	t.Setenv("HOME", "/home/somebody")
	t.Setenv("USER", "somebody")
	t.Setenv("LANG", "de_AT.UTF-8")
	t.Setenv("TZ", "Europe/Vienna")
	isolations(t, func(t *testing.T, _ int, r rung) {
		dir, home := tempDir(t), "/home/somebody"
		if !r.iso.walls.none() {
			home = filepath.Join(dir.Path, homeName)
		}
		res, err := r.Run(t.Context(), Command{
			Line: "env; tr '\\0' '\\n' </proc/$PPID/environ || :",
			Dir:  dir, Timeout: time.Minute, Env: []string{"EXTRA=1=2"},
		})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(res.Output, canary) {
			t.Errorf("the canary is in\n%s", res.Output)
		}
		for _, want := range []string{"HOME=" + home, "USER=somebody", "LANG=de_AT.UTF-8", "TZ=Europe/Vienna", "TERM=dumb", "EXTRA=1=2", "PATH=" + os.Getenv("PATH")} {
			if !slices.Contains(strings.Split(res.Output, "\n"), want) {
				t.Errorf("%s lacks in\n%s", want, res.Output)
			}
		}
		for line := range strings.Lines(run(t, r, "env").Output) {
			name, _, _ := strings.Cut(line, "=")
			// The shell itself sets PWD; the last three are a sandbox's.
			if !slices.Contains([]string{"PATH", "HOME", "USER", "LANG", "TERM", "TZ", "PWD", "TMPDIR", "PYENV_ROOT", "RUSTUP_HOME"}, name) {
				t.Errorf("%s is in the environment", name)
			}
		}
	})
}

func TestRunEnvironmentFallsBack(t *testing.T) {
	for _, name := range []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ"} {
		t.Setenv(name, "")
	}
	got := string(slices.Concat(environment(nil)...))
	for _, want := range []string{"PATH=" + fallbackPath, "LANG=C.UTF-8", "TERM=dumb"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s lacks in %s", want, got)
		}
	}
	if strings.Contains(got, "TZ=") {
		t.Errorf("TZ is in %s", got)
	}
}

func TestRunInheritsNoFilesAndNoCore(t *testing.T) {
	fd, err := syscall.Open("/", syscall.O_RDONLY, 0) // not close-on-exec, as if nod's own parent had left it
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	isolations(t, func(t *testing.T, _ int, r rung) {
		got := run(t, r, "ls -l /proc/self/fd | grep -c -- '-> /$'; ls /proc/self/fd | wc -l; ulimit -c; ulimit -n").Output
		if want := "0\n4\n0\n1024\n"; strings.ReplaceAll(got, " ", "") != want { // ls itself has the fourth open
			t.Errorf("the leaked file, open files, core size, file limit = %q, want %q", got, want)
		}
	})
}

func TestRunInANamespaceSeesOnlyItself(t *testing.T) {
	isolations(t, func(t *testing.T, _ int, r rung) {
		if r.iso.level != LevelNamespace {
			return
		}
		if got := run(t, r, "cd /proc; echo [0-9]*").Output; strings.Count(got, " ") > 2 {
			t.Errorf("processes = %s", got)
		}
		if os.Geteuid() != 0 {
			if got := run(t, r, "grep -E '^Cap(Inh|Prm|Eff|Amb)' /proc/self/status | cut -f2 | sort -u").Output; got != "0000000000000000\n" {
				t.Errorf("capabilities = %s", got)
			}
		}
	})
}

func TestSA2_FolderSwap(t *testing.T) {
	tests := []struct {
		name string
		swap func(path string) error
	}{
		{"moved away", func(p string) error { return os.Rename(p, p+"2") }},
		{"replaced", func(p string) error { return firstError(os.Rename(p, p+"2"), os.Mkdir(p, 0o755)) }},
		{"link in its place", func(p string) error { return firstError(os.Rename(p, p+"2"), os.Symlink(p+"2", p)) }},
		{"file in its place", func(p string) error { return firstError(os.Rename(p, p+"2"), os.WriteFile(p, nil, 0o644)) }},
	}
	isolations(t, func(t *testing.T, _ int, r rung) {
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "work")
				if err := os.Mkdir(path, 0o755); err != nil {
					t.Fatal(err)
				}
				dir, err := OpenDir(path)
				if err != nil {
					t.Fatal(err)
				}
				defer dir.Close()
				if err := tt.swap(path); err != nil {
					t.Fatal(err)
				}
				if res, err := r.Run(t.Context(), Command{Line: "echo >ran", Dir: dir, Timeout: time.Minute}); err == nil {
					t.Errorf("it ran: %+v", res)
				}
				for _, p := range []string{path, path + "2"} {
					if _, err := os.Stat(filepath.Join(p, "ran")); err == nil {
						t.Errorf("it ran in %s", p)
					}
				}
			})
		}
	})
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestSA2_OpenDir(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	real, link, file := filepath.Join(base, "real"), filepath.Join(base, "link"), filepath.Join(base, "file")
	if err := firstError(os.Mkdir(real, 0o755), os.Symlink(real, link), os.WriteFile(file, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	dir, err := OpenDir(link)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if dir.Path != real || dir.Ino == 0 {
		t.Errorf("dir = %+v, want path %s", dir, real)
	}
	if res, err := new(Runner).Run(t.Context(), Command{Line: "pwd", Dir: dir, Timeout: time.Minute}); err != nil || res.Output != real+"\n" {
		t.Errorf("pwd = %+v, %v", res, err)
	}
	for _, bad := range []string{"", "real", file, filepath.Join(base, "none")} {
		if d, err := OpenDir(bad); err == nil {
			d.Close()
			t.Errorf("OpenDir(%q) worked", bad)
		}
	}
}

func TestLevelMeasuresDownTheLadder(t *testing.T) {
	if _, found, err := measure(nil); found || err == nil {
		t.Error("an empty ladder has a level")
	}
	steps := ladder()
	last := steps[len(steps)-1]
	if iso, found, err := measure([]isolation{last, steps[0]}); err != nil || !found || iso != last {
		t.Errorf("isolation = %+v, %v", iso, err)
	}
	for _, l := range []Level{LevelGroup, LevelSubreaper, LevelNamespace} {
		if strings.HasPrefix(l.String(), "level") {
			t.Errorf("level %d has no name", int(l))
		}
	}
}

// BenchmarkBare is the yardstick of BenchmarkShim: the same command without a shim.
func BenchmarkBare(b *testing.B) {
	benchmark(b, func(dir *Dir) error {
		cmd := exec.Command("/bin/sh", "-c", "true")
		cmd.Dir = dir.Path
		_, err := cmd.CombinedOutput()
		return err
	})
}

func BenchmarkShim(b *testing.B) {
	for _, iso := range allIsolations() {
		b.Run(iso.String(), func(b *testing.B) {
			if err := probe(iso); err != nil {
				b.Skip(err)
			}
			r := forced(iso)
			benchmark(b, func(dir *Dir) error {
				_, err := r.Run(b.Context(), Command{Line: "true", Dir: dir, Timeout: time.Minute})
				return err
			})
		})
	}
}

func benchmark(b *testing.B, run func(*Dir) error) {
	dir, err := OpenDir(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer dir.Close()
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		if err := run(dir); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds()), "p95-µs")
}
