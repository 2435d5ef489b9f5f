package mcp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/approvals"
	"nod/store"
	"nod/tools"
)

const plainKey = "k3y-0f-a-server-in-plain"

// registration is what a model writes to register this test binary in a role.
func registration(t *testing.T, name string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(map[string]any{
		"name": name, "transport": "stdio", "command": exe, "description": "for tests", "friendly_name": "Tester",
		"env": map[string]string{asServer: name, "SERVER_TOKEN": plainKey, "PLACE": "here"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestRegisterUseDelete(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Groups = []string{tools.ConfigGroup}
	forgotten := ""
	r.m.Forget = func(_ *store.Tx, name string) error {
		forgotten = name
		return nil
	}
	wantText(t, r.ask(t.Context(), tools.RegisterMCP, registration(t, "tester")), tools.Completed, "Registered the MCP server tester, which has 15 tools")
	card := r.Cards()[0].Request
	for _, part := range []string{"Register the MCP server tester (stdio)", "Program: /", "Variable: PLACE=here", "Variable: SERVER_TOKEN=[secret ", "Tester", "for tests"} {
		if !strings.Contains(card.Subject.Text, part) {
			t.Errorf("the card lacks %q:\n%s", part, card.Subject.Text)
		}
	}
	if !card.MustAsk || !card.NoBypass {
		t.Error("a rule or a bypass could register a server")
	}
	r.Groups = append(r.Groups, "tester")
	wantText(t, r.ask(t.Context(), "mcp__tester__env", `{}`), tools.Completed, "SERVER_TOKEN=[secret]")
	r.nowhere(plainKey)

	// A restart knows it again, with its secret.
	again := newRigOn(t, r.db)
	again.Groups = []string{"tester", tools.ConfigGroup}
	wantText(t, again.ask(t.Context(), "mcp__tester__env", `{}`), tools.Completed, "SERVER_TOKEN=[secret]")
	if reports := again.m.Reports(); len(reports) != 1 || reports[0].Env["SERVER_TOKEN"] != "${secret:mcp.tester.SERVER_TOKEN}" || reports[0].State != Connected {
		t.Errorf("it is reported as %+v", reports)
	}

	wantText(t, r.ask(t.Context(), tools.RegisterMCP, registration(t, "Tester")), tools.Failed, "there is an MCP server tester already")
	wantText(t, r.ask(t.Context(), tools.DeleteMCP, `{"name":"tester"}`), tools.Completed, "Deleted")
	if forgotten != "tester" || len(r.m.Tools()) != 0 {
		t.Error("something of it is left")
	}
	if _, there := r.vault.Value("mcp.tester.SERVER_TOKEN"); there {
		t.Error("its secret is left")
	}
	wantText(t, r.ask(t.Context(), tools.DeleteMCP, `{"name":"tester"}`), tools.Failed, "there is no MCP server")
	if reports := newRigOn(t, r.db).m.Reports(); len(reports) != 0 {
		t.Errorf("after a restart there is %+v", reports)
	}
}

// nowhere looks for a secret in everything that is stored or logged. What the model itself wrote stands in the transcript,
// which is not this package's.
func (r *rig) nowhere(secret string) {
	r.T.Helper()
	path := filepath.Join(r.T.TempDir(), "copy")
	if err := r.db.Backup(path); err != nil {
		r.T.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		r.T.Fatal(err)
	}
	if strings.Contains(string(raw), secret) {
		r.T.Error("the database holds the secret")
	}
	if strings.Contains(r.logs.String(), secret) {
		r.T.Error("the log holds the secret")
	}
}

func TestWhatDoesNotAnswerIsNotRegistered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Groups = []string{tools.ConfigGroup}
	out := r.ask(t.Context(), tools.RegisterMCP, `{"name":"ghost","transport":"stdio","command":"/no/such/program"}`)
	wantText(t, out, tools.Failed, "nothing was registered, since ghost does not answer")
	out = r.ask(t.Context(), tools.RegisterMCP, `{"name":"nobody","transport":"http","url":"http://127.0.0.1:1/mcp","api_key":"${secret:none}"}`)
	wantText(t, out, tools.Failed, "it needs the secret none, which is not stored")
	out = r.ask(t.Context(), tools.RegisterMCP, `{"name":"nobody","transport":"http","url":"http://127.0.0.1:1/mcp"}`)
	wantText(t, out, tools.Failed, "connection refused")
	if len(r.m.Reports()) != 0 {
		t.Error("a server was kept")
	}
}

func TestBadRegistrations(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Groups = []string{tools.ConfigGroup}
	for args, part := range map[string]string{
		`{"name":"a__b","transport":"stdio","command":"x"}`:                            "can't be a server's name",
		`{"name":"config","transport":"stdio","command":"x"}`:                          "is the name of something else",
		`{"name":"a","transport":"stdio"}`:                                             "needs the program",
		`{"name":"a","transport":"stdio","command":"x","url":"http://x"}`:              "are for http and sse",
		`{"name":"a","transport":"http","url":"ftp://x"}`:                              "must be an http or https address",
		`{"name":"a","transport":"http","url":"https://u:p@x/"}`:                       "leave the user and password out",
		`{"name":"a","transport":"http","url":"https://x","command":"y"}`:              "are for stdio",
		`{"name":"a","transport":"pigeon","command":"x"}`:                              "value must be one of",
		`{"name":"a","transport":"stdio","command":"x","env":{"A B":"c"}}`:             "is no name of a variable",
		`{"name":"` + strings.Repeat("x", 33) + `","transport":"stdio","command":"x"}`: "can't be a server's name",
	} {
		wantText(t, r.ask(t.Context(), tools.RegisterMCP, args), tools.Failed, part)
	}
	if len(r.Cards()) != 0 {
		t.Error("a card was shown")
	}
}

func TestServersOfTheConfiguration(t *testing.T) {
	t.Parallel()
	s := role(t, "fixed")
	s.Off = true
	r := newRig(t, s)
	r.Groups = []string{tools.ConfigGroup}
	wantText(t, r.ask(t.Context(), tools.DeleteMCP, `{"name":"fixed"}`), tools.Failed, "stands in nod.yaml")
	if got := r.m.Reports()[0].State; got != Off {
		t.Errorf("it is %s", got)
	}
	items := r.m.Items()
	if _, err := items.Describe("other", true); err == nil || !strings.Contains(err.Error(), "there are: fixed") {
		t.Errorf("got %v", err)
	}
	out, err := items.Toggle("fixed", true)
	if err == nil {
		err = r.db.Update(out.Commit)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.wake("fixed")
	text, err := items.List(nil, r.Scope)
	if err != nil || text != "fixed: stdio, connected, 15 tools" {
		t.Errorf("listed as %q, %v", text, err)
	}
	if again, err := New(r.m.Options); err != nil || again.Reports()[0].State != Asleep {
		t.Error("a restart forgets that it was switched on")
	}
}

// TestSA1_ANodIsBoundToTheServer has the program behind a name change between the nod and the call.
func TestSA1_ANodIsBoundToTheServer(t *testing.T) {
	t.Parallel()
	s := role(t, "swapped")
	r := newRig(t, s)
	r.wake("swapped")
	asked := 0
	r.OnCard = func(p approvals.Pending) approvals.Decision {
		if asked++; asked == 1 {
			other := s
			other.Args = []string{"--evil"}
			r.m.enter(other, r.m.servers["swapped"].known)
			return approvals.Decision{Verb: approvals.VerbApprove}
		}
		return approvals.Decision{Verb: approvals.VerbReject}
	}
	out := r.ask(t.Context(), "mcp__swapped__echo", `{}`)
	if out.State == tools.Completed {
		t.Errorf("it ran: %s", out.Text)
	}
}

func TestNamesOfTools(t *testing.T) {
	for _, c := range []struct{ tool, want string }{
		{"echo", "mcp__s__echo"},
		{"a-B_9", "mcp__s__a-B_9"},
		{"a.b", "mcp__s__a_b_2e7336dc"}, // the first digits of the SHA-256 of a.b
		{"a/b", "mcp__s__a_b_c14cddc0"},
		{"", "mcp__s___e3b0c442"},
		{"ünï", "mcp__s___n__e975a529"},
		{strings.Repeat("x", 55), "mcp__s__" + strings.Repeat("x", 55)},
		{strings.Repeat("x", 80), "mcp__s__" + strings.Repeat("x", 46) + "_d929cdee"},
	} {
		if got := toolName("s", c.tool); got != c.want {
			t.Errorf("%q is named %q, want %q", c.tool, got, c.want)
		}
	}
	defs := []Definition{{Name: "b"}, {Name: "a", Description: "1"}, {Name: "a", Description: "2"}}
	kept, refused := unambiguous("s", defs)
	if diff := cmp.Diff([]Definition{{Name: "a", Description: "1"}, {Name: "b"}}, kept); diff != "" || len(refused) != 1 {
		t.Errorf("kept %v, refused %v", kept, refused)
	}
}

func TestIsSecret(t *testing.T) {
	for _, name := range []string{"password", "API_KEY", "apiKey", "Your API key", "token", "GITHUB_TOKEN", "client_secret", "AWS_ACCESS_KEY_ID", "pin", "passphrase"} {
		if !IsSecret(name) {
			t.Errorf("%q counts as no secret", name)
		}
	}
	for _, name := range []string{"name", "keyboard", "spin", "happiness", "PATH"} {
		if IsSecret(name) {
			t.Errorf("%q counts as a secret", name)
		}
	}
}
