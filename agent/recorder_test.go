package agent

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"nod/approvals"
	"nod/store"
)

// recorder is a View and a Viewer that remembers what was committed, and what passed.
type recorder struct {
	mu     sync.Mutex
	events []Event
	shown  []approvals.Pending
	closed []approvals.Pending
	trap   func(Event) // called within Emit and Show
	full   bool        // no event can be committed, as on a disk that is full
}

func newRecorder() *recorder { return &recorder{} }

func (v *recorder) Emit(tx *store.Tx, e Event) error {
	v.spring(e)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.full {
		return errors.New("no space left on device")
	}
	tx.OnCommit(func() { v.note(e) })
	return nil
}

func (v *recorder) setFull(full bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.full = full
}

func (v *recorder) Show(e Event) {
	v.spring(e)
	v.note(e)
}

func (v *recorder) note(e Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.events = append(v.events, e)
}

func (v *recorder) spring(e Event) {
	v.mu.Lock()
	trap := v.trap
	v.mu.Unlock()
	if trap != nil {
		trap(e)
	}
}

func (v *recorder) setTrap(trap func(Event)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.trap = trap
}

func (v *recorder) ShowPending(tx *store.Tx, p approvals.Pending) error {
	tx.OnCommit(func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.shown = append(v.shown, p)
	})
	return nil
}

func (v *recorder) ClosePending(tx *store.Tx, p approvals.Pending) error {
	tx.OnCommit(func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.closed = append(v.closed, p)
	})
	return nil
}

func (v *recorder) all() []Event {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.events)
}

func (v *recorder) cards() []approvals.Pending {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.shown)
}

func (v *recorder) reset() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.events, v.shown, v.closed, v.trap = nil, nil, nil, nil
}

// count says how many events fit.
func count[E Event](v *recorder, fits func(E) bool) (n int) {
	for _, e := range v.all() {
		if e, ok := e.(E); ok && fits(e) {
			n++
		}
	}
	return n
}

func anyOf[E Event](E) bool { return true }

// String lists the kinds of events for a failing test.
func (v *recorder) String() string {
	var b strings.Builder
	for _, e := range v.all() {
		s := fmt.Sprintf("%+v", e)
		fmt.Fprintf(&b, "%T %s\n", e, s[:min(len(s), 300)])
	}
	return b.String()
}

// lockedBuilder is a log.
type lockedBuilder struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuilder) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuilder) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
