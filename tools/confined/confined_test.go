package confined

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Works of the tests.
const (
	echoWork     = "echo"     // gives back its input
	failWork     = "fail"     // says what is wrong with its input
	heldWork     = "held"     // works without end
	hungryWork   = "hungry"   // takes memory without end
	attemptsWork = "attempts" // says what it could do that it must not
)

var works = map[string]Work{
	echoWork: func(input []byte) ([]byte, error) { return input, nil },
	failWork: func(input []byte) ([]byte, error) { return input, fmt.Errorf("it is %q", input) },
	heldWork: func([]byte) ([]byte, error) {
		fmt.Fprintln(os.Stderr, "held") // a first word, as a program that breaks down has
		select {}
	},
	hungryWork: func([]byte) ([]byte, error) {
		var all bytes.Buffer
		for {
			all.Write(make([]byte, 1<<20))
		}
	},
	attemptsWork: func([]byte) ([]byte, error) { return []byte(attempts()), nil },
}

func TestMain(m *testing.M) {
	if Dispatch(os.Args, works) {
		return
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != syscall.ECHILD {
			fmt.Fprintf(os.Stderr, "a child process is left over: pid %d, %v\n", pid, err)
			code = 1
		}
		os.Exit(code)
	}))
}

func pool(work string) *Pool {
	return NewPool(work, Limits{Time: time.Minute, Memory: 256 << 20, SideBySide: 2})
}

// hold runs a child that works without end, and gives back its process once it is there.
func hold(ctx context.Context, t *testing.T) (pid int, result <-chan error) {
	t.Helper()
	label := "held for " + t.Name()
	done := make(chan error, 1)
	go func() {
		_, err := pool(heldWork).Run(ctx, label, nil)
		done <- err
	}()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		list, err := exec.Command("ps", "-axo", "pid=,args=").Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(list)) {
			if strings.Contains(line, strings.Join([]string{childName, heldWork, label}, " ")) {
				pid, err := strconv.Atoi(strings.Fields(line)[0])
				if err != nil {
					t.Fatal(err)
				}
				return pid, done
			}
		}
	}
	t.Fatal("there is no child")
	return 0, nil
}

// gone says whether a process has ended and was waited for.
func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// TestBreakdown: a child that is killed, or crashes, while it works is the error of one call, and the next one works.
func TestBreakdown(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSEGV, syscall.SIGABRT} {
		t.Run(sig.String(), func(t *testing.T) {
			pid, result := hold(t.Context(), t)
			if err := syscall.Kill(pid, sig); err != nil {
				t.Fatal(err)
			}
			err := <-result
			broken, ok := errors.AsType[*BrokenError](err)
			if !ok || !strings.Contains(err.Error(), "broke down") || broken.Detail == "" {
				t.Fatalf("got %v", err)
			}
			if !gone(pid) {
				t.Error("the child was not waited for")
			}
			mustEcho(t, "after it")
		})
	}
}

func mustEcho(t *testing.T, text string) {
	t.Helper()
	out, err := pool(echoWork).Run(t.Context(), "x", []byte(text))
	if err != nil || string(out) != text {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestOutcomes(t *testing.T) {
	mustEcho(t, "")
	mustEcho(t, strings.Repeat("x", 1<<20))
	if out, err := pool(failWork).Run(t.Context(), "x", []byte("bad")); err == nil || err.Error() != `it is "bad"` || out != nil {
		t.Errorf("got %q, %v", out, err)
	}
	if _, err := pool("unheard of").Run(t.Context(), "x", nil); err == nil || !strings.Contains(err.Error(), "broke down") {
		t.Errorf("got %v", err)
	}
}

// TestSTOP2_Stopped: a call that is stopped ends its child before it returns.
func TestSTOP2_Stopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	pid, result := hold(ctx, t)
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if !gone(pid) {
		t.Error("the child still runs")
	}
}

func TestTimeLimit(t *testing.T) {
	p := NewPool(heldWork, Limits{Time: 50 * time.Millisecond, Memory: 256 << 20, SideBySide: 1})
	_, err := p.Run(t.Context(), "x", nil)
	if _, broken := errors.AsType[*BrokenError](err); !broken || !strings.Contains(err.Error(), "longer than 50ms") {
		t.Errorf("got %v", err)
	}
}

func TestMemoryLimit(t *testing.T) {
	if !closedIn {
		t.Skip("NOT TESTED, this system keeps no limit of memory")
	}
	_, err := NewPool(hungryWork, Limits{Time: time.Minute, Memory: 64 << 20, SideBySide: 1}).Run(t.Context(), "x", nil)
	if _, broken := errors.AsType[*BrokenError](err); !broken || !strings.Contains(err.Error(), "more than 64 MiB of memory") {
		t.Errorf("got %v", err)
	}
}

// TestSideBySide: no more children run at a time than the pool has slots, and a call that waits for its turn can be stopped.
func TestSideBySide(t *testing.T) {
	p := pool(heldWork)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	results := make(chan error, cap(p.slots))
	for range cap(p.slots) {
		go func() {
			_, err := p.Run(ctx, "x", nil)
			results <- err
		}()
	}
	for len(p.slots) < cap(p.slots) {
		time.Sleep(time.Millisecond)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := p.Run(stopped, "x", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	cancel()
	for range cap(results) {
		if err := <-results; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
}

// TestNodGone: when nod's end of the pipe closes, as it does when nod is killed, the child ends without a result.
func TestNodGone(t *testing.T) {
	cmd, err := pool(heldWork).command(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	var told bytes.Buffer
	if err := gob.NewEncoder(&told).Encode(request{Memory: 256 << 20}); err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = &told // ends behind the request
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 || len(out) > 0 {
		t.Errorf("%d bytes came, %v", len(out), err)
	}
}

// attempts tries what a child must not be able to, and says what worked.
func attempts() (could string) {
	tries := map[string]func() error{
		"open a file":     func() error { _, err := os.Open("/etc/passwd"); return err },
		"make a file":     func() error { return os.WriteFile("/tmp/nod-confined-attempt", nil, 0o600) },
		"remove a file":   func() error { return os.Remove("/tmp/nod-confined-attempt") },
		"list a folder":   func() error { _, err := os.ReadDir("/"); return err },
		"start a program": func() error { return exec.Command("/bin/true").Run() },
		"open a socket":   func() error { _, err := net.Dial("udp", "127.0.0.1:9"); return err },
		"signal nod":      func() error { return syscall.Kill(1, 0) },
		"signal itself by another name": func() error {
			return syscall.Kill(0, 0)
		},
		"raise a limit": func() error {
			return syscall.Setrlimit(syscall.RLIMIT_CPU, &syscall.Rlimit{Cur: 2 * cpuSeconds, Max: 2 * cpuSeconds})
		},
	}
	for name, try := range tries {
		if try() == nil {
			could += name + "\n"
		}
	}
	return could
}

// TestSE_ClosedIn: what takes over a child can open no file or socket, start no program, and signal nobody; and it has
// nothing of nod's environment.
func TestSE_ClosedIn(t *testing.T) {
	out, err := pool(attemptsWork).Run(t.Context(), "x", nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(out) > 0 && closedIn {
		t.Errorf("it could\n%s", out)
	}
	cmd, err := pool(attemptsWork).command(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	for _, variable := range cmd.Env {
		if name, _, _ := strings.Cut(variable, "="); name != "GOMAXPROCS" && name != "GOTRACEBACK" && name != "GORACE" {
			t.Errorf("the child is given %s", name)
		}
	}
}

// closedIn says that the child has a filter for system calls and a limit of memory here.
var closedIn = runtime.GOOS == "linux" && (runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64")
