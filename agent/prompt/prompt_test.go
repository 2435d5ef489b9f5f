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
var everyName = func() (names []string) {
	for _, e := range tools.Catalogue {
		names = append(names, e.Tool)
	}
	return names
}()

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
		for _, line := range crossTool {
			missing := slices.ContainsFunc(tools.Named(line), func(e tools.Entry) bool { return !slices.Contains(names, e.Tool) })
			if strings.Contains(got, line) == missing {
				t.Fatalf("with %v the line %q is wrong: %s", names, line, got)
			}
		}
	}
	if got := guidance(Facts{}); got != "" {
		t.Errorf("without an offer: %s", got)
	}
}

// TestEveryLineOfGuidanceNamesTools: what names none would be said where there are none.
func TestEveryLineOfGuidanceNamesTools(t *testing.T) {
	for _, line := range crossTool {
		if len(tools.Named(line)) == 0 {
			t.Error(line)
		}
	}
}

func TestTextsThatNameWhatIsNotThereAreRefused(t *testing.T) {
	if err := Check(roster.Embedded()); err != nil {
		t.Errorf("our own texts: %v", err)
	}
	for text, bad := range map[string]bool{
		"Use read_file.": false, "restart or notify as you like": false, "Call send_attachment.": true, "Call `telegram_pin`.": true, "Not read_file_x.": false,
	} {
		if err := Check([]roster.Agent{{ID: "x", Text: text}}); (err != nil) != bad {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestWithoutToolsNothingIsSaidOfThem: in the profile disabled it is plain chat.
func TestWithoutToolsNothingIsSaidOfThem(t *testing.T) {
	d := newDesk(t)
	d.facts.Agent = roster.Embedded()[1]
	d.facts.Offer = nil
	text := d.system()
	for _, word := range []string{"tool", "Approve", "workspace", "<!--"} {
		if strings.Contains(text, word) {
			t.Errorf("%q is said: %s", word, text)
		}
	}
	if !strings.Contains(text, "How you write") {
		t.Errorf("what is left: %s", text)
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
