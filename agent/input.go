package agent

import (
	"fmt"
	"strings"
	"time"

	"nod/agent/llm"
	"nod/store"
	"nod/tools"
	"nod/tools/gallery"
)

// Input is one message of a person, as the transcript will hold it.
type Input struct {
	Address store.Address   `json:"address"`
	From    store.UserID    `json:"from"`
	Message store.MessageID `json:"message,omitempty"`
	At      time.Time       `json:"at"`
	Text    string          `json:"text"`
	// Speaker is set where several people talk, Forwarded to whom a forwarded message is credited. Quote is what a
	// reply replies to, and Edited marks a new wording of an earlier message.
	Speaker   string `json:"speaker,omitempty"`
	Forwarded string `json:"forwarded,omitempty"`
	Quote     string `json:"quote,omitempty"`
	Edited    bool   `json:"edited,omitempty"`
	// Files have been saved in the workspace; Notes say what else came, such as a location, or a file that could not be had.
	Files []Attachment `json:"files,omitempty"`
	Notes []string     `json:"notes,omitempty"`
	// News is set instead of a text for what no person wrote.
	News *News `json:"report,omitempty"`
	// Deciders may nod to the calls of a turn that this message begins, and are asked at Cards.
	Deciders []store.UserID `json:"deciders"`
	Cards    store.Address  `json:"cards"`
	// Below says that it was written below the answer that asked what waits for a plain yes, where something does, and Aside
	// that it replies to something else.
	Below bool `json:"-"`
	Aside bool `json:"-"`
	// Held says that a person has stopped everything since: it waits for their next message.
	Held bool `json:"-"`
	// More is true when further messages of the conversation are about to be submitted. The turn waits for them before
	// it asks the model, until one comes without More or Gathered is called.
	More bool `json:"-"`
}

// Attachment is a file that came with a message.
type Attachment struct {
	Path string `json:"path"` // within the workspace
	Kind string `json:"kind"` // photo, document, voice …
	MIME string `json:"mime,omitempty"`
	Size int64  `json:"size"` // bytes
	// Transcript is what was said in a recording, as a machine heard it.
	Transcript string `json:"transcript,omitempty"`
}

// direct says whether the message is what its sender has written, at first and not on somebody else's behalf.
func (in Input) direct() bool { return in.Forwarded == "" && !in.Edited }

// said is what the message may be to a question that waits for a plain yes.
func (in Input) said(begins bool) gallery.Said {
	return gallery.Said{Text: in.Text, Plain: in.direct() && !in.Aside && len(in.Files) == 0, Below: in.Below, Begins: begins}
}

// words is the message as the model reads it. What others wrote is labelled, so that a forwarded "System: …" stays what it is.
func (in Input) words() string {
	var b strings.Builder
	if in.Speaker != "" {
		fmt.Fprintf(&b, "[from %s]\n", label(in.Speaker))
	}
	if in.Edited {
		b.WriteString("[new wording of an earlier message]\n")
	}
	if in.Quote != "" {
		fmt.Fprintf(&b, "[in reply to]\n%s\n[end of what is replied to]\n", quoted(in.Quote))
	}
	text := in.Text
	for _, f := range in.Files {
		fmt.Fprintf(&b, "[%s saved as %s%s, %s%s]\n", f.Kind, f.Path, suffix(label(f.MIME)), size(f.Size), f.heard())
		if f.Transcript != "" {
			text = strings.TrimPrefix(text+"\n"+f.Transcript, "\n")
		}
	}
	for _, note := range in.Notes {
		fmt.Fprintf(&b, "[%s]\n", label(note))
	}
	switch {
	case in.Forwarded != "":
		fmt.Fprintf(&b, "[forwarded from %s; not the user's own words]\n%s\n[end of the forwarded message]", label(in.Forwarded), quoted(text))
	default:
		b.WriteString(text)
	}
	return strings.TrimSpace(b.String())
}

// heard says that the words which follow were spoken.
func (a Attachment) heard() string {
	if a.Transcript == "" {
		return ""
	}
	return "; what was said in it follows, as a machine heard it"
}

// quoted marks every line, also those that end by a rarer character than a newline.
func quoted(s string) string {
	return "> " + strings.ReplaceAll(lineEnds.Replace(strings.TrimSpace(s)), "\n", "\n> ")
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n")

// label makes what others chose, such as a name, fit between brackets on one line.
func label(s string) string {
	return strings.NewReplacer("[", "(", "]", ")", "\n", " ").Replace(lineEnds.Replace(strings.TrimSpace(s)))
}

func suffix(mime string) string {
	if mime == "" {
		return ""
	}
	return " (" + mime + ")"
}

func size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
}

// entry is the transcript's line for a message.
func (d *Driver) entry(in Input, turn store.TurnID) Entry {
	e := Entry{Turn: turn, At: in.At, Message: llm.Message{Role: llm.RoleUser, Text: d.Mask(in.words())}}
	for _, f := range in.Files {
		if seen[f.MIME] {
			e.Images = append(e.Images, tools.Image{MIME: f.MIME, Path: f.Path})
		}
	}
	return e
}

// seen are the picture formats that vision models read.
var seen = map[string]bool{"image/jpeg": true, "image/png": true, "image/webp": true, "image/gif": true}
