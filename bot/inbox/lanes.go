package inbox

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-telegram/bot/models"

	"nod/store"
)

// maxTries is how often an update is handed over in all before it is given up.
const maxTries = 3

// retryAfter are the pauses before the second and the third try.
var retryAfter = [maxTries - 1]time.Duration{time.Second, 10 * time.Second}

// deadKept is how many updates that were given up are kept for a look.
const deadKept = 100

// Run hands over what waits from before, then what Receive brings, until ctx ends and the handler has returned. It
// returns an error only when the database can't be read at the start. An Inbox runs once.
func (in *Inbox) Run(ctx context.Context) error {
	if err := in.start(ctx); err != nil {
		return fmt.Errorf("starting the inbox: %w", err)
	}
	<-ctx.Done()
	in.mu.Lock()
	in.ctx = nil
	in.mu.Unlock()
	in.work.Wait()
	return in.db.Update(in.sweep)
}

func (in *Inbox) start(ctx context.Context) error {
	in.receiving.Lock()
	defer in.receiving.Unlock()
	var left []entry
	err := in.db.View(func(tx *store.Tx) error {
		return rows.Scan(tx, nil, func(id store.UpdateID, w waiting) (bool, error) {
			e, err := decode(w.Update)
			if err != nil { // only a library older than the one that stored it
				in.log.Error("an update that waits can't be decoded", "update", id, "err", err)
				return true, nil
			}
			e.tries = w.Tries
			left = append(left, e)
			return true, nil
		})
	})
	if err != nil {
		return err
	}
	in.mu.Lock()
	in.ctx = ctx
	in.mu.Unlock()
	in.handOver(left)
	return nil
}

// handOver gives updates to their lanes. Outside of Run it does nothing: the rows are read at the start.
func (in *Inbox) handOver(entries []entry) {
	in.mu.Lock()
	defer in.mu.Unlock()
	ctx := in.ctx
	if ctx == nil {
		return
	}
	in.part(entries)
	for _, e := range entries {
		key := laneKey{at: laneOf(&e.update)}
		if e.update.CallbackQuery != nil || e.handled != nil {
			key = laneKey{at: store.Address{Chat: key.at.Chat}, urgent: true}
		}
		l := in.lanes[key]
		if l == nil {
			l = &lane{in: in, key: key, wake: make(chan struct{}, 1)}
			in.lanes[key] = l
			in.work.Go(func() { l.run(ctx) })
		}
		l.queue = append(l.queue, e)
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
}

// part has messages wait for what Urgent names, of those that came together or before: else a message might begin something
// a moment before the /stop below it, or be stopped by the one above it. Either may concern all conversations, and is
// handled quickly. in.mu is held.
func (in *Inbox) part(entries []entry) {
	in.urgent = slices.DeleteFunc(in.urgent, isClosed)
	message := func(e *entry) bool { return e.update.CallbackQuery == nil } // presses are in one lane with what is urgent
	for i := range entries {
		if e := &entries[i]; message(e) && in.opts.Urgent != nil && in.opts.Urgent(&e.update) {
			handled := make(chan struct{})
			e.handled = sync.OnceFunc(func() { close(handled) })
			in.urgent = append(in.urgent, handled)
		}
	}
	for i := range entries {
		if e := &entries[i]; message(e) && e.handled == nil {
			e.urgent = slices.Clone(in.urgent)
		}
	}
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// laneOf is the chat and topic whose order an update belongs to.
func laneOf(u *models.Update) store.Address {
	for _, m := range []*models.Message{u.Message, u.EditedMessage, u.ChannelPost, u.EditedChannelPost} {
		if m == nil {
			continue
		}
		at := store.Address{Chat: store.ChatID(m.Chat.ID)}
		if m.IsTopicMessage { // else it is the number of a thread of replies
			at.Topic = m.MessageThreadID
		}
		return at
	}
	switch {
	case u.CallbackQuery != nil:
		switch m := u.CallbackQuery.Message; {
		case m.Message != nil:
			return store.Address{Chat: store.ChatID(m.Message.Chat.ID)}
		case m.InaccessibleMessage != nil:
			return store.Address{Chat: store.ChatID(m.InaccessibleMessage.Chat.ID)}
		}
	case u.MyChatMember != nil:
		return store.Address{Chat: store.ChatID(u.MyChatMember.Chat.ID)}
	case u.ChatJoinRequest != nil:
		return store.Address{Chat: store.ChatID(u.ChatJoinRequest.Chat.ID)}
	case u.StoppedMessageGeneration != nil:
		s := u.StoppedMessageGeneration
		return store.Address{Chat: store.ChatID(s.Chat.ID), Topic: s.MessageThreadID}
	}
	return store.Address{}
}

// laneKey names a lane. What is urgent in a chat overtakes its other updates, in an order of its own: of two presses the
// first is the one that was pressed first.
type laneKey struct {
	at     store.Address
	urgent bool
}

// lane hands over the updates of one chat and topic. It lives while it has some. Inbox.mu guards the queue.
type lane struct {
	in    *Inbox
	key   laneKey
	queue []entry
	wake  chan struct{}
}

func (l *lane) run(ctx context.Context) {
	var last *models.Update
	for groups := 0; ; groups++ {
		group := l.gather(ctx)
		if len(group) == 0 && groups > 1 && !l.key.urgent && l.in.opts.Drained != nil {
			l.in.opts.Drained(last)
		}
		if len(group) == 0 || ctx.Err() != nil {
			return
		}
		l.in.deliver(ctx, group)
		last = &group[0].update
	}
}

// More says whether other updates of the same conversation wait behind this one.
func (in *Inbox) More(u *models.Update) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	l := in.lanes[laneKey{at: laneOf(u)}]
	return l != nil && len(l.queue) > 0
}

// gather takes the next group off the queue, waiting for parts that may follow; none when the lane has ended.
func (l *lane) gather(ctx context.Context) []entry {
	first, ok := l.begin()
	if !ok {
		return nil
	}
	group := []entry{first}
	idle := time.NewTimer(gatherIdle)
	defer idle.Stop()
	for open(group) && ctx.Err() == nil {
		next, joined, other := l.join(group)
		if other {
			return group
		}
		if joined {
			group = append(group, next)
			idle.Reset(gatherIdle)
			continue
		}
		select {
		case <-ctx.Done():
		case <-l.wake:
		case <-idle.C:
			return group
		}
	}
	return group
}

// begin takes the first of the queue. An empty queue ends the lane.
func (l *lane) begin() (e entry, ok bool) {
	l.in.mu.Lock()
	defer l.in.mu.Unlock()
	if len(l.queue) == 0 {
		delete(l.in.lanes, l.key)
		return e, false
	}
	e, l.queue = l.queue[0], l.queue[1:]
	return e, true
}

// join takes the first of the queue if it joins the group; other says that something else is there.
func (l *lane) join(group []entry) (e entry, joined, other bool) {
	l.in.mu.Lock()
	defer l.in.mu.Unlock()
	if len(l.queue) == 0 {
		return e, false, false
	}
	if !joins(group, l.queue[0]) {
		return e, false, true
	}
	e, l.queue = l.queue[0], l.queue[1:]
	return e, true, false
}

// deliver hands a group over until it is handled or given up, or ctx ends; its rows stay then for the next start.
func (in *Inbox) deliver(ctx context.Context, group []entry) {
	id, tries := group[0].id, group[0].tries
	for i := range group {
		for _, handled := range group[i].urgent {
			select {
			case <-handled:
			case <-ctx.Done():
			}
		}
		if handled := group[i].handled; handled != nil {
			defer handled()
		}
	}
	for ctx.Err() == nil {
		err := in.attempt(ctx, group)
		if err == nil || ctx.Err() != nil {
			return
		}
		in.log.Error("handling an update", "update", id, "parts", len(group), "err", err)
		recorded := in.failed(group, tries+1)
		if recorded == nil {
			tries++
		} else {
			in.log.Error("recording a failed try", "update", id, "err", recorded)
		}
		if tries >= maxTries {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryAfter[max(tries-1, 0)]):
		}
	}
}

