package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/agent/llm"
	"nod/store"
	"nod/tools"
	"nod/tools/shell"
)

const (
	goodToken = "123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	aKey      = "sk-hush-hush-hush"
)

// setting is an environment with a home and a workspace of its own.
type setting struct {
	*testing.T
	env map[string]string
}

func newSetting(t *testing.T, file string, env map[string]string) *setting {
	t.Helper()
	dir := t.TempDir()
	s := &setting{T: t, env: map[string]string{
		"NOD_HOME": filepath.Join(dir, "home"), "NOD_WORKSPACE": filepath.Join(dir, "work"), "TELEGRAM_BOT_TOKEN": goodToken,
	}}
	for k, v := range env {
		s.env[k] = strings.ReplaceAll(v, "DIR", dir)
	}
	s.write("nod.yaml", strings.ReplaceAll(file, "DIR", dir))
	return s
}

// write puts a file into the home.
func (s *setting) write(name, content string) {
	s.Helper()
	path := filepath.Join(s.env["NOD_HOME"], name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
		s.Fatal(err)
	}
}

func (s *setting) load() (Config, error) {
	return loadConfig(func(name string) string { return s.env[name] }, true)
}

// problems are what is wrong, a line each.
func (s *setting) problems() []string {
	s.Helper()
	_, err := s.load()
	if err == nil {
		return nil
	}
	config, ok := errors.AsType[*configError](err)
	if !ok {
		s.Fatalf("the error is %v", err)
	}
	return config.problems
}

func TestConfigDefaults(t *testing.T) {
	s := newSetting(t, "", map[string]string{"OPENAI_API_KEY": aKey, "TZ": "Europe/Rome"})
	c, err := s.load()
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Token: goodToken, API: "https://api.telegram.org", Home: s.env["NOD_HOME"], Workspace: s.env["NOD_WORKSPACE"],
		Models:     []llm.Model{{Name: "gpt-5-mini", APIKey: aKey, ContextWindow: 400_000, PriceIn: 0.25, PriceOut: 2, Vision: true}},
		ModelGiven: true, Log: slog.LevelInfo, Sandbox: shell.Auto, Profile: tools.BusinessProfile, KeepDays: 90,
	}
	zone := c.Zone.String()
	c.Zone, c.Spending.Zone = nil, nil
	if diff := cmp.Diff(want, c); diff != "" || zone != "Europe/Rome" {
		t.Error(zone, diff)
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	delete(s.env, "NOD_WORKSPACE")
	delete(s.env, "NOD_HOME")
	c, err = s.load()
	if err != nil || c.Home != filepath.Join(home, ".nod") || c.Workspace != filepath.Join(home, "nod") {
		t.Errorf("%s, %s: %v", c.Home, c.Workspace, err)
	}
}

func TestEnvironmentWinsOverTheFile(t *testing.T) {
	s := newSetting(t, `
telegram_bot_token: 999999:BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB
telegram_api: http://file.test
openai_api_key: sk-file
openai_base_url: http://file.test/v1
model: file-model
workspace: DIR/file
owner: 1, 2
timezone: Asia/Tokyo
log: debug
sandbox: off
sandbox_writable: /usr, /bin
`, nil)
	delete(s.env, "TELEGRAM_BOT_TOKEN")
	delete(s.env, "NOD_WORKSPACE")
	c, err := s.load()
	if err != nil {
		t.Fatal(err)
	}
	if c.Token[:6] != "999999" || c.API != "http://file.test" || c.Models[0].APIKey != "sk-file" || c.Models[0].BaseURL != "http://file.test/v1" ||
		c.Models[0].Name != "file-model" || filepath.Base(c.Workspace) != "file" || c.Zone.String() != "Asia/Tokyo" || c.Log != slog.LevelDebug ||
		c.Sandbox != shell.Off || len(c.Writable) != 2 {
		t.Errorf("%+v", c)
	}
	if diff := cmp.Diff([]store.UserID{1, 2}, c.Owners); diff != "" {
		t.Error(diff)
	}
	for k, v := range map[string]string{
		"TELEGRAM_BOT_TOKEN": goodToken, "NOD_TELEGRAM_API": "http://env.test/", "OPENAI_API_KEY": "sk-env", "OPENAI_BASE_URL": "http://env.test/v1",
		"NOD_MODEL": "env-model", "NOD_WORKSPACE": filepath.Join(t.TempDir(), "env"), "NOD_OWNER": "3", "NOD_TIMEZONE": "UTC", "NOD_LOG": "ERROR",
	} {
		s.env[k] = v
	}
	c, err = s.load()
	if err != nil {
		t.Fatal(err)
	}
	if c.Token != goodToken || c.API != "http://env.test" || c.Models[0].APIKey != "sk-env" || c.Models[0].BaseURL != "http://env.test/v1" ||
		c.Models[0].Name != "env-model" || filepath.Base(c.Workspace) != "env" || c.Owners[0] != 3 || c.Zone != time.UTC || c.Log != slog.LevelError {
		t.Errorf("%+v", c)
	}
}

