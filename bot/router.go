package bot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/go-telegram/bot/models"

	"nod/agent"
	"nod/agent/llm"
	"nod/approvals"
	"nod/bot/inbox"
	"nod/bot/outbox"
	"nod/bot/render"
	"nod/scheduler"
	"nod/store"
	"nod/tools"
	"nod/tools/gallery"
	"nod/tools/secrets"
)

// Router takes updates to what they mean. It never waits for a turn; a file that comes with a message holds up only the
// conversation that it belongs to.
type Router struct {
	DB       *store.DB
	Out      *outbox.Outbox
	Mounts   *Mounts
	View     *View
	Intake   *Intake
	Driver   *agent.Driver
	Gate     *approvals.Gate
	Rules    *approvals.Rules
	Registry *tools.Registry
	Jobs     *scheduler.Jobs
	Models   *llm.Client
	Vault    *secrets.Vault
	Poller   interface{ LastPoll() time.Time }
	Inbox    *inbox.Inbox
	Home     string        // NOD_HOME, for custom commands
	Sandbox  func() string // how strongly commands are kept in, in a few words
	Log      *slog.Logger
	Access   Access
	Groups   *Groups
	Me       models.User
	Started  time.Time
}

// Handle takes one group of updates to its effect: usually one update, or the parts of an album or of a split paste. done
// marks them as handled, in the commit of their effect.
func (r *Router) Handle(ctx context.Context, group []models.Update, done func(*store.Tx) error) error {
	u := group[0]
	switch {
	case u.CallbackQuery != nil:
		return r.press(ctx, u.CallbackQuery, done)
	case u.ChatJoinRequest != nil:
		return r.Groups.asked(ctx, u.ChatJoinRequest, done)
	case u.Message != nil:
		messages := make([]*models.Message, 0, len(group))
		for _, part := range group {
			if part.Message != nil {
				messages = append(messages, part.Message)
			}
		}
		return r.message(ctx, &u, messages, false, done)
	case u.EditedMessage != nil:
		return r.message(ctx, &u, []*models.Message{u.EditedMessage}, true, done)
	case u.MyChatMember != nil:
		return r.DB.Update(func(tx *store.Tx) error {
			return errors.Join(r.Mounts.MemberChanged(tx, u.MyChatMember), r.Groups.memberChanged(tx, u.MyChatMember), done(tx))
		})
	}
	return r.DB.Update(done)
}

// Drop says that a message is from somebody who is not listened to. It keeps strangers from costing us more than the
// reading of what they write.
func (r *Router) Drop(tx *store.Tx, u *models.Update) (bool, error) {
	m := cmp.Or(u.Message, u.EditedMessage)
	switch {
	case m == nil || m.MigrateToChatID != 0:
		return false, nil
	case nobody(m):
		return true, nil
	case m.Chat.Type == models.ChatTypePrivate:
		name, args, is, _ := parseCommand(textOf(m), r.Me.Username)
		return r.Access.Unheard(tx, store.UserID(m.From.ID), is && name == "start" && args != "")
	}
	p, err := r.Access.Person(tx, store.UserID(m.From.ID))
	return p.Role == Stranger || p.Role == Ignored, err
}

// nobody says whether a message has no sender whom a rule could know: channels, anonymous admins and other bots have no
// numeric user.
func nobody(m *models.Message) bool { return m.From == nil || m.From.IsBot || m.SenderChat != nil }

// Drained lets a turn begin that waited for the rest of a backlog, when its last update was no message for it.
func (r *Router) Drained(u *models.Update) {
	m := cmp.Or(u.Message, u.EditedMessage)
	if m == nil {
		return
	}
	if err := r.Driver.Gathered(addressOf(m)); err != nil {
		r.Log.Error("beginning a turn with a backlog", "chat", m.Chat.ID, "err", err)
	}
}

// Urgent names what overtakes its conversation: a /stop must not wait behind a file that is being fetched.
func (r *Router) Urgent(u *models.Update) bool {
	if u.Message == nil {
		return false
	}
	name, _, is, other := parseCommand(u.Message.Text, r.Me.Username)
	return is && !other && name == "stop"
}

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

