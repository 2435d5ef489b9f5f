package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"nod/agent/llm"
	"nod/agent/roster"
	"nod/bot"
	"nod/bot/inbox"
	"nod/bot/outbox"
	"nod/tools/secrets"
	"nod/tools/shell"
)

// finding is one line of the doctor.
type finding struct {
	what  string
	grade string // ok, warning or problem
	text  string // what was found, and for others than ok what to do
}

const (
	ok      = "ok"
	warning = "warning"
	problem = "problem"
)

// checkTime bounds each look at something outside.
const checkTime = 30 * time.Second

// checkCommand looks at everything that nod needs. It exits with 1 when there is a problem.
func checkCommand(ctx context.Context, _ []string, out stdio) error {
	cfg, err := loadConfig(out.env, true)
	if faults, bad := errors.AsType[*configError](err); bad {
		return printFindings(out.out, append([]finding{{"configuration", problem, err.Error()}}, checkAnyway(ctx, cfg, faults)...))
	}
	findings := []finding{{"configuration", ok, "every setting can be used"}}
	findings = append(findings, checkToken(ctx, cfg))
	findings = append(findings, checkModels(ctx, cfg)...)
	database := checkDatabase(ctx, cfg)
	findings = append(findings, database, checkFolder("home", cfg.Home, true), checkFolder("workspace", cfg.Workspace, false), checkKey(cfg), checkTools(cfg.Profile), checkAgents(cfg), checkProcesses(), checkSandbox(cfg), checkUser())
	if database.grade != problem { // which has them
		findings = append(findings, checkPlugins(ctx, cfg)...)
		findings = append(findings, checkServers(ctx, cfg)...)
	}
	return printFindings(out.out, findings)
}

// checkAnyway looks at what does not hang on the configuration, when that can't be used. It makes no folder: where they
// should be is not sure.
func checkAnyway(ctx context.Context, cfg Config, faults *configError) (findings []finding) {
	there := func(dir string) bool {
		info, err := os.Stat(dir)
		return err == nil && info.IsDir()
	}
	if !faults.about("NOD_HOME") && there(cfg.Home) {
		findings = append(findings, checkDatabase(ctx, cfg), checkFolder("home", cfg.Home, true))
	}
	if !faults.about("NOD_WORKSPACE") && !faults.about("nod.yaml") && there(cfg.Workspace) { // whose keys may be meant for it
		findings = append(findings, checkFolder("workspace", cfg.Workspace, false))
	}
	if faults.about("NOD_SANDBOX") {
		cfg.Sandbox = shell.Auto
	}
	return append(findings, checkProcesses(), checkSandbox(cfg), checkUser(),
		finding{"the rest", warning, "Telegram, models, agents, plugins and MCP servers were not looked at; mend the configuration, then check again"})
}

func printFindings(w io.Writer, findings []finding) error {
	bad := false
	for _, f := range findings {
		bad = bad || f.grade == problem
		if _, err := fmt.Fprintf(w, "%-8s %s: %s\n", f.grade, f.what, f.text); err != nil {
			return err
		}
	}
	if bad {
		return errReported
	}
	return nil
}

func checkToken(ctx context.Context, cfg Config) finding {
	client, _, err := outbox.NewClient(string(cfg.Token), cfg.API, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		return finding{"telegram", problem, err.Error()}
	}
	me, err := bot.AskWho(ctx, client)
	if errors.Is(err, inbox.ErrToken) {
		return finding{"telegram", problem, err.Error()}
	}
	if err != nil {
		return finding{"telegram", problem, err.Error() + "; check NOD_TELEGRAM_API and the network"}
	}
	return finding{"telegram", ok, "the token is that of @" + me.Username}
}

// checkModels examines each configured model.
func checkModels(ctx context.Context, cfg Config) (findings []finding) {
	service, err := llm.New(llm.Options{Models: cfg.Models})
	if err != nil {
		return []finding{{"model", problem, err.Error()}}
	}
	for _, m := range service.Models() {
		findings = append(findings, checkModel(ctx, service, m)...)
	}
	return findings
}

// grades are those of an examination in the doctor's words.
var grades = map[llm.Grade]string{llm.Repaired: ok, llm.Lacking: warning, llm.Failing: problem}

// checkModel says whether a model can be worked with, and then a line for each peculiarity of its service.
func checkModel(ctx context.Context, service *llm.Client, m llm.Model) []finding {
	what := "model " + m.Name
	if name, stored := secrets.Reference(string(m.APIKey)); stored {
		return []finding{{what, warning, "it was not asked: its key is the secret " + name + ", which only the running bot can read; ask it something in the chat"}}
	}
	r, err := service.Examine(ctx, m.Name)
	if err != nil {
		return []finding{{what, problem, modelFault(err)}}
	}
	does := "it streams and calls tools"
	if !r.Tools {
		does = "it answers"
	}
	findings := []finding{{what, ok, fmt.Sprintf("%s (%s, %s; asked %d times, %d tokens, $%.4f)",
		does, r.Wire, r.First.Round(time.Millisecond), r.Requests, r.Usage.In+r.Usage.Out, r.USD)}}
	for _, remark := range r.Remarks {
		findings = append(findings, finding{what + ", " + remark.Aspect, grades[remark.Grade], remark.Text})
	}
	return findings
}

