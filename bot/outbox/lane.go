package outbox

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"nod/store"
)

// laneIdle is how long a lane without work keeps its goroutine: as long as its pace has a memory.
const laneIdle = groupWindow

// Delays between attempts, doubled each time and spread by up to a half. A call whose fate is unknown is repeated after
// the first.
const (
	retryFirst = time.Second
	retryMost  = time.Minute
)

// lookahead is how many queued rows are read at once, to find edits that a later one replaces.
const lookahead = 16

// lane delivers to one chat. Its goroutine owns the first group of fields; Outbox.mu guards the second.
type lane struct {
	o       *Outbox
	chat    store.ChatID
	pace    pace
	cursor  uint64    // rows up to this number are handled, settled or not
	hold    time.Time // no call before
	attempt attempt
	shows   map[Slot]uint64 // what slots were last seen to show, as hashes: see face

	woken    chan struct{}
	queued   bool // rows were committed since the last look
	busy     bool // the last look found rows
	held     bool // waiting for Telegram
	unsaved  int  // settlements on their way
	known    map[Slot]store.MessageID
	previews map[Slot]*preview
}

// attempt is what was learnt about the row that is being delivered.
type attempt struct {
	row      uint64
	fix      fix
	failures int // calls that the server asked to repeat
	unknowns int
}

func (l *lane) run(ctx context.Context) {
	idle := time.NewTimer(laneIdle)
	defer idle.Stop()
	for {
		wait, work := l.step(ctx)
		if ctx.Err() != nil {
			l.o.end(l)
			return
		}
		if work && wait <= 0 {
			continue
		}
		if !work {
			wait = laneIdle
		}
		idle.Reset(wait)
		select {
		case <-ctx.Done():
		case <-l.woken:
		case <-idle.C:
			if !work && l.o.endIdle(l) {
				return
			}
		}
	}
}

// step does one thing, if one is due, and says how long the next has to wait; work is false when there is none.
func (l *lane) step(ctx context.Context) (wait time.Duration, work bool) {
	now := time.Now()
	if now.Before(l.hold) {
		l.o.setHeld(l, true)
		return l.hold.Sub(now), true
	}
	l.o.setHeld(l, false)
	queue, err := l.next()
	if err != nil {
		l.o.log.Error("reading the outbox", "chat", l.chat, "err", err)
		l.backOff(0)
		return 0, true
	}
	if len(queue) > 0 {
		return l.stepRow(ctx, now, queue), true
	}
	return l.stepPreview(ctx, now)
}

// next reads the rows beyond the cursor.
func (l *lane) next() (queue []row, err error) {
	if !l.o.look(l) {
		return nil, nil
	}
	err = l.o.db.View(func(tx *store.Tx) error {
		queue, err = readRows(tx, l.chat, l.cursor, lookahead)
		return err
	})
	if err == nil && len(queue) == 0 {
		l.o.nothing(l)
	}
	return queue, err
}

func (l *lane) stepRow(ctx context.Context, now time.Time, queue []row) time.Duration {
	r := queue[0]
	message, filled, err := l.slot(r.item.Slot)
	if err != nil {
		l.o.log.Error("reading a slot", "chat", l.chat, "item", r.key.N, "err", err)
		l.backOff(0)
		return 0
	}
	if l.needless(queue, filled) || filled && l.showsAlready(&r.item) {
		l.finish(settlement{row: r, settled: true})
		return 0
	}
	if wait := l.wait(now, false); wait > 0 {
		return wait
	}
	if l.attempt.row != r.key.N {
		l.attempt = attempt{row: r.key.N}
	}
	sent, v := l.deliver(ctx, r, message)
	l.remember(&r.item, v)
	l.judge(ctx, r, sent, v)
	return 0
}

// maxShows bounds what a lane remembers of its slots.
const maxShows = 256

var faceSeed = maphash.MakeSeed()

// face is a hash of what a person sees of an item.
func face(it *Item) uint64 {
	buttons, _ := json.Marshal(it.Keyboard) // plain strings and numbers
	return maphash.String(faceSeed, it.HTML+"\x00"+it.Plain+"\x00"+string(buttons))
}

// showsAlready says that an edit would change nothing: a preview has shown the same, for one.
func (l *lane) showsAlready(it *Item) bool {
	seen, ok := l.shows[it.Slot]
	return ok && it.edits() && !it.keyboardOnly() && seen == face(it)
}

// remember notes what a slot shows after a call.
func (l *lane) remember(it *Item, v verdict) {
	if it.Kind == Act {
		return
	}
	delete(l.shows, it.Slot)
	if it.Slot == "" || v.class != done || it.Kind == Delete || it.keyboardOnly() {
		return
	}
	if len(l.shows) >= maxShows {
		clear(l.shows)
	}
	l.shows[it.Slot] = face(it)
}

