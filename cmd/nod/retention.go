package main

import (
	"context"
	"log/slog"
	"time"

	"nod/agent"
	"nod/approvals"
	"nod/bot/outbox"
	"nod/store"
	"nod/tools"
)

const (
	// retentionQuiet is how long after the start old records are first looked for: a clock that was wrong at the start of
	// the machine has been set by then.
	retentionQuiet = 10 * time.Minute
	retentionEvery = 24 * time.Hour
)

// retention deletes the records of what has been over for a number of days. What waits, runs, or belongs to a present
// conversation stays, and so do messages that were given up.
type retention struct {
	db        *store.DB
	workspace *tools.Workspace
	days      int // 0: everything is kept
	log       *slog.Logger
}

// Run looks once a day, until ctx ends.
func (r retention) Run(ctx context.Context) error {
	timer := time.NewTimer(retentionQuiet)
	defer timer.Stop()
	for r.days > 0 {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
			r.look(ctx)
			timer.Reset(retentionEvery)
		}
	}
	<-ctx.Done()
	return nil
}

func (r retention) look(ctx context.Context) {
	before := time.Now().AddDate(0, 0, -r.days)
	for _, owner := range []struct {
		name  string
		prune func(context.Context, *store.DB, time.Time) (int, error)
	}{{"approvals", approvals.Prune}, {"calls", r.workspace.Prune}, {"conversations", agent.Prune}, {"messages", outbox.Prune}} {
		n, err := owner.prune(ctx, r.db, before)
		if err != nil {
			r.log.Warn("deleting old records", "of", owner.name, "err", err)
		}
		if n > 0 {
			r.log.Info("deleted old records", "of", owner.name, "records", n)
		}
	}
}
