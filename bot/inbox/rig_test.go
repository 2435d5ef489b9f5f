package inbox_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-telegram/bot/models"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"nod/bot/emulator"
	"nod/bot/inbox"
	"nod/bot/outbox"
	"nod/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ann = emulator.User{ID: 101, FirstName: "Ann"}

// rig is a poller and an inbox between the emulator and a real database, within a synctest bubble.
type rig struct {
	*testing.T
	server  *emulator.Server
	ann     *emulator.Person
	db      *store.DB
	log     *logBuffer
	base    http.RoundTripper
	inbox   *inbox.Inbox
	poller  *inbox.Poller
	handle  inbox.Handler // nil: note the texts
	urgent  func(*models.Update) bool
	ended   error // of the poller
	stopAll func()

	mu      sync.Mutex
	got     []string // the texts of each group, joined by " + "
	at      []time.Time
	trouble []string
	gaps    [][2]time.Time
	dead    []store.UpdateID
}

func inBubble(t *testing.T, fn func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, server: emulator.New(emulator.Options{}), db: store.OpenTest(t), log: &logBuffer{}}
		r.ann = r.server.Private(ann)
		r.base = emulator.Transport(r.server)
		defer func() {
			if r.stopAll != nil {
				r.stopAll()
			}
		}()
		fn(r)
	})
}

// start opens an inbox and a poller on the rig's database; it is also what happens at a restart.
func (r *rig) start() {
	r.Helper()
	log := slog.New(slog.NewTextHandler(r.log, nil))
	handle := r.handle
	if handle == nil {
		handle = r.note
	}
	r.inbox = inbox.New(r.db, inbox.Options{
		Bot: 4242424242, Handle: handle, Urgent: r.urgent, Log: log,
		OnDead: func(_ *store.Tx, group []models.Update) {
			r.mu.Lock()
			defer r.mu.Unlock()
			for _, u := range group {
				r.dead = append(r.dead, store.UpdateID(u.ID))
			}
		},
		OnGap: func(_ *store.Tx, from, to time.Time) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.gaps = append(r.gaps, [2]time.Time{from, to})
			return nil
		},
	})
	r.poller = inbox.NewPoller(r.inbox, inbox.PollerOptions{
		API: "https://api.test/", Token: emulator.Token, Wire: outbox.NewWire(emulator.Token, r.base), Log: log,
		Trouble: func(text string, over bool) {
			r.mu.Lock()
			defer r.mu.Unlock()
			if over {
				text = "over: " + text
			}
			r.trouble = append(r.trouble, text)
		},
	})
	ctx, cancel := context.WithCancel(r.Context())
	var work sync.WaitGroup
	in, poller := r.inbox, r.poller
	work.Go(func() { r.ended = poller.Run(ctx) })
	work.Go(func() {
		if err := in.Run(ctx); err != nil {
			r.Errorf("Run: %v", err)
		}
	})
	r.stopAll = sync.OnceFunc(func() {
		cancel()
		work.Wait()
	})
	synctest.Wait()
}

// note is the handler of most tests: it remembers the group and ends it.
func (r *rig) note(_ context.Context, group []models.Update, done func(*store.Tx) error) error {
	r.remember(group)
	return r.db.Update(done)
}

func (r *rig) remember(group []models.Update) {
	var texts []string
	for _, u := range group {
		texts = append(texts, textOf(u))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, strings.Join(texts, " + "))
	r.at = append(r.at, time.Now())
}

func textOf(u models.Update) string {
	switch {
	case u.CallbackQuery != nil:
		return "press " + u.CallbackQuery.Data
	case u.EditedMessage != nil:
		return "edit " + u.EditedMessage.Text
	case u.Message == nil:
		return "?"
	case len(u.Message.Photo) > 0:
		return "photo " + u.Message.Caption
	case len(u.Message.Text) > 100:
		return u.Message.Text[:3] + "…"
	}
	return u.Message.Text
}

func (r *rig) handled() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

func (r *rig) deaths() []store.UpdateID {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.dead)
}

func (r *rig) troubles() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.trouble)
}

func (r *rig) want(texts ...string) {
	r.Helper()
	if diff := cmp.Diff(texts, r.handled()); diff != "" {
		r.Errorf("handled: %s", diff)
	}
	if n := r.inbox.Waiting(); n != 0 {
		r.Errorf("%d rows are left", n)
	}
}

// logBuffer collects log lines of several goroutines.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logBuffer) has(parts ...string) error {
	for _, p := range parts {
		if !strings.Contains(l.String(), p) {
			return errors.New("the log lacks " + p + ":\n" + l.String())
		}
	}
	return nil
}
