package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"nod/store"
	"nod/tools"
	"nod/tools/secrets"
	"nod/tools/shell"
)

// Options wire a Manager. All are needed but Servers and Round.
type Options struct {
	DB        *store.DB
	Vault     *secrets.Vault
	Runner    *shell.Runner
	Workspace *tools.Workspace  // where programs start, and where files of results are kept
	Servers   []Server          // those of the configuration, which can be switched off but not deleted
	Round     http.RoundTripper // how remotes are reached; nil: the network
	Log       *slog.Logger
	// Forget takes back what was let through for a server that is deleted, within the caller's commit.
	Forget func(tx *store.Tx, server string) error
	// Patience is how long a server may take from its start to its first answer; 30 s when zero.
	Patience time.Duration
	// Quiet is how long after the start servers are first reached, unless they are needed before.
	Quiet time.Duration
}

// Manager is all MCP servers. Its methods may be called from any goroutine.
type Manager struct {
	Options
	book    book
	offered atomic.Pointer[offer]
	started chan struct{} // closed once base is there

	mu      sync.Mutex
	base    context.Context // of connections, while Run runs
	servers map[string]*server
	group   sync.WaitGroup // connections that are being closed
}

// server is one server as it stands.
type server struct {
	Server
	configured bool // by the configuration rather than in the chat
	on         bool
	known      known
	link       *link
}

// New reads what is known of servers. Nothing is reached before Run.
func New(o Options) (*Manager, error) {
	m := &Manager{Options: o, book: book{o.DB, o.Vault}, started: make(chan struct{}), servers: map[string]*server{}}
	registered, switches, heard, err := m.book.load()
	if err != nil {
		return nil, err
	}
	add := func(s Server, configured bool) {
		on, switched := switches[s.Name]
		m.servers[s.Name] = m.newServer(s, configured, on || !switched && !s.Off, heard[s.Name])
	}
	for _, s := range registered {
		add(s, false)
	}
	for _, s := range o.Servers { // one of the configuration goes before one of its name from the chat
		add(s, true)
	}
	m.publish()
	return m, nil
}

func (m *Manager) newServer(s Server, configured, on bool, heard known) *server {
	made := &server{Server: s, configured: configured, on: on, known: heard}
	made.link = m.newLink(s)
	return made
}

func (m *Manager) newLink(s Server) *link {
	return &link{
		dial: func(ctx context.Context) (*conn, error) {
			resolved, err := m.book.resolved(s)
			if err != nil {
				return nil, err
			}
			return m.dialling(resolved).dial(ctx)
		},
		up: func(ctx context.Context, c *conn) error { return m.hear(ctx, s.Name, c) },
	}
}

// dialling is what it takes to reach a server whose secrets are resolved.
func (m *Manager) dialling(s Server) *dialling {
	return &dialling{
		server: s, runner: m.Runner, dir: m.Workspace.Dir(), round: m.Round, log: m.Log.With("server", s.Name),
		patience: cmp.Or(m.Patience, defaultPatience),
	}
}

// listTime bounds how long a server may take to list its tools.
const listTime = 30 * time.Second

// hear asks a server for its tools and has them offered from then on.
func (m *Manager) hear(ctx context.Context, name string, c *conn) error {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	heard, err := c.list(ctx)
	if err != nil {
		return err
	}
	if !m.took(name, heard) { // deleted meanwhile
		return errClosed
	}
	if err := m.book.hear(name, heard); err != nil {
		c.log.Error("keeping what an MCP server said", "err", err)
	}
	return nil
}

// took has offered from now on what was heard.
func (m *Manager) took(name string, heard known) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.servers[name]
	if s == nil {
		return false
	}
	s.known = heard
	m.publish()
	return true
}

// Run reaches every server once, a while after the start, so that their tools are known as they are now, and keeps
// connections until ctx ends.
func (m *Manager) Run(ctx context.Context) error {
	base, cancel := context.WithCancel(context.WithoutCancel(ctx)) // calls under way end by themselves or by their own contexts
	defer cancel()
	m.mu.Lock()
	m.base = base
	m.mu.Unlock()
	close(m.started)
	if pause(ctx, m.Quiet) {
		m.reachAll(ctx)
	}
	<-ctx.Done()
	m.mu.Lock()
	for _, s := range m.servers {
		m.group.Go(s.link.close)
	}
	m.mu.Unlock()
	m.group.Wait()
	return nil
}

// reachAll reaches the servers that are on, one after the other: nobody waits for them.
func (m *Manager) reachAll(ctx context.Context) {
	for _, s := range m.sorted() {
		if !s.on || ctx.Err() != nil {
			continue
		}
		if _, err := s.link.get(ctx, m.base); err != nil && ctx.Err() == nil {
			m.Log.Warn("an MCP server can't be reached", "server", s.Name, "err", err)
		}
	}
}

// sorted are the servers by name, as they stand.
func (m *Manager) sorted() (all []server) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.servers {
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b server) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// find is a server that is on.
func (m *Manager) find(ctx context.Context, name string) (server, error) {
	select {
	case <-m.started:
	case <-ctx.Done():
		return server{}, context.Cause(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.servers[name]
	switch {
	case s == nil:
		return server{}, fmt.Errorf("there is no MCP server %s any more", name)
	case !s.on:
		return server{}, fmt.Errorf("the MCP server %s is switched off", name)
	}
	return *s, nil
}

// wakeTime bounds the wait for a server, whatever it is still up to then.
const wakeTime = time.Minute

// wake reaches a server whose tools are wanted.
func (m *Manager) wake(ctx context.Context, name string) error {
	s, err := m.find(ctx, name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, wakeTime)
	defer cancel()
	_, err = s.link.get(ctx, m.base)
	return err
}

// present is the server as it is now, when it may be another than when its tools were offered.
func (m *Manager) present(s Server) Server {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := m.servers[s.Name]; now != nil {
		return now.Server
	}
	return s
}

var errReplaced = errors.New("the server was replaced by another since the call was approved, so the call was not made")

// call runs one call of a tool.
func (m *Manager) call(ctx context.Context, call tools.Call, name, tool string, args json.RawMessage) (tools.Output, error) {
	s, err := m.find(ctx, name)
	if err != nil {
		return tools.Output{}, err
	}
	if nod := call.Approved.Request().Subject; nod.Fact(identityFact) != s.identity().Value {
		return tools.Output{}, errReplaced
	}
	var used bool
	res, err := s.link.call(ctx, m.base, func(c *conn) (*sdk.CallToolResult, error) {
		used = true
		return c.callTool(ctx, call, tool, args)
	})
	switch {
	case err != nil && ctx.Err() == nil && !used:
		return tools.Output{}, fmt.Errorf("the MCP server %s can't be reached, so the call was not made: %w", name, err)
	case err != nil:
		return tools.Output{}, fmt.Errorf("the MCP server %s: %w", name, err)
	}
	return (&reader{server: name, call: call}).read(res)
}
