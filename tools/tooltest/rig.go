// Package tooltest runs tools in tests the way the program does: through the executor and a real gate with the seeded
// rules, on a real database and a real folder.
package tooltest

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"nod/approvals"
	"nod/store"
	"nod/tools"
)

// Owner is who decides in a rig.
const Owner store.UserID = 7

// Rig is everything that a tool needs, for one test.
type Rig struct {
	T         testing.TB
	DB        *store.DB
	Gate      *approvals.Gate
	Executor  *tools.Executor
	Workspace *tools.Workspace
	Registry  *tools.Registry
	Scope     tools.Scope
	Groups    []string // lazy groups that are active
	// Cards are the requests that were put before the owner. OnCard decides on them; without it nobody does.
	OnCard func(approvals.Pending) approvals.Decision

	mu    sync.Mutex
	cards []approvals.Pending
	last  tools.Execution
}

// New makes a rig whose workspace is a new folder; tooling lists the tools, given that workspace.
func New(t testing.TB, tooling func(*tools.Workspace) []tools.Tool) *Rig {
	t.Helper()
	return NewIn(t, filepath.Join(t.TempDir(), "work"), tooling)
}

// NewIn is New with the folder of the workspace, and paths that are closed to all tools.
func NewIn(t testing.TB, dir string, tooling func(*tools.Workspace) []tools.Tool, denied ...string) *Rig {
	t.Helper()
	return build(t, store.OpenTest(t), dir, tooling, denied)
}

// NewOn is New on a database that the tools share.
func NewOn(t testing.TB, db *store.DB, tooling func(*tools.Workspace) []tools.Tool) *Rig {
	t.Helper()
	return build(t, db, filepath.Join(t.TempDir(), "work"), tooling, nil)
}

func build(t testing.TB, db *store.DB, dir string, tooling func(*tools.Workspace) []tools.Tool, denied []string) *Rig {
	t.Helper()
	r := &Rig{T: t, DB: db}
	var err error
	if r.Workspace, err = tools.OpenWorkspace(dir, denied...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Workspace.Close(); err != nil {
			t.Error(err)
		}
	})
	rules := approvals.NewRules(tools.SeededRules(r.Workspace), tools.ToolSets())
	if err := r.DB.Update(rules.Seed); err != nil {
		t.Fatal(err)
	}
	r.Gate = approvals.NewGate(r.DB, rules, r, approvals.Options{BuiltInDeny: r.Workspace.BuiltInDeny})
	r.Executor = tools.NewExecutor(r.DB, r.Gate, slog.New(slog.DiscardHandler))
	if r.Registry, err = tools.NewRegistry(tooling(r.Workspace)...); err != nil {
		t.Fatal(err)
	}
	r.Scope = tools.Scope{
		Address: store.Address{Chat: 42}, Cards: store.Address{Chat: 42}, Session: store.NewSessionID(), Turn: store.NewTurnID(),
		Agent: "main", Source: approvals.Telegram, Origin: approvals.Origin{Kind: approvals.FromPerson}, By: Owner, Deciders: []store.UserID{Owner}, Workspace: r.Workspace,
	}
	r.Scope.Root = r.Scope.Session
	return r
}

// ShowPending notes a card.
func (r *Rig) ShowPending(tx *store.Tx, p approvals.Pending) error {
	r.mu.Lock()
	r.cards = append(r.cards, p)
	r.mu.Unlock()
	if r.OnCard != nil {
		tx.OnCommit(func() {
			if _, err := r.Gate.Decide(p.ID, Owner, r.OnCard(p)); err != nil {
				r.T.Errorf("deciding: %v", err)
			}
		})
	}
	return nil
}

// ClosePending does nothing: a rig looks at outcomes.
func (r *Rig) ClosePending(*store.Tx, approvals.Pending) error { return nil }

// Cards are the requests so far.
func (r *Rig) Cards() []approvals.Pending {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cards
}

// Approve nods to everything.
func Approve(approvals.Pending) approvals.Decision {
	return approvals.Decision{Verb: approvals.VerbApprove}
}

// callTime is how long a call may take where nothing decides on cards, so that one which waits ends the test.
const callTime = time.Minute

// Call runs a call to its outcome. args is a value that is written as JSON, or JSON in a string.
func (r *Rig) Call(tool string, args any) tools.Outcome {
	r.T.Helper()
	if r.OnCard != nil {
		return r.CallContext(context.Background(), tool, args)
	}
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	return r.CallContext(ctx, tool, args)
}

// Record is Call that gives the record of the call.
func (r *Rig) Record(tool string, args any) tools.Execution {
	r.T.Helper()
	r.Call(tool, args)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// CallContext is Call with a context, which a test ends to stop the call.
func (r *Rig) CallContext(ctx context.Context, tool string, args any) tools.Outcome {
	r.T.Helper()
	raw, isText := args.(string)
	if !isText {
		written, err := json.Marshal(args)
		if err != nil {
			r.T.Fatal(err)
		}
		raw = string(written)
	}
	offer := r.Registry.Offer(tools.Visibility{Scope: r.Scope, Groups: r.Groups})
	out, err := r.Executor.Run(ctx, tools.CallRequest{
		ID: store.NewCallID(), Name: tool, Args: json.RawMessage(raw), Scope: r.Scope, Offer: offer,
	}, func(_ *store.Tx, e tools.Execution) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.last = e
		return nil
	})
	if err != nil {
		r.T.Fatalf("running %s: %v (%d cards so far; OnCard decides on them, or they wait)", tool, err, len(r.Cards()))
	}
	return out
}

// Path is a name in the workspace as an absolute path.
func (r *Rig) Path(name string) string { return filepath.Join(r.Workspace.Dir(), name) }

// Write puts a file into the workspace, with the folders on its way.
func (r *Rig) Write(name, content string) {
	r.T.Helper()
	WriteFile(r.T, r.Path(name), content)
}

// Read is the content of a file in the workspace.
func (r *Rig) Read(name string) string {
	r.T.Helper()
	data, err := os.ReadFile(r.Path(name))
	if err != nil {
		r.T.Fatal(err)
	}
	return string(data)
}

// WriteFile makes a file with the folders on its way.
func WriteFile(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
