package telegram

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"nod/approvals"
	"nod/store"
	"nod/tools"
)

const (
	thisChat = "this"
	homeChat = "home"

	// maxMessage is the longest text, in characters; what is longer is sent as a file.
	maxMessage = 12_000
)

type messageIn struct {
	Text   string `json:"text" jsonschema:"what to say, in Markdown"`
	Chat   string `json:"chat,omitempty" jsonschema:"this chat (default), or home, where reports go"`
	Silent bool   `json:"silent,omitempty" jsonschema:"arrive without a sound (default false)"`
}

// Refine lists the chats.
func (messageIn) Refine(p map[string]*jsonschema.Schema) {
	p["chat"].Enum = []any{thisChat, homeChat}
}

func sendMessage(db *store.DB) tools.Tool {
	return tools.New(tools.Spec[messageIn]{
		Name: tools.TelegramSendMessage,
		Description: "Sends a message of its own, at once, beside your answer: to the user's home chat, or to this one while you go on working. " +
			"What you answer at the end is sent by itself.",
		Traits: traits,
		Check:  (*messageIn).check,
		Label:  func(in messageIn, _ bool) string { return tools.Quote(in.Text) },
		Judge: func(_ context.Context, scope tools.Scope, in messageIn) (tools.Judged, error) {
			to, err := in.to(db, scope)
			if err != nil || to == scope.Address {
				return tools.Judged{}, err
			}
			return tools.Judged{MustAsk: true, Subject: approvals.Subject{Kind: approvals.Words, Text: "Send this to the home chat\n\n" + in.Text}}, nil
		},
		Run: func(_ context.Context, call tools.Call, in messageIn) (tools.Output, error) {
			to, err := in.to(db, call.Scope)
			if err != nil {
				return tools.Output{}, err
			}
			return tools.Output{
				Text:   "Sent to " + in.Chat + " chat.",
				Commit: func(tx *store.Tx) error { return call.Scope.Ports.Messages.Send(tx, to, call.ID, in.Text, in.Silent) },
			}, nil
		},
	})
}

func (in *messageIn) check() error {
	if in.Chat == "" {
		in.Chat = thisChat
	}
	switch n := utf8.RuneCountInString(in.Text); {
	case strings.TrimSpace(in.Text) == "":
		return errors.New("text is empty")
	case n > maxMessage:
		return fmt.Errorf("the text has %d characters; at most %d fit into messages. Write it to a file and send that", n, maxMessage)
	}
	return nil
}

// to is the chat that is meant.
func (in messageIn) to(db *store.DB, scope tools.Scope) (at store.Address, err error) {
	if in.Chat != homeChat {
		return scope.Address, nil
	}
	err = db.View(func(tx *store.Tx) error {
		at, err = scope.Ports.Messages.Home(tx)
		return err
	})
	return at, err
}
