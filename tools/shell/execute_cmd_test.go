package shell

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/approvals"
	"nod/store"
	"nod/tools"
	"nod/tools/tooltest"
)

// newRig is a workspace in which execute_cmd runs what the owner lets run.
func newRig(t *testing.T, denied ...string) *tooltest.Rig {
	t.Helper()
	r := tooltest.NewIn(t, filepath.Join(t.TempDir(), "work"), func(*tools.Workspace) []tools.Tool { return Tools(new(Runner)) }, denied...)
	r.OnCard = tooltest.Approve
	return r
}

type object = map[string]any

func call(r *tooltest.Rig, args object) tools.Outcome { return r.Call(tools.ExecuteCmd, args) }

func TestRunTool(t *testing.T) {
	r := newRig(t)
	r.Write("spaced name", "")
	tests := []struct {
		name  string
		args  object
		state tools.State
		want  []string // parts of the text, in order
	}{
		{"output", object{"command": "echo hello; echo err >&2"}, tools.Completed, []string{"hello\nerr\n[exit 0 · 0.", " s]"}},
		{"nothing", object{"command": "true"}, tools.Completed, []string{"(no output)\n[exit 0 · "}},
		{"fails", object{"command": "echo no; exit 3"}, tools.Completed, []string{"no\n[exit 3 · "}},
		{"signal", object{"command": "kill -SEGV $$"}, tools.Completed, []string{"[ended by SIGSEGV · "}},
		{"in the workspace", object{"command": "ls"}, tools.Completed, []string{"spaced name\n["}},
		{"elsewhere", object{"command": "pwd", "workdir": "/"}, tools.Completed, []string{"/\n["}},
		{"times out", object{"command": "echo begun; sleep 60", "timeout": 1}, tools.Failed, []string{"begun\n[timed out · ended by SIGTERM · 1.", " s]"}},
		{"binary", object{"command": "printf 'a\\000\\377\\033[1mb'"}, tools.Completed, []string{"a\uFFFDb\n[exit 0"}},
		{"relative workdir", object{"command": "pwd", "workdir": "sub"}, tools.Failed, []string{"absolute path"}},
		{"missing workdir", object{"command": "pwd", "workdir": "/no/such/dir"}, tools.Failed, []string{"can't start: ", "no such file"}},
		{"file as workdir", object{"command": "pwd", "workdir": r.Path("spaced name")}, tools.Failed, []string{"can't start in spaced name"}},
		{"empty", object{"command": " "}, tools.Failed, []string{"empty"}},
		{"timeout of zero", object{"command": "true", "timeout": 0}, tools.Failed, []string{"timeout"}},
		{"long timeout", object{"command": "true", "timeout": 601}, tools.Failed, []string{"timeout"}},
		{"no such access", object{"command": "true", "access": "root"}, tools.Failed, []string{"access"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := call(r, tt.args)
			if got.State != tt.state {
				t.Errorf("state = %s, want %s", got.State, tt.state)
			}
			rest := got.Text
			for _, part := range tt.want {
				_, after, found := strings.Cut(rest, part)
				if !found {
					t.Errorf("%q lacks in %q", part, got.Text)
				}
				rest = after
			}
		})
	}
}

func TestRunToolSaysWhatItEndedWith(t *testing.T) {
	r := newRig(t)
	got := call(r, object{"command": "sleep 600 & echo up"})
	if !strings.HasPrefix(got.Text, "up\n[exit 0 · ") || !strings.HasSuffix(got.Text, " · 1 background process was ended with it]") {
		t.Errorf("text = %q", got.Text)
	}
}

func TestSE6_WholeOutputIsInAFile(t *testing.T) {
	r := newRig(t)
	got := call(r, object{"command": "seq 1 100000"})
	_, rest, _ := strings.Cut(got.Text, "the whole is in ")
	name, _, found := strings.Cut(rest, ", which read_file can page")
	if !found || len(got.Text) > tools.OutcomeLimit || !strings.HasPrefix(got.Text, "1\n2\n3\n") || !strings.Contains(got.Text, "\n100000\n[exit 0") {
		t.Fatalf("text of %d bytes, file %q", len(got.Text), name)
	}
	whole, err := os.ReadFile(r.Path(name))
	if err != nil || bytes.Count(whole, []byte{'\n'}) != 100000 {
		t.Errorf("the file has %d lines, %v", bytes.Count(whole, []byte{'\n'}), err)
	}
}

func TestSTOP1_StopEndsTheCommandAndKeepsItsOutput(t *testing.T) {
	r := newRig(t)
	ctx, stop := context.WithCancelCause(t.Context())
	go func() {
		defer stop(tools.ErrStopped)
		for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
			if _, err := os.Stat(r.Path("up")); err == nil {
				return
			}
		}
	}()
	got := r.CallContext(ctx, tools.ExecuteCmd, object{"command": "echo begun; echo >up; sleep 600"})
	if got.State != tools.Cancelled || !strings.Contains(got.Text, "begun\n[stopped · ended by SIGTERM · ") {
		t.Errorf("outcome = %+v", got)
	}
}