// modelFault says why a model can't be worked with, and what to do.
func modelFault(err error) string {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return err.Error()
	}
	remedy := "check its address (OPENAI_BASE_URL, or base_url in nod.yaml) and the network"
	switch {
	case e.Kind == llm.KindAuth:
		remedy = "check its key (OPENAI_API_KEY, or api_key in nod.yaml)"
	case e.Kind == llm.KindQuota:
		remedy = "add credit there, or choose another model"
	case e.Kind == llm.KindNotFound, e.Kind == llm.KindBadRequest, e.Kind == llm.KindOverflow:
		remedy = "check its name (NOD_MODEL, or id in nod.yaml) and its address (OPENAI_BASE_URL, or base_url in nod.yaml)"
	case e.Kind == llm.KindRateLimited, e.Kind == llm.KindUnavailable && e.Status != 0:
		remedy = "try again in a while"
	}
	return e.Words() + "; " + remedy
}

// checkFolder tries to write a file. A private folder should be closed to other users.
func checkFolder(what, dir string, private bool) finding {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return finding{what, problem, fmt.Sprintf("%s can't be made: %v", dir, err)}
	}
	f, err := os.CreateTemp(dir, ".nod-check-*")
	if err != nil {
		return finding{what, problem, fmt.Sprintf("%s can't be written to: %v; change its owner or choose another", dir, err)}
	}
	if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
		return finding{what, problem, fmt.Sprintf("%s can't be written to: %v", dir, err)}
	}
	if info, err := os.Stat(dir); private && err == nil && info.Mode().Perm()&0o077 != 0 {
		return finding{what, warning, fmt.Sprintf("%s is open to other users (%o); keep them out: chmod 700 %s", dir, info.Mode().Perm(), dir)}
	}
	return finding{what, ok, dir + " can be written to"}
}

// checkProcesses says how surely a command's processes end with it.
func checkProcesses() finding {
	level, err := (&shell.Runner{}).Level()
	switch {
	case err != nil:
		return finding{"commands", problem, err.Error()}
	case level == shell.LevelGroup:
		return finding{"commands", warning, level.String() + ": a command can leave processes behind on this system"}
	}
	return finding{"commands", ok, level.String() + ": no process outlives its command"}
}

// checkSandbox says how strongly commands are kept in.
func checkSandbox(cfg Config) finding {
	runner := &shell.Runner{Mode: cfg.Sandbox}
	strength, why := runner.Strength()
	f := gradeSandbox(cfg.Sandbox, strength, why)
	if strength == shell.Full {
		f.text += overheadText(runner)
	}
	return f
}

// gradeSandbox judges what a machine has by what the person wants of it.
func gradeSandbox(mode shell.Mode, strength shell.Strength, why error) finding {
	text := mode.Describe(strength)
	if why != nil {
		text += "; a full one takes Linux with Landlock and namespaces that nod may make (user.max_user_namespaces, AppArmor, the container's settings). " +
			"What failed: " + strings.ReplaceAll(why.Error(), "\n", "; ")
	}
	switch {
	case strength == shell.Full:
		return finding{"sandbox", ok, text}
	case mode == shell.Required:
		return finding{"sandbox", problem, text}
	}
	return finding{"sandbox", warning, text}
}

// overheadText says what the sandbox costs each command on this machine.
func overheadText(runner *shell.Runner) string {
	o, err := runner.Overhead(context.Background(), 25)
	if err != nil {
		return "; a command failed in it: " + err.Error()
	}
	return fmt.Sprintf("; it adds %s to a command, seldom more than %s", millis(o.Added(0.5)), millis(o.Added(0.95)))
}

func millis(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

// agentsDir is where the owner's agents are.
func agentsDir(home string) string { return filepath.Join(home, "agents") }

// checkAgents reads the owner's agents.
func checkAgents(cfg Config) finding {
	all, problems := roster.New(agentsDir(cfg.Home), slog.New(slog.DiscardHandler)).All()
	var ids []string
	for _, a := range all {
		ids = append(ids, a.ID)
		if a.Model != "" && !slices.ContainsFunc(cfg.Models, func(m llm.Model) bool { return m.Name == a.Model }) {
			problems = append(problems, fmt.Errorf("agents/%s.md: there is no model %q, so it uses the first that works", a.ID, a.Model))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return finding{"agents", warning, strings.ReplaceAll(err.Error(), "\n", "; ") + "; until that is mended, what nod brings itself is used where there is such an agent"}
	}
	return finding{"agents", ok, strings.Join(ids, ", ")}
}

func checkUser() finding {
	if os.Geteuid() == 0 {
		return finding{"user", warning, "nod runs as root; give it a user of its own"}
	}
	return finding{"user", ok, fmt.Sprintf("uid %d", os.Geteuid())}
}
