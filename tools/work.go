package tools

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
)

// errPanicked is the outcome of a tool that panicked; the stack goes to the log.
var errPanicked = errors.New("the tool broke inside; this is a fault of nod, and the log has the details")

// panicError carries a tool's panic to the executor's log.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return errPanicked.Error() }
func (e *panicError) Unwrap() error { return errPanicked }

// logged is the text of a panic for the operator.
func (e *panicError) logged() string { return fmt.Sprintf("%v\n%s", e.value, e.stack) }

// guarded turns a panic in a tool's own code into an error: hostile arguments end a call, never the program.
func guarded(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{value: p, stack: debug.Stack()}
		}
	}()
	return fn()
}

// work runs a function in a goroutine of its own, so that a tool which ignores its context can't hold up a stop.
type work struct {
	cancel context.CancelFunc
	halt   func()
	once   sync.Once
	done   chan struct{}
	out    Output
	err    error
}

func start(ctx context.Context, halt func(), run func(context.Context) (Output, error)) Work {
	ctx, cancel := context.WithCancel(ctx)
	w := &work{cancel: cancel, halt: halt, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		defer cancel()
		w.err = guarded(func() (err error) {
			w.out, err = run(ctx)
			return err
		})
	}()
	return w
}

func (w *work) Wait() (Output, error) {
	<-w.done
	return w.out, w.err
}

func (w *work) Stop() {
	w.once.Do(func() {
		w.cancel()
		if w.halt != nil {
			w.halt()
		}
	})
}
