package shell

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// shimName is the shim's argv[0], by which Dispatch knows it.
const shimName = "__nod_shim"

// The shim's descriptors beside /dev/null and the output pipe twice.
const (
	controlFD = 3 + iota // the spec comes in; its end of file means that everything dies
	statusFD             // reports go out
	dirFD                // the folder, held open by nod
	firstForeignFD
)

// grace is how long a command has between SIGTERM and SIGKILL, for git and its like to take back their
// lock files.
const grace = 80 * time.Millisecond

// spec is what the shim is told. Its texts are bytes because JSON strings would mend what is no UTF-8.
type spec struct {
	Program []byte // empty: go as far as the isolation needs, report, end
	Words   [][]byte
	Dir     []byte
	Env     [][]byte
	Level   Level
	UserNS  bool

	Walls    walls
	Writable [][]byte // folders, one before what lies in it
	Closed   [][]byte
	Network  bool
}

func newSpec(iso isolation, c Command, writable []string) spec {
	program, words := c.exec()
	s := spec{
		Program: []byte(program), Words: bytesOf(words), Dir: []byte(c.Dir.Path),
		Env:   environment(slices.Concat(c.Sandbox.variables(iso.walls), c.Env)),
		Level: iso.level, UserNS: iso.userNS, Walls: iso.walls,
	}
	if c.Sandbox != nil {
		s.confine(*c.Sandbox, writable)
	}
	return s
}

// confine says what the sandbox lets the command do.
func (s *spec) confine(sandbox Sandbox, writable []string) {
	places := append(slices.Clone(writable), sandbox.Workspace)
	slices.Sort(places)
	for _, path := range slices.Compact(places) {
		s.Writable = append(s.Writable, []byte(path))
	}
	for _, path := range sandbox.Closed {
		s.Closed = append(s.Closed, []byte(path))
	}
	s.Network = sandbox.Network
}

// maxFile is the largest file that a sandboxed command may write, in bytes.
const maxFile = 4 << 30

// allReports is how many reports a command without an error has.
const allReports = 3

// report is what the shim tells three times: when all is ready for the program, when it runs, and
// when all is over. One with an error is the last.
type report struct {
	Err       string `json:",omitempty"`
	PID       int    `json:",omitempty"` // the program's, as the shim sees it
	Exit      int
	Signal    int `json:",omitempty"`
	Leftovers int `json:",omitempty"`
}

// dispatches is set once Dispatch was called. A program that never does would do all of its own work again as the child,
// child after child, and so it starts none.
var dispatches atomic.Bool

var errNoDispatch = errors.New("this program does not call shell.Dispatch first thing in main, so it can start no children of itself")

// self is this very program, to be started as a child.
func self() (string, error) {
	if !dispatches.Load() {
		return "", errNoDispatch
	}
	return executable()
}

// Dispatch does the work of a shim if args, which are os.Args, say that this process was started as one, and then tells
// main to return. Call it first thing in main, since what comes before is paid for by every command.
func Dispatch(args []string) (done bool) {
	dispatches.Store(true)
	if len(args) == 0 || args[0] != shimName {
		return false
	}
	shim()
	return true
}

func shim() {
	runtime.LockOSThread() // keeps the main thread, whose restrictions count as the process's, from other goroutines
	control, status := os.NewFile(controlFD, "control"), os.NewFile(statusFD, "status")
	var s spec
	if err := json.NewDecoder(control).Decode(&s); err != nil {
		fmt.Fprintf(os.Stderr, "%s is started by nod itself, not by hand\n", shimName)
		return
	}
	reports := json.NewEncoder(status)
	if err := prepare(s); err != nil {
		reports.Encode(report{Err: err.Error()})
		return
	}
	reports.Encode(report{})
	pid, err := launch(s)
	if err != nil {
		reports.Encode(report{Err: err.Error()})
		return
	}
	if len(s.Program) == 0 {
		return
	}
	reports.Encode(report{PID: pid})
	reports.Encode(supervise(pid, control, s.Level))
}

// prepare turns the fresh process into the place where the shell starts. Each step narrows what the next
// may do, so their order matters: the mounts come before the folder is entered, the limits last.
func prepare(s spec) error {
	if err := harden(); err != nil {
		return err
	}
	if err := isolate(s); err != nil {
		return err
	}
	if err := enter(string(s.Dir), os.NewFile(dirFD, "folder")); err != nil {
		if s.Walls.Mounts {
			err = fmt.Errorf("%w (the sandbox has its own /tmp, /var/tmp, /dev/shm and /run)", err)
		}
		return err
	}
	return limit(s)
}