// needless says that the first row has nothing to do: its slot is empty, or a later row edits the same message.
func (l *lane) needless(queue []row, filled bool) bool {
	it := &queue[0].item
	if !filled {
		return it.Kind == Edit || it.Kind == Delete || it.onSlot()
	}
	if !it.edits() {
		return false
	}
	for _, later := range queue[1:] {
		if later.item.Slot == it.Slot {
			return later.item.edits() && !later.item.keyboardOnly()
		}
	}
	return false
}

// judge draws the consequences of a delivery.
func (l *lane) judge(ctx context.Context, r row, sent store.MessageID, v verdict) {
	log := l.o.log.With("chat", l.chat, "item", r.key.N)
	a := &l.attempt
	switch {
	case v.class == done:
		store.Failpoint("outbox.sent")
		l.finish(settlement{row: r, settled: true, message: sent})
	case ctx.Err() != nil:
		// The program ends; the row stays for the next start.
	case v.class == migrated:
		l.migrate(ctx, v.chat)
	case v.class == later:
		a.failures++
		wait := l.backOff(a.failures)
		if v.wait > 0 {
			l.hold = time.Now().Add(v.wait)
			wait = v.wait
		}
		log.Warn("delivery has to wait", "wait", wait.Round(time.Millisecond), "err", v.err)
	case v.class == unknown && v.harmless:
		a.failures++
		log.Warn("delivery is repeated", "wait", l.backOff(a.failures), "err", v.err)
	case v.class == unknown && a.unknowns == 0:
		a.unknowns++
		log.Warn("the connection was lost during a delivery; it is repeated once", "wait", l.backOff(1), "err", v.err)
	default:
		log.Error("delivery given up", "class", v.class.String(), "err", v.err)
		l.finish(settlement{row: r, settled: true, dead: &Dead{
			Item: r.item, Reason: v.err.Error(), Forbidden: v.class == forbidden, MayNot: v.class == mayNot, At: time.Now().UTC(),
		}})
	}
}

// finish passes the row's end on to the settler and goes on with the next row.
func (l *lane) finish(s settlement) {
	l.cursor = s.row.key.N
	l.save(s)
}

// save queues a settlement and remembers its slot until it is on disk.
func (l *lane) save(s settlement) {
	s.lane = l
	l.o.save(s)
}

// backOff holds the lane for a delay that grows with the number of failures, and returns it.
func (l *lane) backOff(failures int) time.Duration {
	delay := min(retryMost, retryFirst<<min(max(failures-1, 0), 10))
	delay += rand.N(delay / 2)
	l.hold = time.Now().Add(delay)
	return delay
}

// wait is the pace's word on the next call.
func (l *lane) wait(now time.Time, isPreview bool) time.Duration {
	switch {
	case l.o.opts.Unpaced:
		return 0
	case isPreview:
		return l.pace.wait(now, spareBurst, spareGroup)
	}
	return l.pace.wait(now, 0, 0)
}

// slot is the message that the slot holds, on disk or about to be.
func (l *lane) slot(s Slot) (m store.MessageID, ok bool, err error) {
	if s == "" {
		return 0, false, nil
	}
	if m, ok := l.o.knownSlot(l, s); ok {
		return m, m != 0, nil
	}
	err = l.o.db.View(func(tx *store.Tx) error {
		m, ok, err = l.o.Slot(tx, s)
		return err
	})
	return m, ok, err
}

// migrate moves the queue to the group's new id, where another lane takes over. What was sent before is settled first,
// so that it does not move too.
func (l *lane) migrate(ctx context.Context, to store.ChatID) {
	l.o.awaitSaved(ctx, l)
	err := l.o.db.Update(func(tx *store.Tx) error { return l.o.Migrate(tx, l.chat, to) })
	if err != nil {
		l.o.log.Error("moving a chat to its new id", "chat", l.chat, "to", to, "err", err)
		l.backOff(1)
		return
	}
	l.o.log.Info("the group has a new id", "chat", l.chat, "to", to)
}

// guard turns a panic of fn into a refusal, so that one message can't stop a lane.
func (l *lane) guard(fn func() (store.MessageID, verdict)) (m store.MessageID, v verdict) {
	defer func() {
		if p := recover(); p != nil {
			l.o.log.Error("panic in a delivery", "chat", l.chat, "item", l.attempt.row, "panic", p, "stack", string(debug.Stack()))
			m, v = 0, verdict{class: refused, err: fmt.Errorf("panic: %v", p)}
		}
	}()
	return fn()
}
