package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"nod/store"
	"nod/tools/secrets"
)

// openDatabase opens the database of a home, after a look at it where no clean stop has left it. One that can't be used is
// set aside, so that a backup can take its place.
func openDatabase(ctx context.Context, home string, log *slog.Logger) (*store.DB, error) {
	path := filepath.Join(home, databaseName)
	err := store.Look(ctx, path)
	damage, bad := errors.AsType[*store.DamagedError](err)
	switch {
	case bad:
		return nil, store.SetAside(damage)
	case errors.Is(err, store.ErrLocked), ctx.Err() != nil:
		return nil, err
	case err != nil:
		log.Warn("the database was not left by a clean stop, and could not be checked", "err", err)
	}
	db, err := store.Open(path)
	if damage, bad := errors.AsType[*store.DamagedError](err); bad {
		return nil, store.SetAside(damage)
	}
	return db, err
}

// checkDatabase opens the database, or asks the bot that has it open.
func checkDatabase(ctx context.Context, cfg Config) finding {
	path := filepath.Join(cfg.Home, databaseName)
	if size, err := ask(ctx, cfg.Home, "/database"); err == nil {
		return finding{"database", ok, fmt.Sprintf("%s is in use by the nod that runs, %s; %s", path, size, backupText(path))}
	}
	if there, err := store.Exists(path); err == nil && !there {
		return finding{"database", ok, path + " will be made at the first start"}
	}
	if err := store.Look(ctx, path); err != nil {
		return finding{"database", problem, err.Error()}
	}
	db, err := store.Open(path)
	if err != nil {
		return finding{"database", problem, err.Error()}
	}
	size := sizeOf(db)
	if err := db.Close(); err != nil {
		return finding{"database", problem, err.Error()}
	}
	return finding{"database", ok, fmt.Sprintf("%s opens, %s; %s", path, size, backupText(path))}
}

// alone opens what a bot has open, while none runs. Before the first start there is no database, and none is made: an empty
// one stands in, if there is anything given to look at with it.
func alone(cfg Config, given bool, look func(Config, *store.DB, *secrets.Vault) error) (err error) {
	there, err := store.Exists(filepath.Join(cfg.Home, databaseName))
	if err != nil || !there && !given {
		return err
	}
	if !there {
		home, failed := os.MkdirTemp("", "nod-check-*")
		if failed != nil {
			return fmt.Errorf("making a folder for the check: %w", failed)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
		cfg.Home, cfg.Credentials = home, ""
	}
	db, err := store.Open(filepath.Join(cfg.Home, databaseName))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	vault, err := openVault(db, cfg, &secrets.Redactor{})
	if err != nil {
		return err
	}
	return look(cfg, db, vault)
}

func sizeOf(db *store.DB) string { return fmt.Sprintf("%.1f MB", float64(db.Size())/(1<<20)) }

// backupText says which backup there is.
func backupText(path string) string {
	file, at := store.LastBackup(path)
	if file == "" {
		return "no backup is known; nod backup FILE makes one"
	}
	return fmt.Sprintf("the last backup is %s, of %s", file, at.Format(time.DateTime))
}
