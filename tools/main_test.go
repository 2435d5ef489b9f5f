package tools_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"nod/approvals"
	"nod/store"
	"nod/tools"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const owner store.UserID = 7

// cards is a Viewer that hands each card to the test and remembers how cards were closed.
type cards struct {
	shown chan approvals.Pending

	mu     sync.Mutex
	closed []approvals.Pending
}

func (c *cards) ShowPending(tx *store.Tx, p approvals.Pending) error {
	tx.OnCommit(func() { c.shown <- p })
	return nil
}

func (c *cards) ClosePending(tx *store.Tx, p approvals.Pending) error {
	tx.OnCommit(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.closed = append(c.closed, p)
	})
	return nil
}

// pen is the hand of the tools under test: it notes what they ran with, and does what the test says.
type pen struct {
	do func(ctx context.Context, call tools.Call, in penArgs) (tools.Output, error)

	mu  sync.Mutex
	ran []string
}

type penArgs struct {
	Text  string `json:"text" jsonschema:"what to write"`
	Times int    `json:"times,omitempty"`
}

// tool makes a tool of that name. Those whose name begins with read only read.
func (p *pen) tool(name string, edits ...func(*tools.Spec[penArgs])) tools.Tool {
	spec := tools.Spec[penArgs]{
		Name: name, Description: "Writes.", Traits: tools.Traits{Category: tools.Filesystem, Effect: tools.Write}, Run: p.run,
		Label: func(in penArgs, _ bool) string { return tools.Quote(in.Text) },
	}
	if strings.HasPrefix(name, "read") {
		spec.Traits.Effect = tools.Read
	}
	for _, edit := range edits {
		edit(&spec)
	}
	return tools.New(spec)
}

func (p *pen) run(ctx context.Context, call tools.Call, in penArgs) (tools.Output, error) {
	p.mu.Lock()
	p.ran = append(p.ran, in.Text)
	p.mu.Unlock()
	if p.do != nil {
		return p.do(ctx, call, in)
	}
	return tools.Output{Text: "wrote " + in.Text}, nil
}

func (p *pen) runs() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.ran)
}

// untilStopped is a tool's work that ends only with its context.
func untilStopped(began chan<- struct{}) func(context.Context, tools.Call, penArgs) (tools.Output, error) {
	return func(ctx context.Context, _ tools.Call, _ penArgs) (tools.Output, error) {
		began <- struct{}{}
		<-ctx.Done()
		return tools.Output{Text: "half of it"}, ctx.Err()
	}
}

func seeds() []approvals.Rule {
	return []approvals.Rule{
		{Tool: "read*", Action: approvals.ActionAllow},
		{Tool: "free*", Action: approvals.ActionAllow},
		{Tool: "never*", Action: approvals.ActionDeny, Note: "it is closed"},
		{Priority: approvals.PriorityCatchAll, Tool: "*", Action: approvals.ActionRequire},
	}
}

// rig is one process of the program on a real database. restart makes the next one.
type rig struct {
	*testing.T
	path     string
	db       *store.DB
	rules    *approvals.Rules
	gate     *approvals.Gate
	cards    *cards
	executor *tools.Executor
	registry *tools.Registry
	scope    tools.Scope
	close    func()

	mu     sync.Mutex
	states []tools.State
}

func newRig(t *testing.T, all ...tools.Tool) *rig {
	t.Helper()
	scope := tools.Scope{
		Address: store.Address{Chat: 42}, Cards: store.Address{Chat: 43}, Session: store.NewSessionID(), Turn: store.NewTurnID(),
		Agent: "main", Source: approvals.Telegram, Origin: approvals.Origin{Kind: approvals.FromPerson}, By: owner, Deciders: []store.UserID{owner}, Workspace: openWorkspace(t),
	}
	r := startProcess(t, filepath.Join(t.TempDir(), "nod.db"), scope, all...)
	r.update(r.rules.Seed)
	return r
}

func startProcess(t *testing.T, path string, scope tools.Scope, all ...tools.Tool) *rig {
	t.Helper()
	db, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, path: path, db: db, scope: scope, cards: &cards{shown: make(chan approvals.Pending, 100)}}
	r.close = sync.OnceFunc(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(r.close)
	r.rules = approvals.NewRules(seeds(), tools.ToolSets())
	r.gate = approvals.NewGate(db, r.rules, r.cards, approvals.Options{})
	r.executor = tools.NewExecutor(db, r.gate, slog.New(slog.DiscardHandler))
	if r.registry, err = tools.NewRegistry(all...); err != nil {
		t.Fatal(err)
	}
	return r
}

