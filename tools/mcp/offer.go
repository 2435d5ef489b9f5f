package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"nod/approvals"
	"nod/tools"
)

// offer is what the registry is told: made when something changes, and read at once.
type offer struct {
	tools  []tools.Tool
	groups []tools.Group
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
// the server is started or reached, not to its name alone.
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
