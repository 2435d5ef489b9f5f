package main

import (
	"bytes"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/agent/llm"
	"nod/agent/llm/scripted"
	"nod/store"
)

func TestFindingsArePrintedALineEach(t *testing.T) {
	for name, tt := range map[string]struct {
		findings []finding
		want     string
		err      error
	}{
		"well":        {[]finding{{"token", ok, "fine"}, {"user", warning, "root"}}, "ok       token: fine\nwarning  user: root\n", nil},
		"not so well": {[]finding{{"token", problem, "refused"}, {"user", ok, "fine"}}, "problem  token: refused\nok       user: fine\n", errReported},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := printFindings(&out, tt.findings); !errors.Is(err, tt.err) {
				t.Errorf("it ends with %v", err)
			}
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestCheckModelTellsWhatAModelCan asks models of every kind.
func TestCheckModelTellsWhatAModelCan(t *testing.T) {
	ping := scripted.Call("ping", map[string]string{"word": "one"}).Call("ping", map[string]string{"word": "two"})
	for name, tt := range map[string]struct {
		reply  scripted.Reply
		window int
		grade  string
		text   string // of the line that has it
	}{
		"good":               {ping, 1000, ok, "model m: it streams and calls tools (chat, "},
		"no window":          {ping, 0, warning, "model m, context length: set context_window"},
		"no usage":           {ping.Usage(scripted.Usage{}), 1000, warning, "model m, usage: it reports no usage"},
		"no tools":           {scripted.Say("pong"), 1000, warning, "model m, tools: it answers, but did not call the tool"},
		"cut arguments":      {scripted.Call("ping", `{"word":"po`), 1000, problem, "model m, arguments: "},
		"MODEL-4 cut":        {scripted.Say("po").Cut(), 1000, problem, "model m: the answer broke off"},
		"a wrong key":        {scripted.Fail(401, "invalid_api_key", "Incorrect API key provided: "+aKey), 1000, problem, "; check its key (OPENAI_API_KEY, or api_key in nod.yaml)"},
		"a wrong name":       {scripted.Fail(404, "model_not_found", "The model does not exist"), 1000, problem, "; check its name (NOD_MODEL, or id in nod.yaml)"},
		"MODEL-7 overloaded": {scripted.Fail(503, "", "try later"), 1000, problem, "try later; try again in a while"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(scripted.New(func(scripted.Request) scripted.Reply { return tt.reply }))
			defer server.Close()
			cfg := Config{Models: []llm.Model{{Name: "m", BaseURL: server.URL + "/v1", APIKey: aKey, ContextWindow: tt.window, Wire: llm.WireChat}}}
			found := false
			for _, f := range checkModels(t.Context(), cfg) {
				line := f.what + ": " + f.text
				found = found || f.grade == tt.grade && strings.Contains(line, tt.text)
				if strings.Contains(line, aKey) {
					t.Errorf("it tells the key: %s", line)
				}
			}
			if !found {
				t.Errorf("%+v", checkModels(t.Context(), cfg))
			}
		})
	}
}

// TestCheckModelSaysOnceWhyNoAnswerCame: one sentence, and what to do.
func TestCheckModelSaysOnceWhyNoAnswerCame(t *testing.T) {
	const remedy = "; check its address (OPENAI_BASE_URL, or base_url in nod.yaml) and the network"
	want := finding{"model m", problem, "no connection to 127.0.0.1: connection refused" + remedy}
	got := checkModels(t.Context(), Config{Models: []llm.Model{{Name: "m", BaseURL: "http://127.0.0.1:1/v1"}}})
	if len(got) != 1 || got[0] != want {
		t.Errorf("%+v", got)
	}
}

func TestCheckFolder(t *testing.T) {
	dir := t.TempDir()
	made := filepath.Join(dir, "new", "folder")
	if got := checkFolder("x", made, true); got.grade != ok {
		t.Errorf("%+v", got)
	}
	if left, err := os.ReadDir(made); err != nil || len(left) > 0 {
		t.Errorf("it left %v: %v", left, err)
	}
	if err := os.Chmod(made, 0o755); err != nil {
		t.Fatal(err)
	}
	for private, want := range map[bool]string{true: warning, false: ok} {
		if got := checkFolder("x", made, private); got.grade != want {
			t.Errorf("open to others, and that is private %v: %+v", private, got)
		}
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := checkFolder("x", file, true); got.grade != problem {
		t.Errorf("a file is %+v", got)
	}
}

func TestCheckDatabase(t *testing.T) {
	home := shortDir(t)
	cfg := Config{Home: home}
	path := filepath.Join(home, databaseName)
	check := func(grade, text string) {
		t.Helper()
		if got := checkDatabase(t.Context(), cfg); got.grade != grade || !strings.Contains(got.text, text) {
			t.Errorf("%+v, not %s %q", got, grade, text)
		}
	}
	check(ok, "will be made at the first start")
	db, err := store.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	check(problem, "in use by another nod") // which does not answer
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	check(ok, "opens, ")
	if err := os.Truncate(path, 5000); err != nil {
		t.Fatal(err)
	}
	check(problem, "cut off")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	check(problem, "the file is gone")
}
