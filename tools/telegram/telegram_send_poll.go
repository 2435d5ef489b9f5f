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

// Limits of polls (https://core.telegram.org/bots/api#sendpoll), in characters.
const (
	maxQuestion = 300
	maxOption   = 100
	minOptions  = 2
	maxOptions  = 10 // which older servers take too
)

type pollIn struct {
	Question string   `json:"question" jsonschema:"what is asked, up to 300 characters"`
	Options  []string `json:"options" jsonschema:"the answers, 2 to 10 of up to 100 characters"`
}

// Refine bounds the answers.
func (pollIn) Refine(p map[string]*jsonschema.Schema) {
	p["options"].MinItems, p["options"].MaxItems = jsonschema.Ptr(minOptions), jsonschema.Ptr(maxOptions)
}

func sendPoll() tools.Tool {
	return tools.New(tools.Spec[pollIn]{
		Name:        tools.TelegramSendPoll,
		Description: "Sends an anonymous poll with one choice into this chat.",
		Traits:      traits,
		Check:       (*pollIn).check,
		Label:       func(in pollIn, _ bool) string { return tools.Quote(in.Question) },
		Judge: func(_ context.Context, _ tools.Scope, in pollIn) (tools.Judged, error) {
			text := "Send this poll into this chat\n\n" + in.Question + "\n• " + strings.Join(in.Options, "\n• ")
			return tools.Judged{Subject: approvals.Subject{Kind: approvals.Words, Text: text}}, nil
		},
		Run: func(_ context.Context, call tools.Call, in pollIn) (tools.Output, error) {
			to := call.Scope.Address
			return tools.Output{
				Text: "Sent the poll.",
				Commit: func(tx *store.Tx) error {
					return call.Scope.Ports.Messages.SendPoll(tx, to, call.ID, in.Question, in.Options)
				},
			}, nil
		},
	})
}

func (in *pollIn) check() error {
	in.Question = strings.TrimSpace(in.Question)
	if n := utf8.RuneCountInString(in.Question); n == 0 || n > maxQuestion {
		return fmt.Errorf("the question has %d characters; it takes 1 to %d", n, maxQuestion)
	}
	seen := map[string]bool{}
	for i, o := range in.Options {
		o = strings.TrimSpace(o)
		if n := utf8.RuneCountInString(o); n == 0 || n > maxOption {
			return fmt.Errorf("answer %d has %d characters; each takes 1 to %d", i+1, n, maxOption)
		}
		if seen[o] {
			return errors.New("two answers are the same")
		}
		seen[o], in.Options[i] = true, o
	}
	return nil
}
