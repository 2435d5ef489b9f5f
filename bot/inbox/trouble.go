package inbox

import (
	"errors"
	"net/http"
	"time"

	"nod/bot/outbox"
)

// Trouble is told when it has lasted for troubleAfter. It is over when a poll comes back and none has failed for
// troubleOver: two programs that cut off each other's polls both succeed now and then.
const (
	troubleAfter = time.Minute
	troubleOver  = 30 * time.Second
)

// trouble keeps what the owner was told. It belongs to the poller's goroutine.
type trouble struct {
	tell    func(text string, over bool)
	since   time.Time // of the first failure; zero when all is well
	newest  time.Time // of the last failure
	reached bool      // the owner was told
}

func (t *trouble) seen(now time.Time, err error) {
	if t.since.IsZero() {
		t.since = now
	}
	t.newest = now
	if !t.reached && now.Sub(t.since) >= troubleAfter {
		t.reached = true
		t.tell(describe(err), false)
	}
}

func (t *trouble) fine(now time.Time) {
	if t.since.IsZero() || now.Sub(t.newest) < troubleOver {
		return
	}
	if t.reached {
		t.tell("Telegram can be reached again.", true)
	}
	*t = trouble{tell: t.tell}
}

// describe says in a sentence for the owner what keeps updates from coming.
func describe(err error) string {
	if refused, ok := errors.AsType[*apiError](err); ok {
		switch refused.code {
		case http.StatusConflict:
			return "Another program uses this bot's token and takes its messages. Stop that program, or get nod a bot of its own from @BotFather."
		case http.StatusNotFound:
			return "The Bot API does not know this bot. Check NOD_TELEGRAM_API and the token."
		case http.StatusTooManyRequests:
			return "Telegram asks the bot to slow down. Messages come late."
		}
		return "Telegram refuses to deliver messages: " + refused.Error()
	}
	if _, ok := errors.AsType[*outbox.CallError](err); ok {
		return "Telegram can't be reached. What you write arrives late; the log of nod has the details."
	}
	return "Messages can't be taken in: " + err.Error()
}
