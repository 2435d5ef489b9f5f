package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"nod/bot/emulator"
	"nod/store"
)

const (
	// victimVariable makes the test binary be nod.
	victimVariable = "NOD_TEST_VICTIM"
	// failpointVariable names the commit window in which the victim dies, and at which passage: "name:nth".
	failpointVariable = "NOD_FAILPOINT"
)

// playVictim makes this process nod if the crash test started it as that. Like nod it ends with os.Exit.
func playVictim() (played bool) {
	if os.Getenv(victimVariable) == "" {
		return false
	}
	if at := os.Getenv(failpointVariable); at != "" {
		dieAt(at)
	}
	go func() { // the test holds the other end, and must not leave us behind when it dies itself
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(exitFailure)
	}()
	main()
	return true
}

// holdWord stands for the number of a passage where every call is held in the window until the process is killed.
const holdWord = "hold"

// heldMark begins what the log says of each.
const heldMark = "held at "

// dieAt ends the process as kill -9 does, at the nth passage of a window.
func dieAt(at string) {
	name, nth, _ := strings.Cut(at, ":")
	if nth == holdWord {
		store.OnFailpoint(func(here string) {
			if here == name {
				fmt.Fprintln(os.Stderr, heldMark+name)
				select {}
			}
		})
		return
	}
	n, err := strconv.Atoi(nth)
	if err != nil {
		panic(failpointVariable + " is not name:nth: " + at)
	}
	var passed atomic.Int64
	store.OnFailpoint(func(here string) {
		if here == name && passed.Add(1) == int64(n) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // fails for no process of one's own
			select {}
		}
	})
}

// crashWorld is what outlives the victim: Telegram and the model service on real sockets, its home and its workspace.
type crashWorld struct {
	t         testing.TB
	telegram  *emulator.Server
	model     *crashModel
	people    []*crashPerson
	home      string
	workspace string
	env       []string
	log       string // file
	starts    int
}

// newCrashWorld makes a world for some owners. between may stand between nod and Telegram; nil for nothing.
func newCrashWorld(t testing.TB, people int, between func(http.Handler) http.Handler) *crashWorld {
	t.Helper()
	dir := t.TempDir()
	w := &crashWorld{
		t: t, telegram: emulator.New(emulator.Options{KeepCalls: 5000}), model: newCrashModel(),
		home: filepath.Join(dir, "home"), workspace: filepath.Join(dir, "workspace"), log: filepath.Join(dir, "log"),
	}
	var owners []string
	for i := range people {
		user := emulator.User{ID: int64(101 + i), FirstName: fmt.Sprint("P", i)}
		owners = append(owners, fmt.Sprint(user.ID))
		w.people = append(w.people, newCrashPerson(w, fmt.Sprint("p", i), user))
	}
	var telegram http.Handler = w.telegram
	if between != nil {
		telegram = between(telegram)
	}
	api, service := w.serve(telegram), w.serve(w.model)
	w.env = []string{
		victimVariable + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir,
		"TELEGRAM_BOT_TOKEN=" + emulator.Token, "NOD_TELEGRAM_API=" + api, "OPENAI_API_KEY=sk-crash", "OPENAI_BASE_URL=" + service + "/v1",
		"NOD_MODEL=scripted", "NOD_HOME=" + w.home, "NOD_WORKSPACE=" + w.workspace, "NOD_OWNER=" + strings.Join(owners, ","), "NOD_TIMEZONE=UTC",
	}
	t.Cleanup(func() {
		for line := range strings.Lines(w.logTail(1 << 20)) {
			if strings.Contains(line, "DATA RACE") || strings.Contains(line, "panic") || strings.Contains(line, "level=ERROR") {
				t.Errorf("nod's log has: %s", line)
			}
		}
		if t.Failed() {
			t.Logf("the last of nod's log:\n%s", w.logTail(100))
		}
	})
	w.write("facts.md", "Water boils at 100 °C.\n")
	return w
}

