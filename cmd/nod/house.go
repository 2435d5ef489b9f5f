package main

import (
	"context"
	"errors"
	"fmt"
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
	"nod/tools/mcp"
	"nod/tools/plugins"
	"nod/tools/refs"
	"nod/tools/secrets"
	"nod/tools/shell"
)

// ground is floor 1, what is remembered, and the folder in which the agent works.
type ground struct {
	db        *store.DB
	workspace *tools.Workspace
	redactor  *secrets.Redactor
}

func layGround(ctx context.Context, w wiring, redactor *secrets.Redactor, open *closers) (g ground, err error) {
	g.redactor = redactor
	if err := store.MakeFolder(w.config.Home); err != nil {
		return g, fmt.Errorf("making NOD_HOME: %w", err)
	}
	if g.db, err = openDatabase(ctx, w.config.Home, w.log); err != nil {
		return g, err
	}
	*open = append(*open, g.db)
	if g.workspace, err = tools.OpenWorkspace(w.config.Workspace, w.config.private()...); err != nil {
		return g, err
	}
	*open = append(*open, g.workspace)
	return g, nil
}

// wayOut is what people see, on its way to Telegram.
type wayOut struct {
	client *tg.Bot
	wire   *outbox.Wire
	box    *outbox.Outbox
	view   *bot.View
	mounts *bot.Mounts
	access bot.Access
}

func openWayOut(w wiring, g ground) (o wayOut, err error) {
	cfg := w.config
	if o.client, o.wire, err = outbox.NewClient(string(cfg.Token), cfg.API, w.telegram, w.log); err != nil {
		return o, err
	}
	var view *bot.View
	var mounts *bot.Mounts
	o.box, err = outbox.New(g.db, o.client, outbox.Options{
		Dir: filepath.Join(cfg.Home, "outbox"), Log: w.log, Unpaced: w.unpaced, Mask: g.redactor.Redact,
		OnMigrated: func(tx *store.Tx, from, to store.ChatID) error {
			return errors.Join(migrate(tx, from, to), mounts.Migrate(tx, from, to))
		},
		OnDead: func(tx *store.Tx, d outbox.Dead) { view.Undelivered(tx, mounts, d) },
	})
	if err != nil {
		return o, err
	}
	if mounts, err = bot.NewMounts(g.db, o.box, g.redactor.Redact); err != nil {
		return o, err
	}
	view = bot.NewView(g.db, o.box, g.redactor, cfg.Zone, w.log)
	o.view, o.mounts = view, mounts
	return o, nil
}

// hands are floors 2 and 3: the rules, the clock's book, and what can be done.
type hands struct {
	rules    *approvals.Rules
	gate     *approvals.Gate
	book     *scheduler.Jobs
	vault    *secrets.Vault
	runner   *shell.Runner
	servers  *mcp.Manager
	able     capabilities
	registry *tools.Registry
}

func giveHands(w wiring, g ground, o wayOut, open *closers) (h hands, err error) {
	cfg, log := w.config, w.log
	h.rules = approvals.NewRules(tools.SeededRules(g.workspace), tools.ToolSets())
	h.gate = approvals.NewGate(g.db, h.rules, o.view, approvals.Options{BuiltInDeny: g.workspace.BuiltInDeny, Log: log})
	h.book = scheduler.NewJobs(g.db)
	if h.vault, err = openVault(g.db, cfg, g.redactor); err != nil {
		return h, err
	}
	if err := resolveSecrets(cfg.Models, h.vault, g.redactor); err != nil {
		return h, err
	}
	h.runner = &shell.Runner{Mode: cfg.Sandbox, Writable: cfg.Writable, Variables: variables(cfg.CommandEnv, h.vault)}
	if h.servers, err = newServers(g.db, h.vault, h.runner, g.workspace, cfg, w.servers, log); err != nil {
		return h, err
	}
	h.servers.Forget = forgetServer(h.gate, h.rules)
	options, err := plugins.Open(g.db, h.vault, cfg.Plugins, cfg.Spending.Capped())
	if err != nil {
		return h, err
	}
	h.able = capabilities{
		book: options, commands: plugins.Commands{Runner: h.runner}, model: cfg.Models[0], transport: w.model, capped: cfg.Spending.Capped(),
	}
	o.view.Follow(options.Telegram, o.mounts)
	box, err := refs.New(g.db)
	if err != nil {
		return h, err
	}
	pictures, err := gallery.New(g.db, box, filepath.Join(cfg.Home, "gallery"), log)
	if err != nil {
		return h, err
	}
	*open = append(*open, pictures)
	stock := &shelf{
		db: g.db, book: h.book, workspace: g.workspace, vault: h.vault, runner: h.runner, box: box, gallery: pictures,
		groups: func() []tools.Group { return h.registry.Groups() }, servers: h.servers, plugins: options, zone: cfg.Zone,
	}
	if h.registry, err = tools.NewCatalogue(cfg.Profile, stock.tools()...); err != nil {
		return h, err
	}
	h.registry.Mount(h.servers)
	return h, nil
}

