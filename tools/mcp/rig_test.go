package mcp

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"nod/approvals"
	"nod/store"
	"nod/tools"
	"nod/tools/secrets"
	"nod/tools/shell"
	"nod/tools/tooltest"
)

// rig is a manager of real servers with the executor and the gate around it.
type rig struct {
	*tooltest.Rig
	m        *Manager
	db       *store.DB
	vault    *secrets.Vault
	redactor *secrets.Redactor
	logs     *logs
	stop     func()

	mu       sync.Mutex
	progress []tools.Progress
}

// logs are what the manager logs, for any goroutine.
type logs struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

var testRunner shell.Runner // measures once for all tests

// newRig starts a manager with these servers of the configuration.
func newRig(t *testing.T, servers ...Server) *rig { return newRigOn(t, store.OpenTest(t), servers...) }

func newRigOn(t *testing.T, db *store.DB, servers ...Server) *rig {
	t.Helper()
	r := &rig{db: db, redactor: &secrets.Redactor{}, logs: &logs{}}
	var err error
	if r.vault, err = secrets.OpenVault(db, make([]byte, 32), r.redactor); err != nil {
		t.Fatal(err)
	}
	r.Rig = tooltest.NewOn(t, db, func(w *tools.Workspace) []tools.Tool {
		r.m, err = New(Options{
			DB: db, Vault: r.vault, Runner: &testRunner, Workspace: w, Servers: servers, Quiet: time.Hour,
			Log:    slog.New(slog.NewTextHandler(r.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
			Forget: func(*store.Tx, string) error { return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		return r.m.BuiltIn()
	})
	r.Registry.Mount(r.m)
	r.Executor.Mask(r.redactor.Redact)
	r.OnCard = tooltest.Approve
	r.start(t)
	return r
}

func (r *rig) start(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.m.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		r.stop()
		if t.Failed() {
			t.Logf("log:\n%s", r.logs)
		}
	})
}

// role is a server that is this test binary in a role.
func role(t *testing.T, name string) Server {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Server{Name: name, Transport: Stdio, Command: exe, Env: map[string]string{asServer: name}}
}

// wake activates a server and reaches it.
func (r *rig) wake(name string) {
	r.T.Helper()
	r.Groups = append(r.Groups, name)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := r.m.wake(ctx, name); err != nil {
		r.T.Fatalf("reaching %s: %v", name, err)
	}
}

// ask calls a tool and notes its progress.
func (r *rig) ask(ctx context.Context, tool, args string) tools.Outcome {
	r.T.Helper()
	offer := r.Registry.Offer(tools.Visibility{Scope: r.Scope, Groups: r.Groups})
	out, err := r.Executor.Run(ctx, tools.CallRequest{
		ID: store.NewCallID(), Name: tool, Args: []byte(args), Scope: r.Scope, Offer: offer,
		Progress: func(p tools.Progress) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.progress = append(r.progress, p)
		},
	}, func(*store.Tx, tools.Execution) error { return nil })
	if err != nil {
		r.T.Fatalf("running %s: %v", tool, err)
	}
	return out
}

// told is the progress so far, without what only says that somebody is asked.
func (r *rig) told() (texts []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.progress {
		if p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return texts
}

// offered are the names of the tools that there are of a server.
func (r *rig) offered(server string) (names []string) {
	for _, t := range r.m.Tools() {
		if t.Traits().Group == server {
			names = append(names, t.Name())
		}
	}
	return names
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// until polls for what must come true.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !cond(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// processes counts the processes whose command line holds a text.
func processes(t *testing.T, text string) (n int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if line, _ := os.ReadFile(f); strings.Contains(strings.ReplaceAll(string(line), "\x00", " "), text) {
			n++
		}
	}
	return n
}

func wantText(t *testing.T, o tools.Outcome, state tools.State, part string) {
	t.Helper()
	if o.State != state || !strings.Contains(o.Text, part) {
		t.Fatalf("the call came to %s: %.600q, want %s with %q", o.State, o.Text, state, part)
	}
}

// answering decides on cards: approves, and answers questions in turn.
func answering(answers ...string) func(approvals.Pending) approvals.Decision {
	var mu sync.Mutex
	return func(p approvals.Pending) approvals.Decision {
		if p.Kind != approvals.Asked {
			return tooltest.Approve(p)
		}
		mu.Lock()
		defer mu.Unlock()
		answer := answers[0]
		answers = answers[1:]
		if p.Question.Hidden {
			return approvals.Decision{Verb: approvals.VerbAnswer, Hidden: answer}
		}
		return approvals.Decision{Verb: approvals.VerbAnswer, Answer: answer}
	}
}
