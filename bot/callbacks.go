package bot

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/go-telegram/bot/models"

	"nod/approvals"
	"nod/bot/keyboard"
	"nod/store"
)

// press takes a pressed button to its effect. Whose press counts is decided by the user's number, never by the chat; the
// data may be forged, so it only names what to look at.
func (r *Router) press(q *models.CallbackQuery, done func(*store.Tx) error) error {
	b := &buttonPress{Router: r, query: q, done: done}
	action, err := keyboard.Decode(q.Data)
	if err != nil {
		return b.end("This button is from another version of nod.", false)
	}
	err = r.DB.View(func(tx *store.Tx) (err error) {
		b.person, err = r.Access.Person(tx, store.UserID(q.From.ID))
		return err
	})
	if err != nil {
		return fmt.Errorf("looking up who pressed: %w", err)
	}
	if b.person.Name == "" { // adopted by the configuration, and has not written yet
		if err := r.DB.Update(func(tx *store.Tx) (err error) {
			b.person, err = r.Access.Meet(tx, b.person.ID, displayName(&q.From), 0)
			return err
		}); err != nil {
			return fmt.Errorf("noting who pressed: %w", err)
		}
	}
	if decision, ok := decisionOf(action); ok {
		return b.decide(store.ApprovalID(action.Ref), decision, action)
	}
	if b.person.Role != Owner {
		return b.end(notForYou, true)
	}
	if action.Verb == keyboard.FetchFile {
		return b.fetch(store.CallID(action.Ref))
	}
	return b.ownersPress(action)
}

// buttonPress is one press on its way to its effect.
type buttonPress struct {
	*Router
	query  *models.CallbackQuery
	person Person
	done   func(*store.Tx) error
}

// end answers the press, so that the button stops spinning, and marks it as handled.
func (b *buttonPress) end(text string, alert bool) error {
	b.Out.Answer(b.query.ID, text, alert)
	return b.DB.Update(b.done)
}

// endWith answers the press, and marks it as handled in the commit of its effect. The text is what effect gives back.
func (b *buttonPress) endWith(effect func(tx *store.Tx) (string, error)) error {
	var text string
	err := b.DB.Update(func(tx *store.Tx) (err error) {
		if text, err = effect(tx); err != nil {
			return err
		}
		return b.done(tx)
	})
	if err != nil {
		b.Out.Answer(b.query.ID, "That did not work: "+clean(err.Error()), true)
		return errors.Join(b.DB.Update(b.done))
	}
	b.Out.Answer(b.query.ID, text, false)
	return nil
}

// decisionOf is the decision that a button stands for, for those that stand for one.
func decisionOf(a keyboard.Action) (approvals.Decision, bool) {
	verbs := map[keyboard.Verb]approvals.Verb{
		keyboard.Approve: approvals.VerbApprove, keyboard.Reject: approvals.VerbReject,
		keyboard.Grant15: approvals.VerbGrant15, keyboard.GrantSession: approvals.VerbGrantSession,
		keyboard.AlwaysConfirm: approvals.VerbAlways, keyboard.Answer: approvals.VerbAnswer,
		keyboard.Again: approvals.VerbAgain, keyboard.Skip: approvals.VerbSkip,
	}
	verb, ok := verbs[a.Verb]
	if !ok && (a.Verb == keyboard.Always || a.Verb == keyboard.Back || a.Verb == keyboard.Page) {
		return approvals.Decision{}, true
	}
	return approvals.Decision{Verb: verb}, ok
}

// decide decides a request, or turns its card's page.
func (b *buttonPress) decide(id store.ApprovalID, d approvals.Decision, a keyboard.Action) error {
	p, ok, err := b.pending(id)
	switch {
	case err != nil:
		return err
	case !ok || !b.sameChat(p):
		return b.end("This card is not known here any more.", true)
	case !decides(p, b.person.ID), b.person.Role != Owner && p.Kind != approvals.Asked:
		b.Log.Warn("a press by somebody who may not decide", "user", b.person.ID, "approval", id)
		return b.end(notForYou, true)
	case d.Verb == "":
		return b.flip(p, a)
	case d.Verb == approvals.VerbAnswer:
		if p.Question == nil || int(a.N) >= len(p.Question.Options) {
			return b.end("This answer is not offered any more.", true)
		}
		d.Answer = p.Question.Options[a.N]
	}
	p, err = b.Gate.Decide(id, b.person.ID, d, b.closePressed(id), b.done)
	var late *approvals.DecidedError
	switch {
	case errors.As(err, &late):
		return b.endWith(func(tx *store.Tx) (string, error) {
			verdict, err := b.View.verdict(tx, late.Pending)
			return verdict, errors.Join(err, b.View.ClosePending(tx, late.Pending), b.closePressed(id)(tx))
		})
	case err != nil:
		return b.end("That did not work: "+clean(err.Error()), true)
	}
	b.Out.Answer(b.query.ID, pressWords(p), false)
	return nil
}

// closePressed has the pressed message tell what was decided, also when it is a second copy of the card.
func (b *buttonPress) closePressed(id store.ApprovalID) func(*store.Tx) error {
	return func(tx *store.Tx) error {
		p, ok, err := b.Gate.Get(tx, id)
		if err != nil || !ok || b.query.Message.Message == nil {
			return err
		}
		return b.View.closePressed(tx, p, store.MessageID(b.query.Message.Message.ID))
	}
}

func (b *buttonPress) pending(id store.ApprovalID) (p approvals.Pending, ok bool, err error) {
	err = b.DB.View(func(tx *store.Tx) error {
		p, ok, err = b.Gate.Get(tx, id)
		return err
	})
	return p, ok, err
}

