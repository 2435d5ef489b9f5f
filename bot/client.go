package bot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	tg "github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"nod/bot/inbox"
	"nod/bot/outbox"
)

// whoTimeout bounds one try of getMe: the first call for a bot that was idle can be slow.
const whoTimeout = 30 * time.Second

// AskWho asks Telegram once who the bot is. A token that Telegram does not accept is inbox.ErrToken.
func AskWho(ctx context.Context, client *tg.Bot) (models.User, error) {
	ctx, cancel := context.WithTimeout(ctx, whoTimeout)
	defer cancel()
	me, err := client.GetMe(ctx)
	if err == nil {
		return *me, nil
	}
	if errors.Is(err, tg.ErrorUnauthorized) || errors.Is(err, tg.ErrorNotFound) {
		return models.User{}, inbox.ErrToken
	}
	if lost, ok := errors.AsType[*outbox.CallError](err); ok {
		err = lost // the client's own words around it say nothing more
	}
	return models.User{}, fmt.Errorf("asking Telegram who the bot is: %w", err)
}

// WhoAmI is AskWho again and again until Telegram answers, refuses the token or ctx ends: a machine often starts before
// its network does. The first failure goes to the log.
func WhoAmI(ctx context.Context, client *tg.Bot, log *slog.Logger) (models.User, error) {
	told := false
	for wait := 500 * time.Millisecond; ; wait = min(2*wait, 30*time.Second) {
		me, err := AskWho(ctx, client)
		if err == nil || errors.Is(err, inbox.ErrToken) || ctx.Err() != nil {
			return me, err
		}
		if !told {
			told = true
			log.Warn("Telegram can't be reached; it is asked again until it can", "err", err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return models.User{}, err
		}
	}
}
