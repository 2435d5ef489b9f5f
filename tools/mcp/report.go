package mcp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

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
