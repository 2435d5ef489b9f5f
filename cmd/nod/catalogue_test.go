package main

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/approvals"
	"nod/scheduler"
	"nod/store"
	"nod/tools"
	"nod/tools/secrets"
	"nod/tools/shell"
)

var updateCatalogue = flag.Bool("catalogue.update", false, "write testdata/catalogue.txt anew")

// fullShelf is every built-in tool of the program, made as run makes them.
func fullShelf(t *testing.T) (*shelf, *store.DB) {
	t.Helper()
	db := store.OpenTest(t)
	workspace, err := tools.OpenWorkspace(filepath.Join(t.TempDir(), "work"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := workspace.Close(); err != nil {
			t.Error(err)
		}
	})
	vault, err := openVault(db, Config{Home: t.TempDir()}, &secrets.Redactor{})
	if err != nil {
		t.Fatal(err)
	}
	groups := func() []tools.Group { return []tools.Group{{Name: tools.ConfigGroup}} }
	return &shelf{db: db, book: scheduler.NewJobs(db), workspace: workspace, vault: vault, runner: &shell.Runner{Mode: shell.Off}, groups: groups, zone: time.UTC}, db
}

func catalogueOf(t *testing.T, profile tools.Profile) *tools.Registry {
	t.Helper()
	s, _ := fullShelf(t)
	r, err := tools.NewCatalogue(profile, s.tools()...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestCatalogueHasATooForEachEntry and an entry for each tool; the latter is what NewCatalogue checks.
func TestCatalogueHasAToolForEachEntry(t *testing.T) {
	r := catalogueOf(t, tools.HybridProfile)
	for _, e := range tools.Catalogue {
		if _, ok := r.Find(e.Tool); !ok {
			t.Errorf("%s (%s) has no definition", e.Tool, e.ID)
		}
	}
}

// place is a kind of conversation in which tools are offered.
type place struct {
	name  string
	scope tools.Scope
}

func places(ports tools.Ports) []place {
	return []place{
		{"a chat", tools.Scope{Source: approvals.Telegram, Ports: ports}},
		{"a chat's sub-agent", tools.Scope{Source: approvals.Telegram, Depth: 1, Ports: ports}},
		{"a job", tools.Scope{Source: approvals.Cron, Ports: ports}},
		{"a task in the background", tools.Scope{Source: approvals.Telegram, Background: true, Ports: ports}},
		{"a job's sub-agent", tools.Scope{Source: approvals.Cron, Depth: 1, Ports: ports}},
	}
}

// TestCatalogueListing keeps what each profile offers, by place, phase and group, as a file that a reviewer sees change.
func TestCatalogueListing(t *testing.T) {
	var b strings.Builder
	for _, profile := range tools.Profiles {
		r := catalogueOf(t, profile)
		fmt.Fprintf(&b, "# profile %s\n", profile)
		for _, p := range places(allPorts()) {
			v := tools.Visibility{Scope: p.scope}
			base := named(r.Offer(v))
			fmt.Fprintf(&b, "\n%s: %s\n", p.name, orNone(base))
			v.Groups = []string{tools.ConfigGroup}
			fmt.Fprintf(&b, "  with config: %s\n", orNone(without(named(r.Offer(v)), base)))
			v.Groups, v.Scope.Ports.Files = nil, nil
			fmt.Fprintf(&b, "  where no files can be sent, without: %s\n", orNone(without(base, named(r.Offer(v)))))
		}
		b.WriteByte('\n')
	}
	golden := filepath.Join("testdata", "catalogue.txt")
	if *updateCatalogue {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("run with -catalogue.update when this is meant (-want +got):\n%s", diff)
	}
}

func named(o *tools.Offer) (names []string) {
	for _, t := range o.Tools {
		names = append(names, t.Name())
	}
	return names
}

func without(all, some []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(n string) bool { return slices.Contains(some, n) })
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, " ")
}

// TestWhatIsNotOfferedDoesNotRun calls every tool in every profile and place in which it is not offered, with and without
// the files port and the config group: being named by a model is no authorisation.
func TestWhatIsNotOfferedDoesNotRun(t *testing.T) {
	s, db := fullShelf(t)
	rules := approvals.NewRules(tools.SeededRules(s.workspace), tools.ToolSets())
	if err := db.Update(rules.Seed); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	gate := approvals.NewGate(db, rules, noCards{t}, approvals.Options{BuiltInDeny: s.workspace.BuiltInDeny, Log: log})
	executor := tools.NewExecutor(db, gate, log)
	refused := map[string]bool{}
	for _, profile := range tools.Profiles {
		r, err := tools.NewCatalogue(profile, s.tools()...)
		if err != nil {
			t.Fatal(err)
		}
		for _, ports := range []tools.Ports{allPorts(), {}} {
			for _, p := range places(ports) {
				p.scope.Workspace = s.workspace
				offer := r.Offer(tools.Visibility{Scope: p.scope})
				for _, tool := range r.All() {
					if _, ok := offer.Find(tool.Name()); ok {
						continue
					}
					refused[tool.Name()] = true
					out, err := executor.Run(t.Context(), tools.CallRequest{
						ID: store.NewCallID(), Name: tool.Name(), Args: []byte(`{}`), Scope: p.scope, Offer: offer,
					}, func(*store.Tx, tools.Execution) error { return nil })
					if err != nil || out.State != tools.Failed || !strings.Contains(out.Text, "is not available here") {
						t.Errorf("%s in %s, profile %s: %v %s, %v", tool.Name(), p.name, profile, out.State, out.Text, err)
					}
				}
			}
		}
	}
	for _, tool := range s.tools() {
		if !refused[tool.Name()] { // each of them is in no offer of the profile disabled
			t.Errorf("%s was never refused", tool.Name())
		}
	}
}

// noCards is a view in a test in which nobody is to be asked.
type noCards struct{ t *testing.T }

func (n noCards) ShowPending(_ *store.Tx, p approvals.Pending) error {
	n.t.Errorf("a card for %s", p.Request.Tool)
	return nil
}
func (noCards) ClosePending(*store.Tx, approvals.Pending) error { return nil }

// allPorts are ports that are there and do nothing.
func allPorts() tools.Ports {
	return tools.Ports{
		Files: idleFiles{}, Agents: struct{ tools.AgentPort }{}, Speech: struct{ tools.SpeechPort }{}, Images: struct{ tools.ImagePort }{},
		Messages: struct{ tools.MessagePort }{}, Groups: struct{ tools.GroupPort }{}, Restart: func() {},
	}
}

type idleFiles struct{}

func (idleFiles) Keep(string, io.Reader, int64) (string, error)          { return "", nil }
func (idleFiles) Send(*store.Tx, store.Address, tools.File) error        { return nil }
func (idleFiles) SendAlbum(*store.Tx, store.Address, []tools.File) error { return nil }
func (idleFiles) Limit() int64                                           { return 0 }
