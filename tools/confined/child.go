package confined

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// childName is the child's argv[0], by which Dispatch knows it.
const childName = "__nod_confined"

// childEnv is the child's environment. One processor is enough, and stack traces are read by nobody; a build
// with the race detector would sleep a second at its end.
var childEnv = []string{"GOMAXPROCS=1", "GOTRACEBACK=none", "GORACE=atexit_sleep_ms=0"}

const (
	maxStack   = 256 << 20 // bytes of a goroutine's stack: go/parser goes down 100,000 levels before it gives up
	cpuSeconds = 30        // of processor time, should nobody end it
)

// Work computes an output from an input. It may break down in any way.
type Work func(input []byte) (output []byte, err error)

// dispatches is set once Dispatch was called. A program that never does would do all of its own work again as the child,
// child after child, and so it starts none.
var dispatches atomic.Bool

var errNoDispatch = errors.New("this program does not call confined.Dispatch first thing in main, so it can start no children of itself")

// self is this very program, to be started as a child.
func self() (string, error) {
	if !dispatches.Load() {
		return "", errNoDispatch
	}
	return executable()
}

// Dispatch does one piece of work if args, which are os.Args, say that this process was started for that, and then tells
// main to return. Call it first thing in main, with all work that there is by name.
func Dispatch(args []string, works map[string]Work) (done bool) {
	dispatches.Store(true)
	if len(args) != 3 || args[0] != childName {
		return false
	}
	work, known := works[args[1]]
	if !known {
		fmt.Fprintf(os.Stderr, "there is no work called %q\n", args[1])
		os.Exit(1)
	}
	child(work)
	return true
}

func child(work Work) {
	var r request
	if err := gob.NewDecoder(os.Stdin).Decode(&r); err != nil {
		fmt.Fprintf(os.Stderr, "%s is started by nod itself, not by hand\n", childName)
		os.Exit(1)
	}
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(1) // nod wants the end, or is gone
	}()
	var a answer
	err := confine(r.Memory)
	if err == nil {
		a.Output, err = work(r.Input)
	}
	if err != nil {
		a = answer{Err: err.Error()}
	}
	if err := gob.NewEncoder(os.Stdout).Encode(a); err != nil {
		os.Exit(1)
	}
}

// confine takes from this process what it does not need.
func confine(memory uint64) error {
	debug.SetMaxStack(maxStack)
	err := errors.Join(lower(unix.RLIMIT_CORE, 0), lower(unix.RLIMIT_FSIZE, 0), lower(unix.RLIMIT_CPU, cpuSeconds), limitMemory(memory))
	if err != nil {
		return fmt.Errorf("setting limits: %w", err)
	}
	return refuseCalls()
}

// lower sets a limit without raising it.
func lower(resource int, most uint64) error {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(resource, &now); err != nil {
		return err
	}
	now.Max = min(now.Max, most)
	now.Cur = now.Max
	return syscall.Setrlimit(resource, &now)
}
