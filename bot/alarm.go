package bot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"syscall"
	"time"

	tg "github.com/go-telegram/bot"

	"nod/bot/trouble"
	"nod/store"
)

// Alarm tells the owner that the database can't be written to, as on a disk that is full, and that it can be again. Its
// messages go past the outbox, which could not keep them.
type Alarm struct {
	db     *store.DB
	client *tg.Bot
	access Access
	log    *slog.Logger
	news   chan error

	spell  trouble.Spell
	unsent string // what Telegram has not taken yet
}

const (
	// probeEvery is how often it is tried whether the database can be written to again.
	probeEvery = 10 * time.Second
	alarmTime  = 10 * time.Second // for one message
)

var diskPatience = trouble.Patience{Calm: probeEvery}

// NewAlarm watches a database. Nothing is told before Run.
func NewAlarm(db *store.DB, client *tg.Bot, log *slog.Logger) *Alarm {
	a := &Alarm{db: db, client: client, log: log, news: make(chan error, 1)}
	db.Watch(func(err error) {
		select {
		case a.news <- err:
		default: // a failure waits to be told already, and its end is found by a probe
		}
	})
	return a
}

// Run tells until ctx ends.
func (a *Alarm) Run(ctx context.Context) error {
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-a.news:
			a.took(err)
		case <-again:
			if !a.spell.Since.IsZero() {
				a.took(a.db.Probe())
			}
		}
		a.send(ctx)
		again = nil
		if !a.spell.Since.IsZero() || a.unsent != "" {
			again = time.After(probeEvery)
		}
	}
}

// took notes whether a commit was written.
func (a *Alarm) took(err error) {
	word := trouble.Nothing
	if err != nil {
		word = a.spell.Failed(time.Now(), diskPatience)
	} else {
		word = a.spell.Fine(time.Now(), diskPatience)
	}
	switch word {
	case trouble.Begun:
		a.log.Error("the database can't be written to", "err", err)
		a.unsent = diskText(err)
	case trouble.Returned:
		a.log.Error("the database can't be written to, again", "err", err)
		a.unsent = diskText(err) + " " + comesAndGoesText
	case trouble.Over:
		a.log.Info("the database can be written to again")
		if a.unsent != "" {
			a.unsent = "" // nobody has heard of it
			return
		}
		a.unsent = "✓ The database can be written to again. What was sent meanwhile is taken in now."
	}
}

func (a *Alarm) send(ctx context.Context) {
	if a.unsent == "" {
		return
	}
	var at store.Address
	err := a.db.View(func(tx *store.Tx) (err error) {
		at, _, err = a.access.Home(tx)
		return err
	})
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, alarmTime)
		defer cancel()
		_, err = a.client.SendMessage(ctx, &tg.SendMessageParams{ChatID: int64(at.Chat), MessageThreadID: threadOf(at), Text: a.unsent})
	}
	switch {
	case err == nil, errors.Is(err, errNoOwner):
		a.unsent = ""
	case ctx.Err() == nil:
		a.log.Warn("telling the owner of the database", "err", err)
	}
}

// threadOf is a topic as sendMessage takes it: the General topic has none.
func threadOf(at store.Address) int {
	if at.Topic == 1 {
		return 0
	}
	return at.Topic
}

// diskText says what keeps the database from being written to, and what to do.
func diskText(err error) string {
	const still = " Nothing is taken in or run until then; I go on by myself."
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "⚠️ The disk is full. Make room where NOD_HOME is." + still
	case errors.Is(err, syscall.EFBIG):
		return "⚠️ The database may not grow further: a limit on the size of files is in its way. Raise it and restart nod." + still
	case errors.Is(err, syscall.EROFS):
		return "⚠️ The disk with NOD_HOME has become read-only. The system's log has the reason." + still
	}
	return fmt.Sprintf("⚠️ The database can't be written to: %s. Look at the disk with NOD_HOME.%s", clean(err.Error()), still)
}