func TestModelsOfTheFile(t *testing.T) {
	const list = `
openai_api_key: sk-shared
models:
  - name: big
    id: vendor/big-1
    base_url: http://big.test/v1
    api_key: sk-big
    context_window: 200000
    price_in: 1.5
    price_out: 6
    vision: true
    wire: responses
    headers: {X-Team: "${TEAM}"}
    body: {reasoning_effort: low, nested: {a: [1, 2]}}
  - name: small
`
	big := llm.Model{
		Name: "big", ID: "vendor/big-1", BaseURL: "http://big.test/v1", APIKey: "sk-big", ContextWindow: 200_000, PriceIn: 1.5, PriceOut: 6, Vision: true,
		Wire: "responses", Headers: map[string]llm.Secret{"X-Team": "blue"},
		Body: map[string]any{"reasoning_effort": "low", "nested": map[string]any{"a": []any{uint64(1), uint64(2)}}},
	}
	small := llm.Model{Name: "small", APIKey: "sk-shared", Headers: map[string]llm.Secret{}}
	for model, want := range map[string][]llm.Model{
		"": {big, small}, "SMALL": {small, big}, "other": {{Name: "other", APIKey: "sk-shared"}, big, small},
	} {
		c, err := newSetting(t, list, map[string]string{"TEAM": "blue", "NOD_MODEL": model}).load()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, c.Models); diff != "" {
			t.Errorf("NOD_MODEL=%s\n%s", model, diff)
		}
	}
}

func TestCapsOnSpending(t *testing.T) {
	const file = "models: [{name: a, price_in: 0, price_out: 0}]\nspending: {daily: 5.00, job: 0.50}\ntimezone: Europe/Rome\n"
	c, err := newSetting(t, file, map[string]string{"NOD_SPEND_JOB": "0.75"}).load()
	if err != nil || c.Spending.Daily != 5 || c.Spending.Job != 0.75 || c.Spending.Zone.String() != "Europe/Rome" {
		t.Errorf("%v: %+v", err, c.Spending)
	}
	if c, err := newSetting(t, "", map[string]string{"NOD_SPEND_DAILY": "3"}).load(); err != nil || c.Spending.Daily != 3 {
		t.Errorf("the default model has a price: %v", err)
	}
}

func TestSecretsComeFromElsewhere(t *testing.T) {
	s := newSetting(t, "telegram_bot_token: file:DIR/home/token\nopenai_api_key: ${MY_KEY}\n", map[string]string{"MY_KEY": aKey})
	delete(s.env, "TELEGRAM_BOT_TOKEN")
	s.write("token", goodToken+"\n")
	c, err := s.load()
	if err != nil || c.Token != goodToken || c.Models[0].APIKey != aKey {
		t.Errorf("%v: %q, %q", err, string(c.Token), string(c.Models[0].APIKey))
	}
}

