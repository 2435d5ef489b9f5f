package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"nod/agent"
	"nod/agent/llm"
	"nod/approvals"
	"nod/store"
	"nod/tools"
	"nod/tools/mcp"
	"nod/tools/plugins"
	"nod/tools/secrets"
	"nod/tools/shell"
)

// Config is everything that a person can set, from the environment and from $NOD_HOME/nod.yaml. Secrets are llm.Secret,
// which prints as a placeholder wherever it ends up.
type Config struct {
	Token     llm.Secret
	API       string // root of the Bot API, without a final slash
	Models    []llm.Model
	Home      string // absolute
	Workspace string // absolute
	Owners    []store.UserID
	Zone      *time.Location
	Log       slog.Level
	// Sandbox is how strong the sandbox for commands must be; Writable are folders that it lets be written beside the
	// workspace, canonical.
	Sandbox  shell.Mode
	Writable []string
	// Profile says which kinds of tools there are.
	Profile tools.Profile
	// Spending holds the caps on what models and services may cost.
	Spending agent.Spending
	// Rules are those that stand in the file.
	Rules []approvals.Rule
	// Contexts are the run contexts.
	Contexts []agent.RunContext
	// KeyFiles are the files that a secret was read from.
	KeyFiles []string
	// Credentials is the folder in which systemd passes the key of the secrets on, or "".
	Credentials string
	// Passphrase is what the key of the secrets is locked with; "" for nothing.
	Passphrase llm.Secret
	// CommandEnv are variables that commands are given, by name.
	CommandEnv map[string]commandVariable
	// KeepDays is for how long records are kept of what is over; 0 means for ever.
	KeepDays int
	// ModelGiven says that somebody named a model service; the demo uses its scripted one otherwise.
	ModelGiven bool
	// Servers are the MCP servers of the file.
	Servers []mcp.Server
	// Plugins are those that the file sets up.
	Plugins plugins.File
}

// configError lists everything that is wrong, each line naming its key.
type configError struct{ problems []string }

func (e *configError) Error() string {
	return "the configuration can't be used:\n  - " + strings.Join(e.problems, "\n  - ")
}

// about says whether a problem is one of this key.
func (e *configError) about(key string) bool {
	return slices.ContainsFunc(e.problems, func(p string) bool { return strings.HasPrefix(p, key+": ") })
}

const (
	defaultAPI   = "https://api.telegram.org"
	defaultModel = "gpt-5-mini"
)

// defaultModelFacts are those of the default model, from OpenAI's price list.
var defaultModelFacts = llm.Model{ContextWindow: 400_000, PriceIn: 0.25, PriceOut: 2, Vision: true}

// loader gathers problems while it reads, so that all are told at once.
type loader struct {
	env      func(string) string
	problems []string
	keyFiles []string
	unpriced []string // models whose price nobody stated
}

func (l *loader) problem(key, format string, args ...any) {
	l.problems = append(l.problems, key+": "+fmt.Sprintf(format, args...))
}

// has says whether a key has a problem already, so that what follows from it need not be told.
func (l *loader) has(key string) bool { return (&configError{l.problems}).about(key) }

