package outbox_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"nod/bot/emulator"
	"nod/bot/outbox"
	"nod/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ann = emulator.User{ID: 101, FirstName: "Ann"}

// rig is an outbox between a real database and the emulator, within a synctest bubble.
type rig struct {
	*testing.T
	server *emulator.Server
	ann    *emulator.Person
	db     *store.DB
	base   http.RoundTripper
	dir    string
	log    *logBuffer
	out    *outbox.Outbox
	stop   func()
	early  func(*outbox.Outbox) // called before Run, when set

	mu    sync.Mutex
	dead  []outbox.Dead
	moved [][2]store.ChatID
}

// inBubble runs a test with its rig and its own clock.
func inBubble(t *testing.T, o outbox.Options, fn func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, server: emulator.New(emulator.Options{}), db: store.OpenTest(t), log: &logBuffer{}}
		r.dir = filepath.Join(t.TempDir(), "outbox")
		r.ann = r.server.Private(ann)
		r.base = emulator.Transport(r.server)
		r.start(o)
		defer func() { r.stop() }()
		fn(r)
	})
}

// start opens an outbox on the rig's database and runs it; it is also what happens at a restart.
func (r *rig) start(o outbox.Options) {
	r.Helper()
	o.Dir, o.Log = r.dir, slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	client, _, err := outbox.NewClient(emulator.Token, "https://api.test", r.base, o.Log)
	if err != nil {
		r.Fatal(err)
	}
	if o.OnDead == nil {
		o.OnDead = func(_ *store.Tx, d outbox.Dead) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.dead = append(r.dead, d)
		}
	}
	if o.OnMigrated == nil {
		o.OnMigrated = func(_ *store.Tx, from, to store.ChatID) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.moved = append(r.moved, [2]store.ChatID{from, to})
			return nil
		}
	}
	if r.out, err = outbox.New(r.db, client, o); err != nil {
		r.Fatal(err)
	}
	if r.early != nil {
		r.early(r.out)
	}
	ctx, cancel := context.WithCancel(r.Context())
	ended := make(chan error, 1)
	out := r.out
	go func() { ended <- out.Run(ctx) }()
	synctest.Wait()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			r.Errorf("Run: %v", err)
		}
	})
}

func (r *rig) put(items ...outbox.Item) {
	r.Helper()
	if err := r.db.Update(func(tx *store.Tx) error { return r.out.Put(tx, items...) }); err != nil {
		r.Fatal(err)
	}
}

// flush waits until what was put is delivered or given up.
func (r *rig) flush() {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), time.Hour)
	defer cancel()
	for r.out.Depth() > 0 && ctx.Err() == nil {
		if err := r.out.Flush(ctx); err != nil {
			r.Fatal(err)
		}
		time.Sleep(time.Second)
	}
	if n := r.out.Depth(); n > 0 {
		r.Fatalf("%d items are still queued after an hour", n)
	}
}

func (r *rig) slot(s outbox.Slot) (m store.MessageID) {
	r.Helper()
	err := r.db.View(func(tx *store.Tx) (err error) {
		m, _, err = r.out.Slot(tx, s)
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
	return m
}

func (r *rig) deaths() []outbox.Dead {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]outbox.Dead(nil), r.dead...)
}

// said are the bot's messages in the chat, in order.
func said(p *emulator.Person) (texts []string) {
	for _, m := range p.Messages() {
		if m.From != nil && m.From.Username == "nod_bot" {
			texts = append(texts, m.Shown())
		}
	}
	return texts
}

func to(p *emulator.Person) store.Address { return store.Address{Chat: store.ChatID(p.ChatID())} }

func text(p *emulator.Person, s string) outbox.Item { return outbox.Item{To: to(p), Plain: s} }

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

func messageID(m emulator.Message) store.MessageID { return store.MessageID(m.ID) }
