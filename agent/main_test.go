package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"nod/agent/llm"
	"nod/agent/llm/scripted"
	"nod/agent/prompt"
	"nod/agent/roster"
	"nod/approvals"
	"nod/scheduler"
	"nod/store"
	"nod/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const owner store.UserID = 7

// here is the chat of most tests.
var here = store.Address{Chat: 42}

// rig is the model's side of nod: a real database, gate and executor, the real client of a scripted model, and a View
// that remembers. restart makes the next process on the same files.
type rig struct {
	*testing.T
	dir       string
	model     *scripted.Server
	script    *scripted.Queue
	hands     *hands
	view      *recorder
	rounds    int
	window    int // of the model, in tokens
	spending  Spending
	more      func() []tools.Tool // tools beside the hands
	db        *store.DB
	gate      *approvals.Gate
	jobs      *scheduler.Jobs
	client    *llm.Client
	workspace *tools.Workspace
	driver    *Driver
	logs      *lockedBuilder
	end       func() // ends the process in order
}

type rigOption func(*rig)

// newRig makes a world whose driver runs.
func newRig(t *testing.T, options ...rigOption) *rig {
	t.Helper()
	r := &rig{T: t, dir: t.TempDir(), script: &scripted.Queue{}, hands: &hands{}, view: newRecorder(), window: 100_000, logs: &lockedBuilder{}}
	r.model = scripted.New(r.script.Next)
	r.more = func() []tools.Tool { return nil }
	for _, o := range options {
		o(r)
	}
	t.Cleanup(func() {
		r.end()
		if t.Failed() {
			t.Logf("log:\n%s", r.logs)
		}
	})
	r.start()
	return r
}

// start makes a process and runs it.
func (r *rig) start() {
	r.Helper()
	r.build()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- r.driver.Run(ctx) }()
	go func() { ended <- r.gate.Run(ctx) }()
	r.end = sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-ended, <-ended, r.workspace.Close(), r.db.Close()); err != nil {
			r.Error(err)
		}
	})
}

// build wires a process without running it.
func (r *rig) build() {
	r.Helper()
	var err error
	if r.db, err = store.Open(filepath.Join(r.dir, "nod.db")); err != nil {
		r.Fatal(err)
	}
	if r.workspace, err = tools.OpenWorkspace(filepath.Join(r.dir, "work")); err != nil {
		r.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(r.logs, nil))
	rules := approvals.NewRules([]approvals.Rule{
		{Tool: "read*", Action: approvals.ActionAllow},
		{Tool: "free*", Action: approvals.ActionAllow},
		{Tool: "execute_*", Action: approvals.ActionAllow},
		{Tool: tools.Notify, Action: approvals.ActionAllow},
		{Priority: approvals.PriorityCatchAll, Tool: "*", Action: approvals.ActionRequire},
	}, tools.ToolSets())
	r.update(rules.Seed)
	registry, err := tools.NewRegistry(append(r.hands.tools(), r.more()...)...)
	if err != nil {
		r.Fatal(err)
	}
	r.gate = approvals.NewGate(r.db, rules, r.view, approvals.Options{Log: log})
	r.jobs = scheduler.NewJobs(r.db)
	r.client, err = llm.New(llm.Options{Transport: scripted.Transport(r.model), Models: []llm.Model{
		{Name: "first", BaseURL: "http://model.invalid/v1", ContextWindow: r.window, Wire: llm.WireChat, Vision: true, PriceIn: 1, PriceOut: 10},
		{Name: "second", BaseURL: "http://model.invalid/v1", ContextWindow: r.window, Wire: llm.WireChat},
	}})
	if err != nil {
		r.Fatal(err)
	}
	r.driver = NewDriver(Config{
		DB: r.db, Model: r.client, Registry: registry, Executor: tools.NewExecutor(r.db, r.gate, log), Gate: r.gate, Rules: rules,
		Jobs: r.jobs, View: r.view, Workspace: r.workspace, Log: log, Rounds: r.rounds, Spending: r.spending,
		Prompt: &prompt.Builder{DB: r.db, Workspace: r.workspace, Zone: time.UTC},
		Roster: roster.New(filepath.Join(r.dir, "home", "agents"), log),
		Home: func(*store.Tx) (Home, error) {
			return Home{Address: here, Deciders: []store.UserID{owner}}, nil
		},
	})
}

// restart ends this process and starts the next one.
func (r *rig) restart() {
	r.Helper()
	r.end()
	r.view.reset()
	r.start()
	synctest.Wait() // until it has looked at what the earlier process left
}

