package telegram

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"nod/approvals"
	"nod/store"
	"nod/tools"
)

// maxTopic is the longest name of a topic, in characters (https://core.telegram.org/bots/api#createforumtopic).
const maxTopic = 128

type topicIn struct {
	Name string `json:"name" jsonschema:"what the topic is called, up to 128 characters"`
}

func createTopic() tools.Tool {
	return tools.New(tools.Spec[topicIn]{
		Name:        tools.TelegramCreateTopic,
		Description: "Opens a new topic in this chat, which must have topics; the bot needs the right to manage them.",
		Traits:      traits,
		Check: func(in *topicIn) error {
			in.Name = strings.Join(strings.Fields(in.Name), " ")
			if n := utf8.RuneCountInString(in.Name); n == 0 || n > maxTopic {
				return fmt.Errorf("the name has %d characters; it takes 1 to %d", n, maxTopic)
			}
			return nil
		},
		Label: func(in topicIn, _ bool) string { return tools.Quote(in.Name) },
		Judge: func(_ context.Context, _ tools.Scope, in topicIn) (tools.Judged, error) {
			return tools.Judged{Subject: approvals.Subject{Kind: approvals.Words, Text: "Open the topic " + in.Name + " in this chat"}}, nil
		},
		Run: func(_ context.Context, call tools.Call, in topicIn) (tools.Output, error) {
			chat := call.Scope.Address.Chat
			return tools.Output{
				Text:   "The topic " + in.Name + " is being opened; you are told nothing when Telegram refuses it, but the user is.",
				Commit: func(tx *store.Tx) error { return call.Scope.Ports.Messages.CreateTopic(tx, chat, in.Name) },
			}, nil
		},
	})
}
