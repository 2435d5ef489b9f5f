// Package telegram is the single acts of Telegram as tools, of the kind atomic: telegram_send_message, telegram_react,
// telegram_pin, telegram_send_poll, telegram_send_location and telegram_create_topic.
//
// It owns their arguments and what a card says of them. What they do becomes true in the commit of a call's outcome and is
// done by the outbox (tools.MessagePort). A model names messages by how far back they are, never by a number of Telegram's.
package telegram

import (
	"nod/store"
	"nod/tools"
)

// Tools are the tools of this package.
func Tools(db *store.DB) []tools.Tool {
	return []tools.Tool{sendMessage(db), react(db), pin(db), sendPoll(), sendLocation(), createTopic()}
}

var traits = tools.Traits{Category: tools.Chat, Effect: tools.Write, Needs: tools.MessagesPort}
