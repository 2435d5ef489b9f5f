package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"nod/store"
	"nod/tools"
)

// session is the goroutine of one transcript. Everything but the fields under mu belongs to that goroutine.
type session struct {
	*Driver
	id     store.SessionID
	log    *slog.Logger
	wakeup chan struct{}

	entries []Entry // from the summary's Keep on, as far as read
	last    uint64  // the last entry read
	around  int     // what stood around the history in the last request: instructions and tools, in estimated tokens
	till    till
	passing bool // it works for another session, and is over with its turn

	mu     sync.Mutex
	cancel context.CancelCauseFunc // of the turn or compaction under way
	turn   store.TurnID            // "" in a compaction
	calls  int                     // under way
	asking int                     // of them: those that wait for a person
	quiet  bool                    // nothing runs but what waits for a person
	idle   chan struct{}           // closed while quiet
	// helpers are the sub-agents whose answers are waited for.
	helpers map[store.SessionID]bool
}

func newSession(d *Driver, id store.SessionID) *session {
	idle := make(chan struct{})
	close(idle)
	return &session{Driver: d, id: id, log: d.Log.With("session", id), wakeup: make(chan struct{}, 1), idle: idle, quiet: true, helpers: map[store.SessionID]bool{}}
}

// poke wakes the goroutine; pokes while it works are seen when it looks up.
func (s *session) poke() {
	select {
	case s.wakeup <- struct{}{}:
	default:
	}
}

// run takes one turn after the other until ctx ends, and retires when nothing has happened for a while. A turn that the
// database would not record goes on once it can be written to again.
func (s *session) run(ctx context.Context) {
	idle := time.NewTimer(idleTime)
	defer idle.Stop()
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-idle.C:
			if s.retire(s) {
				return
			}
		case <-s.wakeup:
			if again = s.work(ctx); again == nil && s.passing && s.retire(s) {
				return
			}
		case <-again:
			// The model is not asked for what could not be kept.
			if again = time.After(retryTime); s.DB.Probe() == nil {
				again = s.work(ctx)
			}
		}
		idle.Reset(idleTime)
	}
}

// work takes turns until none is left. Where one could not be brought to its end, it gives back when to try again.
func (s *session) work(ctx context.Context) (again <-chan time.Time) {
	for !s.ending() {
		turn, ok, err := s.activeTurn()
		if err != nil {
			s.log.Error("reading the turn", "err", err)
			return time.After(retryTime)
		}
		if !ok {
			break
		}
		if !s.guarded(ctx, turn) {
			return time.After(retryTime)
		}
		s.compactIfLong(ctx)
	}
	if !s.ending() && s.compactionAsked() {
		s.compactNow(ctx, true)
	}
	return nil
}

// guarded takes a turn, and turns a panic into its failure: one broken turn must not end the program.
func (s *session) guarded(ctx context.Context, turn Turn) (goOn bool) {
	turnCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s.set(turn.ID, cancel)
	defer s.set("", nil)
	s.till.payer, s.passing = turn.Payer, turn.Parent != ""
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("a turn panicked", "turn", turn.ID, "err", fmt.Sprint(p), "stack", stack())
			goOn = s.fail(turn, errPanicked) == nil
		}
	}()
	err := s.take(turnCtx, turn)
	switch {
	case errors.Is(err, tools.ErrLeft):
		return false
	case err != nil:
		s.log.Error("taking a turn", "turn", turn.ID, "err", err)
		return s.fail(turn, err) == nil
	}
	return true
}

// set notes what runs now, for cut and settled.
func (s *session) set(turn store.TurnID, cancel context.CancelCauseFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn, s.cancel, s.calls, s.asking = turn, cancel, 0, 0
	s.settle()
}

// settle opens or closes idle as what runs changes.
func (s *session) settle() {
	quiet := s.cancel == nil || s.asking > 0 && s.asking == s.calls
	switch {
	case quiet && !s.quiet:
		close(s.idle)
	case !quiet && s.quiet:
		s.idle = make(chan struct{})
	}
	s.quiet = quiet
}

// cut stops the turn, if it is the one that runs, or the compaction that it waits for.
func (s *session) cut(turn store.TurnID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel != nil && (s.turn == turn || s.turn == "") {
		s.cancel(tools.ErrStopped)
	}
}

// waits says whether a turn is under way in which somebody waits, or sub-agents are waited for, and nothing else.
func (s *session) waits() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cancel != nil && s.calls > 0 && s.calls == s.asking+len(s.helpers)
}

// helped notes that the answer of a sub-agent is waited for, or no more.
func (d *Driver) helped(by, id store.SessionID, waits bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.live[by]
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if waits {
		s.helpers[id] = true
	} else {
		delete(s.helpers, id)
	}
}

// settled is closed once nothing runs but what waits for a person.
func (s *session) settled() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.idle
}

// counted is one call under way, for settled.
type counted struct {
	session *session
	pass    func() // called when the call waits for a person: those after it need not wait for it
	mu      sync.Mutex
	asking  bool
	ended   bool
}

func (s *session) begun(pass func()) *counted {
	s.count(1, 0)
	return &counted{session: s, pass: pass}
}

// asks notes whether the call waits for a person. It may still come when the call is over.
func (c *counted) asks(asking bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.asking == asking {
		return
	}
	c.asking = asking
	if !asking {
		c.session.count(0, -1)
		return
	}
	c.session.count(0, 1)
	c.pass()
}

func (c *counted) over() {
	c.asks(false)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.session.count(-1, 0)
}

// count notes how many more calls are under way, and how many more of them wait for a person.
func (s *session) count(calls, asking int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls += calls
	s.asking += asking
	s.settle()
}

// compactionAsked says whether a person wants a compaction that is still to come.
func (s *session) compactionAsked() bool {
	var record Session
	err := s.DB.View(func(tx *store.Tx) (err error) {
		record, _, err = sessions.Get(tx, s.id)
		return err
	})
	if err != nil {
		s.log.Error("reading whether to compact", "err", err)
	}
	return record.Compact
}

// activeTurn reads the session's turn under way, if there is one.
func (s *session) activeTurn() (turn Turn, ok bool, err error) {
	err = s.DB.View(func(tx *store.Tx) error {
		record, found, err := sessions.Get(tx, s.id)
		if err != nil || !found || record.Turn == "" {
			return err
		}
		turn, ok, err = turns.Get(tx, record.Turn)
		return err
	})
	return turn, ok, err
}
