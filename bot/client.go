package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	tg "github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"nod/bot/inbox"
)

// whoTimeout bounds one try of getMe: the first call for a bot that was idle can be slow.
const whoTimeout = 30 * time.Second

// WhoAmI asks Telegram who the bot is, again and again until it answers, refuses the token or ctx ends: a machine often
// starts before its network does.
func WhoAmI(ctx context.Context, client *tg.Bot) (models.User, error) {
	for wait := 500 * time.Millisecond; ; wait = min(2*wait, 30*time.Second) {
		tryCtx, cancel := context.WithTimeout(ctx, whoTimeout)
		me, err := client.GetMe(tryCtx)
		cancel()
		switch {
		case err == nil:
			return *me, nil
		case errors.Is(err, tg.ErrorUnauthorized), errors.Is(err, tg.ErrorNotFound):
			return models.User{}, inbox.ErrToken
		case ctx.Err() != nil:
			return models.User{}, fmt.Errorf("asking Telegram who the bot is: %w", err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return models.User{}, fmt.Errorf("asking Telegram who the bot is: %w", err)
		}
	}
}
