package prompt

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"nod/agent/roster"
	"nod/approvals"
	"nod/store"
	"nod/tools"
	"nod/tools/chat"
	"nod/tools/tooltest"
)

// desk is a builder on a real folder and database.
type desk struct {
	*testing.T
	*Builder
	rig   *tooltest.Rig
	facts Facts
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	rig := tooltest.New(t, func(w *tools.Workspace) []tools.Tool { return named(everyName...) })
	d := &desk{T: t, rig: rig, Builder: &Builder{
		DB: rig.DB, Workspace: rig.Workspace, Zone: time.FixedZone("Europe/Rome", 3600),
	}}
	d.facts = Facts{
		Agent: roster.Agent{ID: "main", Text: "You are nod."}, Root: rig.Scope.Session, Now: time.Date(2026, 11, 30, 8, 5, 59, 0, time.UTC),
		Offer: rig.Registry.Offer(tools.Visibility{Scope: rig.Scope}),
	}
	return d
}

func (d *desk) system() string {
	d.Helper()
	text, err := d.System(d.facts)
	if err != nil {
		d.Fatal(err)
	}
	return text
}

// everyName are the tools that guidance may speak of.
var everyName = []string{
	tools.ListFiles, tools.ReadFile, tools.WriteFile, tools.EditFile, tools.InsertAtLine, tools.ReplaceLines, tools.SearchFile, tools.GrepFiles,
	tools.ExecuteCmd, tools.Restart, tools.ExecuteTask, tools.ListItems, tools.ToggleItem, tools.DeleteCronJob,
	tools.SendAttachment, tools.AskUserClarification, tools.WriteTodos, tools.UpdateScratchpad, tools.ActivateTools,
}

// named makes tools that have only a name.
func named(names ...string) (all []tools.Tool) {
	for _, name := range names {
		all = append(all, tools.New(tools.Spec[struct{}]{
			Name: name, Description: "Does it.", Traits: tools.Traits{Category: tools.Plumbing, Effect: tools.Read},
			Ask: func(struct{}) approvals.Question { return approvals.Question{} },
		}))
	}
	return all
}

func TestWhatChangesLeastStandsFirst(t *testing.T) {
	d := newDesk(t)
	d.rig.Write("AGENTS.md", "Be brief.")
	d.rig.Write("memory/MEMORY.md", "Ann likes tea.")
	first := d.system()
	d.facts.Now = d.facts.Now.Add(time.Minute)
	second := d.system()
	same := 0
	for same < min(len(first), len(second)) && first[same] == second[same] {
		same++
	}
	if rest := second[same:]; !strings.HasPrefix(rest, "6, time zone Europe/Rome. Your workspace is ") {
		t.Errorf("a minute later another text begins with %q", rest)
	}
	order := []string{"You are nod", "# Using your tools", "# The owner's notes (AGENTS.md)\n\nBe brief.", "# The owner's notes (memory/MEMORY.md)\n\nAnn likes tea.", "# Now\n\nIt is Monday, 30 November 2026, 09:05"}
	at := -1
	for _, part := range order {
		next := strings.Index(first, part)
		if next <= at {
			t.Errorf("%q stands at %d, after what stands at %d", part, next, at)
		}
		at = next
	}
}

func TestNotesAreBoundedAndLabelled(t *testing.T) {
	d := newDesk(t)
	d.rig.Write("AGENTS.md", strings.Repeat("é", maxNotes))
	d.rig.Write("memory/MEMORY.md", " \n\t")
	got := d.system()
	_, notes, _ := strings.Cut(got, "# The owner's notes (AGENTS.md)\n\n")
	notes, _, _ = strings.Cut(notes, "\n\n# Now")
	body, note, _ := strings.Cut(notes, "\n")
	if body != strings.Repeat("é", maxNotes/2) || !strings.Contains(note, "is left out") {
		t.Errorf("%d bytes, then %q", len(body), note)
	}
	if strings.Contains(got, "MEMORY.md)") {
		t.Error("a blank file is shown")
	}
	d.rig.Write("AGENTS.md", "bad \xff byte")
	if got := d.system(); !strings.Contains(got, "bad � byte") {
		t.Error("bytes that are no text came through")
	}
}

