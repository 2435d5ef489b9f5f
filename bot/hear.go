package bot

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/go-telegram/bot/models"

	"nod/agent"
	"nod/bot/outbox"
	"nod/bot/render"
	"nod/store"
)

// Bounds of a transcript, in characters.
const (
	maxTranscript = 20_000
	maxHeard      = 3000 // that are shown
)

// spoken says whether a message is a recording of somebody's words: a voice note, or a sound file that nobody has given a
// title, as recorders of other apps send them. Music has one.
func spoken(m *models.Message) bool {
	return m.Voice != nil || m.Audio != nil && m.Audio.Title == "" && m.Audio.Performer == ""
}

// hear puts what was said in a recording beside its file. Where that is not known, note says so for the model and
// complaint for the person.
func (in *Intake) hear(ctx context.Context, m *models.Message, saved *agent.Attachment) (note, complaint string) {
	if !spoken(m) {
		return "", ""
	}
	hearing := in.Hearing()
	if hearing == nil && m.Voice == nil {
		return "", "" // a sound file is of use as it is
	}
	if hearing == nil {
		return "no speech model is configured: the voice note was saved, and its words are not known",
			"I can't hear voice notes: no speech model is configured. It is kept as " + saved.Path + "."
	}
	f, _, err := in.Workspace.OpenInside(saved.Path)
	words := ""
	if err == nil {
		defer f.Close()
		words, err = hearing.Transcribe(ctx, filepath.Base(saved.Path), filepath.Join(in.Workspace.Dir(), saved.Path), f)
	}
	switch {
	case err != nil:
		in.Log.Warn("understanding a recording", "chat", m.Chat.ID, "err", err)
		why := strings.TrimRight(clean(err.Error()), ".")
		return "the recording could not be understood, so its words are not known: " + why, notHeardText(why, saved.Path)
	case words == "":
		return "no words were made out in the recording", notHeardText("no words were made out", saved.Path)
	}
	saved.Transcript = clipRunes(words, maxTranscript)
	return "", ""
}

func notHeardText(why, path string) string {
	return fmt.Sprintf("🎙 I could not understand this recording: %s. It is kept as %s.", why, path)
}

// hearBack shows what was understood of a recording, below it and without a sound.
func (q *request) hearBack(tx *store.Tx, input agent.Input) error {
	for _, f := range input.Files {
		if f.Transcript == "" || q.edited { // a caption was changed; it was shown before
			continue
		}
		text := "🎙 " + clipRunes(f.Transcript, maxHeard)
		err := q.Out.Put(tx, outbox.Item{
			To: q.at, HTML: "<blockquote expandable>" + render.Escape(text) + "</blockquote>", Plain: text, ReplyTo: input.Message, Silent: true,
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// clipRunes cuts a text to a number of characters.
func clipRunes(s string, limit int) string {
	if r := []rune(s); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return s
}