// TestAMistypedKeyIsAskedBack: where one setting is near, the problem names it; where none is, it guesses nothing.
func TestAMistypedKeyIsAskedBack(t *testing.T) {
	const there = "there is no setting "
	for line, want := range map[string]string{
		"telegram_bot_tokn: x":               there + "telegram_bot_tokn; did you mean telegram_bot_token?",
		"Timezone: UTC":                      there + "Timezone; did you mean timezone?",
		"modle: x":                           there + "modle; did you mean model?",
		"models: [{name: a, windw: 3}]":      there + "models[0].windw",
		"models: [{name: a, prise_in: 3}]":   there + "models[0].prise_in; did you mean price_in?",
		"spending: {dayly: 3}":               there + "spending.dayly; did you mean daily?",
		"plugins: {speach: {stt_model: a}}":  there + "plugins.speach; did you mean speech?",
		"rules: [{tool: x, comand: {a: b}}]": there + "rules[0].comand; did you mean command?",
		"x: 1":                               there + "x",
		"lo: 1":                              there + "lo",
		"weather: fine":                      there + "weather",
	} {
		got := newSetting(t, line+"\n", nil).problems()
		if len(got) != 1 || got[0] != "nod.yaml: line 1: "+want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func TestProblemsNameTheirKeys(t *testing.T) {
	for name, tt := range map[string]struct {
		file string
		env  map[string]string
		want []string
	}{
		"none":             {"", nil, nil},
		"no token":         {"", map[string]string{"TELEGRAM_BOT_TOKEN": ""}, []string{"TELEGRAM_BOT_TOKEN: it is missing"}},
		"a bad token":      {"", map[string]string{"TELEGRAM_BOT_TOKEN": "123:abc"}, []string{"TELEGRAM_BOT_TOKEN: it is not of the form"}},
		"an unset name":    {"", map[string]string{"TELEGRAM_BOT_TOKEN": "${TOKEN}"}, []string{"TELEGRAM_BOT_TOKEN: it refers to ${TOKEN}, which is not set"}},
		"a missing file":   {"", map[string]string{"OPENAI_API_KEY": "file:/nowhere/key"}, []string{"OPENAI_API_KEY: reading the file it refers to: open /nowhere/key"}},
		"a bad zone":       {"", map[string]string{"NOD_TIMEZONE": "Mars/Base"}, []string{`NOD_TIMEZONE: "Mars/Base" is no time zone`}},
		"a zone's path":    {"timezone: ../../etc/passwd", nil, []string{`NOD_TIMEZONE: "../../etc/passwd" is no time zone`}},
		"bad owners":       {"", map[string]string{"NOD_OWNER": "1, ann,-5"}, []string{`NOD_OWNER: "ann" is no Telegram user id`, `NOD_OWNER: "-5" is no Telegram user id`}},
		"a bad level":      {"log: loud", nil, []string{`NOD_LOG: "loud" is not one of`}},
		"a bad API":        {"", map[string]string{"NOD_TELEGRAM_API": "api.telegram.org"}, []string{"NOD_TELEGRAM_API: it must be an http or https address"}},
		"a bad base":       {"models: [{name: a}, {name: b}]", map[string]string{"OPENAI_BASE_URL": "ftp://x"}, []string{"OPENAI_BASE_URL: it must be an http or https address"}},
		"a base with keys": {"", map[string]string{"OPENAI_BASE_URL": "https://u:" + aKey + "@x.test/v1"}, []string{"models: checking model gpt-5-mini: base_url must hold no password"}},
		"bad models": {
			"models:\n  - name: a\n    wire: tin can\n  - name: a\n  - {name: b, context_window: -1}\n  - {name: c, body: {stream: false}}\n", nil,
			[]string{"models: checking model a: wire is", "models: checking model b: context_window", "models: checking model c: body must not set stream"},
		},
		"two of a name": {"models: [{name: a}, {name: A}]", nil, []string{"models: checking model A: the name is used twice"}},
		"a model's key": {"models: [{name: a, api_key: \"${NOPE}\"}]", nil, []string{"models[0].api_key: it refers to ${NOPE}"}},
		"unknown keys":  {"log: info\ntokn: x\nmodels:\n  - name: a\n    windw: 3\n", nil, []string{"nod.yaml: line 2: there is no setting tokn", "nod.yaml: line 5: there is no setting models[0].windw"}},
		"every fault of a model": {
			"models: [{name: a, wire: tin can, price_in: -1, body: {model: b}}]", nil,
			[]string{"models: checking model a: wire is", "models: checking model a: context_window and prices", "models: checking model a: body must not set model"},
		},
		"values of other kind": {"log: [a]\nmodels:\n  - {name: a, vision: perhaps, price_in: " + aKey + "}\n", nil, []string{"nod.yaml: line 1: log must be a text", "nod.yaml: line 3: models[0].vision must be true or false", "nod.yaml: line 3: models[0].price_in must be a number"}},
		"no YAML":              {"log: info\nmodel: \"" + aKey + "\n", nil, []string{"nod.yaml: line 2:"}},
		"a list":               {"- log\n", nil, []string{"nod.yaml: line 1: the file must be keys with values"}},
		"models that are none": {"models: many\n", nil, []string{"nod.yaml: line 1: models must be a list"}},
		"two documents":        {"log: info\n---\nlog: warn\n", nil, []string{"nod.yaml: it holds 2 documents"}},
		"a broken file says nothing of what is missing": {"]", map[string]string{"TELEGRAM_BOT_TOKEN": ""}, []string{"nod.yaml: line 1:"}},
		"a workspace above the home":                    {"", map[string]string{"NOD_WORKSPACE": "DIR"}, []string{"NOD_WORKSPACE: "}},
		"a workspace in the home":                       {"", map[string]string{"NOD_WORKSPACE": "DIR/home/work"}, []string{"NOD_WORKSPACE: "}},
		"a workspace that is the home":                  {"", map[string]string{"NOD_WORKSPACE": "DIR/x/../home/"}, []string{"NOD_WORKSPACE: "}},
		"a bad sandbox":                                 {"sandbox: loose", nil, []string{`NOD_SANDBOX: "loose" is not one of auto, required, off`}},
		"nothing to write to":                           {"sandbox_writable: /nowhere", nil, []string{"NOD_SANDBOX_WRITABLE: /nowhere is no folder"}},
		"the home to write to":                          {"", map[string]string{"NOD_SANDBOX_WRITABLE": "DIR/home"}, []string{"NOD_SANDBOX_WRITABLE: "}},
		"all there is to write to":                      {"sandbox_writable: /", nil, []string{"NOD_SANDBOX_WRITABLE: / and NOD_HOME"}},
		"bad caps":                                      {"spending: {daily: much}", map[string]string{"NOD_SPEND_JOB": "-1"}, []string{"nod.yaml: line 1: spending.daily must be a number", "NOD_SPEND_JOB: it must be a sum in USD"}},
		"a cap without a price":                         {"models: [{name: a, price_in: 1}]\nspending: {job: 1}", nil, []string{"spending: the model a has no price"}},
		"everything at once": {
			"log: loud\nfoo: 1\n",
			map[string]string{"TELEGRAM_BOT_TOKEN": "x", "NOD_OWNER": "x", "NOD_TIMEZONE": "x", "NOD_TELEGRAM_API": "x", "NOD_WORKSPACE": "DIR"},
			[]string{"nod.yaml: line 2", "TELEGRAM_BOT_TOKEN: ", "NOD_TELEGRAM_API: ", "NOD_WORKSPACE: ", "NOD_OWNER: ", "NOD_TIMEZONE: ", "NOD_LOG: "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := newSetting(t, tt.file, tt.env).problems()
			if len(got) != len(tt.want) {
				t.Fatalf("%d problems, not %d:\n%s", len(got), len(tt.want), strings.Join(got, "\n"))
			}
			for i, want := range tt.want {
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("problem %d is %q, not %q", i, got[i], want)
				}
				if strings.Contains(got[i], aKey) {
					t.Errorf("problem %d tells a secret: %q", i, got[i])
				}
			}
		})
	}
}

func TestAWorkspaceThatALinkLeadsHomeIsRefused(t *testing.T) {
	s := newSetting(t, "", nil)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(s.env["NOD_HOME"], link); err != nil {
		t.Fatal(err)
	}
	s.env["NOD_WORKSPACE"] = filepath.Join(link, "not", "there", "yet")
	if got := s.problems(); len(got) != 1 || !strings.HasPrefix(got[0], "NOD_WORKSPACE: ") {
		t.Error(got)
	}
	s.env["NOD_WORKSPACE"] = s.env["NOD_HOME"] + "-beside" // shares its beginning only
	if got := s.problems(); got != nil {
		t.Error(got)
	}
}

func TestAFileThatCantBeRead(t *testing.T) {
	s := newSetting(t, "", nil)
	path := filepath.Join(s.env["NOD_HOME"], "nod.yaml")
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
		t.Fatal(err)
	}
	if got := s.problems(); len(got) != 1 || !strings.HasPrefix(got[0], "nod.yaml: ") {
		t.Error(got)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got := s.problems(); got != nil {
		t.Errorf("without a file: %v", got)
	}
}

// TestFILE3AConfigPrintsWithoutSecrets prints it in every way.
func TestFILE3AConfigPrintsWithoutSecrets(t *testing.T) {
	c, err := newSetting(t, "models: [{name: a, headers: {Authorization: "+aKey+"}}]", map[string]string{"OPENAI_API_KEY": aKey}).load()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		fmt.Fprintf(&out, verb+"\n", c)
		fmt.Fprintf(&out, verb+"\n", &c)
	}
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "config", c, "token", c.Token)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "config", c, "models", c.Models)
	if err := json.NewEncoder(&out).Encode(c); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{aKey, goodToken, goodToken[7:]} {
		if at := strings.Index(out.String(), secret); at >= 0 {
			t.Errorf("it prints %q in %q", secret, out.String()[max(0, at-60):at])
		}
	}
}

func TestSystemZoneHasAName(t *testing.T) {
	for tz, want := range map[string]string{
		"Europe/Rome": "Europe/Rome", ":Asia/Tokyo": "Asia/Tokyo", "/usr/share/zoneinfo/America/New_York": "America/New_York",
	} {
		if got := systemZone(func(string) string { return tz }); got.String() != want {
			t.Errorf("TZ=%s is %s", tz, got)
		}
	}
	for _, tz := range []string{"", "Local", "CET-1CEST", "../../etc/passwd", "\x00"} {
		got := systemZone(func(string) string { return tz })
		if _, err := time.LoadLocation(got.String()); err != nil || got.String() == "Local" {
			t.Errorf("TZ=%q is %s: %v", tz, got, err)
		}
	}
	s := newSetting(t, "", map[string]string{"NOD_TIMEZONE": "Local", "TZ": "Europe/Rome"})
	if c, err := s.load(); err != nil || c.Zone.String() != "Europe/Rome" {
		t.Errorf("Local is %s: %v", c.Zone, err)
	}
}
