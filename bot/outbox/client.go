package outbox

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	tg "github.com/go-telegram/bot"
)

var tokenShape = regexp.MustCompile(`^\d+:[A-Za-z0-9_-]+$`)

// NewClient returns the Bot API client for a token, and the wire below it, without a call. api is the root of the Bot
// API, such as https://api.telegram.org; a nil base means a transport of its own. No error holds the token.
func NewClient(token, api string, base http.RoundTripper, log *slog.Logger) (*tg.Bot, *Wire, error) {
	if !tokenShape.MatchString(token) {
		return nil, nil, errors.New("the bot token does not look like one: copy it whole from @BotFather into TELEGRAM_BOT_TOKEN")
	}
	root, err := url.Parse(api)
	if err != nil || root.Scheme != "http" && root.Scheme != "https" || root.Host == "" {
		return nil, nil, fmt.Errorf("%q is not the root of a Bot API: NOD_TELEGRAM_API takes a URL such as https://api.telegram.org", api)
	}
	wire := NewWire(token, base)
	client, err := tg.New(token,
		tg.WithSkipGetMe(),
		tg.WithServerURL(strings.TrimRight(api, "/")),
		tg.WithHTTPClient(time.Minute, wire),
		tg.WithErrorsHandler(func(err error) { log.Warn("Bot API client", "err", wire.redact(err.Error())) }),
	)
	if err != nil {
		return nil, nil, fmt.Errorf("making the Bot API client: %w", err)
	}
	return client, wire, nil
}