func (r *Router) message(ctx context.Context, u *models.Update, messages []*models.Message, edited bool, done func(*store.Tx) error) error {
	first := messages[0]
	if first.MigrateToChatID != 0 {
		return r.DB.Update(func(tx *store.Tx) error {
			return errors.Join(r.migrate(tx, store.ChatID(first.Chat.ID), store.ChatID(first.MigrateToChatID)), done(tx))
		})
	}
	if nobody(first) || service(first) {
		return r.DB.Update(done)
	}
	q := &request{Router: r, at: addressOf(first), messages: messages, edited: edited, update: u, done: done}
	if err := q.meet(); err != nil {
		return err
	}
	return q.route(ctx)
}

// migrate moves everything to the new id of a group that became a supergroup, and shows its cards there: messages of the
// old chat can be edited no more.
func (r *Router) migrate(tx *store.Tx, from, to store.ChatID) error {
	if err := r.Out.Migrate(tx, from, to); err != nil {
		return err
	}
	waiting, err := r.Gate.Waiting(tx)
	for _, p := range waiting {
		if err == nil && p.Request.Cards.Chat == to {
			err = r.View.ShowPending(tx, p)
		}
	}
	return err
}

// service says whether a message only tells of an event in its chat, or has nothing that we could read.
func service(m *models.Message) bool {
	_, file := fileOf(m)
	return textOf(m) == "" && noteOf(m) == "" && !file
}

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

// route is the one place where it is decided what a message is.
func (q *request) route(ctx context.Context) error {
	name, args, isCommand, forOther := parseCommand(q.text(), q.Me.Username)
	borrowed := forwardedFrom(q.first()) != "" // then the words are nobody's order or answer
	isCommand = isCommand && !borrowed
	known := q.person.Role == Owner || q.person.Role == Guest
	switch {
	case isCommand && forOther:
		return q.DB.Update(q.done)
	case !known && q.group():
		return q.DB.Update(q.done)
	case !known:
		return q.stranger(name, args, isCommand)
	case q.group():
		if heard, err := q.heard(name, isCommand); err != nil || !heard {
			return errors.Join(err, q.DB.Update(q.done))
		}
	}
	if q.edited {
		if secret, err := q.wasSecret(); err != nil {
			return err
		} else if secret {
			return q.dropSecret()
		}
	}
	switch {
	case isCommand && q.edited: // Telegram also tells of edits that changed nothing
		return q.DB.Update(func(tx *store.Tx) error { return errors.Join(q.say(tx, editedCommandText), q.done(tx)) })
	case isCommand:
		return q.command(ctx, name, args)
	case q.edited:
		return q.submit(ctx)
	}
	if !borrowed {
		if handled, err := q.replyToCard(ctx); handled || err != nil {
			return err
		}
	}
	if handled, err := q.answerOpenQuestion(ctx, !borrowed); handled || err != nil {
		return err
	}
	return q.submit(ctx)
}

// heard says whether a message in a group is for us: an owner has enrolled the group, and it is a command, mentions the
// bot or replies to it.
func (q *request) heard(command string, isCommand bool) (bool, error) {
	if isCommand && q.person.Role == Owner && (command == "enroll" || command == "sethome") {
		return true, nil
	}
	var enrolled bool
	err := q.DB.View(func(tx *store.Tx) (err error) {
		enrolled, err = q.Access.Enrolled(tx, q.at.Chat)
		return err
	})
	return enrolled && (isCommand || mentions(q.first(), &q.Me)), err
}

// stranger pairs whoever brings a code, and tells anybody else once a day that this is a private bot.
func (q *request) stranger(name, args string, isCommand bool) error {
	code := ""
	if isCommand && name == "start" && q.person.Role != Ignored && !q.edited {
		code = args
	}
	return q.DB.Update(func(tx *store.Tx) error {
		if code != "" {
			if ok, err := q.pair(tx, code); ok || err != nil {
				return errors.Join(err, q.done(tx))
			}
		}
		return errors.Join(q.turnAway(tx, code != ""), q.done(tx))
	})
}

// pair lets in whoever brings a code that is right.
func (q *request) pair(tx *store.Tx, code string) (ok bool, err error) {
	p := q.person
	p.Private = q.at.Chat
	paired, ok, err := q.Access.Redeem(tx, p, code)
	if err != nil || !ok {
		return false, err
	}
	tx.OnCommit(func() { q.Log.Info("paired", "user", paired.ID, "role", paired.Role) })
	return true, q.say(tx, welcomeText(paired, true))
}