// loadConfig reads the configuration. needToken asks for what only `nod run` needs. Its error is a *configError; beside it
// stands what could be read.
func loadConfig(env func(string) string, needToken bool) (Config, error) {
	l := &loader{env: env}
	var c Config
	c.Home = l.path("NOD_HOME", env("NOD_HOME"), "~/.nod")
	f := l.readFile(filepath.Join(c.Home, "nod.yaml"))
	c.Token = l.secret("TELEGRAM_BOT_TOKEN", cmp.Or(env("TELEGRAM_BOT_TOKEN"), f.Token))
	l.checkToken(c.Token, needToken && !f.broken && !l.has("TELEGRAM_BOT_TOKEN"))
	c.API = strings.TrimRight(cmp.Or(env("NOD_TELEGRAM_API"), f.API, defaultAPI), "/")
	l.checkURL("NOD_TELEGRAM_API", c.API)
	c.Workspace = l.path("NOD_WORKSPACE", cmp.Or(env("NOD_WORKSPACE"), f.Workspace), "~/nod")
	l.checkApart(c.Home, c.Workspace)
	c.Models, c.ModelGiven = l.models(f)
	c.Owners = l.owners(cmp.Or(env("NOD_OWNER"), f.Owner))
	c.Zone = l.zone(cmp.Or(env("NOD_TIMEZONE"), f.Timezone))
	c.Spending = l.spending(f)
	c.Spending.Zone = c.Zone
	c.Credentials = env("CREDENTIALS_DIRECTORY")
	c.Passphrase = l.passphrase(f.Passphrase, c.Credentials)
	c.CommandEnv = l.commandEnv(f.CommandEnv)
	c.KeepDays = l.keepDays(f.KeepDays)
	c.Sandbox = l.sandbox(cmp.Or(env("NOD_SANDBOX"), f.Sandbox))
	c.Writable = l.writable(cmp.Or(env("NOD_SANDBOX_WRITABLE"), f.Writable), c.Home)
	c.Profile = l.profile(cmp.Or(env("NOD_TOOLS_PROFILE"), f.Tools.Profile))
	c.Servers = l.servers(f)
	c.Plugins = l.plugins(f.Plugins, c.Spending.Capped())
	c.Rules = l.rules(f, c.Workspace)
	c.Contexts = l.contexts(f, c.Home, c.Workspace)
	c.KeyFiles = l.keyFiles
	c.Log = l.level(cmp.Or(env("NOD_LOG"), f.Log, "info"))
	if len(l.problems) > 0 {
		return c, &configError{problems: l.problems}
	}
	return c, nil
}

// path makes a path absolute; ~ is the home directory.
func (l *loader) path(key, value, otherwise string) string {
	p := cmp.Or(value, otherwise)
	if rest, ok := strings.CutPrefix(p, "~"); ok && (rest == "" || rest[0] == '/') {
		home, err := os.UserHomeDir()
		if err != nil {
			l.problem(key, "%s can't be found: %v; give an absolute path", p, err)
			return p
		}
		p = filepath.Join(home, rest)
	}
	abs, err := filepath.Abs(p)
	if err != nil {
		l.problem(key, "%v", err)
		return p
	}
	return abs
}

// secret reads a value that may be given as ${NAME} or file:/path.
func (l *loader) secret(key, value string) llm.Secret {
	if _, stored := secrets.Reference(value); stored {
		return llm.Secret(value) // resolved once the database is open
	}
	if name, ok := strings.CutPrefix(value, "${"); ok && strings.HasSuffix(name, "}") {
		name = strings.TrimSuffix(name, "}")
		value = l.env(name)
		if value == "" {
			l.problem(key, "it refers to ${%s}, which is not set", name)
		}
	} else if path, ok := strings.CutPrefix(value, "file:"); ok {
		raw, err := os.ReadFile(path)
		if err != nil {
			l.problem(key, "reading the file it refers to: %v", err)
		}
		value = string(raw)
		l.keyFiles = append(l.keyFiles, path)
	}
	return llm.Secret(strings.TrimSpace(value))
}

var tokenForm = regexp.MustCompile(`^[1-9][0-9]{4,19}:[A-Za-z0-9_-]{20,60}$`)

func (l *loader) checkToken(token llm.Secret, needed bool) {
	switch {
	case token == "" && needed:
		l.problem("TELEGRAM_BOT_TOKEN", "it is missing; ask @BotFather for one, or try `nod demo` without")
	case token != "" && !tokenForm.MatchString(string(token)):
		l.problem("TELEGRAM_BOT_TOKEN", "it is not of the form 123456:ABC-DEF…, as @BotFather gives it")
	}
}

func (l *loader) checkURL(key, value string) bool {
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		l.problem(key, "it must be an http or https address")
		return false
	}
	return true
}

// checkApart refuses a workspace from which the agent could reach nod's own files.
func (l *loader) checkApart(home, workspace string) {
	h, w := canonical(home), canonical(workspace)
	if within(h, w) || within(w, h) {
		l.problem("NOD_WORKSPACE", "%s and NOD_HOME %s must not contain each other: the agent could reach its own keys and rules", workspace, home)
	}
}

