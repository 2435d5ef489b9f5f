package outbox

import (
	"context"

	tg "github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"nod/store"
)

// Action is what an Act does. One of Reaction, Pin, Poll, Location and Topic is set.
type Action struct {
	// Message is what a Reaction or Pin is about; 0 means the message that the item's slot holds by then.
	Message  store.MessageID `json:"message,omitempty"`
	Reaction string          `json:"reaction,omitempty"` // an emoji of Telegram's list
	Pin      bool            `json:"pin,omitempty"`      // without a notification
	Poll     *Poll           `json:"poll,omitempty"`     // its message fills the slot
	Location *Location       `json:"location,omitempty"` // likewise
	Topic    string          `json:"topic,omitempty"`    // the name of a new topic of the forum
}

// Poll is an anonymous poll with one choice.
type Poll struct {
	Question string   `json:"question"`
	Options  []string `json:"options"`
}

// Location is a point on the map, in degrees.
type Location struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
}

// onSlot says whether the item needs the message that its slot holds.
func (it *Item) onSlot() bool {
	return it.Kind == Act && it.Action.Message == 0 && (it.Action.Pin || it.Action.Reaction != "")
}

// act makes the call of an Act whose slot holds message.
func (l *lane) act(ctx context.Context, it *Item, message store.MessageID, f fix) (store.MessageID, verdict) {
	a, chat := it.Action, int64(it.To.Chat)
	if a.Message != 0 {
		message = a.Message
	}
	switch c := l.o.client; {
	case a.Reaction != "":
		emoji := models.ReactionType{Type: models.ReactionTypeTypeEmoji, ReactionTypeEmoji: &models.ReactionTypeEmoji{Emoji: a.Reaction}}
		_, err := c.SetMessageReaction(ctx, &tg.SetMessageReactionParams{ChatID: chat, MessageID: int(message), Reaction: []models.ReactionType{emoji}})
		return 0, change(err)
	case a.Pin:
		_, err := c.PinChatMessage(ctx, &tg.PinChatMessageParams{ChatID: chat, MessageID: int(message), DisableNotification: true})
		return 0, change(err)
	case a.Poll != nil:
		options := make([]models.InputPollOption, 0, len(a.Poll.Options))
		for _, text := range a.Poll.Options {
			options = append(options, models.InputPollOption{Text: text})
		}
		return sent(c.SendPoll(ctx, &tg.SendPollParams{
			ChatID: chat, MessageThreadID: threadOf(it, f), Question: a.Poll.Question, Options: options, DisableNotification: it.Silent,
		}))
	case a.Location != nil:
		return sent(c.SendLocation(ctx, &tg.SendLocationParams{
			ChatID: chat, MessageThreadID: threadOf(it, f), Latitude: a.Location.Latitude, Longitude: a.Location.Longitude, DisableNotification: it.Silent,
		}))
	}
	_, err := l.o.client.CreateForumTopic(ctx, &tg.CreateForumTopicParams{ChatID: chat, Name: a.Topic})
	return 0, classify(err)
}
