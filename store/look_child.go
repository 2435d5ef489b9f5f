package store

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync/atomic"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// lookName is the child's argv[0], by which Dispatch knows it.
const lookName = "__nod_look"

// lookEnv is the child's environment: it reads only, and its stack traces are read by nobody.
var lookEnv = []string{"GOTRACEBACK=none", "GORACE=atexit_sleep_ms=0"}

// How the child ends: 0 with the newest transaction on its output, or one of these. Anything else is a crash.
const (
	lookBad    = 3 // with what is wrong on its output
	lookLocked = 4
)

// Bounds of the child in bytes. A check needs some 100 bytes a page, and a damaged file must not make it take all there is.
const (
	lookStack  = 64 << 20
	lookMemory = 4 << 30 // of addresses, most of which Go only reserves
)

// dispatches is set once Dispatch was called. A program that never does would do all of its own work again as the child,
// child after child, and so it starts none.
var dispatches atomic.Bool

var errNoDispatch = errors.New("this program does not call store.Dispatch first thing in main, so it can start no children of itself")

// Dispatch checks a database file if args, which are os.Args, say that this process was started for that, and then tells
// main to return. Call it first thing in main.
func Dispatch(args []string) (done bool) {
	dispatches.Store(true)
	if len(args) != 2 || args[0] != lookName {
		return false
	}
	os.Exit(look(args[1]))
	return true
}

// look reads every page of the file, and says how to exit.
func look(path string) (code int) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Println(p)
			code = lookBad
		}
	}()
	confine(path)
	debug.SetPanicOnFault(true)
	b, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true, Timeout: lockTimeout})
	if errors.Is(err, bolterrors.ErrTimeout) {
		return lookLocked
	}
	if err != nil {
		fmt.Println(err)
		return lookBad
	}
	code = lookBad
	err = b.View(func(tx *bolt.Tx) error {
		for err := range tx.Check() {
			return err
		}
		fmt.Println(tx.ID())
		code = 0
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return lookBad
	}
	return code // the process ends, which closes the file
}

// confine bounds what a file that leads in circles can use up.
func confine(path string) {
	debug.SetMaxStack(lookStack)
	info, err := os.Stat(path)
	if err != nil {
		return // opening it says why
	}
	time.AfterFunc(lookTime(info.Size())+time.Second, func() { os.Exit(lookBad) }) // should the parent be gone
	lower(syscall.RLIMIT_CORE, 0)
	lower(syscall.RLIMIT_AS, lookMemory+2*uint64(info.Size()))
}