// offline changes the database between two processes.
func (r *rig) offline(fn func(*store.Tx) error) {
	r.Helper()
	db, err := store.Open(filepath.Join(r.dir, "nod.db"))
	if err != nil {
		r.Fatal(err)
	}
	if err := errors.Join(db.Update(fn), db.Close()); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) update(fn func(*store.Tx) error) {
	r.Helper()
	if err := r.db.Update(fn); err != nil {
		r.Fatal(err)
	}
}

// look reads the database.
func (r *rig) look(fn func(*store.Tx) error) {
	r.Helper()
	if err := r.db.View(fn); err != nil {
		r.Fatal(err)
	}
}

var messageIDs = struct {
	sync.Mutex
	last store.MessageID
}{}

func message(at store.Address, text string) Input {
	messageIDs.Lock()
	defer messageIDs.Unlock()
	messageIDs.last++
	return Input{Address: at, From: owner, Message: messageIDs.last, At: time.Now(), Text: text, Deciders: []store.UserID{owner}, Cards: at}
}

// say submits a message here.
func (r *rig) say(text string) Receipt {
	r.Helper()
	return r.submit(message(here, text))
}

func (r *rig) submit(in Input) (got Receipt) {
	r.Helper()
	r.update(func(tx *store.Tx) (err error) {
		got, err = r.driver.Submit(tx, in)
		return err
	})
	return got
}

// stop stops what runs here.
func (r *rig) stop() (was bool) {
	r.Helper()
	r.update(func(tx *store.Tx) (err error) {
		was, err = r.driver.Stop(tx, here)
		return err
	})
	return was
}

// session is the record of an address's session.
func (r *rig) session(at store.Address) (s Session) {
	r.Helper()
	r.look(func(tx *store.Tx) (err error) {
		s, _, err = SessionAt(tx, at)
		return err
	})
	return s
}

// transcript is a session's text, a line an entry.
func (r *rig) transcript(id store.SessionID) (lines []string) {
	r.Helper()
	for _, e := range r.entries(id) {
		line := string(e.Message.Role) + ": " + e.Message.Text
		for _, c := range e.Message.Calls {
			line += " (" + c.Name + ")"
		}
		lines = append(lines, line)
	}
	return lines
}

func (r *rig) entries(id store.SessionID) (all []Entry) {
	r.Helper()
	r.look(func(tx *store.Tx) (err error) {
		all, err = transcripts.All(tx, store.Prefix(id))
		return err
	})
	return all
}

// sees waits for an event that fits and gives the first such.
func sees[E Event](r *rig, fits func(E) bool) (found E) {
	r.Helper()
	r.until(fmt.Sprintf("a %T", found), func() bool {
		for _, e := range r.view.all() {
			if e, ok := e.(E); ok && fits(e) {
				found = e
				return true
			}
		}
		return false
	})
	return found
}

// answered waits for an answer with that text.
func (r *rig) answered(text string) TurnAnswered {
	r.Helper()
	return sees(r, func(e TurnAnswered) bool { return e.Text == text })
}

// card waits for the nth request to a person, the first being 0.
func (r *rig) card(n int) approvals.Pending {
	r.Helper()
	r.until(fmt.Sprintf("card %d", n), func() bool { return len(r.view.cards()) > n })
	return r.view.cards()[n]
}

func (r *rig) decide(p approvals.Pending, verb approvals.Verb) {
	r.Helper()
	if _, err := r.gate.Decide(p.ID, owner, approvals.Decision{Verb: verb}); err != nil {
		r.Fatalf("deciding: %v", err)
	}
}

// requests waits until the model was asked n times.
func (r *rig) requests(n int) []scripted.Request {
	r.Helper()
	r.until(fmt.Sprintf("%d requests to the model", n), func() bool { return len(r.model.Requests()) >= n })
	return r.model.Requests()
}

// until waits for what other goroutines make true. On the fake clock the wait costs nothing.
func (r *rig) until(what string, true func() bool) {
	r.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !true() {
		if time.Now().After(deadline) {
			r.Fatalf("waited in vain for %s; the view saw:\n%s", what, r.view)
		}
		time.Sleep(time.Millisecond)
	}
}

// file puts a file into the workspace.
func (r *rig) file(name, content string) {
	r.Helper()
	path := filepath.Join(r.dir, "work", name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
		r.Fatal(err)
	}
}

// said is the conversation of a request as the model was given it, a line a message.
func said(r scripted.Request) (lines []string) {
	for _, m := range r.Messages {
		line := m.Role + ": " + m.Text
		for _, c := range m.Calls {
			line += " (" + c.Name + ")"
		}
		lines = append(lines, line)
	}
	return lines
}
