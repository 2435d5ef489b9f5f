package bot

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-telegram/bot/models"

	"nod/approvals"
	"nod/bot/outbox"
	"nod/store"
)

// replyToCard takes a reply to a card as its decision: a reason to reject, or an answer. A file that comes along is a
// message of its own.
func (q *request) replyToCard(ctx context.Context) (bool, error) {
	to, text := q.first().ReplyToMessage, q.text()
	if to == nil || text == "" {
		return false, nil
	}
	var p approvals.Pending
	var found bool
	err := q.DB.View(func(tx *store.Tx) error {
		slot, ok, err := q.Out.SlotOf(tx, q.at.Chat, store.MessageID(to.ID))
		if err != nil || !ok {
			return err
		}
		id, ok := cardOf(slot)
		if !ok {
			return nil
		}
		p, found, err = q.Gate.Get(tx, id)
		return err
	})
	switch {
	case err != nil || !found || p.Kind == approvals.Interrupted:
		return false, err
	case !p.Open() && p.Question.TypedSecret():
		return true, q.lateSecret()
	case !p.Open():
		return false, nil
	case p.Kind == approvals.Asked:
		return true, q.answer(ctx, p, text)
	}
	return true, q.decide(p.ID, approvals.Decision{Verb: approvals.VerbReject, Reason: text}, q.files(ctx), q.done)
}

// answerOpenQuestion takes a plain message as the answer to the question that waits in this conversation. What is
// not plain answers only what asks for a secret: one may be forwarded, or begin like a command, and must show nowhere else.
func (q *request) answerOpenQuestion(ctx context.Context, plain bool) (bool, error) {
	text := q.text()
	if q.hasFile() || text == "" {
		return false, nil
	}
	var open []approvals.Pending
	err := q.DB.View(func(tx *store.Tx) error {
		waiting, err := q.Gate.Waiting(tx)
		for _, p := range waiting {
			if below, lookErr := q.below(tx, q.first(), p); below || lookErr != nil {
				open, err = append(open, p), errors.Join(err, lookErr)
			}
		}
		return err
	})
	if err != nil {
		return false, err
	}
	waits := func(p approvals.Pending, secret bool) bool {
		return p.Kind == approvals.Asked && p.Question.TypedSecret() == secret && p.Request.Cards == q.at && decides(p, q.person.ID)
	}
	// What asks for a secret comes first, whatever waits longer: its answer must show nowhere else.
	for _, secret := range []bool{true, false} {
		for _, p := range open {
			if (secret || plain) && waits(p, secret) {
				return true, q.answer(ctx, p, text)
			}
		}
	}
	return false, nil
}

// below says whether a message may have been written when a request's card was there to be read. One from before, such
// as a part of a backlog, is for something else.
func (r *Router) below(tx *store.Tx, m *models.Message, p approvals.Pending) (bool, error) {
	card, shown, err := r.Out.Slot(tx, cardSlot(p.ID))
	if err != nil {
		return false, err
	}
	copied, err := r.Out.Copied(tx, cardSlot(p.ID))
	if !shown || copied { // its delivery is on record a moment later, or that of an earlier copy on none
		return int64(m.Date) >= p.Created.Unix(), err
	}
	return store.MessageID(m.ID) > card, err
}

// answer answers a question. A secret goes into the vault in the commit of the answer, which does not hold it, or to whoever
// waits for it and nowhere else; the message that brought it is deleted.
func (q *request) answer(ctx context.Context, p approvals.Pending, text string) error {
	if q.Inbox.More(q.update) {
		if err := q.Driver.Expect(q.at); err != nil {
			return err
		}
	}
	d := approvals.Decision{Verb: approvals.VerbAnswer, Answer: text}
	if !p.Question.TypedSecret() {
		return q.decide(p.ID, d, q.files(ctx), q.done)
	}
	value, name := strings.TrimSpace(text), p.Question.Secret
	if d.Answer = "(kept as " + name + ")"; p.Question.Hidden {
		d.Answer, d.Hidden = "", value
		q.Vault.Hide(value) // before anybody could repeat it
	}
	err := q.decide(p.ID, d, func(tx *store.Tx) error {
		if !p.Question.Hidden {
			if err := q.Vault.Set(tx, name, value); err != nil {
				return err
			}
		}
		return q.deleteTyped(tx, q.first())
	}, q.files(ctx), q.done)
	q.scrub()
	return err
}

// lateSecret deletes a reply to the card of a question for a secret that is closed: it may be the secret.
func (q *request) lateSecret() error {
	err := q.DB.Update(func(tx *store.Tx) error {
		return errors.Join(q.deleteTyped(tx, q.first()), q.say(tx, lateSecretText), q.done(tx))
	})
	q.scrub()
	return err
}

// scrub overwrites what the inbox held of a secret.
func (q *request) scrub() {
	if err := q.DB.Scrub(); err != nil {
		q.Log.Warn("a secret that was typed may be read in the database for a while", "err", err)
	}
}

// secretMark is a slot that stays when a message that brought a secret is deleted: an edit of it may come later.
func secretMark(m *models.Message) outbox.Slot {
	return outbox.Slot(fmt.Sprintf("typed/%d/%d", m.Chat.ID, m.ID))
}

// deleteTyped deletes a message that brought a secret, and marks it as one.
func (r *Router) deleteTyped(tx *store.Tx, m *models.Message) error {
	slot, chat, id := outbox.Slot(fmt.Sprintf("secret/%d/%d", m.Chat.ID, m.ID)), store.ChatID(m.Chat.ID), store.MessageID(m.ID)
	if err := errors.Join(r.Out.Adopt(tx, secretMark(m), chat, id), r.Out.Adopt(tx, slot, chat, id)); err != nil {
		return err
	}
	return r.Out.Put(tx, outbox.Item{To: addressOf(m), Slot: slot, Kind: outbox.Delete})
}

func (q *request) wasSecret() (was bool, err error) {
	err = q.DB.View(func(tx *store.Tx) error {
		_, was, err = q.Out.Slot(tx, secretMark(q.first()))
		return err
	})
	return was, err
}

// dropSecret takes what was typed as a secret before a /stop, or the new wording of a message that brought one, for nothing
// else.
func (q *request) dropSecret() error {
	err := q.DB.Update(func(tx *store.Tx) error {
		if !q.edited { // the /stop has said so
			return q.done(tx)
		}
		return errors.Join(q.say(tx, editedSecretText), q.done(tx))
	})
	q.scrub()
	return err
}

func decides(p approvals.Pending, id store.UserID) bool {
	for _, d := range p.Request.Deciders {
		if d == id {
			return true
		}
	}
	return false
}

// decide makes a message a decision. A decision that came too late is told, and is not taken for anything else.
func (q *request) decide(id store.ApprovalID, d approvals.Decision, with ...func(*store.Tx) error) error {
	_, err := q.Gate.Decide(id, q.person.ID, d, with...)
	var late *approvals.DecidedError
	switch {
	case errors.As(err, &late):
		return q.DB.Update(func(tx *store.Tx) error {
			return errors.Join(q.View.ClosePending(tx, late.Pending), q.say(tx, "That was already decided."), q.done(tx))
		})
	case errors.Is(err, approvals.ErrNotYours):
		return q.DB.Update(func(tx *store.Tx) error { return errors.Join(q.say(tx, notForYou), q.done(tx)) })
	}
	return err
}
