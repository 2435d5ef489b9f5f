package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	tg "github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"nod/agent"
	"nod/agent/llm"
	"nod/agent/prompt"
	"nod/agent/roster"
	"nod/approvals"
	"nod/bot"
	"nod/bot/inbox"
	"nod/bot/outbox"
	"nod/scheduler"
	"nod/store"
	"nod/tools"
	"nod/tools/gallery"
	"nod/tools/plugins"
	"nod/tools/refs"
	"nod/tools/secrets"
	"nod/tools/shell"
)

// errRestart ends the program so that it comes up anew.
var errRestart = errors.New("restarting")

// wiring is what differs between `nod run`, the demo and tests.
type wiring struct {
	config   Config
	log      *slog.Logger
	telegram http.RoundTripper // nil: the network
	model    http.RoundTripper // nil: the network
	servers  http.RoundTripper // of MCP; nil: the network
	restart  func()            // nil: the tool is not offered
	unpaced  bool
	control  bool      // whether other commands reach this one through the socket in NOD_HOME
	notice   io.Writer // where a pairing link is printed
	greeting string    // what the owner is told at the start, in Markdown; "" for nothing
	ready    func()    // called once everything runs
	fleeting bool      // there will be no next start with these folders
}

// runCommand runs the bot until the process is told to end.
func runCommand(ctx context.Context, _ []string, out stdio) error {
	cfg, err := loadConfig(out.env, true)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(out.err, &slog.HandlerOptions{Level: cfg.Log}))
	if os.Geteuid() == 0 {
		log.Warn("nod runs as root; give it a user of its own")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	err = run(ctx, wiring{config: cfg, log: log, control: true, restart: func() { cancel(errRestart) }, notice: out.out})
	if err == nil && errors.Is(context.Cause(ctx), errRestart) {
		return reexec()
	}
	return err
}

