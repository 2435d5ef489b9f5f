package inbox

import (
	"errors"
	"net/http"
	"time"

	"nod/bot/outbox"
	"nod/bot/trouble"
)

// patience with polling. Two programs that cut off each other's polls both succeed now and then.
var patience = trouble.Patience{After: time.Minute, Calm: 30 * time.Second}

// failed tells the owner when polling has been failing for a while.
func (p *Poller) failed(now time.Time, err error) {
	if _, ours := errors.AsType[*storeError](err); ours {
		return // whoever looks after the database tells of it
	}
	switch p.spell.Failed(now, patience) {
	case trouble.Begun:
		p.opts.Trouble(describe(err), false)
	case trouble.Returned:
		p.opts.Trouble(describe(err)+" It comes and goes; I tell you when there has been an hour without.", false)
	}
}

func (p *Poller) fine(now time.Time) {
	if p.spell.Fine(now, patience) == trouble.Over {
		p.opts.Trouble("Telegram can be reached again.", true)
	}
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