// canonical resolves the links of the longest existing part of a path.
func canonical(path string) string {
	rest := ""
	for dir := path; ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return path
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}

func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// models lists the configured models. One that NOD_MODEL names comes first; without a list there is just that one.
func (l *loader) models(f file) (models []llm.Model, given bool) {
	name := cmp.Or(l.env("NOD_MODEL"), f.Model)
	key := cmp.Or(l.env("OPENAI_API_KEY"), f.APIKey)
	base := cmp.Or(l.env("OPENAI_BASE_URL"), f.BaseURL)
	given = key != "" || base != "" || len(f.Models) > 0
	if base != "" && !l.checkURL("OPENAI_BASE_URL", base) {
		base = "" // told once, not for each model
	}
	for i, m := range f.Models {
		models = append(models, l.model(i, m, key, base))
	}
	at := slices.IndexFunc(models, func(m llm.Model) bool { return strings.EqualFold(m.Name, name) })
	switch {
	case at > 0:
		chosen := models[at]
		models = slices.Insert(slices.Delete(models, at, at+1), 0, chosen)
	case at < 0 && (name != "" || len(models) == 0):
		one := llm.Model{Name: cmp.Or(name, defaultModel), BaseURL: base, APIKey: l.secret("OPENAI_API_KEY", key)}
		if one.Name == defaultModel && base == "" {
			one.ContextWindow, one.PriceIn, one.PriceOut, one.Vision = defaultModelFacts.ContextWindow, defaultModelFacts.PriceIn, defaultModelFacts.PriceOut, defaultModelFacts.Vision
		} else {
			l.unpriced = append(l.unpriced, one.Name)
		}
		models = slices.Insert(models, 0, one)
	}
	if _, err := llm.New(llm.Options{Models: models}); err != nil {
		for line := range strings.Lines(err.Error()) {
			l.problem("models", "%s", strings.TrimSpace(line))
		}
	}
	return models, given
}

func (l *loader) model(i int, m fileModel, key, base string) llm.Model {
	where := fmt.Sprintf("models[%d].", i)
	headers := map[string]llm.Secret{}
	for name, value := range m.Headers {
		headers[name] = l.secret(where+"headers."+name, value)
	}
	priceIn, priceOut := 0.0, 0.0
	if m.PriceIn == nil || m.PriceOut == nil {
		l.unpriced = append(l.unpriced, cmp.Or(m.Name, m.ID))
	}
	if m.PriceIn != nil {
		priceIn = *m.PriceIn
	}
	if m.PriceOut != nil {
		priceOut = *m.PriceOut
	}
	return llm.Model{
		Name: m.Name, ID: m.ID, BaseURL: cmp.Or(m.BaseURL, base), APIKey: l.secret(where+"api_key", cmp.Or(m.APIKey, key)),
		ContextWindow: m.ContextWindow, PriceIn: priceIn, PriceOut: priceOut, Vision: m.Vision, Wire: m.Wire,
		Headers: headers, Body: m.Body,
	}
}

// spending reads the caps, in USD. A cap needs the price of every model: what costs an unknown sum can't be capped.
func (l *loader) spending(f file) agent.Spending {
	s := agent.Spending{
		Daily: l.dollars("NOD_SPEND_DAILY", f.Spending.Daily), Job: l.dollars("NOD_SPEND_JOB", f.Spending.Job),
	}
	for _, name := range l.unpriced {
		if s.Capped() {
			l.problem("spending", "the model %s has no price, so that its cost can't be capped; give it price_in and price_out among the models of nod.yaml, 0 for one that costs nothing", name)
		}
	}
	return s
}

// dollars is a sum of money; none means 0.
func (l *loader) dollars(key string, otherwise float64) float64 {
	sum, err := otherwise, error(nil)
	if text := l.env(key); text != "" {
		sum, err = strconv.ParseFloat(text, 64)
	}
	if err != nil || !(sum >= 0) || math.IsInf(sum, 0) {
		l.problem(key, "it must be a sum in USD such as 5 or 0.50; 0 means no cap")
		return 0
	}
	return sum
}