// run wires the house from the ground up, runs it until ctx ends, and takes it down again in stages.
func run(ctx context.Context, w wiring) (err error) {
	cfg, redactor := w.config, &secrets.Redactor{}
	log := slog.New(secrets.NewHandler(w.log.Handler(), redactor))
	for _, known := range cfg.secrets() {
		redactor.Add(known)
	}

	// Floor 1: what is remembered.
	if err := store.MakeFolder(cfg.Home); err != nil {
		return fmt.Errorf("making NOD_HOME: %w", err)
	}
	db, err := openDatabase(ctx, cfg.Home, log)
	if err != nil && ctx.Err() != nil {
		return nil // told to end while it looked
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	workspace, err := tools.OpenWorkspace(cfg.Workspace, cfg.private()...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, workspace.Close()) }()

	// The way out: Telegram and the outbox.
	access := bot.Access{}
	client, wire, err := outbox.NewClient(string(cfg.Token), cfg.API, w.telegram, log)
	if err != nil {
		return err
	}
	var view *bot.View
	var mounts *bot.Mounts
	out, err := outbox.New(db, client, outbox.Options{
		Dir: filepath.Join(cfg.Home, "outbox"), Log: log, Unpaced: w.unpaced,
		OnMigrated: func(tx *store.Tx, from, to store.ChatID) error {
			return errors.Join(migrate(tx, from, to), mounts.Migrate(tx, from, to))
		},
		OnDead: func(tx *store.Tx, d outbox.Dead) { view.Undelivered(tx, mounts, d) },
	})
	if err != nil {
		return err
	}
	if mounts, err = bot.NewMounts(db, out); err != nil {
		return err
	}
	view = bot.NewView(db, out, redactor, cfg.Zone, log)

	// Floors 2 and 3: the rules, the clock's book, the hands.
	rules := approvals.NewRules(tools.SeededRules(workspace), tools.ToolSets())
	gate := approvals.NewGate(db, rules, view, approvals.Options{BuiltInDeny: workspace.BuiltInDeny, Log: log})
	book := scheduler.NewJobs(db)
	vault, err := openVault(db, cfg, redactor)
	if err != nil {
		return err
	}
	if err := resolveSecrets(cfg.Models, vault, redactor); err != nil {
		return err
	}
	runner := &shell.Runner{Mode: cfg.Sandbox, Writable: cfg.Writable, Variables: variables(cfg.CommandEnv, vault)}
	box, err := refs.New(db)
	if err != nil {
		return err
	}
	servers, err := newServers(db, vault, runner, workspace, cfg, w.servers, log)
	if err != nil {
		return err
	}
	servers.Forget = forgetServer(gate, rules)
	options, err := plugins.Open(db, vault, cfg.Plugins)
	if err != nil {
		return err
	}
	able := capabilities{book: options, commands: plugins.Commands{Runner: runner}, model: cfg.Models[0], transport: w.model}
	view.Follow(options.Telegram, mounts)
	pictures, err := gallery.New(db, box, filepath.Join(cfg.Home, "gallery"), log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pictures.Close()) }()
	var registry *tools.Registry
	groups := func() []tools.Group { return registry.Groups() }
	if registry, err = tools.NewCatalogue(cfg.Profile, (&shelf{db: db, book: book, workspace: workspace, vault: vault, runner: runner, box: box, gallery: pictures, groups: groups, servers: servers, plugins: options, zone: cfg.Zone}).tools()...); err != nil {
		return err
	}
	registry.Mount(servers)
	if err := prompt.Check(roster.Embedded()); err != nil {
		return err
	}

	// Floor 4: the model.
	service, err := llm.New(llm.Options{Models: cfg.Models, Transport: w.model, Log: log})
	if err != nil {
		return err
	}
	discovery := tools.NewDiscovery(db, log)
	groupDesk := &bot.Groups{DB: db, Out: out, Client: client, Access: access, Zone: cfg.Zone, Log: log}
	driver := agent.NewDriver(agent.Config{
		DB: db, Model: service, Registry: registry, Executor: tools.NewExecutor(db, gate, log).Mask(redactor.Redact).In(cfg.Zone), Gate: gate, Rules: rules,
		Jobs: book, View: view, Workspace: workspace, Log: log, Mask: redactor.Redact,
		Spending: cfg.Spending,
		Contexts: cfg.Contexts,
		Prompt:   &prompt.Builder{DB: db, Workspace: workspace, Zone: cfg.Zone},
		Roster:   roster.New(agentsDir(cfg.Home), log),
		Ports: func(scope tools.Scope) tools.Ports {
			return tools.Ports{
				Files: mounts.Files(scope), Messages: bot.Messages{Out: out, Mask: redactor.Redact}, Speech: able.speech(), Images: able.images(), Groups: groupDesk, Restart: w.restart,
			}
		},
		Discovery: discovery,
		Home: func(tx *store.Tx) (agent.Home, error) {
			at, deciders, err := access.Home(tx)
			return agent.Home{Address: at, Deciders: deciders}, err
		},
	})
	rules.OnGroup(driver.FollowGroup)
	clock := scheduler.New(book, driver, log)

	// Floor 5: the way in.
	me, err := bot.WhoAmI(ctx, client)
	if ctx.Err() != nil {
		return nil // told to end before Telegram could be reached
	}
	if err != nil {
		return err
	}
	if err := settle(db, rules, access, cfg, me, w.notice); err != nil {
		return err
	}
	if err := forget(db, driver, gate, book, view); err != nil {
		return err
	}
	router := &bot.Router{
		DB: db, Out: out, Mounts: mounts, View: view, Driver: driver, Gate: gate, Rules: rules, Jobs: book, Registry: registry, Models: service, Vault: vault, Home: cfg.Home, Sandbox: runner.Describe,
		Log: log, Access: access, Groups: groupDesk, Me: me, Started: time.Now(),
		Intake: &bot.Intake{Client: client, Wire: wire, API: cfg.API, Token: string(cfg.Token), Workspace: workspace, Hearing: able.hearing, Log: log},
	}
	updates := inbox.New(db, inbox.Options{Bot: store.UserID(me.ID), Handle: router.Handle, Urgent: router.Urgent, OnDead: view.UpdateLost, OnGap: view.Gap, Drop: router.Drop, Drained: router.Drained, Log: log})
	poller := inbox.NewPoller(updates, inbox.PollerOptions{API: cfg.API, Token: string(cfg.Token), Wire: wire, Trouble: view.Trouble, Log: log})
	router.Poller, router.Inbox = poller, updates
	if w.greeting != "" {
		if err := view.Greet(w.greeting); err != nil {
			return err
		}
	}
	if w.ready != nil {
		w.ready()
	}
	// In this order they end, within ten seconds in all: nothing new comes in, turns finish, and what they said is sent.
	loops := []loop{
		{name: "polling", run: poller.Run, limit: 500 * time.Millisecond},
		{name: "the inbox", run: updates.Run, limit: 500 * time.Millisecond},
		{name: "the command menu", run: func(ctx context.Context) error { return menu(ctx, router, client, log) }, limit: 250 * time.Millisecond},
		{name: "the sandbox", run: func(ctx context.Context) error { return measureSandbox(ctx, runner, log) }, limit: time.Second},
		{name: "the clock", run: clock.Run, limit: 250 * time.Millisecond},
		{name: "retention", run: retention{db: db, workspace: workspace, days: cfg.KeepDays, log: log}.Run, limit: 250 * time.Millisecond},
		{name: "the driver", run: driver.Run, limit: 6 * time.Second},
		{name: "the MCP servers", run: servers.Run, limit: 1500 * time.Millisecond},
		{name: "tool discovery", run: discovery.Run, limit: 250 * time.Millisecond},
		{name: "the alarm", run: bot.NewAlarm(db, client, log).Run, limit: 250 * time.Millisecond},
		{name: "the gate", run: gate.Run, limit: 250 * time.Millisecond},
		{name: "the outbox", run: out.Run, limit: 1750 * time.Millisecond, before: func(ctx context.Context) {
			if err := out.Flush(ctx); err != nil && !w.fleeting {
				log.Warn("some messages will be sent after the next start", "err", err)
			}
		}},
	}
	if w.control {
		loops = append(loops, loop{name: "the control socket", run: (&control{db: db, servers: servers, username: me.Username, log: log, home: cfg.Home}).Run, limit: 500 * time.Millisecond})
	}
	return runStaged(ctx, log, loops)
}