func (w *crashWorld) serve(h http.Handler) (url string) {
	s := httptest.NewServer(h)
	w.t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

func (w *crashWorld) write(name, content string) {
	w.t.Helper()
	if err := os.MkdirAll(w.workspace, 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.workspace, name), []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// logTail is the end of what nod has logged, in lines.
func (w *crashWorld) logTail(lines int) string {
	raw, err := os.ReadFile(w.log)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(string(raw), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// realNod is one start of the program.
type realNod struct {
	w     *crashWorld
	cmd   *exec.Cmd
	stdin io.Closer
	ended chan struct{} // closed once it has ended
}

// launch starts nod; failpoint is "" or where it dies.
func (w *crashWorld) launch(failpoint string) *realNod {
	w.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	log, err := os.OpenFile(w.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		w.t.Fatal(err)
	}
	defer log.Close()
	w.starts++
	fmt.Fprintf(log, "--- start %d %s\n", w.starts, failpoint)
	n := &realNod{w: w, ended: make(chan struct{}), cmd: &exec.Cmd{
		Path: exe, Args: []string{"nod", "run"}, Env: append(slices.Clone(w.env), failpointVariable+"="+failpoint), Stdout: log, Stderr: log,
	}}
	if n.stdin, err = n.cmd.StdinPipe(); err != nil {
		w.t.Fatal(err)
	}
	if err := n.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		_ = n.cmd.Wait() // how it ended is in ProcessState
		close(n.ended)
	}()
	w.t.Cleanup(n.kill)
	return n
}

// kill ends nod as kill -9 does, if it still runs, and waits until it is gone.
func (n *realNod) kill() {
	_ = n.cmd.Process.Kill() // fails when it has ended
	<-n.ended
	_ = n.stdin.Close() // likewise
}

// killedWithin waits until nod has died in its window; it says false, and kills nod, when that takes too long.
func (n *realNod) killedWithin(d time.Duration) (inWindow bool) {
	n.w.t.Helper()
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case <-n.ended:
		inWindow = true
	case <-late.C:
	}
	n.kill()
	if status, ok := n.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL {
		n.w.t.Errorf("nod ended by itself: %v", n.cmd.ProcessState)
	}
	return inWindow
}

// shutdownLimit is how long a staged shutdown may take.
const shutdownLimit = 10 * time.Second

// terminate ends nod as a service manager does. It must end in time and with exit code 0. meanwhile is done while it ends.
func (n *realNod) terminate(meanwhile ...func()) {
	n.w.t.Helper()
	began := time.Now()
	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		n.w.t.Errorf("sending SIGTERM: %v", err)
	}
	for _, do := range meanwhile {
		do()
	}
	n.awaitExit(0, began.Add(shutdownLimit))
}

// awaitExit waits until nod has ended by itself, with that exit code.
func (n *realNod) awaitExit(want int, deadline time.Time) {
	n.w.t.Helper()
	late := time.NewTimer(time.Until(deadline))
	defer late.Stop()
	select {
	case <-n.ended:
	case <-late.C:
		n.w.t.Error("nod did not end in time")
	}
	n.kill()
	if code := n.cmd.ProcessState.ExitCode(); code != want {
		n.w.t.Errorf("nod ended with %v, want exit code %d", n.cmd.ProcessState, want)
	}
}

// commandProcesses lists the processes that stand in the workspace: what a command of nod has started. The shim above
// them goes there too.
func (w *crashWorld) commandProcesses() (pids []string) {
	entries, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, link := range entries {
		if dir, err := os.Readlink(link); err == nil && strings.HasPrefix(dir, w.workspace) {
			pids = append(pids, strings.Split(link, "/")[2])
		}
	}
	return pids
}

// awaitCommand waits until a command runs, but no longer than limit.
func (w *crashWorld) awaitCommand(limit time.Duration) {
	for deadline := time.Now().Add(limit); len(w.commandProcesses()) == 0 && time.Now().Before(deadline); {
		time.Sleep(2 * time.Millisecond) // nothing tells when a stranger's process begins
	}
}

// processesGone says how many processes of commands there were right after a kill, and fails for those that stay.
func (w *crashWorld) processesGone() (were int) {
	w.t.Helper()
	left := w.commandProcesses()
	were = len(left)
	for deadline := time.Now().Add(5 * time.Second); len(left) > 0; left = w.commandProcesses() {
		if time.Now().After(deadline) {
			w.t.Errorf("STOP-2: processes outlived nod: %v", left)
			return were
		}
		time.Sleep(5 * time.Millisecond) // nothing tells when a stranger's process ends
	}
	return were
}
