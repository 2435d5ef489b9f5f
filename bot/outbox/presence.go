package outbox

import (
	"context"
	"sync"
	"time"

	tg "github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"nod/store"
)

// typingEvery is how often "typing…" is repeated; clients show it for five seconds or until a message comes. Where messages
// were in its way it is tried again after typingRetry.
const (
	typingEvery = 4 * time.Second
	typingRetry = 500 * time.Millisecond
)

// Typing shows "typing…" until stop is called or Run ends. When stop returns no further call is on its way; call it
// before committing the answer. While messages wait in the chat, or Telegram asked it to wait, "typing…" is left out.
func (o *Outbox) Typing(to store.Address) (stop func()) {
	var cancel context.CancelFunc
	stopped, ended := false, make(chan struct{})
	o.whenRunning(func(run context.Context) {
		if stopped {
			return
		}
		var ctx context.Context
		ctx, cancel = context.WithCancel(run)
		o.work.Go(func() {
			defer close(ended)
			o.keepTyping(ctx, to)
		})
	})
	return sync.OnceFunc(func() {
		o.mu.Lock()
		stopped = true
		end := cancel
		o.mu.Unlock()
		if end != nil {
			end()
			<-ended
		}
	})
}

func (o *Outbox) keepTyping(ctx context.Context, to store.Address) {
	next := time.NewTimer(0)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		if o.occupied(to.Chat) {
			next.Reset(typingRetry)
			continue
		}
		next.Reset(typingEvery)
		o.action(ctx, to)
	}
}

// action sends one "typing…", with the thread id in the General topic too, where messages are sent without one.
func (o *Outbox) action(ctx context.Context, to store.Address) {
	ctx, cancel := context.WithTimeout(ctx, quickTime)
	defer cancel()
	_, err := o.client.SendChatAction(ctx, &tg.SendChatActionParams{
		ChatID: int64(to.Chat), MessageThreadID: to.Topic, Action: models.ChatActionTyping,
	})
	o.shrug(ctx, "typing", to.Chat, err)
}

// occupied says whether the chat has messages under way or is held.
func (o *Outbox) occupied(chat store.ChatID) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	l := o.lanes[chat]
	return l != nil && (l.queued || l.busy || l.held)
}

// React sets the bot's reaction to a message, or removes it when emoji is "". Only emojis of Telegram's list are taken;
// a refusal is ignored.
func (o *Outbox) React(to store.ChatID, m store.MessageID, emoji string) {
	reaction := []models.ReactionType{}
	if emoji != "" {
		reaction = append(reaction, models.ReactionType{
			Type: models.ReactionTypeTypeEmoji, ReactionTypeEmoji: &models.ReactionTypeEmoji{Emoji: emoji},
		})
	}
	o.quick("react", to, func(ctx context.Context) error {
		_, err := o.client.SetMessageReaction(ctx, &tg.SetMessageReactionParams{ChatID: int64(to), MessageID: int(m), Reaction: reaction})
		return err
	})
}

// maxNotice is Telegram's limit for the answer to a press, in code points.
const maxNotice = 200

// Answer ends the progress circle of a pressed button, with a text of up to 200 characters or "", as an alert that has
// to be closed if alert. That the press is too old to be answered is ignored.
func (o *Outbox) Answer(callbackID, text string, alert bool) {
	o.quick("answer", 0, func(ctx context.Context) error {
		_, err := o.client.AnswerCallbackQuery(ctx, &tg.AnswerCallbackQueryParams{
			CallbackQueryID: callbackID, Text: clip(text, maxNotice), ShowAlert: alert,
		})
		return err
	})
}

// maxEarly bounds what waits for Run: a message or a press may be handled a moment before it.
const maxEarly = 100

// whenRunning calls begin, with mu held: now, or when Run begins.
func (o *Outbox) whenRunning(begin func(run context.Context)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.ctx != nil:
		begin(o.ctx)
	case len(o.early) < maxEarly:
		o.early = append(o.early, begin)
	}
}

// quick makes a best-effort call at once, beside the lanes.
func (o *Outbox) quick(what string, chat store.ChatID, call func(context.Context) error) {
	o.whenRunning(func(run context.Context) {
		o.work.Go(func() {
			ctx, cancel := bounded(run, quickTime)
			defer cancel()
			o.shrug(ctx, what, chat, call(ctx))
		})
	})
}

// shrug logs the error of a call that nothing depends on.
func (o *Outbox) shrug(ctx context.Context, what string, chat store.ChatID, err error) {
	if v := classify(err); v.class != done && ctx.Err() == nil {
		o.log.Debug("best-effort call refused", "call", what, "chat", chat, "class", v.class.String(), "err", v.err)
	}
}