// launch starts the program, mostly a shell, if there is one, from a thread of its own, whose capabilities and restrictions it
// inherits. The thread is not the main one, since that would make this process one of those that the command may signal.
func launch(s spec) (pid int, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocks, so that the thread ends with what it gave up
		if err = renounce(s); err == nil && len(s.Program) > 0 {
			pid, err = startProgram(s)
		}
	}()
	<-done
	if err != nil || pid == 0 {
		return 0, err
	}
	return pid, toNull(0, 1, 2) // the pipes' ends then come when the command's processes are gone
}

func startProgram(s spec) (pid int, err error) {
	pid, err = syscall.ForkExec(string(s.Program), texts(s.Words), &syscall.ProcAttr{
		Env:   texts(s.Env),
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Setsid: true}, // a group of its own, which "kill 0" in it can't leave
	})
	if err != nil {
		return 0, fmt.Errorf("starting %s: %w", s.Program, err)
	}
	return pid, nil
}

func texts(list [][]byte) []string {
	all := make([]string, 0, len(list))
	for _, text := range list {
		all = append(all, string(text))
	}
	return all
}

func bytesOf(list []string) [][]byte {
	all := make([][]byte, 0, len(list))
	for _, text := range list {
		all = append(all, []byte(text))
	}
	return all
}

// toNull lets descriptors lead to /dev/null.
func toNull(fds ...int) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("opening %s: %w", os.DevNull, err)
	}
	defer null.Close()
	for _, fd := range fds {
		if err := duplicate(int(null.Fd()), fd); err != nil {
			return fmt.Errorf("opening %s: %w", os.DevNull, err)
		}
	}
	return nil
}

// limit sets the bounds that the command inherits.
func limit(s spec) error {
	type bound struct {
		name      string
		resource  int
		soft, max uint64
	}
	limits := []bound{
		{"core files", unix.RLIMIT_CORE, 0, 0},
		{"open files", unix.RLIMIT_NOFILE, 1024, 64 << 10},
	}
	if !s.Walls.none() {
		limits = append(limits, bound{"file sizes", unix.RLIMIT_FSIZE, maxFile, maxFile})
	}
	for _, l := range limits {
		if err := lower(l.resource, l.soft, l.max); err != nil {
			return fmt.Errorf("limiting %s: %w", l.name, err)
		}
	}
	return limitProcesses(s)
}

// lower sets a limit without raising either bound.
func lower(resource int, soft, hard uint64) error {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(resource, &now); err != nil {
		return err
	}
	now.Max = min(now.Max, hard)
	now.Cur = min(now.Max, soft)
	return syscall.Setrlimit(resource, &now)
}

// supervise waits for the shell's end, or hastens it when control ends, and then ends what it left
// behind. At LevelNamespace the end of the calling process does the last part.
func supervise(pid int, control io.Reader, level Level) report {
	var reaped atomic.Bool
	go func() {
		io.Copy(io.Discard, control)
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
			if !reaped.Load() {
				syscall.Kill(-pid, sig)
			}
			time.Sleep(grace)
		}
	}()
	ws, err := waitFor(pid)
	reaped.Store(true)
	if err != nil {
		return report{Err: fmt.Sprintf("waiting for the command: %v", err)}
	}
	r := report{Exit: ws.ExitStatus(), Leftovers: sweep(pid, level)}
	if ws.Signaled() {
		r.Signal = int(ws.Signal())
	}
	return r
}

// waitFor reaps children until pid is among them.
func waitFor(pid int) (syscall.WaitStatus, error) {
	for {
		var ws syscall.WaitStatus
		switch got, err := syscall.Wait4(-1, &ws, 0, nil); {
		case err == syscall.EINTR:
		case err != nil:
			return ws, err
		case got == pid:
			return ws, nil
		}
	}
}

// reap collects the children that have ended and tells whether any are left.
func reap() (more bool) {
	for {
		switch pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); {
		case err == syscall.EINTR:
		case err != nil:
			return false
		case pid == 0:
			return true
		}
	}
}