func TestNotesNeverComeFromElsewhere(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside.md")
	tooltest.WriteFile(t, outside, "OUTSIDE")
	for name, tt := range map[string]struct {
		make func(path string, d *desk) error
		want string
	}{
		"a link to secrets": {func(path string, d *desk) error { return os.Symlink("secrets/key", path) }, "could not be read"},
		"a link out":        {func(path string, d *desk) error { return os.Symlink(outside, path) }, "could not be read"},
		"a link inside":     {func(path string, d *desk) error { return os.Symlink("CLAUDE.md", path) }, "(AGENTS.md)\n\nCLAUDE"},
		"a dangling link":   {func(path string, d *desk) error { return os.Symlink("gone.md", path) }, ""},
		"a hard link":       {func(path string, d *desk) error { return os.Link(d.rig.Path("secrets/key"), path) }, "could not be read"},
		"a FIFO":            {func(path string, d *desk) error { return unix.Mkfifo(path, 0o600) }, "could not be read"},
		"a folder":          {func(path string, d *desk) error { return os.Mkdir(path, 0o755) }, "could not be read"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.rig.Write("secrets/key", "KEY")
			d.rig.Write("CLAUDE.md", "CLAUDE")
			if err := tt.make(d.rig.Path("AGENTS.md"), d); err != nil {
				t.Fatal(err)
			}
			got := d.system()
			if strings.Contains(got, "KEY") || strings.Contains(got, "OUTSIDE") || !strings.Contains(got, tt.want) {
				t.Errorf("%s", got[strings.Index(got, "# Using"):])
			}
			if tt.want == "" && strings.Contains(got, "AGENTS.md") {
				t.Error("a file that is not there is spoken of")
			}
		})
	}
}

func TestScratchpadAndJob(t *testing.T) {
	d := newDesk(t)
	if strings.Contains(d.system(), "# Scratchpad") || strings.Contains(d.system(), "scheduled job") {
		t.Error("there is a scratchpad, or a job, already")
	}
	rig := tooltest.NewOn(t, d.DB, func(w *tools.Workspace) []tools.Tool { return chat.Tools(w, nil) })
	rig.Scope.Root = d.facts.Root
	if out := rig.Call(tools.UpdateScratchpad, map[string]string{"content": "step 2 of 3"}); out.State != tools.Completed {
		t.Fatal(out.Text)
	}
	d.facts.Job = "mail \"x\"\n"
	got := d.system()
	if !strings.Contains(got, "\n\nstep 2 of 3\n\n# Now") || !strings.Contains(got, `the scheduled job "mail \"x\"\n": nobody is watching`) {
		t.Errorf("%s", got[strings.Index(got, "# Using"):])
	}
}

// TestGuidanceNamesOnlyWhatIsOffered takes random offers.
func TestGuidanceNamesOnlyWhatIsOffered(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var names []string
		for _, name := range everyName {
			if random.IntN(3) > 0 {
				names = append(names, name)
			}
		}
		registry, err := tools.NewRegistry(named(names...)...)
		if err != nil {
			t.Fatal(err)
		}
		got := guidance(Facts{Offer: registry.Offer(tools.Visibility{})})
		for _, name := range everyName {
			if !slices.Contains(names, name) && strings.Contains(got, name) {
				t.Fatalf("%s is not offered, yet: %s", name, got)
			}
		}
		if wants := len(got) > 0; wants != slices.ContainsFunc(crossTool, func(g struct {
			text  string
			needs []string
		},
		) bool {
			return !slices.ContainsFunc(g.needs, func(n string) bool { return !slices.Contains(names, n) })
		}) {
			t.Fatalf("there is guidance: %v, with %v", wants, names)
		}
	}
	if got := guidance(Facts{}); got != "" {
		t.Errorf("without an offer: %s", got)
	}
}

// TestGuidanceDeclaresWhatItNames: a line that names a tool needs it.
func TestGuidanceDeclaresWhatItNames(t *testing.T) {
	for _, g := range crossTool {
		var names []string
		for _, name := range everyName {
			if strings.Contains(g.text, name) {
				names = append(names, name)
			}
		}
		needs := slices.Clone(g.needs)
		slices.Sort(needs)
		slices.Sort(names)
		if diff := cmp.Diff(names, needs); diff != "" {
			t.Errorf("%s\n%s", g.text, diff)
		}
	}
}

func TestADatabaseThatIsClosedIsAnError(t *testing.T) {
	d := newDesk(t)
	db, err := store.Open(filepath.Join(t.TempDir(), "nod.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	d.DB = db
	if _, err := d.System(d.facts); err == nil || errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
