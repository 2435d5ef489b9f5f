package outbox

import (
	"context"
	"fmt"
	"sync"
	"time"

	"nod/store"
)

// slotLife is how long a slot is remembered: longer than anything that may want to edit its message.
const slotLife = 30 * 24 * time.Hour

// Run delivers until ctx ends; calls that run then are given graceTime, and what was delivered is recorded. It returns
// an error only when the database can't be read at the start. An Outbox runs once.
func (o *Outbox) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The lanes open before the queue is read: what is committed after the reading wakes its lane by itself.
	o.open(ctx)
	queued, err := o.start()
	if err != nil {
		cancel()
		o.close()
		return fmt.Errorf("starting the outbox: %w", err)
	}
	for _, chat := range queued {
		o.wake(chat)
	}
	settling, stop := context.WithCancel(context.WithoutCancel(ctx))
	var settler sync.WaitGroup
	settler.Go(func() { o.settler(settling) })
	<-ctx.Done()
	o.close()
	stop()
	settler.Wait()
	if err := o.folder().Close(); err != nil {
		return fmt.Errorf("closing the outbox folder: %w", err)
	}
	return nil
}

// open begins what was asked for before Run: a message may be handled a moment earlier.
func (o *Outbox) open(ctx context.Context) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ctx = ctx
	for _, l := range o.lanes {
		o.work.Go(func() { l.run(ctx) })
	}
	for _, begin := range o.early {
		begin(ctx)
	}
	o.early = nil
}

// close shuts the lanes, once ctx has ended, and waits for what they do.
func (o *Outbox) close() {
	o.mu.Lock()
	o.ctx, o.ended = nil, true
	o.mu.Unlock()
	o.work.Wait()
}

// start tidies up and finds the chats that have something queued.
func (o *Outbox) start() (queued []store.ChatID, err error) {
	handles := map[string]bool{}
	o.inherited = map[rowKey]bool{}
	err = o.db.Update(func(tx *store.Tx) error {
		queued = nil
		err := rows.Scan(tx, nil, func(k rowKey, it Item) (bool, error) {
			if len(queued) == 0 || queued[len(queued)-1] != k.Of {
				queued = append(queued, k.Of)
			}
			o.inherited[k] = it.Slot != ""
			for _, handle := range it.handles() {
				handles[handle] = true
			}
			return true, nil
		})
		if err != nil {
			return err
		}
		return forgetSlots(tx, time.Now().Add(-slotLife))
	})
	if err == nil {
		err = o.sweep(handles)
	}
	return queued, err
}

func forgetSlots(tx *store.Tx, before time.Time) error {
	var old []Slot
	err := slots.Scan(tx, nil, func(k store.Text, h held) (bool, error) {
		if h.At.Before(before) {
			old = append(old, Slot(k))
		}
		return true, nil
	})
	for _, s := range old {
		if err == nil {
			err = empty(tx, s)
		}
	}
	return err
}

// Flush waits until every queued item was tried and every delivery is recorded, or ctx ends. An item that has to wait
// for Telegram counts as tried.
func (o *Outbox) Flush(ctx context.Context) error {
	for {
		o.mu.Lock()
		busy, changed := o.busy(), o.changed
		o.mu.Unlock()
		if !busy {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("flushing the outbox: %w", context.Cause(ctx))
		case <-changed:
		}
	}
}

func (o *Outbox) busy() bool {
	for _, l := range o.lanes {
		if (l.queued || l.busy) && !l.held || l.unsaved > 0 {
			return true
		}
	}
	return false
}

// lane returns the chat's lane and makes one when there is none, which runs as soon as Run does; nil after Run. o.mu is
// held.
func (o *Outbox) lane(chat store.ChatID) *lane {
	if l := o.lanes[chat]; l != nil || o.ended {
		return l
	}
	l := &lane{
		o:        o,
		chat:     chat,
		pace:     pace{group: chat < 0},
		woken:    make(chan struct{}, 1),
		queued:   true,
		known:    map[Slot]store.MessageID{},
		previews: map[Slot]*preview{},
		shows:    map[Slot]uint64{},
	}
	o.lanes[chat] = l
	if ctx := o.ctx; ctx != nil {
		o.work.Go(func() { l.run(ctx) })
	}
	return l
}

// wake has the chat's lane look at its queue.
func (o *Outbox) wake(chat store.ChatID) { o.queued(chat, "") }

// queued tells a lane that an item for the slot was committed.
func (o *Outbox) queued(chat store.ChatID, s Slot) {
	o.mu.Lock()
	defer o.mu.Unlock()
	l := o.lane(chat)
	if l == nil {
		return
	}
	delete(l.previews, s)
	l.queued = true
	signal(l.woken)
}

// look says whether a look at the queue may find rows. The mark of new ones is lifted before the look, so that a commit
// after it sets the mark again.
func (o *Outbox) look(l *lane) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !l.queued && !l.busy {
		return false
	}
	l.queued, l.busy = false, true
	return true
}

// nothing notes that a look found no rows.
func (o *Outbox) nothing(l *lane) {
	o.mu.Lock()
	defer o.mu.Unlock()
	l.busy = false
	o.note()
}

func (o *Outbox) setHeld(l *lane, held bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if l.held != held {
		l.held = held
		o.note()
	}
}

// end takes the lane off the list.
func (o *Outbox) end(l *lane) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.lanes[l.chat] == l {
		delete(o.lanes, l.chat)
	}
	o.note()
}

// endIdle ends a lane unless something came for it meanwhile.
func (o *Outbox) endIdle(l *lane) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if l.queued || l.busy || l.unsaved > 0 || len(l.woken) > 0 {
		return false
	}
	delete(o.lanes, l.chat)
	return true
}

func (o *Outbox) knownSlot(l *lane, s Slot) (m store.MessageID, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	m, ok = l.known[s]
	return m, ok
}

// awaitSaved waits until what the lane delivered is recorded, or Run ends.
func (o *Outbox) awaitSaved(ctx context.Context, l *lane) {
	for {
		o.mu.Lock()
		saved, changed := l.unsaved == 0, o.changed
		o.mu.Unlock()
		if saved {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
	}
}

// note wakes those who wait for lanes or the settler; o.mu is held.
func (o *Outbox) note() {
	close(o.changed)
	o.changed = make(chan struct{})
}

func signal(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