// menu writes the chat's command menu. Without one everything still works.
func menu(ctx context.Context, router *bot.Router, client *tg.Bot, log *slog.Logger) error {
	if err := router.RegisterCommands(ctx, client); err != nil && ctx.Err() == nil {
		log.Warn("the chat has no command menu", "err", err)
	}
	return nil
}

// migrate rewrites everything that is filed under a group that became a supergroup.
func migrate(tx *store.Tx, from, to store.ChatID) error {
	for _, move := range []func(*store.Tx, store.ChatID, store.ChatID) error{bot.Access{}.Migrate, bot.MigrateGroups, gallery.Migrate, agent.Migrate, approvals.Migrate, scheduler.Migrate} {
		if err := move(tx, from, to); err != nil {
			return err
		}
	}
	return nil
}

// startQuiet is how long after the start the sandbox is measured, unless a command needs it before: that starts processes,
// and what people wrote meanwhile goes first.
const startQuiet = 2 * time.Second

// measureSandbox finds out what commands can have before one needs it. How strong it is stands on every card.
func measureSandbox(ctx context.Context, runner *shell.Runner, log *slog.Logger) error {
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(startQuiet):
	}
	strength, why := runner.Strength()
	if strength == shell.Full || runner.Mode == shell.Off {
		log.Info("commands run in a sandbox", "sandbox", runner.Describe())
	} else {
		log.Warn("commands have no full sandbox", "sandbox", runner.Describe(), "err", why)
	}
	return nil
}

// forget drops what a restored backup was about to do: nobody knows what of it was done since.
func forget(db *store.DB, driver *agent.Driver, gate *approvals.Gate, book *scheduler.Jobs, view *bot.View) error {
	err := db.AfterRestore(func(tx *store.Tx) error {
		if _, err := driver.StopAll(tx); err != nil {
			return err
		}
		return errors.Join(gate.EndAll(tx), book.Forgo(tx, driver.Report), inbox.Restored(tx), view.Restored(tx))
	})
	if err != nil {
		return fmt.Errorf("beginning with a restored backup: %w", err)
	}
	return nil
}

// settle puts down the rules and owners, and prints a pairing link where nobody owns the bot yet.
func settle(db *store.DB, rules *approvals.Rules, access bot.Access, cfg Config, me models.User, notice io.Writer) error {
	var owners []bot.Person
	err := db.Update(func(tx *store.Tx) (err error) {
		if err := errors.Join(rules.Seed(tx), rules.Apply(tx, cfg.Rules)); err != nil {
			return err
		}
		if err := access.Adopt(tx, cfg.Owners); err != nil {
			return err
		}
		owners, err = access.Owners(tx)
		return err
	})
	if err != nil || len(owners) > 0 {
		return err
	}
	text, err := invite(db, me.Username, bot.Owner)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(notice, "Nobody owns this bot yet. Pair with it:\n%s", text)
	return err
}
