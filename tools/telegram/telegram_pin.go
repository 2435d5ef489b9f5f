package telegram

import (
	"context"

	"nod/store"
	"nod/tools"
)

type pinIn struct {
	Message string `json:"message,omitempty" jsonschema:"which one"`
}

func pin(db *store.DB) tools.Tool {
	return tools.New(tools.Spec[pinIn]{
		Name:        tools.TelegramPin,
		Description: "Pins a message of this chat, without a notification. message: " + referenceHelp + ".",
		Traits:      traits,
		Check: func(in *pinIn) error {
			_, err := parseReference(in.Message)
			return err
		},
		Label: func(in pinIn, _ bool) string { return in.Message },
		Judge: func(_ context.Context, scope tools.Scope, in pinIn) (tools.Judged, error) {
			return judgeMessage(db, scope, in.Message, "Pin ")
		},
		Run: func(_ context.Context, call tools.Call, in pinIn) (tools.Output, error) {
			ref, err := parseReference(in.Message)
			return tools.Output{
				Text:   "Pinned.",
				Commit: func(tx *store.Tx) error { return call.Scope.Ports.Messages.Pin(tx, call.Scope.Address, ref) },
			}, err
		},
	})
}