func TestSA1_CardShowsTheWholeCommand(t *testing.T) {
	r := newRig(t)
	r.Write("build.sh", "echo built")
	command := "sh build.sh  &&\techo '" + strings.Repeat("x", 3000) + "'"
	got := call(r, object{"command": command, "workdir": r.Workspace.Dir() + "/", "timeout": 9})
	if !strings.HasPrefix(got.Text, "built\n") {
		t.Errorf("outcome = %+v", got)
	}
	req := r.Cards()[0].Request
	if s := req.Subject; s.Kind != approvals.Command || s.Text != command || s.Dir != r.Workspace.Dir() {
		t.Errorf("subject = %+v", s)
	}
	if n := req.Subject.Notes; len(n) != 3 || n[0] != "stopped after 9 s at the latest" || !strings.HasPrefix(n[1], "runs build.sh as it is now (SHA-256 ") {
		t.Errorf("notes = %q", n)
	}
	if req.NoBypass || req.MustAsk || req.Category != "shell" {
		t.Errorf("request = %+v", req)
	}
}

func TestSA1_AuditBeforeItRuns(t *testing.T) {
	r := newRig(t)
	var log bytes.Buffer
	r.Executor = tools.NewExecutor(r.DB, r.Gate, slog.New(slog.NewTextHandler(&log, nil)))
	got := call(r, object{"command": "echo ran; exit 1"})
	if got.State != tools.Completed {
		t.Errorf("outcome = %+v", got)
	}
	if n := strings.Count(log.String(), `msg="running a command" `); n != 1 || !strings.Contains(log.String(), `command="echo ran; exit 1" dir=`) {
		t.Errorf("%d audit lines in\n%s", n, log.String())
	}
}

func TestSA3_DriftAsksAgain(t *testing.T) {
	tests := []struct {
		name  string
		drift func(r *tooltest.Rig) error
	}{
		{"script edited", func(r *tooltest.Rig) error {
			return os.WriteFile(r.Path("sub/build.sh"), []byte("echo changed"), 0o644)
		}},
		{"script removed", func(r *tooltest.Rig) error { return os.Remove(r.Path("sub/build.sh")) }},
		{"folder replaced (S-A2)", func(r *tooltest.Rig) error {
			return firstError(os.Rename(r.Path("sub"), r.Path("old")), os.CopyFS(r.Path("sub"), os.DirFS(r.Path("old"))))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			r.Write("sub/build.sh", "echo built")
			r.OnCard = func(approvals.Pending) approvals.Decision {
				if len(r.Cards()) > 1 {
					return approvals.Decision{Verb: approvals.VerbReject}
				}
				if err := tt.drift(r); err != nil {
					t.Error(err)
				}
				return approvals.Decision{Verb: approvals.VerbApprove}
			}
			got := call(r, object{"command": "echo >ran; sh build.sh", "workdir": r.Path("sub")})
			if got.State != tools.Rejected || len(r.Cards()) != 2 {
				t.Errorf("%d cards, outcome = %+v", len(r.Cards()), got)
			}
			if _, err := os.Stat(r.Path("sub/ran")); err == nil {
				t.Error("it ran on the first nod")
			}
		})
	}
}

func TestSA2_LinkSwap(t *testing.T) {
	r := newRig(t)
	if err := firstError(os.Mkdir(r.Path("a"), 0o755), os.Mkdir(r.Path("b"), 0o755), os.Symlink("a", r.Path("link"))); err != nil {
		t.Fatal(err)
	}
	r.OnCard = func(p approvals.Pending) approvals.Decision {
		if err := firstError(os.Remove(r.Path("link")), os.Symlink("b", r.Path("link"))); err != nil {
			t.Error(err)
		}
		return tooltest.Approve(p)
	}
	got := call(r, object{"command": "pwd", "workdir": r.Path("link")})
	if !strings.HasPrefix(got.Text, r.Path("b")+"\n") {
		t.Errorf("outcome = %+v", got)
	}
	var shown []string
	for _, p := range r.Cards() {
		shown = append(shown, p.Request.Subject.Dir)
	}
	if diff := cmp.Diff([]string{r.Path("a"), r.Path("b")}, shown); diff != "" {
		t.Errorf("folders on the cards (-want +got):\n%s", diff)
	}
}

