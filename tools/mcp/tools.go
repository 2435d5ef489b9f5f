package mcp

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"nod/approvals"
	"nod/store"
	"nod/tools"
	"nod/tools/secrets"
)

// config are the traits of the tools that change which servers there are: no bypass lets them through, and no rule a
// registration, since a server's program runs as nod's user, outside of the sandbox.
var config = tools.Traits{Category: tools.Config, Effect: tools.Write, Group: tools.ConfigGroup, NoBypass: true}

// BuiltIn are register_mcp and delete_mcp.
func (m *Manager) BuiltIn() []tools.Tool { return []tools.Tool{m.registerTool(), m.deleteTool()} }

type registerIn struct {
	Name         string    `json:"name" jsonschema:"letters and digits, with single _ or - between them; its tools are then named mcp__NAME__TOOL"`
	Transport    Transport `json:"transport" jsonschema:"stdio: a program that nod starts; http: streamable HTTP; sse: the older HTTP transport"`
	Command      string    `json:"command,omitempty" jsonschema:"for stdio: the program, such as npx"`
	Args         []string  `json:"args,omitempty" jsonschema:"for stdio: its arguments"`
	Env          Variables `json:"env,omitempty" jsonschema:"for stdio: variables beside PATH, HOME and the like; for a secret give ${secret:NAME} and let set_secret ask for it first"`
	URL          string    `json:"url,omitempty" jsonschema:"for http and sse: the server's address"`
	APIKey       Key       `json:"api_key,omitempty" jsonschema:"for http and sse: sent as a bearer token; best given as ${secret:NAME}, which set_secret asks for"`
	Description  string    `json:"description,omitempty" jsonschema:"what it is good for, in a few words"`
	FriendlyName string    `json:"friendly_name,omitempty" jsonschema:"its name for people"`
}

// Refine lists the transports.
func (registerIn) Refine(p map[string]*jsonschema.Schema) {
	p["transport"].Enum = nil
	for _, t := range Transports {
		p["transport"].Enum = append(p["transport"].Enum, string(t))
	}
}

func (in registerIn) server() Server {
	return Server{
		Name: in.Name, Transport: in.Transport, Command: in.Command, Args: in.Args, Env: in.Env, URL: in.URL,
		APIKey: string(in.APIKey), Description: in.Description, FriendlyName: in.FriendlyName,
	}
}

// check also has secrets redacted from here on, before the call is recorded anywhere.
func (m *Manager) check(in *registerIn) error {
	for name, value := range in.Env {
		if _, reference := secrets.Reference(value); IsSecret(name) && !reference {
			m.Vault.Hide(value)
		}
	}
	if _, reference := secrets.Reference(string(in.APIKey)); !reference {
		m.Vault.Hide(string(in.APIKey))
	}
	in.Transport = Transport(strings.ToLower(string(in.Transport)))
	return in.server().Check()
}

func (m *Manager) registerTool() tools.Tool {
	return tools.New(tools.Spec[registerIn]{
		Name: tools.RegisterMCP,
		Description: "Registers an MCP server, whose tools activate_tools then brings. nod reaches it at once: one that does not answer is not registered. " +
			"A stdio server is a program that runs as nod's user, outside of the sandbox.",
		Traits: config,
		Check:  m.check,
		Label:  func(in registerIn, _ bool) string { return tools.Quote(in.Name) },
		Judge: func(_ context.Context, _ tools.Scope, in registerIn) (tools.Judged, error) {
			if err := m.free(in.Name); err != nil {
				return tools.Judged{}, err
			}
			return tools.Judged{MustAsk: true, Subject: subjectOf(in.server())}, nil
		},
		Run: func(ctx context.Context, _ tools.Call, in registerIn) (tools.Output, error) {
			return m.register(ctx, in.server())
		},
	})
}

// free refuses a name that a server has, in any case of its letters.
func (m *Manager) free(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for taken := range m.servers {
		if strings.EqualFold(taken, name) {
			return fmt.Errorf("there is an MCP server %s already; delete_mcp removes it first", taken)
		}
	}
	return nil
}

