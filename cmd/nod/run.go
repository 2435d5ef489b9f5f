package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"time"

	tg "github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"nod/agent"
	"nod/approvals"
	"nod/bot"
	"nod/bot/inbox"
	"nod/scheduler"
	"nod/store"
	"nod/tools/gallery"
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
	redactor := &secrets.Redactor{}
	w.log = slog.New(secrets.NewHandler(w.log.Handler(), redactor))
	for _, known := range w.config.secrets() {
		redactor.Add(known)
	}
	var open closers
	defer func() { err = errors.Join(err, open.close()) }()

	g, err := layGround(ctx, w, redactor, &open)
	if ctx.Err() != nil {
		return nil // told to end while it looked at the database
	}
	if err != nil {
		return err
	}
	out, err := openWayOut(w, g)
	if err != nil {
		return err
	}
	h, err := giveHands(w, g, out, &open)
	if err != nil {
		return err
	}
	m, err := wakeMind(w, g, out, h)
	if err != nil {
		return err
	}
	in, err := openWayIn(ctx, w, g, out, h, m)
	if ctx.Err() != nil {
		return nil // told to end before Telegram could be reached
	}
	if err != nil {
		return err
	}
	if w.greeting != "" {
		if err := out.view.Greet(w.greeting); err != nil {
			return err
		}
	}
	if w.ready != nil {
		w.ready()
	}
	return runStaged(ctx, w.log, loops(w, g, out, h, m, in))
}

// closers are closed in the order opposite to the one in which they were opened.
type closers []io.Closer

func (c closers) close() (err error) {
	for _, closer := range slices.Backward(c) {
		err = errors.Join(err, closer.Close())
	}
	return err
}

// loops are what runs, in the order in which it ends, within ten seconds in all: nothing new comes in, turns finish, and
// what they said is sent.
func loops(w wiring, g ground, o wayOut, h hands, m mind, in wayIn) []loop {
	cfg, log := w.config, w.log
	all := []loop{
		{name: "polling", run: in.poller.Run, limit: 500 * time.Millisecond},
		{name: "the inbox", run: in.updates.Run, limit: 500 * time.Millisecond},
		{name: "the command menu", run: func(ctx context.Context) error { return menu(ctx, in.router, o.client, log) }, limit: 250 * time.Millisecond},
		{name: "the sandbox", run: func(ctx context.Context) error { return measureSandbox(ctx, h.runner, log) }, limit: time.Second},
		{name: "the clock", run: m.clock.Run, limit: 250 * time.Millisecond},
		{name: "retention", run: retention{db: g.db, workspace: g.workspace, days: cfg.KeepDays, log: log}.Run, limit: 250 * time.Millisecond},
		{name: "the driver", run: m.driver.Run, limit: 6 * time.Second},
		{name: "the MCP servers", run: h.servers.Run, limit: 1500 * time.Millisecond},
		{name: "tool discovery", run: m.discovery.Run, limit: 250 * time.Millisecond},
		{name: "the alarm", run: bot.NewAlarm(g.db, o.client, log).Run, limit: 250 * time.Millisecond},
		{name: "the gate", run: h.gate.Run, limit: 250 * time.Millisecond},
		{name: "the outbox", run: o.box.Run, limit: 1750 * time.Millisecond, before: func(ctx context.Context) {
			if err := o.box.Flush(ctx); err != nil && !w.fleeting {
				log.Warn("some messages will be sent after the next start", "err", err)
			}
		}},
	}
	if w.control {
		socket := &control{db: g.db, servers: h.servers, able: h.able, username: in.me.Username, log: log, home: cfg.Home}
		all = append(all, loop{name: "the control socket", run: socket.Run, limit: 500 * time.Millisecond})
	}
	return all
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
