package bot

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/go-telegram/bot/models"

	"nod/agent"
	"nod/agent/llm"
	"nod/approvals"
	"nod/bot/inbox"
	"nod/bot/outbox"
	"nod/scheduler"
	"nod/store"
	"nod/tools"
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
		return r.press(u.CallbackQuery, done)
	case u.ChatJoinRequest != nil:
		return r.Groups.answerRequest(ctx, u.ChatJoinRequest, done)
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
	return is && !other && name == "stop" && forwardedFrom(u.Message) == ""
}

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
	if secret, err := q.wasSecret(); err != nil {
		return err
	} else if secret {
		return q.dropSecret()
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
		if err := q.View.strangerCard(tx, owners[0].chat(), q.person); err != nil {
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
