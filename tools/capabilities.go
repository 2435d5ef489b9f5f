package tools

import (
	"context"
	"io"

	"nod/store"
)

// SpeechPort makes speech of text. Implemented over an audio service (agent/llm) and a command (tools/plugins).
type SpeechPort interface {
	// Speak reads the text out. What it gives back is an Ogg file with Opus in it, which Telegram plays as a voice message.
	Speak(ctx context.Context, text string) (ogg []byte, err error)
	// Price is what that costs, in USD.
	Price() float64
}

// Hearing makes text of speech. The bot asks it for what people say; tools don't.
type Hearing interface {
	// Transcribe gives the words of a sound file. name ends as the file's format does, path is where the file lies.
	Transcribe(ctx context.Context, name, path string, sound io.Reader) (words string, err error)
	// Price is what that costs, in USD.
	Price() float64
}

// ImagePort makes pictures. Implemented over an images service (agent/llm) and a command (tools/plugins).
type ImagePort interface {
	// Providers are those that can be asked, at least one.
	Providers() []ImageProvider
	// Generate makes one picture, whatever its format.
	Generate(ctx context.Context, r ImageRequest) (picture []byte, err error)
}

// ImageProvider is who makes pictures.
type ImageProvider struct {
	ID    string
	About string   // in a few words, for the model
	Extra []string // the extra parameters that it takes
	Price float64  // of a picture, in USD
}

// ImageRequest is what a picture should be.
type ImageRequest struct {
	Provider string
	Prompt   string
	Extra    map[string]string
}

// MessagePort does the single acts of Telegram in the chat of a scope. What a method puts down becomes true in the
// caller's commit and is done by the outbox: in order, at the chat's pace, and until it is settled.
type MessagePort interface {
	// Home is where reports go.
	Home(tx *store.Tx) (store.Address, error)
	// Send sends Markdown, rendered as answers are. It is remembered under ref, for Pin and React.
	Send(tx *store.Tx, to store.Address, ref store.CallID, markdown string, silent bool) error
	React(tx *store.Tx, at store.Address, m MessageRef, emoji string) error
	Pin(tx *store.Tx, at store.Address, m MessageRef) error
	SendPoll(tx *store.Tx, to store.Address, ref store.CallID, question string, options []string) error
	SendLocation(tx *store.Tx, to store.Address, ref store.CallID, latitude, longitude float64) error
	CreateTopic(tx *store.Tx, in store.ChatID, name string) error
	// Find says whether the message that is meant is known.
	Find(tx *store.Tx, at store.Address, m MessageRef) (bool, error)
}

// MessageRef names a message of a chat the way a model does: by how many messages of its kind have come since.
type MessageRef struct {
	Own  bool // one that the bot sent by a call of its own; else one that a person wrote
	Back int  // 0 is the latest
}
