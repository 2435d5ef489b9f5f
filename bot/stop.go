package bot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/go-telegram/bot/models"

	"nod/approvals"
	"nod/store"
)

// stop ends what is under way, and keeps what was written before it from beginning anything: a /stop overtakes a recording
// that is listened to, and a whole backlog after a time without a connection.
func (q *request) stop(tx *store.Tx, args string) error {
	all := strings.EqualFold(args, "all") && q.person.Role == Owner
	earlier, err := q.Inbox.Overtake(tx, q.update, all)
	if err != nil {
		return err
	}
	tx.OnCommit(func() { q.Intake.interrupt(q.at, all) })
	secrets, err := q.typedAmong(tx, earlier)
	if err != nil {
		return err
	}
	said, err := q.end(tx, all)
	if err != nil {
		return err
	}
	dropped, err := q.dropTyped(tx, secrets)
	if err != nil {
		return err
	}
	if dropped {
		said += "\n" + droppedSecretText
	}
	kept, err := q.unread(tx, earlier, secrets)
	if err != nil {
		return err
	}
	for _, k := range kept {
		if k.at != q.at {
			if err := q.View.say(tx, k.at, q.View.masked.Redact("⏹ An owner stopped everything."+waitingText(k.texts)), false); err != nil {
				return err
			}
			continue
		}
		said += waitingText(k.texts)
	}
	if said = strings.TrimSpace(said); said == "" {
		return nil
	}
	return q.sayPlain(tx, said, false)
}

// end ends what is under way, and gives what there is to say that the ends of turns, each in its place, do not.
func (q *request) end(tx *store.Tx, all bool) (said string, err error) {
	if !all {
		was, err := q.Driver.Stop(tx, q.at)
		if err != nil || was {
			return "", err
		}
		return "⏹ Stopped. Nothing was running here.", nil
	}
	n, err := q.Driver.StopAll(tx)
	if n == 0 {
		return "⏹ Stopped. Nothing was running.", err
	}
	return fmt.Sprintf("⏹ Stopped everything: %s.", count(n, "turn", "turns")), err
}

// typed is a message that answers a question for a secret.
type typed struct {
	message  *models.Message
	question store.ApprovalID
}

// typedAmong finds, among updates that a stop overtook, what answers the questions for secrets that are open before it.
func (q *request) typedAmong(tx *store.Tx, updates []models.Update) (found []typed, err error) {
	waiting, err := q.Gate.Waiting(tx)
	if err != nil {
		return nil, err
	}
	for _, p := range waiting {
		if !p.Question.TypedSecret() {
			continue
		}
		for _, u := range updates {
			answers, err := q.mayAnswer(tx, u.Message, p)
			if err != nil {
				return nil, err
			}
			if answers {
				found = append(found, typed{u.Message, p.ID})
				break
			}
		}
	}
	return found, nil
}

// mayAnswer says whether a message would have been taken for the answer to a question for a secret.
func (q *request) mayAnswer(tx *store.Tx, m *models.Message, p approvals.Pending) (bool, error) {
	if m == nil || nobody(m) || textOf(m) == "" || addressOf(m) != p.Request.Cards || !decides(p, store.UserID(m.From.ID)) {
		return false, nil
	}
	_, file := fileOf(m)
	if known, _ := q.orders(m); known || file {
		return false, nil
	}
	return q.below(tx, m, p)
}

// orders reads a message as a command: known says that there is such a one, and forModel that the model reads the message,
// as it does what is no command and what an owner's own command stands for.
func (q *request) orders(m *models.Message) (known, forModel bool) {
	name, _, is, other := parseCommand(textOf(m), q.Me.Username)
	switch {
	case !is || forwardedFrom(m) != "":
		return false, true
	case other || builtIn(name):
		return true, false
	}
	_, custom, _ := readCustom(q.Home, name) // what is wrong with it is told when its turn comes
	return custom, custom
}

// dropTyped deletes what was typed for questions that are not open any more, and says whether there was such a thing: it
// shows nowhere, and the model does not read it when its turn comes.
func (q *request) dropTyped(tx *store.Tx, secrets []typed) (dropped bool, err error) {
	for _, s := range secrets {
		p, _, err := q.Gate.Get(tx, s.question)
		if err != nil {
			return false, err
		}
		if p.Open() {
			continue // another conversation's, and answered when its turn comes
		}
		if err := q.deleteTyped(tx, s.message); err != nil {
			return false, err
		}
		dropped = true
	}
	return dropped, nil
}

// kept are the texts of messages of a conversation that wait for another.
type kept struct {
	at    store.Address
	texts []string
}

// unread tells the messages among updates that a model is to read, by their conversations: others are carried out, or have
// no effect.
func (q *request) unread(tx *store.Tx, updates []models.Update, secrets []typed) (all []kept, err error) {
	for _, u := range updates {
		m := u.Message
		isSecret := slices.ContainsFunc(secrets, func(s typed) bool { return s.message == m })
		if m == nil || isSecret || nobody(m) || service(m) {
			continue
		}
		command, forModel := q.orders(m)
		heard, err := q.listensTo(tx, m, command)
		if err != nil {
			return nil, err
		}
		if !heard || !forModel {
			continue
		}
		at := addressOf(m)
		i := slices.IndexFunc(all, func(k kept) bool { return k.at == at })
		if i < 0 {
			i, all = len(all), append(all, kept{at: at})
		}
		text := textOf(m)
		if f, ok := fileOf(m); ok && text == "" {
			text = "a " + f.kind
		}
		all[i].texts = append(all[i].texts, cmp.Or(text, noteOf(m)))
	}
	return all, nil
}

// listensTo says whether a message is from somebody who may talk to us, and for us.
func (q *request) listensTo(tx *store.Tx, m *models.Message, command bool) (bool, error) {
	p, err := q.Access.Person(tx, store.UserID(m.From.ID))
	if err != nil || p.Role != Owner && p.Role != Guest {
		return false, err
	}
	if m.Chat.Type == models.ChatTypePrivate {
		return true, nil
	}
	enrolled, err := q.Access.Enrolled(tx, store.ChatID(m.Chat.ID))
	return enrolled && (command || mentions(m, &q.Me)), err
}