// subjectOf shows a server in full, but for its secrets.
func subjectOf(s Server) approvals.Subject {
	lines := []string{fmt.Sprintf("Register the MCP server %s (%s)", s.Name, s.Transport)}
	subject := approvals.Subject{Kind: approvals.Words, Warning: "What it says and does is its own; its calls will ask."}
	if s.Transport == Stdio {
		subject.Warning = "This program will run as nod's user, outside of the sandbox, with the network."
		lines = append(lines, "Program: "+s.Command)
		for _, arg := range s.Args {
			lines = append(lines, "Argument: "+arg)
		}
	} else {
		lines = append(lines, "Address: "+s.URL)
		if inTheOpen(s.URL) {
			subject.Warning = "What goes to this address, a key too, can be read on the way. " + subject.Warning
		}
	}
	if s.APIKey != "" {
		lines = append(lines, "Key: "+masked(s.APIKey))
	}
	env := Variables(s.Env).masked()
	for _, name := range slices.Sorted(maps.Keys(env)) {
		lines = append(lines, "Variable: "+name+"="+env[name])
	}
	for _, words := range []string{s.FriendlyName, s.Description} {
		if words != "" {
			lines = append(lines, words)
		}
	}
	subject.Text = strings.Join(lines, "\n")
	return subject
}

// inTheOpen says whether an address is reached without encryption, over a network.
func inTheOpen(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "http" && u.Hostname() != "localhost" && !net.ParseIP(u.Hostname()).IsLoopback()
}

// register reaches a server, and keeps it if it answers.
func (m *Manager) register(ctx context.Context, s Server) (tools.Output, error) {
	if err := m.free(s.Name); err != nil {
		return tools.Output{}, err
	}
	heard, err := m.try(ctx, s)
	if err != nil {
		return tools.Output{}, fmt.Errorf("nothing was registered, since %s does not answer: %w", s.Name, err)
	}
	return tools.Output{
		Text: fmt.Sprintf("Registered the MCP server %s, which has %d tools. activate_tools([%q]) brings them.", s.Name, len(heard.Tools), s.Name),
		Commit: func(tx *store.Tx) error {
			kept, err := m.book.put(tx, s)
			if err != nil {
				return err
			}
			tx.OnCommit(func() { m.enter(kept, heard) })
			return knownTable.Put(tx, store.Text(s.Name), heard)
		},
	}, nil
}

// try reaches a server that is not registered yet, and lets it go again.
func (m *Manager) try(ctx context.Context, s Server) (heard known, err error) {
	resolved, err := m.book.resolved(s)
	if err != nil {
		return heard, err
	}
	c, err := m.dialling(resolved).dial(ctx)
	if err != nil {
		return heard, err
	}
	defer c.close()
	return c.list(ctx)
}

// enter takes a registered server up.
func (m *Manager) enter(s Server, heard known) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.servers[s.Name] = m.newServer(s, false, true, heard)
	m.publish()
}

type deleteIn struct {
	Name string `json:"name" jsonschema:"the server's name, from list_items"`
}

func (m *Manager) deleteTool() tools.Tool {
	return tools.New(tools.Spec[deleteIn]{
		Name:        tools.DeleteMCP,
		Description: "Forgets an MCP server with what was let through for it. toggle_item only switches it off.",
		Traits:      config,
		Label:       func(in deleteIn, _ bool) string { return tools.Quote(in.Name) },
		Judge: func(_ context.Context, _ tools.Scope, in deleteIn) (tools.Judged, error) {
			s, err := m.registered(in.Name)
			if err != nil {
				return tools.Judged{}, err
			}
			return tools.Judged{Subject: approvals.Subject{Kind: approvals.Words, Text: fmt.Sprintf("Delete the MCP server %s\n%s", s.Name, s.where())}}, nil
		},
		Run: func(_ context.Context, _ tools.Call, in deleteIn) (tools.Output, error) {
			s, err := m.registered(in.Name)
			if err != nil {
				return tools.Output{}, err
			}
			return tools.Output{Text: fmt.Sprintf("Deleted the MCP server %s.", s.Name), Commit: func(tx *store.Tx) error {
				if err := m.book.remove(tx, s); err != nil {
					return err
				}
				tx.OnCommit(func() { m.leave(s.Name) })
				return m.Forget(tx, s.Name)
			}}, nil
		},
	})
}

// registered is a server that was registered in the chat.
func (m *Manager) registered(name string) (Server, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.servers[name]
	switch {
	case s == nil:
		return Server{}, m.unknown(name)
	case s.configured:
		return Server{}, fmt.Errorf("%s stands in nod.yaml, so it is removed there; toggle_item switches it off", name)
	}
	return s.Server, nil
}

// unknown says that there is no such server, and which there are. The caller holds mu.
func (m *Manager) unknown(name string) error {
	if len(m.servers) == 0 {
		return fmt.Errorf("there is no MCP server %q, nor any other", name)
	}
	return fmt.Errorf("there is no MCP server %q; there are: %s", name, strings.Join(slices.Sorted(maps.Keys(m.servers)), ", "))
}

// leave lets a server go.
func (m *Manager) leave(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.servers[name]; s != nil {
		delete(m.servers, name)
		m.group.Go(s.link.close)
	}
	m.publish()
}
