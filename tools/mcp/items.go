package mcp

import (
	"fmt"
	"strings"

	"nod/store"
	"nod/tools"
	"nod/tools/jobs"
)

// Items are the servers for list_items and toggle_item.
func (m *Manager) Items() jobs.Items {
	return jobs.Items{
		Type: "mcp", Kind: "mcp", What: "MCP servers, with their state and number of tools; enabled means that their tools can be had",
		List: func(*store.Tx, tools.Scope) (string, error) {
			var lines []string
			for _, r := range m.Reports() {
				lines = append(lines, r.listed())
			}
			if len(lines) == 0 {
				return "There are no MCP servers. register_mcp makes one.", nil
			}
			return strings.Join(lines, "\n"), nil
		},
		Describe: func(name string, on bool) (string, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			s := m.servers[name]
			if s == nil {
				return "", m.unknown(name)
			}
			return fmt.Sprintf("Switch the MCP server %s %s\n%s", name, onOff(on), s.where()), nil
		},
		Toggle: func(name string, on bool) (tools.Output, error) {
			return tools.Output{
				Text: fmt.Sprintf("Switched the MCP server %s %s.", name, onOff(on)),
				Commit: func(tx *store.Tx) error {
					tx.OnCommit(func() { m.turn(name, on) })
					return m.book.turn(tx, name, on)
				},
			}, nil
		},
	}
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// turn switches a server on or off. One that was off begins with a link of its own, which has failed at nothing yet.
func (m *Manager) turn(name string, on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.servers[name]
	if s == nil || s.on == on {
		return
	}
	if s.on = on; on {
		s.link = m.newLink(s.Server)
	} else {
		m.group.Go(s.link.close)
	}
	m.publish()
}