// turnAway answers a stranger, and asks an owner the first time. badCode says that the stranger brought a wrong code.
func (q *request) turnAway(tx *store.Tx, badCode bool) error {
	owners, err := q.Access.Owners(tx)
	if err != nil {
		return err
	}
	answer, ask, err := q.Access.FirstContact(tx, q.person.ID, q.person.Name, len(owners) > 0)
	if err != nil || !answer {
		return err
	}
	if ask {
		if err := q.View.strangerCard(tx, owners[0].Private, q.person); err != nil {
			return err
		}
	}
	switch {
	case badCode:
		return q.say(tx, badCodeText)
	case len(owners) == 0:
		return q.say(tx, shutText)
	}
	return q.say(tx, strangerText)
}

// say answers in the conversation that the message came from.
func (q *request) say(tx *store.Tx, markdown string) error {
	return q.View.reply(tx, q.at, q.replyTo(), markdown, nil)
}

// complain says what of a message could not be had. It may name a file, so it is no Markdown; an answer that follows
// makes the sound.
func (q *request) complain(tx *store.Tx, text string, silent bool) error {
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
	if err != nil || !found || !p.Open() || p.Kind == approvals.Interrupted {
		return false, err
	}
	if p.Kind == approvals.Asked {
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
			if below, lookErr := q.below(tx, p); below || lookErr != nil {
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

// below says whether the message may have been written when a request's card was there to be read. One from before, such
// as a part of a backlog, is for something else.
func (q *request) below(tx *store.Tx, p approvals.Pending) (bool, error) {
	card, shown, err := q.Out.Slot(tx, cardSlot(p.ID))
	if !shown { // its delivery is on record a moment later
		return int64(q.first().Date) >= p.Created.Unix(), err
	}
	return store.MessageID(q.first().ID) > card, err
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
		typed, message := outbox.Slot("secret/"+string(p.ID)), store.MessageID(q.first().ID)
		if err := errors.Join(q.Out.Hold(tx, q.secretMark(), q.at.Chat, message), q.Out.Hold(tx, typed, q.at.Chat, message)); err != nil {
			return err
		}
		return q.Out.Put(tx, outbox.Item{To: q.at, Slot: typed, Kind: outbox.Delete})
	}, q.files(ctx), q.done)
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
func (q *request) secretMark() outbox.Slot {
	return outbox.Slot(fmt.Sprintf("typed/%d/%d", q.at.Chat, q.first().ID))
}

func (q *request) wasSecret() (was bool, err error) {
	err = q.DB.View(func(tx *store.Tx) error {
		_, was, err = q.Out.Slot(tx, q.secretMark())
		return err
	})
	return was, err
}

// dropSecret takes the new wording of a message that brought a secret, which is one too, for nothing else.
func (q *request) dropSecret() error {
	err := q.DB.Update(func(tx *store.Tx) error { return errors.Join(q.say(tx, editedSecretText), q.done(tx)) })
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

// submit gives a message to its session.
func (q *request) submit(ctx context.Context) error {
	input, complaint, err := q.read(ctx)
	if err != nil {
		return err
	}
	input.Edited, input.More = q.edited, q.Inbox.More(q.update)
	if input.Text == "" && len(input.Files) == 0 && complaint != "" {
		return q.DB.Update(func(tx *store.Tx) error { return errors.Join(q.complain(tx, complaint, false), q.done(tx)) })
	}
	return q.DB.Update(func(tx *store.Tx) error { return errors.Join(q.enter(tx, input, complaint), q.done(tx)) })
}

// read makes an input of the message. When the program ends meanwhile nothing comes of it: the next start reads it whole.
func (q *request) read(ctx context.Context) (agent.Input, string, error) {
	input, complaint := q.Intake.read(ctx, q.messages)
	if ctx.Err() != nil {
		q.Intake.discard(input.Files)
	}
	return input, complaint, ctx.Err()
}

// enter gives what was read of a message to its session.
func (q *request) enter(tx *store.Tx, input agent.Input, complaint string) (err error) {
	if input.Deciders, input.Cards, err = q.Access.Judges(tx, q.person, q.at); err != nil {
		return err
	}
	if complaint != "" {
		if err := q.complain(tx, complaint, true); err != nil {
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
	receipt, err := q.Driver.Submit(tx, input)
	if err == nil && receipt == agent.Queued {
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
