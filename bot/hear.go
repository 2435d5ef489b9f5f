package bot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"

	"github.com/go-telegram/bot/models"

	"nod/agent"
	"nod/bot/outbox"
	"nod/bot/render"
	"nod/store"
	"nod/tools"
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
		words, err = in.understand(ctx, hearing, saved.Path, f)
	}
	capped, isCapped := errors.AsType[*agent.CapError](err)
	switch {
	case isCapped:
		return "the recording was not listened to, so its words are not known: " + capped.Error(), notListenedText(capped, saved.Path)
	case context.Cause(ctx) == tools.ErrStopped:
		return "the user stopped everything before the recording was understood, so its words are not known", ""
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

// understand asks for the words of a recording, and books what that costs to the day at once: a message whose handling is
// cut off is asked about, and paid for, once more.
func (in *Intake) understand(ctx context.Context, hearing tools.Hearing, path string, sound io.Reader) (words string, err error) {
	price := hearing.Price()
	if price > 0 {
		if err := in.Driver.Affordable(); err != nil {
			return "", err
		}
	}
	words, err = hearing.Transcribe(ctx, filepath.Base(path), filepath.Join(in.Workspace.Dir(), path), sound)
	if price > 0 && (err == nil || ctx.Err() != nil) { // what was cut off may have been done all the same
		if err := in.Driver.PayToday(price); err != nil {
			in.Log.Error("counting what a recording cost", "err", err)
		}
	}
	return words, err
}

// listening are the recordings that are listened to just now, with what ends that.
type listening struct {
	mu    sync.Mutex
	calls map[*store.Address]context.CancelCauseFunc
}

// listen has interrupt reach what is done under the context that it gives back, until done ends that.
func (in *Intake) listen(ctx context.Context, at store.Address) (_ context.Context, done context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	l, key := &in.listening, &at
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls == nil {
		l.calls = map[*store.Address]context.CancelCauseFunc{}
	}
	l.calls[key] = cancel
	return ctx, func(why error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.calls, key)
		cancel(why)
	}
}

// interrupt ends the listening in a conversation, or in all.
func (in *Intake) interrupt(at store.Address, all bool) {
	in.listening.mu.Lock()
	defer in.listening.mu.Unlock()
	for where, cancel := range in.listening.calls {
		if all || *where == at {
			cancel(tools.ErrStopped)
		}
	}
}

func notHeardText(why, path string) string {
	return fmt.Sprintf("🎙 I could not understand this recording: %s. It is kept as %s.", why, path)
}

func notListenedText(e *agent.CapError, path string) string {
	return fmt.Sprintf("🎙 I did not listen to this recording: %s. It is kept as %s.", e.Error(), path)
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