// sameChat refuses a press that claims to come from another chat than the card's. Telegram leaves the message out only
// when it is very old; the nonce alone then has to do.
func (b *buttonPress) sameChat(p approvals.Pending) bool {
	switch m := b.query.Message; {
	case b.query.InlineMessageID != "":
		return false
	case m.Message != nil:
		return store.ChatID(m.Message.Chat.ID) == p.Request.Cards.Chat
	case m.InaccessibleMessage != nil:
		return store.ChatID(m.InaccessibleMessage.Chat.ID) == p.Request.Cards.Chat
	}
	return true
}

// flip shows another page of a card, or what ♾ Always would cover.
func (b *buttonPress) flip(p approvals.Pending, a keyboard.Action) error {
	return b.endWith(func(tx *store.Tx) (string, error) {
		switch {
		case !p.Open():
			verdict, err := b.View.verdict(tx, p)
			return verdict, errors.Join(err, b.View.ClosePending(tx, p))
		case a.Verb == keyboard.Always && !p.Request.Lasting():
			return "This is asked every time.", nil
		case a.Verb == keyboard.Always:
			return "", b.View.showAlways(tx, p)
		case a.Verb == keyboard.Back:
			return "", b.View.showPage(tx, p, len(subjectPages(p))-1)
		}
		return "", b.View.showPage(tx, p, int(a.N))
	})
}

// pressWords confirm a press.
func pressWords(p approvals.Pending) string {
	switch p.State {
	case approvals.Nodded:
		return "Approved"
	case approvals.Rejected:
		return "Rejected"
	case approvals.RunAgain:
		return "Running it again"
	case approvals.Skipped:
		return "Skipped"
	}
	return ""
}

// ownersPress takes the buttons that belong to owners: jobs, models, grants and strangers.
func (b *buttonPress) ownersPress(a keyboard.Action) error {
	return b.endWith(func(tx *store.Tx) (string, error) {
		switch a.Verb {
		case keyboard.JobRun, keyboard.JobPause, keyboard.JobResume, keyboard.JobDelete:
			return b.job(tx, a)
		case keyboard.UseModel:
			return b.useModel(tx, a)
		case keyboard.UseContext:
			return b.useContext(tx, a.Ref)
		case keyboard.RevokeGrant:
			return "Revoked", errors.Join(b.Gate.Revoke(tx, a.Ref), b.refreshGrants(tx))
		case keyboard.RevokeRule:
			return "Revoked", errors.Join(b.Rules.Delete(tx, a.Ref), b.refreshGrants(tx))
		case keyboard.RuleGroups, keyboard.RuleGroup, keyboard.RuleShow, keyboard.RuleSet, keyboard.RuleDelete,
			keyboard.GroupDelete, keyboard.GroupCopy, keyboard.RuleTools, keyboard.RuleTool, keyboard.RuleAdd:
			return b.rules(tx, a)
		case keyboard.AllowUser, keyboard.IgnoreUser:
			return b.stranger(tx, store.UserID(a.N), a.Verb == keyboard.AllowUser)
		}
		return "This button has no use here.", nil
	})
}

func (b *buttonPress) job(tx *store.Tx, a keyboard.Action) (string, error) {
	id := store.JobID(a.Ref)
	if a.Verb == keyboard.JobDelete {
		job, err := b.Jobs.Delete(tx, id)
		if err != nil {
			return "", err
		}
		return "Deleted", b.View.jobGone(tx, b.at(), job)
	}
	change, text := b.Jobs.RunNow, "Running it now"
	switch a.Verb {
	case keyboard.JobPause:
		change, text = b.Jobs.Pause, "Paused"
	case keyboard.JobResume:
		change, text = b.Jobs.Resume, "Resumed"
	}
	job, err := change(tx, id)
	if err != nil {
		return "", err
	}
	return text, b.View.jobCard(tx, b.at(), job, false)
}

// at is the conversation whose message was pressed.
func (b *buttonPress) at() store.Address {
	if m := b.query.Message.Message; m != nil {
		return addressOf(m)
	}
	if m := b.query.Message.InaccessibleMessage; m != nil {
		return store.Address{Chat: store.ChatID(m.Chat.ID)}
	}
	return store.Address{Chat: b.person.Private}
}

func (b *buttonPress) useModel(tx *store.Tx, a keyboard.Action) (string, error) {
	name, err := b.modelByNumber(int(a.N))
	if err != nil {
		return "", err
	}
	if err := b.Driver.ChooseModel(tx, b.at(), name); err != nil {
		return "", err
	}
	return "Using " + cmp.Or(name, "the first that works"), b.View.modelCard(tx, b.at(), b.Models.Models(), name, false)
}

func (b *buttonPress) refreshGrants(tx *store.Tx) error {
	return b.View.grantsCard(tx, b.at(), b.Gate, b.Rules, false)
}

// stranger admits or ignores somebody who wrote to the bot.
func (b *buttonPress) stranger(tx *store.Tx, id store.UserID, allow bool) (string, error) {
	p, err := b.Access.Person(tx, id)
	if err != nil {
		return "", err
	}
	text := p.Name + " is ignored."
	switch {
	case p.Role == Owner: // paired since the card was sent
		allow, text = false, p.Name+" owns this bot too."
	case allow:
		p.Role, text = Guest, p.Name+" may chat now. You decide on what needs a nod."
	default:
		p.Role = Ignored
	}
	if err := b.Access.Put(tx, p); err != nil {
		return "", err
	}
	if err := b.View.strangerDecided(tx, b.at().Chat, p, text); err != nil {
		return "", err
	}
	if allow {
		return text, b.View.reply(tx, store.Address{Chat: store.ChatID(id)}, 0, welcomeText(p, true), nil)
	}
	return text, nil
}
