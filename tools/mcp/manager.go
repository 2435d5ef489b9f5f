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
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"nod/approvals"
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

// offer is what the registry is told: made when something changes, and read at once.
type offer struct {
	tools  []tools.Tool
	groups []tools.Group
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
	log := m.Log.With("server", s.Name)
	return &link{
		dial: func(ctx context.Context) (*conn, error) {
			resolved, err := m.book.resolved(s)
			if err != nil {
				return nil, err
			}
			d := &dialling{server: resolved, runner: m.Runner, dir: m.Workspace.Dir(), round: m.Round, log: log}
			return d.dial(ctx)
		},
		up: func(ctx context.Context, c *conn) error { return m.hear(ctx, s.Name, c) },
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

// wake reaches a server whose tools are wanted.
func (m *Manager) wake(ctx context.Context, name string) error {
	s, err := m.find(ctx, name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, programTime+secondTime)
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

// Tools are the tools of all servers that are on, as last heard. It implements tools.Dynamic.
func (m *Manager) Tools() []tools.Tool { return m.offered.Load().tools }

// Groups are the servers that are on. It implements tools.Dynamic.
func (m *Manager) Groups() []tools.Group { return m.offered.Load().groups }

// publish makes what is offered anew. The caller holds mu, or is alone.
func (m *Manager) publish() {
	made := &offer{}
	names := make([]string, 0, len(m.servers))
	for name := range m.servers {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		s := m.servers[name]
		if !s.on {
			continue
		}
		made.groups = append(made.groups, tools.Group{
			Name: name, Description: s.words(), Words: s.known.Instructions,
			Wake: func(ctx context.Context) error { return m.wake(ctx, name) },
		})
		for _, d := range s.known.Tools {
			t, err := m.tool(s.Server, d)
			if err != nil {
				m.Log.Warn("a tool of an MCP server can't be offered", "server", name, "name", d.Name, "err", err)
				continue
			}
			made.tools = append(made.tools, t)
		}
	}
	m.offered.Store(made)
}

// words describe a server to the model.
func (s *server) words() string {
	words := cmp.Or(s.Description, s.FriendlyName, "an MCP server")
	if s.known.At.IsZero() {
		return words + " (not reached yet)"
	}
	return fmt.Sprintf("%s (%d tools)", words, len(s.known.Tools))
}

// Category is that of the tools of MCP servers.
const Category tools.Category = "mcp"

// CategoryOf is what a bypass of a server's calls covers: that server, and nothing that has the same name.
func CategoryOf(server string) string { return "MCP " + server }

// tool makes a tool of a definition. Whatever the server says of it, it counts as a write and asks. A nod is bound to how
// the server is started or reached, not to its name alone (SAFETY.md S-A1).
func (m *Manager) tool(s Server, d Definition) (tools.Tool, error) {
	spec := tools.DynamicSpec{
		Name:        toolName(s.Name, d.Name),
		Description: fmt.Sprintf("[words of the MCP server %s] %s", s.Name, cmp.Or(d.Description, d.Name)),
		Schema:      d.Schema,
		Traits:      tools.Traits{Category: Category, Effect: tools.Write, Group: s.Name},
		Judge: func(context.Context, tools.Scope, json.RawMessage) (tools.Judged, error) {
			return tools.Judged{Category: CategoryOf(s.Name), Subject: approvals.Subject{Facts: []approvals.Fact{m.present(s).identity()}}}, nil
		},
		Run: func(ctx context.Context, call tools.Call, args json.RawMessage) (tools.Output, error) {
			return m.call(ctx, call, s.Name, d.Name, args)
		},
	}
	t, err := tools.NewDynamic(spec)
	if err != nil { // its schema makes no sense to us, so the server judges
		spec.Schema = openSchema
		t, err = tools.NewDynamic(spec)
	}
	return t, err
}

// Report is how one server is doing.
type Report struct {
	Server
	Configured bool
	State      State
	Err        error // of a server that failed
	Tools      int
	Left       int // tools that were left out
}

// Reports tell how the servers are doing, by name. Secrets are masked.
func (m *Manager) Reports() (all []Report) {
	for _, s := range m.sorted() {
		r := Report{Server: s.shown(), Configured: s.configured, State: Off, Tools: len(s.known.Tools), Left: s.known.Left}
		if s.on {
			r.State, r.Err = s.link.state()
		}
		all = append(all, r)
	}
	return all
}

// shown is a server without its secrets.
func (s Server) shown() Server {
	s.APIKey, s.Env = masked(s.APIKey), Variables(s.Env).masked()
	return s
}

// Check reaches a server as a call would, and tells how many tools it has. It waits at most within. Run must run.
func (m *Manager) Check(ctx context.Context, name string, within time.Duration) (int, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, within, errors.New("it did not answer in time"))
	defer cancel()
	if err := m.wake(ctx, name); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.servers[name].known.Tools), nil
}

// listed says how a server is doing in one line, for the model and for people.
func (r Report) listed() string {
	line := r.Name
	if r.FriendlyName != "" {
		line += " (" + r.FriendlyName + ")"
	}
	line += fmt.Sprintf(": %s, %s, %d tools", r.Transport, r.State, r.Tools)
	if r.Err != nil {
		line = strings.Replace(line, string(r.State), string(r.State)+": "+plain(r.Err.Error(), maxRemark), 1)
	}
	if r.Left > 0 {
		line += fmt.Sprintf(" (%d more left out)", r.Left)
	}
	if r.Description != "" {
		line += "; " + r.Description
	}
	return line
}