// attempt hands the group over once. What was committed with done is handled, whatever follows it.
func (in *Inbox) attempt(ctx context.Context, group []entry) error {
	if len(group) == 1 {
		if dropped, err := in.discard(&group[0]); dropped || err != nil {
			return err
		}
	}
	var handled atomic.Bool
	done := func(tx *store.Tx) error {
		for i := range group {
			if err := rows.Delete(tx, group[i].id); err != nil {
				return err
			}
		}
		tx.OnCommit(func() { handled.Store(true) })
		return nil
	}
	updates := make([]models.Update, len(group))
	for i := range group {
		updates[i] = group[i].update
	}
	err := in.guard(ctx, updates, done)
	if handled.Load() {
		store.Failpoint("inbox.handled")
	}
	switch {
	case err == nil && !handled.Load():
		return in.db.Update(done)
	case err != nil && handled.Load():
		in.log.Error("after an update was handled", "update", group[0].id, "err", err)
		return nil
	}
	return err
}

// guard calls the handler and turns its panic into an error, logged with where it happened.
func (in *Inbox) guard(ctx context.Context, group []models.Update, done func(*store.Tx) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			in.log.Error("panic in the handler of an update", "update", group[0].ID, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return in.opts.Handle(ctx, group, done)
}

// failed counts a failed try, and sets the group aside after the last.
func (in *Inbox) failed(group []entry, tries int) error {
	return in.db.Update(func(tx *store.Tx) error {
		for i := range group {
			id := group[i].id
			w, ok, err := rows.Get(tx, id)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			w.Tries = tries
			if tries < maxTries {
				err = rows.Put(tx, id, w)
			} else {
				err = bury(tx, id, w)
			}
			if err != nil {
				return err
			}
		}
		if tries < maxTries {
			return nil
		}
		in.log.Error("update given up", "update", group[0].id, "parts", len(group))
		if in.opts.OnDead != nil {
			updates := make([]models.Update, len(group))
			for i := range group {
				updates[i] = group[i].update
			}
			in.opts.OnDead(tx, updates)
		}
		return nil
	})
}

func bury(tx *store.Tx, id store.UpdateID, w waiting) error {
	if err := rows.Delete(tx, id); err != nil {
		return err
	}
	if err := dead.Put(tx, id, w); err != nil {
		return err
	}
	var ids []store.UpdateID
	err := dead.Scan(tx, nil, func(id store.UpdateID, _ waiting) (bool, error) {
		ids = append(ids, id)
		return true, nil
	})
	if err != nil || len(ids) <= deadKept {
		return err
	}
	return dead.Delete(tx, ids[0])
}
