package bot

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-telegram/bot/models"

	"nod/agent"
	"nod/bot/outbox"
	"nod/bot/render"
	"nod/store"
	"nod/tools/gallery"
)

// request is one message on its way to its effect.
type request struct {
	*Router
	person   Person
	at       store.Address
	messages []*models.Message
	edited   bool
	update   *models.Update // the first of them
	done     func(*store.Tx) error
}

func (q *request) first() *models.Message { return q.messages[0] }

// text is the whole of what was written, also where Telegram split it.
func (q *request) text() string { return textOfAll(q.messages) }

// hasFile says whether a file came along.
func (q *request) hasFile() bool {
	return slices.ContainsFunc(q.messages, func(m *models.Message) bool {
		_, file := fileOf(m)
		return file
	})
}

// group says whether several people can read along.
func (q *request) group() bool { return q.first().Chat.Type != models.ChatTypePrivate }

// meet looks the sender up.
func (q *request) meet() error {
	from, chat := q.first().From, q.first().Chat
	fresh := false // an owner writes in a group of which that was not known
	err := q.DB.View(func(tx *store.Tx) (err error) {
		if q.person, err = q.Access.Person(tx, store.UserID(from.ID)); err != nil || !q.group() || q.person.Role != Owner {
			return err
		}
		known, err := q.Groups.knows(tx, chat)
		fresh = !known
		return err
	})
	if err == nil && fresh {
		err = q.DB.Update(func(tx *store.Tx) error { return q.Groups.note(tx, chat) })
	}
	if err != nil {
		return fmt.Errorf("looking up who wrote: %w", err)
	}
	private := store.ChatID(0)
	if !q.group() {
		private = q.at.Chat
	}
	name := displayName(from)
	if q.person.Role == Stranger || q.person.Name == name && (private == 0 || q.person.Private == private) {
		q.person.Name = name
		return nil
	}
	return q.DB.Update(func(tx *store.Tx) (err error) {
		q.person, err = q.Access.Meet(tx, q.person.ID, name, private)
		return err
	})
}

// say answers in the conversation that the message came from.
func (q *request) say(tx *store.Tx, markdown string) error {
	return q.View.reply(tx, q.at, q.replyTo(), markdown, nil)
}

// sayPlain answers with what may hold others' words, such as the name of a file, and so is no Markdown. It is silent where
// an answer that follows makes the sound.
func (q *request) sayPlain(tx *store.Tx, text string, silent bool) error {
	text = q.View.masked.Redact(text) // it may quote a service
	return q.Out.Put(tx, outbox.Item{To: q.at, HTML: render.Escape(text), Plain: text, ReplyTo: q.replyTo(), Silent: silent})
}

// replyTo is the message that an answer refers to: in groups the one that asked.
func (q *request) replyTo() store.MessageID {
	if !q.group() {
		return 0
	}
	return store.MessageID(q.first().ID)
}

// submit gives a message to its session.
func (q *request) submit(ctx context.Context) error {
	input, complaint, err := q.read(ctx)
	if err != nil {
		return err
	}
	input.Edited, input.More = q.edited, q.Inbox.More(q.update)
	if input.Text == "" && len(input.Files) == 0 && complaint != "" {
		return q.DB.Update(func(tx *store.Tx) error { return errors.Join(q.sayPlain(tx, complaint, false), q.done(tx)) })
	}
	return q.DB.Update(func(tx *store.Tx) error { return errors.Join(q.enter(tx, input, complaint), q.done(tx)) })
}

// read makes an input of the message. When the program ends meanwhile nothing comes of it: the next start reads it whole.
func (q *request) read(ctx context.Context) (agent.Input, string, error) {
	input, complaint := q.Intake.read(ctx, q.messages, q.overtaken)
	if ctx.Err() != nil {
		q.Intake.discard(input.Files)
	}
	return input, complaint, ctx.Err()
}

// overtaken says whether a stop came since the message was written.
func (q *request) overtaken() (is bool) {
	err := q.DB.View(func(tx *store.Tx) (err error) {
		is, err = q.Inbox.Overtaken(tx, q.update)
		return err
	})
	if err != nil {
		q.Log.Warn("looking whether a stop came", "chat", q.at.Chat, "err", err)
	}
	return is
}

// enter gives what was read of a message to its session.
func (q *request) enter(tx *store.Tx, input agent.Input, complaint string) (err error) {
	if input.Deciders, input.Cards, err = q.Access.Judges(tx, q.person, q.at); err != nil {
		return err
	}
	if complaint != "" {
		if err := q.sayPlain(tx, complaint, true); err != nil {
			return err
		}
	}
	if err := q.hearBack(tx, input); err != nil {
		return err
	}
	if !q.edited {
		if err := heardFrom(tx, q.at, input.Message); err != nil {
			return err
		}
	}
	if err := q.place(tx, &input); err != nil {
		return err
	}
	if input.Held, err = q.Inbox.Overtaken(tx, q.update); err != nil {
		return err
	}
	receipt, err := q.Driver.Submit(tx, input)
	if err == nil && (receipt == agent.Queued || receipt == agent.Kept) {
		tx.OnCommit(func() { q.Out.React(q.at.Chat, input.Message, "👀") })
	}
	return err
}

// place says where a message stands to the answer that asked what waits for the person's plain yes. The numbers of messages
// rise in the order in which Telegram got them, so they tell what was there to be read.
func (q *request) place(tx *store.Tx, input *agent.Input) error {
	turn, waits, err := gallery.Question(tx, q.at, q.person.ID)
	if err != nil || !waits {
		return err
	}
	asked, shown, err := q.Out.Slot(tx, answerSlot(turn))
	if err != nil {
		return err
	}
	input.Below = shown && store.MessageID(q.first().ID) > asked
	to := q.first().ReplyToMessage
	input.Aside = to != nil && to.ForumTopicCreated == nil && store.MessageID(to.ID) != asked
	return nil
}

// files reads the files of a message whose text is a decision, and gives what puts them into the session with it.
func (q *request) files(ctx context.Context) func(*store.Tx) error {
	if !q.hasFile() {
		return func(*store.Tx) error { return nil }
	}
	input, complaint, err := q.read(ctx)
	input.Text = "" // which is the decision's, and may be a secret
	return func(tx *store.Tx) error {
		if err != nil {
			return err
		}
		return q.enter(tx, input, complaint)
	}
}