// mind is floor 4: the model, and what it is asked.
type mind struct {
	service   *llm.Client
	driver    *agent.Driver
	discovery *tools.Discovery
	groups    *bot.Groups
	clock     *scheduler.Scheduler
}

func wakeMind(w wiring, g ground, o wayOut, h hands) (m mind, err error) {
	cfg, log, mask := w.config, w.log, g.redactor.Redact
	if err := prompt.Check(roster.Embedded()); err != nil {
		return m, err
	}
	if m.service, err = llm.New(llm.Options{Models: cfg.Models, Transport: w.model, Log: log}); err != nil {
		return m, err
	}
	m.discovery = tools.NewDiscovery(g.db, log)
	m.groups = &bot.Groups{DB: g.db, Out: o.box, Client: o.client, Access: o.access, Zone: cfg.Zone, Log: log}
	ports := func(scope tools.Scope) tools.Ports {
		return tools.Ports{
			Files: o.mounts.Files(scope), Messages: bot.Messages{Out: o.box, Mask: mask}, Speech: h.able.speech(), Images: h.able.images(),
			Groups: m.groups, Restart: w.restart,
		}
	}
	m.driver = agent.NewDriver(agent.Config{
		DB: g.db, Model: m.service, Registry: h.registry, Executor: tools.NewExecutor(g.db, h.gate, log).Mask(mask).In(cfg.Zone),
		Gate: h.gate, Rules: h.rules, Jobs: h.book, View: o.view, Workspace: g.workspace, Log: log, Mask: mask,
		Spending: cfg.Spending, Contexts: cfg.Contexts, Ports: ports, Discovery: m.discovery,
		Prompt: &prompt.Builder{DB: g.db, Workspace: g.workspace, Zone: cfg.Zone},
		Roster: roster.New(agentsDir(cfg.Home), log),
		Home: func(tx *store.Tx) (agent.Home, error) {
			at, deciders, err := o.access.Home(tx)
			return agent.Home{Address: at, Deciders: deciders}, err
		},
	})
	h.rules.OnGroup(m.driver.FollowGroup)
	m.clock = scheduler.New(h.book, m.driver, log)
	return m, nil
}

// wayIn is floor 5: what people write and press.
type wayIn struct {
	me      models.User
	router  *bot.Router
	updates *inbox.Inbox
	poller  *inbox.Poller
}

func openWayIn(ctx context.Context, w wiring, g ground, o wayOut, h hands, m mind) (in wayIn, err error) {
	cfg, log := w.config, w.log
	if in.me, err = bot.WhoAmI(ctx, o.client, log); err != nil {
		return in, err
	}
	if err := settle(g.db, h.rules, o.access, cfg, in.me, w.notice); err != nil {
		return in, err
	}
	if err := forget(g.db, m.driver, h.gate, h.book, o.view); err != nil {
		return in, err
	}
	in.router = &bot.Router{
		DB: g.db, Out: o.box, Mounts: o.mounts, View: o.view, Driver: m.driver, Gate: h.gate, Rules: h.rules, Jobs: h.book,
		Registry: h.registry, Models: m.service, Vault: h.vault, Home: cfg.Home, Sandbox: h.runner.Describe,
		Log: log, Access: o.access, Groups: m.groups, Me: in.me, Started: time.Now(),
		Intake: &bot.Intake{
			Client: o.client, Wire: o.wire, API: cfg.API, Token: string(cfg.Token), Workspace: g.workspace, Hearing: h.able.hearing,
			Driver: m.driver, Log: log,
		},
	}
	in.updates = inbox.New(g.db, inbox.Options{
		Bot: store.UserID(in.me.ID), Handle: in.router.Handle, Urgent: in.router.Urgent, OnDead: o.view.UpdateLost, OnGap: o.view.Gap,
		Drop: in.router.Drop, Drained: in.router.Drained, Log: log,
	})
	in.poller = inbox.NewPoller(in.updates, inbox.PollerOptions{API: cfg.API, Token: string(cfg.Token), Wire: o.wire, Trouble: o.view.Trouble, Log: log})
	in.router.Poller, in.router.Inbox = in.poller, in.updates
	return in, nil
}
