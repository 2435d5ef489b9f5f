package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"
	"time"

	"nod/bot"
	"nod/bot/outbox"
	"nod/scheduler"
	"nod/store"
	"nod/tools/outline"
)

// stdio is what a command reads and writes beside its files.
type stdio struct {
	env func(string) string
	out io.Writer
	err io.Writer
}

func systemIO() stdio { return stdio{env: os.Getenv, out: os.Stdout, err: os.Stderr} }

// usageError is a call of the program that makes no sense.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text + "\n\n" + usage }

// errReported is a failure that has been told already.
var errReported = errors.New("reported")

const usage = `usage: nod [command]

  run            run the bot (the default)
  demo           the same bot in your browser, with nothing to configure
  check          look at the configuration and at everything that nod needs
  invite         print a pairing link for another owner (--guest: for a guest)
  jobs           list the scheduled jobs
  backup FILE    copy the database to FILE while the bot runs (--encrypt RECIPIENT: for an age key)
  restore FILE   put a backup in place of the database, which is kept beside it (--identity FILE: an encrypted one)
  version        print the version

Set TELEGRAM_BOT_TOKEN and OPENAI_API_KEY, or write $NOD_HOME/nod.yaml; README.md lists every setting.`

// command is what one word on the command line does.
type command struct {
	run       func(context.Context, []string, stdio) error
	takesArgs bool
}

// commandNamed finds a command.
func commandNamed(name string) (c command, ok bool) {
	c, ok = map[string]command{
		"run": {run: runCommand}, "demo": {run: demoCommand}, "check": {run: checkCommand}, "jobs": {run: jobsCommand},
		"version": {run: versionCommand}, "help": {run: helpCommand},
		"invite": {inviteCommand, true}, "backup": {backupCommand, true}, "restore": {restoreCommand, true},
	}[name]
	return c, ok
}

// dispatch runs the command that args name.
func dispatch(ctx context.Context, args []string, std stdio) error {
	name := "run"
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	if asksForHelp(name) || len(args) == 1 && asksForHelp(args[0]) {
		name, args = "help", nil
	}
	c, ok := commandNamed(name)
	switch {
	case !ok:
		return &usageError{fmt.Sprintf("there is no command %q", name)}
	case len(args) > 0 && !c.takesArgs:
		return &usageError{fmt.Sprintf("nod %s takes no argument, not %d", name, len(args))}
	}
	return c.run(ctx, args, std)
}

func asksForHelp(arg string) bool { return arg == "-h" || arg == "-help" || arg == "--help" }

func helpCommand(_ context.Context, _ []string, std stdio) error {
	_, err := fmt.Fprintln(std.out, usage)
	return err
}

func versionCommand(_ context.Context, _ []string, std stdio) error {
	version, commit := "devel", "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Version != "" {
			version = info.Main.Version
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				commit = s.Value
			}
		}
	}
	grammars := "without grammars"
	if outline.Grammars {
		grammars = "with grammars"
	}
	_, err := fmt.Fprintf(std.out, "nod %s, %s, commit %s, %s for outlines\n", version, runtime.Version(), commit, grammars)
	return err
}

func inviteCommand(ctx context.Context, args []string, std stdio) error {
	role := bot.Owner
	switch {
	case len(args) == 1 && args[0] == "--guest":
		role = bot.Guest
	case len(args) > 0:
		return &usageError{"nod invite takes only --guest"}
	}
	cfg, err := loadConfig(std.env, true)
	if err != nil {
		return err
	}
	invite, err := askInvite(ctx, cfg, role)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(std.out, invite)
	return err
}

// askInvite has the running bot make an invitation, or makes one itself when none runs.
func askInvite(ctx context.Context, cfg Config, role bot.Role) (string, error) {
	text, err := ask(ctx, cfg.Home, "/invite/"+string(role))
	if !errors.Is(err, errNotRunning) {
		return text, err
	}
	quiet := slog.New(slog.DiscardHandler)
	client, _, err := outbox.NewClient(string(cfg.Token), cfg.API, nil, quiet)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	me, err := bot.WhoAmI(ctx, client, quiet)
	if err != nil {
		return "", err
	}
	return withStore(cfg.Home, func(db *store.DB) (string, error) { return invite(db, me.Username, role) })
}

// invite opens a pairing code and writes its link.
func invite(db *store.DB, username string, role bot.Role) (string, error) {
	var code string
	var expires time.Time
	err := db.Update(func(tx *store.Tx) (err error) {
		code, expires, err = bot.Access{}.Invite(tx, role)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("making an invitation: %w", err)
	}
	return fmt.Sprintf("https://t.me/%s?start=%s\nOpen it on the phone of the new %s. It works once, until %s.\n", username, code, role, expires.Format("15:04")), nil
}

// errNoDatabase says that the bot has never run on this home.
var errNoDatabase = errors.New("there is no database in this home yet; it is made at the first start")

// withExisting is withStore for what makes no sense on a home that is new.
func withExisting(home string, use func(*store.DB) (string, error)) (string, error) {
	there, err := store.Exists(filepath.Join(home, databaseName))
	if err != nil {
		return "", err
	}
	if !there {
		return "", errNoDatabase
	}
	return withStore(home, use)
}

// withStore opens the database of a home whose bot is not running.
func withStore(home string, use func(*store.DB) (string, error)) (text string, err error) {
	db, err := store.Open(filepath.Join(home, databaseName))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return use(db)
}

func jobsCommand(ctx context.Context, _ []string, std stdio) error {
	cfg, err := loadConfig(std.env, false)
	if err != nil {
		return err
	}
	text, err := ask(ctx, cfg.Home, "/jobs")
	if errors.Is(err, errNotRunning) {
		text, err = withExisting(cfg.Home, listJobs)
	}
	if errors.Is(err, errNoDatabase) {
		text, err = noJobs, nil
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(std.out, text)
	return err
}

const noJobs = "There are no jobs. Ask for one in the chat.\n"

// listJobs is the table of jobs.
func listJobs(db *store.DB) (string, error) {
	var all []scheduler.Job
	err := db.View(func(tx *store.Tx) (err error) {
		all, err = scheduler.NewJobs(db).List(tx)
		return err
	})
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return noJobs, nil
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tTITLE\tWHEN\tSTATE\tNEXT")
	for _, j := range all {
		next := "-"
		if !j.NextAt.IsZero() {
			next = j.NextAt.Local().Format("2006-01-02 15:04")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", j.ID, j.Title, j.When(), j.State, next)
	}
	if err := w.Flush(); err != nil {
		return "", err
	}
	return b.String(), nil
}