// What drifts in the instant between the nod's use and the start is seen too: the intent is on record, and nothing runs.
func TestSA3_DriftAfterTheNodRunsNothing(t *testing.T) {
	for name, drift := range map[string]func(r *tooltest.Rig) error{
		"nothing": func(*tooltest.Rig) error { return nil },
		"script edited": func(r *tooltest.Rig) error {
			return os.WriteFile(r.Path("sub/build.sh"), []byte("echo changed; echo >ran"), 0o644)
		},
		"script removed": func(r *tooltest.Rig) error { return os.Remove(r.Path("sub/build.sh")) },
		"folder replaced": func(r *tooltest.Rig) error {
			return firstError(os.Rename(r.Path("sub"), r.Path("old")), os.CopyFS(r.Path("sub"), os.DirFS(r.Path("old"))))
		},
		"folder gone": func(r *tooltest.Rig) error { return os.Rename(r.Path("sub"), r.Path("old")) },
		"link in the folder's place": func(r *tooltest.Rig) error {
			return firstError(os.Rename(r.Path("sub"), r.Path("old")), os.Symlink("old", r.Path("sub")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.Write("sub/build.sh", "echo built; echo >ran")
			intents := 0
			store.OnFailpoint(func(at string) {
				if at == "tools.intent" {
					intents++
					if err := drift(r); err != nil {
						t.Error(err)
					}
				}
			})
			defer store.OnFailpoint(func(string) {})
			got := call(r, object{"command": "echo >ran; sh build.sh", "workdir": r.Path("sub")})
			if intents != 1 || len(r.Cards()) != 1 {
				t.Errorf("%d intents, %d cards", intents, len(r.Cards()))
			}
			_, here := os.Stat(r.Path("sub/ran"))
			_, there := os.Stat(r.Path("old/ran"))
			ran := here == nil || there == nil
			if name == "nothing" { // then it runs
				if !ran || got.State != tools.Completed {
					t.Errorf("outcome = %+v", got)
				}
				return
			}
			if ran || got.State != tools.Failed {
				t.Errorf("it ran: %v, outcome = %+v", ran, got)
			}
		})
	}
}

func TestSA11_WithoutANodNothingRuns(t *testing.T) {
	r := newRig(t)
	inv, err := ExecuteCmd(new(Runner)).Decode([]byte(`{"command":"echo >ran"}`))
	if err != nil {
		t.Fatal(err)
	}
	work := inv.Start(t.Context(), tools.Call{ID: "c", Scope: r.Scope, Log: slog.New(slog.DiscardHandler)})
	if out, err := work.Wait(); err == nil {
		t.Errorf("it ran: %+v", out)
	}
	if _, err := os.Stat(r.Path("ran")); err == nil {
		t.Error("it ran")
	}
}

func TestFILE_NodHomeIsNoWorkdir(t *testing.T) {
	home := t.TempDir()
	r := newRig(t, home)
	for _, dir := range []string{home, filepath.Join(home, "not-there-yet")} {
		got := call(r, object{"command": "pwd", "workdir": dir})
		if got.State != tools.Rejected || !strings.Contains(got.Text, "belongs to nod itself") || len(r.Cards()) > 0 {
			t.Errorf("outcome for %s = %+v", dir, got)
		}
	}
}

func TestLabels(t *testing.T) {
	tool := ExecuteCmd(new(Runner))
	tests := []struct{ command, short, full string }{
		{"git commit -m 'feat: x'", "execute_cmd `git`", "execute_cmd `git commit -m 'feat: x'`"},
		{"A=1 B=2 make\nall", "execute_cmd `make`", "execute_cmd `A=1 B=2 make all`"},
		{"(cd x && ./y)", "execute_cmd `cd`", "execute_cmd `(cd x && ./y)`"},
		{strings.Repeat("é", 300), "execute_cmd `" + strings.Repeat("é", 45) + "…`", "execute_cmd `" + strings.Repeat("é", 105) + "…`"},
		{"A=1", "execute_cmd", "execute_cmd `A=1`"},
	}
	for _, tt := range tests {
		args, err := json.Marshal(object{"command": tt.command})
		if err != nil {
			t.Fatal(err)
		}
		inv, err := tool.Decode(args)
		if err != nil {
			t.Fatal(err)
		}
		if short, full := inv.Label(tools.LabelShort), inv.Label(tools.LabelFull); short != tt.short || full != tt.full {
			t.Errorf("labels of %q = %q, %q, want %q, %q", tt.command, short, full, tt.short, tt.full)
		}
	}
}

func TestSchema(t *testing.T) {
	tool := ExecuteCmd(new(Runner))
	var got struct {
		Required   []string
		Properties map[string]struct {
			Minimum, Maximum *float64
			Default          any
		}
	}
	if err := json.Unmarshal(tool.Schema(), &got); err != nil {
		t.Fatal(err)
	}
	timeout := got.Properties["timeout"]
	if len(got.Properties) != 4 || fmt.Sprint(got.Required) != "[command]" || *timeout.Minimum != 1 || *timeout.Maximum != 600 || timeout.Default != 120.0 {
		t.Errorf("schema = %s", tool.Schema())
	}
	for _, other := range []string{tools.ReadFile, tools.EditFile, tools.GrepFiles, tools.ListFiles} {
		if !strings.Contains(tool.Description(), other) {
			t.Errorf("the description does not mention %s", other)
		}
	}
}
