package shell

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"nod/approvals"
	"nod/store"
	"nod/tools"
	"nod/tools/tooltest"
)

// rigWith is newRig with a runner of its own.
func rigWith(t *testing.T, runner *Runner) *tooltest.Rig {
	t.Helper()
	r := tooltest.NewIn(t, filepath.Join(t.TempDir(), "work"), func(*tools.Workspace) []tools.Tool { return Tools(runner) })
	r.OnCard = tooltest.Approve
	return r
}

// forcedTo is a runner whose measurement is given.
func forcedTo(mode Mode, iso isolation) *Runner {
	r := &Runner{Mode: mode}
	r.walled.once.Do(func() { r.walled.iso, r.walled.found, r.walled.why = iso, !iso.walls.none(), errors.New("given") })
	return r
}

func TestSA12_HostAccessIsAskedEveryTime(t *testing.T) {
	r := newRig(t)
	rules := approvals.NewRules(nil, tools.ToolSets())
	err := r.DB.Update(func(tx *store.Tx) error {
		_, err := rules.Add(tx, approvals.Rule{
			Tool: tools.ExecuteCmd, Command: &approvals.CommandRule{Program: "true"}, Dir: r.Workspace.Dir(), Action: approvals.ActionAllow,
			Priority: approvals.PriorityPerson,
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := call(r, object{"command": "true"}); got.State != tools.Completed || len(r.Cards()) != 0 {
		t.Fatalf("the rule does not hold: %d cards, %+v", len(r.Cards()), got)
	}
	for range 2 {
		if got := call(r, object{"command": "true", "access": "host"}); got.State != tools.Completed {
			t.Errorf("outcome = %+v", got)
		}
	}
	if len(r.Cards()) != 2 {
		t.Fatalf("%d cards for two calls", len(r.Cards()))
	}
	req := r.Cards()[0].Request
	if !req.MustAsk || !req.NoBypass || !strings.Contains(req.Subject.Warning, "outside of the sandbox") {
		t.Errorf("request = %+v", req)
	}
	if notes := req.Subject.Notes; notes[len(notes)-1] != "🛡 sandbox: none · network on" {
		t.Errorf("notes = %q", notes)
	}
}

func TestAccessWorkspaceIsTheDefault(t *testing.T) {
	tool := ExecuteCmd(new(Runner))
	plain, err := tool.Decode([]byte(`{"command":"ls"}`))
	if err != nil {
		t.Fatal(err)
	}
	named, err := tool.Decode([]byte(`{"access":"workspace","command":"ls"}`))
	if err != nil || string(named.Args()) != string(plain.Args()) {
		t.Errorf("%s and %s differ: %v", plain.Args(), named.Args(), err)
	}
}

// What a card says of the sandbox is what the machine has, and the nod is bound to it.
func TestCardSaysHowStrongTheSandboxIs(t *testing.T) {
	full := isolation{walls: walls{Mounts: true, Landlock: true}}
	for _, tt := range []struct {
		name   string
		runner *Runner
		want   string
	}{
		{"full", forcedTo(Auto, full), "🛡 sandbox: full · network on"},
		{"partial", forcedTo(Auto, isolation{walls: walls{Landlock: true}}), "🛡 sandbox: partial · network on"},
		{"none", forcedTo(Auto, isolation{}), "🛡 sandbox: none · network on"},
		{"turned off", forcedTo(Off, full), "🛡 sandbox: none · network on"},
		{"required", forcedTo(Required, full), "🛡 sandbox: full · network on"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := rigWith(t, tt.runner)
			r.OnCard = func(approvals.Pending) approvals.Decision { return approvals.Decision{Verb: approvals.VerbReject} }
			call(r, object{"command": "true"})
			if notes := r.Cards()[0].Request.Subject.Notes; notes[len(notes)-1] != tt.want {
				t.Errorf("notes = %q, want %q", notes, tt.want)
			}
		})
	}
}

func TestRequiredRunsNothingWeaker(t *testing.T) {
	weak := isolation{level: LevelSubreaper, walls: walls{Landlock: true}}
	for _, tt := range []struct {
		name, access, want string
		iso                isolation
	}{
		{"no sandbox", accessWorkspace, "no full sandbox", isolation{}},
		{"a partial sandbox", accessWorkspace, "no full sandbox", weak},
		{"the host", accessHost, "leave access out", isolation{walls: walls{Mounts: true, Landlock: true}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			runner := forcedTo(Required, tt.iso)
			r := rigWith(t, runner)
			got := call(r, object{"command": "echo >ran", "access": tt.access})
			if got.State != tools.Failed || !strings.Contains(got.Text, "nothing ran") || !strings.Contains(got.Text, tt.want) || len(r.Cards()) != 0 {
				t.Errorf("%d cards, outcome = %+v", len(r.Cards()), got)
			}
			dir := tempDir(t)
			c := Command{Line: "echo >ran", Dir: dir, Timeout: time.Minute}
			if tt.access == accessWorkspace {
				c.Sandbox = &Sandbox{Workspace: dir.Path}
			}
			if res, err := runner.Run(t.Context(), c); err == nil {
				t.Errorf("it ran: %+v", res)
			}
		})
	}
}

// onFull skips where the machine has no full sandbox to fail in.
func onFull(t *testing.T) *Runner {
	t.Helper()
	runner := new(Runner)
	if strength, why := runner.Strength(); strength != Full {
		t.Skipf("NOT TESTED, this machine has no full sandbox: %v", why)
	}
	return runner
}

func TestOutcomeTellsWhatTheSandboxRefused(t *testing.T) {
	r := rigWith(t, onFull(t))
	const files, offline = "only the workspace and temporary folders can be written", "it had no network"
	for _, tt := range []struct{ name, command, want string }{
		{"read-only", "echo x >/usr/nod-test", files},
		{"nothing to do with it", "exit 3", ""},
		{"it worked", "echo Read-only file system", ""},
		{"with the network", "echo Network is unreachable; exit 1", ""},
		{"closed", "mkdir -p secrets && exit 1", ""},
	} {
		t.Run(tt.name, func(t *testing.T) { wantHint(t, call(r, object{"command": tt.command}), tt.want) })
	}
	t.Run("closed, on the next call", func(t *testing.T) { wantHint(t, call(r, object{"command": "ls secrets"}), files) })
	t.Run("on the host", func(t *testing.T) {
		wantHint(t, call(r, object{"command": "echo Permission denied; exit 1", "access": "host"}), "")
	})

	rules := approvals.NewRules(nil, tools.ToolSets())
	err := r.DB.Update(func(tx *store.Tx) (err error) {
		for _, command := range []approvals.CommandRule{
			{Program: "cat", Args: []string{"Network is unreachable"}}, {Program: "grep", Args: []string{"-c", ":", "/proc/net/dev"}},
		} {
			_, ruleErr := rules.Add(tx, approvals.Rule{
				Tool: tools.ExecuteCmd, Command: &command, Dir: r.Workspace.Dir(), Action: approvals.ActionAllow, Priority: approvals.PriorityPerson,
			})
			err = errors.Join(err, ruleErr)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("without the network", func(t *testing.T) {
		wantHint(t, call(r, object{"command": "cat 'Network is unreachable'"}), offline)
		got := call(r, object{"command": "grep -c : /proc/net/dev"})
		if !strings.HasPrefix(got.Text, "1\n") { // lo, and nothing else
			t.Errorf("a rule lets it have the network: %+v", got)
		}
	})
}

func wantHint(t *testing.T, got tools.Outcome, want string) {
	t.Helper()
	last := got.Text[strings.LastIndexByte(got.Text, '\n')+1:]
	switch {
	case want == "" && strings.Contains(last, "sandbox"), !strings.Contains(last, want):
		t.Errorf("last line = %q, want %q in it", last, want)
	case want != "" && !strings.Contains(last, "access=host asks the user"):
		t.Errorf("last line = %q gives no way out", last)
	}
}

// S-C8: nod's own files and the workspace's secrets are closed to commands, also those that are not there yet.
func TestSC8_CommandsCantReachWhatIsNods(t *testing.T) {
	runner := onFull(t)
	home := filepath.Join(t.TempDir(), "home")
	tooltest.WriteFile(t, filepath.Join(home, "nod.db"), "canary")
	r := tooltest.NewIn(t, filepath.Join(t.TempDir(), "work"), func(*tools.Workspace) []tools.Tool { return Tools(runner) }, home)
	r.OnCard = tooltest.Approve
	r.Write("secrets/token", "canary")
	got := call(r, object{"command": "cat " + home + "/nod.db secrets/token; echo x >" + home + "/nod.yaml; mkdir -p " + home + "/agents"})
	if strings.Contains(got.Text, "canary") {
		t.Errorf("outcome = %+v", got)
	}
	for _, name := range []string{"nod.yaml", "agents"} {
		if _, err := os.Stat(filepath.Join(home, name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
}

func TestPersonalLeavesOutTheWorkspace(t *testing.T) {
	home := homes()[0]
	all := personal("/somewhere")
	within := personal(filepath.Join(home, ".config", "work"))
	if len(all) != len(within)+1 {
		t.Errorf("%d paths, %d for a workspace in one of them", len(all), len(within))
	}
}

func TestModesAndStrengthsHaveNames(t *testing.T) {
	for _, s := range []Strength{None, Partial, Full} {
		if strings.HasPrefix(s.String(), "strength") {
			t.Errorf("strength %d has no name", int(s))
		}
	}
	for want, r := range map[string]*Runner{
		"none (turned off)": forcedTo(Off, isolation{}),
		"none":              forcedTo(Auto, isolation{}),
		"partial, so that no command runs (sandbox: required)": forcedTo(Required, isolation{walls: walls{Mounts: true}}),
	} {
		if got := r.Describe(); got != want {
			t.Errorf("Describe = %q, want %q", got, want)
		}
	}
	if strength, why := new(Runner).Strength(); runtime.GOOS != "linux" && (strength != None || why == nil) {
		t.Errorf("strength = %v, %v on %s", strength, why, runtime.GOOS)
	}
}
