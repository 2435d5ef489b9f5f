package bot

import (
	"errors"
	"fmt"
	"slices"

	"nod/bot/outbox"
	"nod/bot/render"
	"nod/store"
	"nod/tools"
)

// maxRecent is how many messages of a kind a model can refer to in a conversation.
const maxRecent = 20

// recent is what a model can refer to, the latest first.
type recent struct {
	People []store.MessageID `json:"people,omitempty"`
	Own    []store.CallID    `json:"own,omitempty"` // calls that sent something
}

var recents = store.NewTable[store.Address, recent]("recent_messages", store.ParseAddress)

// heardFrom notes a message that a person wrote.
func heardFrom(tx *store.Tx, at store.Address, m store.MessageID) error {
	r, _, err := recents.Get(tx, at)
	if err != nil || slices.Contains(r.People, m) {
		return err
	}
	r.People = latest(m, r.People)
	return recents.Put(tx, at, r)
}

func latest[T any](newest T, before []T) []T {
	return append([]T{newest}, before[:min(len(before), maxRecent-1)]...)
}

// forgetRecent drops what is known of a group that got a new id, where the old numbers mean nothing.
func forgetRecent(tx *store.Tx, chat store.ChatID) error {
	_, err := recents.DeletePrefix(tx, chat.Bytes())
	return err
}

// Messages does single acts of Telegram for tools. It implements tools.MessagePort.
type Messages struct {
	Out  *outbox.Outbox
	Mask func(string) string // takes secrets out of what is said
}

// Home is where reports go.
func (Messages) Home(tx *store.Tx) (store.Address, error) {
	at, _, err := Access{}.Home(tx)
	return at, err
}

// sentSlot holds what a call has sent.
func sentSlot(call store.CallID) outbox.Slot { return outbox.Slot("sent/" + string(call)) }

// sends notes that a call sends something.
func (m Messages) sends(tx *store.Tx, to store.Address, call store.CallID) error {
	r, _, err := recents.Get(tx, to)
	if err != nil {
		return err
	}
	r.Own = latest(call, r.Own)
	return recents.Put(tx, to, r)
}

// Send sends Markdown, in as few messages as it fits in. The first is what is remembered.
func (m Messages) Send(tx *store.Tx, to store.Address, call store.CallID, markdown string, silent bool) error {
	parts, asFile := render.Answer(m.Mask(markdown))
	switch {
	case asFile:
		return errors.New("the text is too long for messages; write it to a file and send that")
	case len(parts) == 0:
		return errors.New("nothing of the text would show")
	}
	for i, p := range parts {
		it := outbox.Item{To: to, HTML: p.HTML, Plain: p.Plain, Silent: silent || i > 0}
		if i == 0 {
			it.Slot = sentSlot(call)
		}
		if err := m.Out.Put(tx, it); err != nil {
			return err
		}
	}
	return m.sends(tx, to, call)
}

// React sets the bot's reaction to a message.
func (m Messages) React(tx *store.Tx, at store.Address, ref tools.MessageRef, emoji string) error {
	return m.on(tx, at, ref, outbox.Action{Reaction: emoji})
}

// Pin pins a message, without a notification.
func (m Messages) Pin(tx *store.Tx, at store.Address, ref tools.MessageRef) error {
	return m.on(tx, at, ref, outbox.Action{Pin: true})
}

// on acts on a message.
func (m Messages) on(tx *store.Tx, at store.Address, ref tools.MessageRef, a outbox.Action) error {
	r, _, err := recents.Get(tx, at)
	if err != nil {
		return err
	}
	it := outbox.Item{To: at, Kind: outbox.Act, Action: &a}
	switch {
	case !r.has(ref):
		return errUnknownMessage
	case ref.Own:
		it.Slot = sentSlot(r.Own[ref.Back])
	default:
		a.Message = r.People[ref.Back]
	}
	return m.Out.Put(tx, it)
}

var errUnknownMessage = errors.New("no such message is known in this chat any more")

func (r recent) has(ref tools.MessageRef) bool {
	count := len(r.People)
	if ref.Own {
		count = len(r.Own)
	}
	return ref.Back >= 0 && ref.Back < count
}

// Find says whether the message that is meant is known.
func (Messages) Find(tx *store.Tx, at store.Address, ref tools.MessageRef) (bool, error) {
	r, _, err := recents.Get(tx, at)
	return r.has(ref), err
}

// SendPoll sends an anonymous poll with one choice.
func (m Messages) SendPoll(tx *store.Tx, to store.Address, call store.CallID, question string, options []string) error {
	poll := outbox.Poll{Question: m.Mask(question)}
	for _, o := range options {
		poll.Options = append(poll.Options, m.Mask(o))
	}
	return m.post(tx, to, call, outbox.Action{Poll: &poll})
}

// SendLocation sends a point on the map.
func (m Messages) SendLocation(tx *store.Tx, to store.Address, call store.CallID, latitude, longitude float64) error {
	return m.post(tx, to, call, outbox.Action{Location: &outbox.Location{Latitude: latitude, Longitude: longitude}})
}

// post makes a message of its own.
func (m Messages) post(tx *store.Tx, to store.Address, call store.CallID, a outbox.Action) error {
	if err := m.Out.Put(tx, outbox.Item{To: to, Slot: sentSlot(call), Kind: outbox.Act, Action: &a, Silent: true}); err != nil {
		return err
	}
	return m.sends(tx, to, call)
}

// CreateTopic opens a topic in a forum.
func (m Messages) CreateTopic(tx *store.Tx, in store.ChatID, name string) error {
	return m.Out.Put(tx, outbox.Item{To: store.Address{Chat: in}, Kind: outbox.Act, Action: &outbox.Action{Topic: m.Mask(name)}})
}

// undeliveredText says what could not be sent, and what can be done.
func undeliveredText(d outbox.Dead) string {
	if name := sentFile(d.Item); name != "" {
		if d.MayNot {
			return fmt.Sprintf("📎 %s: not sent, since I may not send files in this group. An admin can allow it; or ask me to say it in messages.", name)
		}
		return fmt.Sprintf("📎 %s: not sent, since Telegram refused it.", name)
	}
	what := "What was asked for was not done"
	if a := d.Item.Action; a != nil {
		switch {
		case a.Reaction != "":
			what = "The reaction " + a.Reaction + " was not set"
		case a.Pin:
			what = "The message was not pinned"
		case a.Poll != nil:
			what = "The poll was not sent"
		case a.Location != nil:
			what = "The location was not sent"
		case a.Topic != "":
			what = "The topic " + firstLine(a.Topic) + " was not opened"
		}
	}
	if d.MayNot {
		return "⚠️ " + what + ": I lack the right to. An admin can give it."
	}
	return "⚠️ " + what + ": Telegram refused it."
}

// sentFile names what an item sends as a file, or is "".
func sentFile(it outbox.Item) string {
	switch {
	case it.File != nil:
		return firstLine(it.File.Name)
	case it.Kind == outbox.Album:
		return fmt.Sprintf("%d pictures", len(it.Photos))
	}
	return ""
}
