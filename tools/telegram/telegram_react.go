package telegram

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"nod/approvals"
	"nod/store"
	"nod/tools"
)

type reactIn struct {
	Emoji   string `json:"emoji" jsonschema:"one of the emojis that Telegram has as reactions, such as 👍 ❤ 🎉 🤔 👀"`
	Message string `json:"message,omitempty" jsonschema:"which one"`
}

func react(db *store.DB) tools.Tool {
	return tools.New(tools.Spec[reactIn]{
		Name:        tools.TelegramReact,
		Description: "Reacts to a message of this chat with an emoji, in place of an earlier reaction. message: " + referenceHelp + ".",
		Traits:      traits,
		Check: func(in *reactIn) error {
			in.Emoji = strings.TrimSuffix(strings.TrimSpace(in.Emoji), "\ufe0f") // ❤️ is ❤ to Telegram
			if !slices.Contains(reactions, in.Emoji) {
				return fmt.Errorf("%q is no reaction of Telegram's; the reactions are: %s", in.Emoji, strings.Join(reactions, " "))
			}
			_, err := parseReference(in.Message)
			return err
		},
		Label: func(in reactIn, _ bool) string { return in.Emoji },
		Judge: func(_ context.Context, scope tools.Scope, in reactIn) (tools.Judged, error) {
			return judgeMessage(db, scope, in.Message, "React with "+in.Emoji+" to ")
		},
		Run: func(_ context.Context, call tools.Call, in reactIn) (tools.Output, error) {
			ref, err := parseReference(in.Message)
			return tools.Output{
				Text: "Reacted with " + in.Emoji + ".",
				Commit: func(tx *store.Tx) error {
					return call.Scope.Ports.Messages.React(tx, call.Scope.Address, ref, in.Emoji)
				},
			}, err
		},
	})
}

// judgeMessage says in words what would be done to a message.
func judgeMessage(db *store.DB, scope tools.Scope, message, what string) (tools.Judged, error) {
	ref, err := parseReference(message)
	if err == nil {
		err = known(db, scope, ref)
	}
	return tools.Judged{Subject: approvals.Subject{Kind: approvals.Words, Text: what + inWords(ref)}}, err
}