// restart ends this process and starts the next one on the same database, with the same tools.
func (r *rig) restart() *rig {
	r.Helper()
	return r.restartWith(r.registry.All()...)
}

func (r *rig) restartWith(all ...tools.Tool) *rig {
	r.Helper()
	r.close()
	return startProcess(r.T, r.path, r.scope, all...)
}

func (r *rig) update(fn func(*store.Tx) error) {
	r.Helper()
	if err := r.db.Update(fn); err != nil {
		r.Fatal(err)
	}
}

// call is a request for a tool as a model makes it.
func (r *rig) call(name, args string) tools.CallRequest {
	return tools.CallRequest{
		ID: store.NewCallID(), Name: name, Args: json.RawMessage(args), Scope: r.scope,
		Offer: r.registry.Offer(tools.Visibility{Scope: r.scope}),
	}
}

func (r *rig) observe(tx *store.Tx, e tools.Execution) error {
	tx.OnCommit(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.states = append(r.states, e.State)
	})
	return nil
}

func (r *rig) observed() []tools.State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.states)
}

// run takes a new call to its outcome.
func (r *rig) run(req tools.CallRequest) tools.Outcome {
	r.Helper()
	out, err := r.executor.Run(r.Context(), req, r.observe)
	if err != nil {
		r.Fatal(err)
	}
	return out
}

// tick lets requests expire, until the test calls end.
func (r *rig) tick() (end func()) {
	ctx, cancel := context.WithCancel(r.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.gate.Run(ctx) }()
	return func() {
		r.Helper()
		cancel()
		if err := <-ended; err != nil {
			r.Error(err)
		}
	}
}

// flight is a call on its way in a goroutine of its own.
type flight struct {
	outcome tools.Outcome
	err     error
	done    chan struct{}
}

func (r *rig) start(ctx context.Context, req tools.CallRequest) *flight {
	return r.fly(func() (tools.Outcome, error) { return r.executor.Run(ctx, req, r.observe) })
}

// resume is what a start of the program does with a call of its transcript. The arguments and the id are req's; the rest
// is as this process sees it.
func (r *rig) resume(ctx context.Context, req tools.CallRequest) *flight {
	req.Offer = r.registry.Offer(tools.Visibility{Scope: req.Scope})
	return r.fly(func() (tools.Outcome, error) { return r.executor.Resume(ctx, req, r.observe) })
}

func (r *rig) fly(fn func() (tools.Outcome, error)) *flight {
	f := &flight{done: make(chan struct{})}
	go func() {
		defer close(f.done)
		f.outcome, f.err = fn()
	}()
	return f
}

const patience = 20 * time.Second

func await[T any](t *testing.T, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatal("waited in vain for " + what)
	}
	panic("unreachable")
}

// lands waits for the outcome.
func (r *rig) lands(f *flight) tools.Outcome {
	r.Helper()
	await(r.T, "an outcome", f.done)
	if f.err != nil {
		r.Fatal(f.err)
	}
	return f.outcome
}

// fails waits for the error.
func (r *rig) fails(f *flight) error {
	r.Helper()
	await(r.T, "an error", f.done)
	if f.err == nil {
		r.Fatalf("got the outcome %+v, want an error", f.outcome)
	}
	return f.err
}

// card waits for the next card.
func (r *rig) card() approvals.Pending {
	r.Helper()
	return await(r.T, "a card", r.cards.shown)
}

func (r *rig) noCard() {
	r.Helper()
	select {
	case p := <-r.cards.shown:
		r.Errorf("a card was shown: %+v", p)
	default:
	}
}

func (r *rig) press(p approvals.Pending, d approvals.Decision) {
	r.Helper()
	if _, err := r.gate.Decide(p.ID, owner, d); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) verb(p approvals.Pending, verb approvals.Verb) {
	r.Helper()
	r.press(p, approvals.Decision{Verb: verb})
}

// record is what is on disk of a call.
func (r *rig) record(id store.CallID) (e tools.Execution) {
	r.Helper()
	err := r.db.View(func(tx *store.Tx) (err error) {
		var ok bool
		if e, ok, err = tools.FindExecution(tx, id); err == nil && !ok {
			r.Errorf("call %s has no record", id)
		}
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
	return e
}

// pending is a request as it is now.
func (r *rig) pending(id store.ApprovalID) (p approvals.Pending) {
	r.Helper()
	err := r.db.View(func(tx *store.Tx) (err error) {
		p, _, err = r.gate.Get(tx, id)
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
	return p
}

// waiting is how many requests wait for a person.
func (r *rig) waiting() (n int) {
	r.Helper()
	err := r.db.View(func(tx *store.Tx) error {
		all, err := r.gate.Waiting(tx)
		n = len(all)
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
	return n
}
