package bot

import (
	"context"
	"errors"
	"fmt"
	"time"

	tg "github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"nod/bot/outbox"
)

// ErrToken says that Telegram refuses the bot's token.
var ErrToken = errors.New("Telegram refuses the token: check TELEGRAM_BOT_TOKEN, and ask @BotFather for a new one if it was revoked")

// clientTimeout is the library's own limit for one call. It must exceed the longest poll and a slow upload; the caller's
// context is what usually ends a call.
const clientTimeout = 10 * time.Minute

// NewClient makes the Bot API client that all calls go through. api has no final slash.
func NewClient(token, api string, wire *outbox.Wire) (*tg.Bot, error) {
	client, err := tg.New(token, tg.WithServerURL(api), tg.WithHTTPClient(clientTimeout, wire), tg.WithSkipGetMe())
	if err != nil {
		return nil, fmt.Errorf("making the Telegram client: %w", err)
	}
	return client, nil
}

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
			return models.User{}, ErrToken
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
