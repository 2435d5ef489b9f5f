package inbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-telegram/bot/models"

	"nod/bot/outbox"
	"nod/bot/trouble"
)

// ErrToken says that Telegram does not accept the bot's token.
var ErrToken = errors.New("the bot token is not valid: get one from @BotFather and set TELEGRAM_BOT_TOKEN")

// Times of polling. The server holds a poll for at most 50 seconds, so one that takes longer than
// pollLimit hangs on a dead connection.
const (
	pollHold  = 50 * time.Second
	pollLimit = pollHold + 15*time.Second
)

// Delays after a failed poll, doubled each time.
const (
	retryFirst    = 500 * time.Millisecond
	retryMost     = 15 * time.Second
	conflictFirst = 3 * time.Second // another program polls: both would only cut each other off faster
)

// allowed are the kinds of updates that are asked for. They are named, since the server keeps an earlier wish otherwise.
var allowed = []string{
	models.AllowedUpdateMessage,
	models.AllowedUpdateEditedMessage,
	models.AllowedUpdateCallbackQuery,
	models.AllowedUpdateMyChatMember,
	models.AllowedUpdateChatJoinRequest,
	models.AllowedUpdateStoppedMessageGeneration,
}

// PollerOptions of a Poller.
type PollerOptions struct {
	API     string // root of the Bot API, such as https://api.telegram.org
	Token   string
	Wire    *outbox.Wire
	Trouble func(text string, over bool) // tells the owner, once when trouble lasts and once when it is over; may be nil
	Log     *slog.Logger                 // nil: slog.Default
}

// Poller fetches updates into an inbox. It polls by itself rather than through go-telegram/bot, whose loop acknowledges
// updates before they are stored, stops for good at one that it can't decode, and never gives up on a bad token.
type Poller struct {
	inbox *Inbox
	opts  PollerOptions
	log   *slog.Logger
	last  atomic.Int64 // Unix nanoseconds of the last finished poll
	noted time.Time    // the one that is on disk
	spell trouble.Spell
}

// NewPoller returns a poller that fills in.
func NewPoller(in *Inbox, o PollerOptions) *Poller {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Trouble == nil {
		o.Trouble = func(string, bool) {}
	}
	o.API = strings.TrimRight(o.API, "/")
	return &Poller{inbox: in, opts: o, log: o.Log}
}

// LastPoll is when a poll last came back with an answer; zero before the first.
func (p *Poller) LastPoll() time.Time {
	if n := p.last.Load(); n != 0 {
		return time.Unix(0, n)
	}
	return time.Time{}
}

// Run polls until ctx ends. Its only error is ErrToken; everything else is tried again.
func (p *Poller) Run(ctx context.Context) error {
	defer p.leave()
	ready, failures := false, 0
	for ctx.Err() == nil {
		var err error
		if !ready { // polling is refused while a webhook is set
			err = p.call(ctx, "deleteWebhook", struct{}{}, nil)
			ready = err == nil
		}
		if err == nil {
			err = p.poll(ctx)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			failures = 0
			p.fine(time.Now())
			continue
		}
		if refused, ok := errors.AsType[*apiError](err); ok && refused.code == http.StatusUnauthorized {
			return ErrToken
		}
		failures++
		wait := pause(err, failures)
		p.log.Warn("polling failed", "wait", wait.Round(time.Millisecond), "err", err)
		p.failed(time.Now(), err)
		sleep(ctx, wait)
	}
	return nil
}

// poll does one getUpdates and stores what it brings. Its own time limit is the watchdog: a connection that died without
// a word is replaced then.
func (p *Poller) poll(ctx context.Context) error {
	offset, err := p.inbox.Offset()
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, pollLimit)
	defer cancel()
	var batch []json.RawMessage
	err = p.call(limited, "getUpdates", pollParams{Offset: offset, Timeout: int(pollHold.Seconds()), Limit: 100, Allowed: allowed}, &batch)
	if err != nil {
		p.opts.Wire.Reset()
		return err
	}
	now := time.Now().Round(0) // by the wall clock: the other one stands still while the machine sleeps
	if err := p.polled(now, len(batch)); err != nil {
		return err
	}
	if len(batch) == 0 {
		return nil
	}
	fresh, err := p.inbox.Receive(batch)
	if err == nil && fresh > 0 {
		p.noted = now
	}
	if err == nil && fresh == 0 {
		// Nothing of it can be acknowledged, so the next poll would bring the same at once.
		p.log.Warn("a poll brought only what was received before", "updates", len(batch))
		sleep(ctx, time.Second)
	}
	return err
}

type pollParams struct {
	Offset  int64    `json:"offset,omitempty"`
	Limit   int      `json:"limit"`
	Timeout int      `json:"timeout"`
	Allowed []string `json:"allowed_updates"`
}

// apiError is a refusal by the Bot API.
type apiError struct {
	code int
	text string
	wait time.Duration // how long the server asks to wait, or 0
}

func (e *apiError) Error() string { return fmt.Sprintf("%d %s", e.code, e.text) }

// call makes one API call and decodes its result.
func (p *Poller) call(ctx context.Context, method string, params, result any) error {
	body, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("calling %s: %w", method, err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.opts.API+"/bot"+p.opts.Token+"/"+method, bytes.NewReader(body))
	if err != nil {
		return errors.New("the Bot API's address is not a URL: check NOD_TELEGRAM_API") // err would hold the token
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := p.opts.Wire.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var answer struct {
		OK          bool            `json:"ok"`
		Result      json.RawMessage `json:"result"`
		Code        int             `json:"error_code"`
		Description string          `json:"description"`
		Parameters  struct {
			RetryAfter int `json:"retry_after"`
		} `json:"parameters"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return fmt.Errorf("calling %s: reading the answer: %w", method, err)
	}
	if !answer.OK {
		return &apiError{answer.Code, answer.Description, time.Duration(answer.Parameters.RetryAfter) * time.Second}
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(answer.Result, result); err != nil {
		return fmt.Errorf("calling %s: reading the result: %w", method, err)
	}
	return nil
}

// pause is how long to wait after a number of failures in a row.
func pause(err error, failures int) time.Duration {
	first := retryFirst
	if refused, ok := errors.AsType[*apiError](err); ok {
		if refused.wait > 0 {
			return refused.wait
		}
		if refused.code == http.StatusConflict {
			first = conflictFirst
		}
	}
	delay := min(retryMost, first<<min(failures-1, 8))
	return delay/2 + rand.N(delay/2)
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
