package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"nod/agent/llm"
	"nod/agent/llm/scripted"
	"nod/bot/emulator"
	"nod/store"
	"nod/tools"
	"nod/tools/shell"
)

var update = flag.Bool("update", false, "rewrite the expected parts of dialogs")

func TestMain(m *testing.M) {
	if playHeldOutline(os.Args) || playedPart(os.Args) || playRole() || playVictim() || playServer() || playWriter() {
		return
	}
	testscript.Main(leakChecked{m}, programs)
}

// ann owns the bot in tests.
var ann = emulator.User{ID: 101, FirstName: "Ann"}

// world is a whole nod: the real program against the emulated Telegram and a scripted model, on real files.
type world struct {
	t         testing.TB
	telegram  *emulator.Server
	ann       *emulator.Person
	model     *modelScript
	service   *scripted.Server
	spoken    scripted.Media // what the services for speech and pictures answer
	home      string
	workspace string
	wire      string // of the model, see llm.Model
	config    func(*Config)
	unpaced   bool
	control   bool // opens the control socket; not on the fake clock
	logs      *logBuffer
	terminal  *logBuffer // what is printed for people

	stop  func() error
	alive context.Context // ends when nod is to end, also by its own wish
}

// newWorld makes a world that is not started yet.
func newWorld(t testing.TB) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{
		t: t, telegram: emulator.New(emulator.Options{}), model: newModelScript(),
		home: filepath.Join(dir, "home"), workspace: filepath.Join(dir, "workspace"), logs: &logBuffer{}, terminal: &logBuffer{},
	}
	w.ann = w.telegram.Private(ann)
	w.service = scripted.New(w.model.next).Lanes(func(r scripted.Request) string {
		if first := firstWords(r); subAgent(first) {
			return first
		}
		return ""
	})
	t.Cleanup(func() {
		if w.stop != nil {
			w.end()
		}
		w.model.close()
		if t.Failed() {
			t.Logf("log of nod:\n%s", w.logs)
		}
	})
	return w
}

// start runs the program until end, and returns once it runs.
func (w *world) start() {
	w.t.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	w.alive = ctx
	cfg := Config{
		Token: llm.Secret(emulator.Token), API: "http://telegram.invalid", Home: w.home, Workspace: w.workspace, Zone: time.UTC,
		Profile: tools.BusinessProfile,
		Sandbox: shell.Off, // so that cards say the same on every machine
		Owners:  []store.UserID{store.UserID(ann.ID)},
		Models:  []llm.Model{{Name: "scripted", BaseURL: "http://model.invalid/v1", ContextWindow: 128_000, PriceIn: 1, PriceOut: 2, Wire: w.wire, Vision: true}},
	}
	if w.config != nil {
		w.config(&cfg)
	}
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- run(ctx, wiring{
			config: cfg, log: slog.New(slog.NewTextHandler(w.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
			telegram: emulator.Transport(w.telegram), model: scripted.Transport(w.service), servers: scripted.Transport(helperHandler()), notice: w.terminal, control: w.control, unpaced: w.unpaced,
			restart: func() { cancel(errRestart) }, ready: func() { close(ready) },
		})
	}()
	w.stop = func() error {
		cancel(nil)
		return <-done
	}
	select {
	case <-ready:
	case err := <-done:
		w.t.Fatalf("starting nod: %v", err)
	}
}

// end stops the program in its stages.
func (w *world) end() {
	w.t.Helper()
	stop := w.stop
	w.stop = nil
	if err := stop(); err != nil {
		w.t.Errorf("stopping nod: %v", err)
	}
	w.logsNoLink()
}

// logsNoLink fails where the log, which is kept to its last detail, holds what lets in: the bot's token, or the address of a
// file, which has it in its path. Masked or not, such an address has no place there.
func (w *world) logsNoLink() {
	w.t.Helper()
	for line := range strings.Lines(w.logs.String()) {
		if strings.Contains(line, emulator.Token) || strings.Contains(line, "/file/bot") {
			w.t.Errorf("the log holds a file's link: %s", line)
		}
	}
}

// within is the time that waiting for an effect may take. In a bubble it passes at once.
func (w *world) within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 20*time.Second)
}

// sees waits until the bot shows a text to a person.
func (w *world) sees(p *emulator.Person, text string) emulator.Message {
	w.t.Helper()
	ctx, cancel := w.within()
	defer cancel()
	m, err := p.WaitText(ctx, text)
	if err != nil {
		w.t.Fatalf("waiting for %q: %v", text, err)
	}
	return m
}

