package chat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"nod/store"
	"nod/tools"
)

// maxSpoken is the longest text that services read out, in characters.
const maxSpoken = 4000

type voiceIn struct {
	Text string `json:"text" jsonschema:"what to say, in plain words without formatting, up to 4000 characters"`
}

func sendVoiceMessage() tools.Tool {
	return tools.New(tools.Spec[voiceIn]{
		Name: tools.SendVoiceMessage,
		Description: "Says something to the user in this chat as a voice message. Use it when they ask for speech or have sent a voice note " +
			"and a short spoken answer suits them; don't write the same text besides.",
		// It costs money and the outcome is a message, so it is never run twice.
		Traits: tools.Traits{Category: tools.Chat, Effect: tools.Write, Needs: tools.FilesPort.And(tools.VoicePort)},
		Check: func(in *voiceIn) error {
			in.Text = strings.TrimSpace(in.Text)
			switch n := utf8.RuneCountInString(in.Text); {
			case n == 0:
				return errors.New("text is empty; give what is to be said")
			case n > maxSpoken:
				return fmt.Errorf("the text has %d characters, and %d can be read out; say less, or send it in parts", n, maxSpoken)
			}
			return nil
		},
		Label: func(in voiceIn, _ bool) string { return tools.Quote(in.Text) },
		Judge: judgeVoice,
		Run:   runVoice,
	})
}

// judgeVoice tells the price. Where the port has gone meanwhile the executor says so.
func judgeVoice(_ context.Context, scope tools.Scope, _ voiceIn) (judged tools.Judged, err error) {
	if speech := scope.Ports.Speech; speech != nil {
		judged.Price = speech.Price()
	}
	return judged, nil
}

func runVoice(ctx context.Context, call tools.Call, in voiceIn) (tools.Output, error) {
	files, to := call.Scope.Ports.Files, call.Scope.Address
	sound, err := call.Scope.Ports.Speech.Speak(ctx, in.Text)
	if err != nil {
		return tools.Output{}, tools.Unpaid(fmt.Errorf("making speech: %w", err))
	}
	if !isVoice(sound) {
		return tools.Output{}, errors.New("what came back is no Ogg file with Opus in it, which is what Telegram plays as a voice message")
	}
	file := tools.File{Name: "voice.ogg", Kind: tools.Voice}
	if file.Handle, err = files.Keep(file.Name, bytes.NewReader(sound), int64(len(sound))); err != nil {
		return tools.Output{}, fmt.Errorf("keeping the speech for sending: %w", err)
	}
	return tools.Output{
		Text:   fmt.Sprintf("Sent as a voice message (%d bytes).", len(sound)),
		Commit: func(tx *store.Tx) error { return files.Send(tx, to, file) },
	}, nil
}

// isVoice says whether a file is Ogg whose first packet is Opus's head (RFC 7845, section 5.1).
func isVoice(sound []byte) bool {
	return bytes.HasPrefix(sound, []byte("OggS")) && bytes.Contains(sound[:min(len(sound), sniffed)], []byte("OpusHead"))
}