func (l *loader) owners(value string) (ids []store.UserID) {
	for part := range strings.SplitSeq(value, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		id, err := strconv.ParseInt(part, 10, 64)
		if err != nil || id <= 0 {
			l.problem("NOD_OWNER", "%q is no Telegram user id; an id is a number, and /id in the chat tells it", part)
			continue
		}
		ids = append(ids, store.UserID(id))
	}
	return ids
}

func (l *loader) sandbox(value string) shell.Mode {
	mode := shell.Mode(strings.ToLower(cmp.Or(value, string(shell.Auto))))
	if !slices.Contains(shell.Modes, mode) {
		l.problem("NOD_SANDBOX", "%q is not one of auto, required, off", value)
	}
	return mode
}

func (l *loader) profile(value string) tools.Profile {
	profile := tools.Profile(strings.ToLower(cmp.Or(value, string(tools.BusinessProfile))))
	if !slices.Contains(tools.Profiles, profile) {
		l.problem("NOD_TOOLS_PROFILE", "%q is not one of business, atomic, hybrid, disabled", value)
	}
	return profile
}

// writable lists the folders that commands may write to beside the workspace.
func (l *loader) writable(value, home string) (folders []string) {
	for part := range strings.SplitSeq(value, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		folder := canonical(l.path("NOD_SANDBOX_WRITABLE", part, ""))
		info, err := os.Stat(folder)
		switch {
		case err != nil || !info.IsDir():
			l.problem("NOD_SANDBOX_WRITABLE", "%s is no folder", part)
		case within(canonical(home), folder) || within(folder, canonical(home)):
			l.problem("NOD_SANDBOX_WRITABLE", "%s and NOD_HOME %s must not contain each other", part, home)
		}
		folders = append(folders, folder)
	}
	return folders
}

func (l *loader) zone(name string) *time.Location {
	if name == "" || name == "Local" { // which is no name that a job could keep
		return systemZone(l.env)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		l.problem("NOD_TIMEZONE", "%q is no time zone; use a name such as Europe/Rome", name)
		return time.UTC
	}
	return zone
}

// systemZone is the machine's zone under its IANA name, which jobs keep; Go only calls it "Local".
func systemZone(env func(string) string) *time.Location {
	names := []string{strings.TrimPrefix(env("TZ"), ":")}
	if link, err := os.Readlink("/etc/localtime"); err == nil {
		names = append(names, link)
	}
	if raw, err := os.ReadFile("/etc/timezone"); err == nil {
		names = append(names, strings.TrimSpace(string(raw)))
	}
	for _, name := range names {
		if _, rest, ok := strings.Cut(name, "zoneinfo/"); ok {
			name = rest
		}
		if name == "" || name == "Local" {
			continue
		}
		if zone, err := time.LoadLocation(name); err == nil {
			return zone
		}
	}
	return time.UTC
}

func (l *loader) level(name string) (level slog.Level) {
	switch strings.ToLower(name) {
	case "debug":
		return slog.LevelDebug
	case "info":
		return slog.LevelInfo
	case "warn":
		return slog.LevelWarn
	case "error":
		return slog.LevelError
	}
	l.problem("NOD_LOG", "%q is not one of debug, info, warn, error", name)
	return slog.LevelInfo
}

// secrets are the values that must appear nowhere.
func (c Config) secrets() []string {
	all := []string{string(c.Token), string(c.Passphrase)}
	for _, v := range c.CommandEnv {
		if !v.Plain {
			all = append(all, string(v.Value))
		}
	}
	for _, m := range c.Models {
		all = append(all, string(m.APIKey))
		for _, value := range m.Headers {
			all = append(all, string(value))
		}
	}
	all = append(all, serverSecrets(c.Servers)...)
	return append(all, pluginSecrets(c.Plugins)...)
}

// private are the paths that neither tools nor sandboxed commands may reach.
func (c Config) private() []string {
	paths := append([]string{c.Home, socketPath(c.Home)}, c.KeyFiles...)
	if c.Credentials != "" {
		paths = append(paths, c.Credentials)
	}
	return paths
}