// press waits for a button, presses it and waits until the press is answered.
func (w *world) press(p *emulator.Person, label string) emulator.Answer {
	w.t.Helper()
	ctx, cancel := w.within()
	defer cancel()
	m, err := p.WaitButton(ctx, label)
	if err == nil && inBubble(nil) { // a person reads before pressing; what was sent is on record by then
		time.Sleep(100 * time.Millisecond)
		m, err = p.WaitButton(ctx, label)
	}
	if err != nil {
		w.t.Fatalf("waiting for the button %q: %v", label, err)
	}
	press, err := p.PressOn(m.ID, label)
	if err != nil {
		w.t.Fatalf("pressing %q: %v", label, err)
	}
	return w.answerTo(press)
}

func (w *world) answerTo(press *emulator.Press) emulator.Answer {
	w.t.Helper()
	ctx, cancel := w.within()
	defer cancel()
	answer, err := press.Answer(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer
}

// modelScript hands out replies in order. A request waits for its reply: a dialog says what the model says after it
// says what the person said. A reply may be only for conversations whose first message contains a text, such as a
// sub-agent's, which no other reply is for.
type modelScript struct {
	mu      sync.Mutex
	replies []scriptedReply
	refusal *scripted.Reply // of everything, while the service is down
	more    chan struct{}
	closed  chan struct{}
}

type scriptedReply struct {
	only  string // in the first message; "" for any
	reply func(scripted.Request) scripted.Reply
}

// firstWords is the first message of a conversation.
func firstWords(r scripted.Request) string {
	for _, m := range r.Messages {
		if m.Role == "user" {
			return m.Text
		}
	}
	return ""
}

func newModelScript() *modelScript {
	return &modelScript{more: make(chan struct{}), closed: make(chan struct{})}
}

// push adds replies.
func (m *modelScript) push(replies ...scripted.Reply) {
	for _, r := range replies {
		m.answer(func(scripted.Request) scripted.Reply { return r })
	}
}

// answer adds a reply that depends on the request.
func (m *modelScript) answer(f func(scripted.Request) scripted.Reply) { m.answerOnly("", f) }

// answerOnly adds a reply for the conversations whose first message contains a text.
func (m *modelScript) answerOnly(only string, f func(scripted.Request) scripted.Reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.replies = append(m.replies, scriptedReply{only, f})
	close(m.more)
	m.more = make(chan struct{})
}

// refuse takes the service down; nil brings it up again.
func (m *modelScript) refuse(with *scripted.Reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refusal = with
}

// take gives the reply for a request, or else what tells of more replies.
func (m *modelScript) take(r scripted.Request) (reply func(scripted.Request) scripted.Reply, more <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if refusal := m.refusal; refusal != nil {
		return func(scripted.Request) scripted.Reply { return *refusal }, nil
	}
	text := firstWords(r)
	at := slices.IndexFunc(m.replies, func(s scriptedReply) bool {
		if s.only == "" {
			return !subAgent(text)
		}
		return strings.Contains(text, s.only)
	})
	if at < 0 {
		return nil, m.more
	}
	reply = m.replies[at].reply
	m.replies = slices.Delete(m.replies, at, at+1)
	return reply, nil
}

// subAgent says whether a conversation is that of an agent which works for another.
func subAgent(first string) bool { return strings.HasPrefix(first, "[The agent ") }

func (m *modelScript) next(r scripted.Request) scripted.Reply {
	for {
		select {
		case <-r.Gone: // its reply is for the next one
			return scripted.Fail(500, "gone", "nobody waits for the answer")
		default:
		}
		f, more := m.take(r)
		if f != nil {
			return f(r)
		}
		select {
		case <-more:
		case <-r.Gone:
		case <-m.closed:
			return scripted.Fail(500, "over", "the script is over")
		}
	}
}

// left is how many replies no request has taken.
func (m *modelScript) left() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.replies)
}

func (m *modelScript) close() { close(m.closed) }

// logBuffer keeps what nod logs.
type logBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// write puts a file in the workspace before the start.
func (w *world) write(name, content string) {
	w.t.Helper()
	path := filepath.Join(w.workspace, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
		w.t.Fatal(err)
	}
}

// read gives a file of the workspace, or says that there is none.
func (w *world) read(name string) string {
	w.t.Helper()
	raw, err := os.ReadFile(filepath.Join(w.workspace, name))
	if errors.Is(err, os.ErrNotExist) {
		return "(no such file)\n"
	}
	if err != nil {
		return fmt.Sprint(err)
	}
	return string(raw)
}
