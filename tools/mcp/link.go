package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	firstPause = time.Second
	lastPause  = 5 * time.Minute
	// idleTime is how long a connection stays up that no call uses.
	idleTime = 30 * time.Minute
)

// link is the way to one server: a connection at most, made when it is needed, and made again after it broke.
type link struct {
	dial func(ctx context.Context) (*conn, error)
	// up is told of each new connection, and of its tools when they changed.
	up func(ctx context.Context, c *conn) error

	mu       sync.Mutex
	closed   bool
	conn     *conn
	attempt  *attempt
	cancel   context.CancelFunc // ends the attempt, and the connection that comes of it
	failures int                // in a row
	last     error              // of the newest attempt
	next     time.Time          // before then no attempt is made
	group    sync.WaitGroup
}

// attempt is a connection in the making. Whoever needs it waits for the same one.
type attempt struct {
	done chan struct{}
	conn *conn
	err  error
}

// get gives the live connection, or makes one with the life of base. ctx only bounds the wait.
func (l *link) get(ctx, base context.Context) (*conn, error) {
	l.mu.Lock()
	if l.conn != nil && l.conn.alive() {
		defer l.mu.Unlock()
		return l.conn, nil
	}
	if l.closed {
		l.mu.Unlock()
		return nil, errClosed
	}
	if pause := time.Until(l.next); l.attempt == nil && pause > 0 {
		defer l.mu.Unlock()
		return nil, fmt.Errorf("it failed a moment ago and is tried again in %v: %w", pause.Round(time.Second), cmp.Or(l.last, errBroken))
	}
	a := l.attempt
	if a == nil {
		a = &attempt{done: make(chan struct{})}
		l.attempt = a
		if l.cancel != nil {
			l.cancel() // the connection before is over
		}
		base, l.cancel = context.WithCancel(base)
		l.group.Go(func() { l.try(base, a) })
	}
	l.mu.Unlock()
	select {
	case <-a.done:
		return a.conn, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// try makes an attempt and keeps its connection up to date.
func (l *link) try(base context.Context, a *attempt) {
	c, err := l.dial(base)
	if err == nil {
		if err = l.up(base, c); err != nil {
			c.close()
		}
	}
	l.mu.Lock()
	l.attempt = nil
	if l.last = err; err == nil && l.closed {
		err = errClosed
	}
	switch {
	case err == nil:
		l.conn, a.conn, l.failures = c, c, 0
		// A connection that breaks at once must not be made again and again.
		l.next = time.Now().Add(firstPause)
	default:
		l.failures++
		l.next = time.Now().Add(min(lastPause, firstPause<<min(l.failures-1, 16)))
	}
	closed := l.closed
	l.mu.Unlock()
	a.err = err
	close(a.done)
	switch {
	case err == nil:
		l.tend(base, c)
	case closed && c != nil:
		c.close()
	}
}

// tend looks after a connection until it is over: it asks for changed tools, and lets a connection go that nobody uses.
func (l *link) tend(base context.Context, c *conn) {
	idle := time.NewTicker(idleTime)
	defer idle.Stop()
	for {
		select {
		case <-c.gone:
			c.close()
			return
		case <-c.changed:
			if !pause(base, calmTime) {
				continue
			}
			select { // what was announced meanwhile is in the same list
			case <-c.changed:
			default:
			}
			if err := l.up(base, c); err != nil {
				c.log.Warn("asking an MCP server for its changed tools", "err", err)
			}
		case <-idle.C:
			if c.unused(idleTime) {
				c.close()
			}
		case <-base.Done():
			c.close()
			return
		}
	}
}

// pause waits, unless ctx ends before.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// drop gives a connection up that does not work.
func (l *link) drop(c *conn) {
	c.close()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == c {
		l.conn = nil
	}
}

// close ends the connection, and any that is in the making, and returns when they are gone.
func (l *link) close() {
	l.mu.Lock()
	l.closed = true
	live, cancel := l.conn, l.cancel
	l.mu.Unlock()
	if live != nil {
		live.close() // before its life ends with cancel, so that its calls hear that it was closed, not that it broke
	}
	if cancel != nil {
		cancel()
	}
	l.group.Wait()
}

// State is how a server is doing.
type State string

const (
	Connected State = "connected"
	Asleep    State = "asleep" // it is reached when it is needed
	Failed    State = "failed"
	Off       State = "off"
)

func (l *link) state() (State, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.conn != nil && l.conn.alive():
		return Connected, nil
	case l.last != nil:
		return Failed, l.last
	}
	return Asleep, nil
}

// call makes a call on a connection that is known to work. One that the server refused because it has forgotten us is made
// on a new one: it did not run.
func (l *link) call(ctx, base context.Context, do func(*conn) (*sdk.CallToolResult, error)) (*sdk.CallToolResult, error) {
	for first := true; ; first = false {
		c, err := l.get(ctx, base)
		if err != nil {
			return nil, err
		}
		if first && !c.there(ctx) && ctx.Err() == nil {
			l.drop(c)
			l.hurry()
			continue
		}
		res, err := do(c)
		switch {
		case errors.Is(err, sdk.ErrSessionMissing) && first:
			l.drop(c)
			l.hurry()
			continue
		case errors.Is(err, sdk.ErrSessionMissing), errors.Is(err, errBroken):
			l.drop(c)
		}
		return res, err
	}
}

// hurry lets the next attempt be made at once.
func (l *link) hurry() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next = time.Time{}
}
