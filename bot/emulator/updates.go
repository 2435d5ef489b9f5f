package emulator

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// How the update queue behaves (telegram-bot-api, Client.cpp, read 2026-05).
const (
	firstUpdateID   = 500_000_001
	updateLife      = 24 * time.Hour
	pressLife       = 150 * time.Second
	maxPollTimeout  = 50 // seconds
	maxPollBytes    = 4 << 20
	conflictPause   = 3 * time.Second // between 409 answers after the first
	samePollWindow  = 3 * time.Second // asking the same offset again within it waits at least that long
	sameBatchWindow = 500 * time.Millisecond
)

const conflictOtherPoll = "terminated by other getUpdates request; make sure that only one bot instance is running"

// Kinds that are delivered only when the bot asks for them by name.
var optInUpdates = []string{"chat_member", "message_reaction", "message_reaction_count"}

// queue holds what the bot has not acknowledged yet.
type queue struct {
	updates      []queued
	next         int64
	held         *poll    // the getUpdates that waits
	allowed      []string // nil: the default set
	webhook      string
	lastOffset   int64 // of the previous getUpdates
	lastStart    time.Time
	lastConflict time.Time
}

type queued struct {
	id   int64
	raw  json.RawMessage
	dies time.Time
}

// poll is one getUpdates that waits; its channel tells why it has to end.
type poll struct{ end chan *apiError }

// push queues an update; s.mu is held. The payload is encoded now: later edits do not change what was delivered.
func (s *Server) push(kind string, payload any, born time.Time, life time.Duration) {
	if !s.queue.wants(kind) {
		return
	}
	body, err := json.Marshal(payload)
	if err != nil {
		panic(fmt.Sprintf("emulator: encoding %s: %v", kind, err)) // a bug of this package: payloads are its own types
	}
	raw := fmt.Appendf(nil, `{"update_id":%d,%q:%s}`, s.queue.next, kind, body)
	s.queue.add(raw, born.Add(life))
	s.note()
}

func (q *queue) add(raw json.RawMessage, dies time.Time) {
	q.updates = append(q.updates, queued{q.next, raw, dies})
	q.next++
}

func (q *queue) wants(kind string) bool {
	if len(q.allowed) > 0 {
		return slices.Contains(q.allowed, kind)
	}
	return !slices.Contains(optInUpdates, kind)
}

// InjectUpdate queues a raw update, {"message":{…}} without its update_id, as it stands: also one that no client can
// decode. It returns the update id.
func (s *Server) InjectUpdate(body json.RawMessage) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.queue.next
	raw := fmt.Appendf(nil, `{"update_id":%d`, id)
	if rest := trimBrace(body); rest != "}" {
		raw = append(raw, ',')
		raw = append(raw, rest...)
	} else {
		raw = append(raw, '}')
	}
	s.queue.add(raw, time.Now().Add(updateLife))
	s.note()
	return id
}

// SetNextUpdateID makes the next update carry id, as Telegram restarts the numbers at random after a quiet week.
func (s *Server) SetNextUpdateID(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.next = id
}

// PendingUpdates tells how many updates the bot has not acknowledged.
func (s *Server) PendingUpdates() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.expire(time.Now())
	return len(s.queue.updates)
}

// WaitAcknowledged waits until the bot has acknowledged every update sent so far.
func (s *Server) WaitAcknowledged(ctx context.Context) error {
	return s.wait(ctx, func() bool { return len(s.queue.updates) == 0 })
}

func (q *queue) expire(now time.Time) {
	q.updates = slices.DeleteFunc(q.updates, func(u queued) bool { return now.After(u.dies) })
}

// take forgets what offset acknowledges and returns the updates from there on, as far as limit and size allow.
func (q *queue) take(offset int64, limit int, now time.Time) []json.RawMessage {
	q.expire(now)
	if offset < 0 {
		q.updates = q.updates[max(0, len(q.updates)+int(max(offset, -1<<30))):]
	}
	if offset <= q.next { // an offset from the future acknowledges nothing
		q.updates = slices.DeleteFunc(q.updates, func(u queued) bool { return u.id < offset })
	}
	batch, size := []json.RawMessage{}, 0
	for _, u := range q.updates[:min(limit, len(q.updates))] {
		if size += len(u.raw); size > maxPollBytes && len(batch) > 0 {
			break
		}
		batch = append(batch, u.raw)
	}
	return batch
}

func (s *Server) getUpdates(ctx context.Context, q *request) (any, *apiError) {
	offset := q.number("offset", -1<<31, 1<<31-1)
	limit := int(q.number("limit", 0, 100))
	if q.text("limit") == "" {
		limit = 100
	}
	limit = max(1, limit)
	timeout := time.Duration(q.number("timeout", 0, maxPollTimeout)) * time.Second

	s.mu.Lock()
	if s.queue.webhook != "" {
		s.mu.Unlock()
		return nil, conflict("can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first")
	}
	s.queue.setAllowed(q)
	start := time.Now()
	if since := start.Sub(s.queue.lastStart); offset == s.queue.lastOffset {
		if timeout < samePollWindow && since < samePollWindow {
			timeout = samePollWindow
		}
		if since < sameBatchWindow {
			limit = 1
		}
	}
	s.queue.lastOffset, s.queue.lastStart = offset, start
	batch := s.queue.take(offset, limit, start)
	s.note()
	if len(batch) > 0 || timeout == 0 {
		s.mu.Unlock()
		return batch, nil
	}
	s.endPoll(conflict(conflictOtherPoll))
	p := &poll{end: make(chan *apiError, 1)}
	s.queue.held = p
	ch := s.changed
	s.mu.Unlock()
	return s.hold(ctx, p, ch, offset, limit, timeout)
}

// endPoll ends the held poll with err; s.mu is held.
func (s *Server) endPoll(err *apiError) {
	if s.queue.held != nil {
		s.queue.held.end <- err
		s.queue.held = nil
	}
}

func (s *Server) hold(ctx context.Context, p *poll, changed <-chan struct{}, offset int64, limit int, timeout time.Duration) (any, *apiError) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		over := false
		select {
		case err := <-p.end:
			s.pauseConflict(ctx)
			return nil, err
		case <-ctx.Done():
			over = true
		case <-timer.C:
			over = true
		case <-changed:
		}
		s.mu.Lock()
		changed = s.changed
		if s.queue.held != p { // ended at this very moment: the reason waits in the channel
			s.mu.Unlock()
			continue
		}
		var batch []json.RawMessage
		if ctx.Err() == nil {
			batch = s.queue.take(offset, limit, time.Now())
		}
		if over || len(batch) > 0 {
			s.queue.held = nil
			s.mu.Unlock()
			return batch, nil
		}
		s.mu.Unlock()
	}
}

// pauseConflict delays a 409 that follows another one within three seconds.
func (s *Server) pauseConflict(ctx context.Context) {
	s.mu.Lock()
	recent := time.Since(s.queue.lastConflict) < conflictPause
	s.queue.lastConflict = time.Now()
	s.mu.Unlock()
	if recent {
		sleep(ctx, conflictPause)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// setAllowed keeps the wish of allowed_updates: absent or not a list of names leaves the old one.
func (q *queue) setAllowed(r *request) {
	var names []string
	if ok, err := r.decode("allowed_updates", &names); ok && err == nil {
		q.allowed = names
	}
}

// trimBrace returns what follows the opening brace of an object.
func trimBrace(body json.RawMessage) string {
	return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(string(body)), "{"))
}
