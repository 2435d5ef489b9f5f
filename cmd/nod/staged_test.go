package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// stages notes what loops do. It is used within a bubble, in which one goroutine runs at a time.
type stages struct {
	logs  logBuffer
	notes chan string
}

func newStages() *stages { return &stages{notes: make(chan string, 100)} }

// untilEnd is a loop that takes some time to end.
func (s *stages) untilEnd(name string, takes time.Duration, err error) loop {
	return loop{name: name, limit: time.Second, run: func(ctx context.Context) error {
		<-ctx.Done()
		time.Sleep(takes)
		s.notes <- name + " ended"
		return err
	}}
}

func (s *stages) run(ctx context.Context, loops ...loop) error {
	return runStaged(ctx, slog.New(slog.NewTextHandler(&s.logs, nil)), loops)
}

func (s *stages) all() (notes []string) {
	for len(s.notes) > 0 {
		notes = append(notes, <-s.notes)
	}
	return notes
}

func TestLoopsEndInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStages()
		second := s.untilEnd("second", 0, nil)
		second.before = func(ctx context.Context) {
			if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > time.Second {
				t.Error("what is done before has no limit")
			}
			s.notes <- "before second"
		}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Hour, cancel)
		began := time.Now()
		err := s.run(ctx, s.untilEnd("first", 900*time.Millisecond, nil), second, s.untilEnd("third", 500*time.Millisecond, nil))
		if err != nil {
			t.Error(err)
		}
		if took := time.Since(began) - time.Hour; took != 1400*time.Millisecond {
			t.Errorf("they took %v to end", took)
		}
		if diff := cmp.Diff([]string{"first ended", "before second", "second ended", "third ended"}, s.all()); diff != "" {
			t.Error(diff)
		}
		if s.logs.String() != "" {
			t.Error(s.logs.String())
		}
	})
}

func TestALoopHasTimeToEndAfterWhatIsDoneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStages()
		outbox := s.untilEnd("the outbox", 400*time.Millisecond, nil)
		outbox.before = func(ctx context.Context) { <-ctx.Done() }
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.run(ctx, outbox); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"the outbox ended"}, s.all()); diff != "" {
			t.Errorf("%s\n%s", diff, &s.logs)
		}
	})
}

func TestALoopThatDoesNotEndIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStages()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		if err := s.run(ctx, s.untilEnd("the slow one", time.Minute, errors.New("too late")), s.untilEnd("the next", 0, nil)); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %v", took)
		}
		if diff := cmp.Diff([]string{"the next ended"}, s.all()); diff != "" {
			t.Error(diff)
		}
		if !strings.Contains(s.logs.String(), `part="the slow one"`) {
			t.Errorf("the log says %q", &s.logs)
		}
		time.Sleep(time.Hour) // it ends in the end
	})
}

func TestALoopThatFailsEndsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStages()
		broken := errors.New("it broke")
		failing := loop{name: "the clock", limit: time.Second, run: func(context.Context) error {
			time.Sleep(time.Minute)
			return broken
		}}
		alsoBroken := errors.New("this too")
		err := s.run(t.Context(), s.untilEnd("polling", 0, nil), failing, s.untilEnd("the outbox", 0, alsoBroken))
		if !errors.Is(err, broken) || !errors.Is(err, alsoBroken) {
			t.Errorf("it ended with %v", err)
		}
		if diff := cmp.Diff("the clock: it broke\nthe outbox: this too", err.Error()); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"polling ended", "the outbox ended"}, s.all()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestALoopThatIsDoneEndsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStages()
		done := loop{name: "the menu", limit: time.Second, run: func(context.Context) error { return nil }}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		began := time.Now()
		if err := s.run(ctx, done, s.untilEnd("the rest", 0, nil)); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("it ended after %v", took)
		}
	})
}
