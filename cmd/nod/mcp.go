package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"

	"nod/approvals"
	"nod/store"
	"nod/tools"
	"nod/tools/mcp"
	"nod/tools/secrets"
	"nod/tools/shell"
)

// fileServer is an MCP server in nod.yaml.
type fileServer struct {
	Name         string            `yaml:"name"`
	Transport    string            `yaml:"transport"`
	Command      string            `yaml:"command"`
	Args         []string          `yaml:"args"`
	Env          map[string]string `yaml:"env"`
	URL          string            `yaml:"url"`
	APIKey       string            `yaml:"api_key"`
	Description  string            `yaml:"description"`
	FriendlyName string            `yaml:"friendly_name"`
	Enabled      *bool             `yaml:"enabled"`
}

// servers lists the MCP servers of the configuration. Without a transport, a command means stdio and a url http.
func (l *loader) servers(f file) (all []mcp.Server) {
	names := map[string]bool{}
	for i, given := range f.MCP {
		where := fmt.Sprintf("mcp[%d].", i)
		s := mcp.Server{
			Name: given.Name, Transport: mcp.Transport(strings.ToLower(given.Transport)), Command: given.Command, Args: given.Args, URL: given.URL,
			APIKey: string(l.secret(where+"api_key", given.APIKey)), Description: given.Description, FriendlyName: given.FriendlyName,
			Off: given.Enabled != nil && !*given.Enabled,
		}
		switch {
		case s.Transport == "" && s.URL != "":
			s.Transport = mcp.HTTP
		case s.Transport == "":
			s.Transport = mcp.Stdio
		}
		for name, value := range given.Env {
			if s.Env == nil {
				s.Env = map[string]string{}
			}
			s.Env[name] = string(l.secret(where+"env."+name, value))
		}
		if err := s.Check(); err != nil {
			for line := range strings.Lines(err.Error()) {
				l.problem(strings.TrimSuffix(where, "."), "%s", strings.TrimSpace(line))
			}
		}
		if folded := strings.ToLower(s.Name); names[folded] {
			l.problem(strings.TrimSuffix(where, "."), "there is another server named %s", s.Name)
		} else {
			names[folded] = true
		}
		all = append(all, s)
	}
	return all
}

// serverSecrets are the values of servers that must appear nowhere.
func serverSecrets(servers []mcp.Server) (all []string) {
	for _, s := range servers {
		all = append(all, s.APIKey)
		for name, value := range s.Env {
			if mcp.IsSecret(name) {
				all = append(all, value)
			}
		}
	}
	return all
}

// newServers makes the manager of MCP servers.
func newServers(db *store.DB, vault *secrets.Vault, runner *shell.Runner, workspace *tools.Workspace, cfg Config, round http.RoundTripper, log *slog.Logger) (*mcp.Manager, error) {
	return mcp.New(mcp.Options{
		DB: db, Vault: vault, Runner: runner, Workspace: workspace, Servers: cfg.Servers, Round: round, Log: log, Quiet: startQuiet,
	})
}

// forgetServer takes back what people let through for calls of an MCP server: one of the same name may be another.
func forgetServer(gate *approvals.Gate, rules *approvals.Rules) func(*store.Tx, string) error {
	return func(tx *store.Tx, server string) error {
		grants, err := gate.Grants(tx)
		for _, g := range grants {
			if err == nil && g.Category == mcp.CategoryOf(server) {
				err = gate.Revoke(tx, g.ID)
			}
		}
		if err != nil {
			return err
		}
		all, err := rules.All(tx)
		for _, rule := range all {
			if err == nil && rule.Action == approvals.ActionAllow && mcp.Owns(server, rule.Tool) {
				err = rules.Delete(tx, rule.ID)
			}
		}
		return err
	}
}

// serverFinding is what the running bot tells the doctor of a server.
type serverFinding struct {
	Name  string
	Tools int
	List  []toolLine
	Err   string
}

// lookAtServers reaches every server that is on, side by side.
func lookAtServers(ctx context.Context, m *mcp.Manager) []serverFinding {
	var found []serverFinding
	for _, r := range m.Reports() {
		if r.State != mcp.Off {
			found = append(found, serverFinding{Name: r.Name})
		}
	}
	var all sync.WaitGroup
	for i := range found {
		all.Go(func() {
			n, err := m.Check(ctx, found[i].Name, checkTime)
			if found[i].Tools = n; err != nil {
				found[i].Err = err.Error()
			}
		})
	}
	all.Wait()
	for _, t := range m.Tools() {
		if i := slices.IndexFunc(found, func(f serverFinding) bool { return f.Name == t.Traits().Group }); i >= 0 {
			found[i].List = append(found[i].List, gistOf(t))
		}
	}
	return found
}

// checkServers reaches each MCP server, or has the running bot do it, which alone can read what is registered in the chat.
func checkServers(ctx context.Context, cfg Config) []finding {
	found, err := serversOfRunning(ctx, cfg.Home)
	if errors.Is(err, errNotRunning) {
		found, err = serversAlone(ctx, cfg)
	}
	if err != nil {
		return []finding{{"MCP servers", problem, err.Error()}}
	}
	var all []finding
	for _, f := range found {
		what := "MCP server " + f.Name
		switch {
		case f.Err != "":
			all = append(all, finding{what, warning, f.Err + "; nod works without it"})
		case f.Tools == 0:
			all = append(all, finding{what, warning, "it answers, but has no tools"})
		default:
			all = append(all, finding{what, ok, under(fmt.Sprintf("it answers, %d tools", f.Tools), f.List)})
		}
	}
	return all
}

func serversOfRunning(ctx context.Context, home string) (found []serverFinding, err error) {
	text, err := ask(ctx, home, "/mcp")
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		return nil, fmt.Errorf("reading what the running nod says of MCP servers: %w", err)
	}
	return found, nil
}

// serversAlone reaches the servers while no bot runs.
func serversAlone(ctx context.Context, cfg Config) (found []serverFinding, err error) {
	err = alone(cfg, len(cfg.Servers) > 0, func(cfg Config, db *store.DB, vault *secrets.Vault) (err error) {
		workspace, err := tools.OpenWorkspace(cfg.Workspace, cfg.private()...)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, workspace.Close()) }()
		m, err := newServers(db, vault, &shell.Runner{}, workspace, cfg, nil, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		found = lookAtServers(ctx, m)
		cancel()
		return <-done
	})
	return found, err
}
