package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// A loop is a long-lived part of the program.
type loop struct {
	name string
	run  func(context.Context) error
	// limit is how long it may take to end; then the program goes on without it.
	limit time.Duration
	// before is done when its turn to end has come, before it is told to. It may take half of that time.
	before func(context.Context)
}

// runStaged runs loops until ctx ends or one of them fails, then ends them one after the other, in their order. What
// they need from each other is still there while they end.
func runStaged(ctx context.Context, log *slog.Logger, loops []loop) error {
	type handle struct {
		cancel context.CancelFunc
		done   chan error
	}
	handles := make([]handle, len(loops))
	failed := make(chan struct{}, len(loops))
	for i := len(loops) - 1; i >= 0; i-- {
		loopCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		h := handle{cancel: cancel, done: make(chan error, 1)}
		handles[i] = h
		go func() {
			err := loops[i].run(loopCtx)
			if err != nil {
				err = fmt.Errorf("%s: %w", loops[i].name, err)
				failed <- struct{}{}
			}
			h.done <- err
		}()
	}
	select {
	case <-ctx.Done():
	case <-failed:
	}
	var errs []error
	for i, l := range loops {
		stageCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.limit)
		if l.before != nil {
			beforeCtx, done := context.WithTimeout(stageCtx, l.limit/2)
			l.before(beforeCtx)
			done()
		}
		handles[i].cancel()
		select {
		case err := <-handles[i].done:
			errs = append(errs, err)
		case <-stageCtx.Done():
			log.Warn("a part of the program did not end in time", "part", l.name)
		}
		cancel()
	}
	return errors.Join(errs...)
}
