package emulator

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Transcript shows the person's chat and topic as it looks now, one entry a message: who, then what. Further lines of a
// text are indented by two spaces; keyboards stand below as [labels], one row a line; reactions as (👀). Deleted messages
// are gone, edited ones show what they say now. Nothing in it depends on time or on ids.
//
//	Ann: /start
//	nod: Hello.
//	  What can I do?
//	  [✅ Approve] [❌ Reject]
//	nod: <document report.txt, 12 bytes> here it is
func (p *Person) Transcript() string {
	messages := p.Messages()
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "%s: %s\n", sender(m), indented(p.entry(m)))
		for _, row := range m.Keyboard.Labels() {
			fmt.Fprintf(&b, "  [%s]\n", strings.Join(row, "] ["))
		}
		for _, emoji := range p.chat.reactionsTo(m.ID) {
			fmt.Fprintf(&b, "  (%s)\n", emoji)
		}
	}
	if d := p.chat.draft; d != nil && d.Thread == p.thread && time.Now().Before(d.until) {
		fmt.Fprintf(&b, "%s is writing: %s\n", p.s.bot.FirstName, indented(cmp.Or(d.Text, "Thinking…")))
	}
	return b.String()
}

func sender(m Message) string {
	if m.From == nil {
		return "?"
	}
	return m.From.FirstName
}

func indented(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }

// entry is the body of a message in words.
func (p *Person) entry(m Message) string {
	var parts []string
	if f := m.Forward; f != nil {
		name := f.SenderName
		if f.SenderUser != nil {
			name = f.SenderUser.FirstName
		}
		parts = append(parts, fmt.Sprintf("<forwarded from %s>", name))
	}
	if r := m.ReplyTo; r != nil {
		what := r.Shown()
		if m.Quote != nil {
			what = m.Quote.Text
		}
		parts = append(parts, fmt.Sprintf("<reply to %s: %s>", sender(*r), headline(cmp.Or(what, "…"))))
	}
	if s := m.Service; s != nil {
		parts = append(parts, s.entry())
	}
	if thing := m.thing(); thing != "" {
		parts = append(parts, thing)
	}
	if text := m.Shown(); text != "" {
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

// headline is the first line, cut at 40 characters.
func headline(text string) string {
	text, _, cutLine := strings.Cut(text, "\n")
	r := []rune(text)
	if len(r) > 40 {
		return string(r[:40]) + "…"
	}
	if cutLine {
		return text + "…"
	}
	return text
}

// thing describes what a message carries beside its text.
func (m Message) thing() string {
	switch {
	case m.Photo != nil:
		largest := m.Photo[len(m.Photo)-1]
		return fmt.Sprintf("<photo %dx%d>", largest.Width, largest.Height)
	case m.Sticker != nil:
		return fmt.Sprintf("<sticker %s>", m.Sticker.Emoji)
	case m.Location != nil:
		return fmt.Sprintf("<location %g, %g>", m.Location.Latitude, m.Location.Longitude)
	case m.Contact != nil:
		return fmt.Sprintf("<contact %s, %s>", m.Contact.FirstName, m.Contact.Phone)
	case m.Poll != nil:
		var options []string
		for _, o := range m.Poll.Options {
			options = append(options, o.Text)
		}
		return fmt.Sprintf("<poll %s: %s>", m.Poll.Question, strings.Join(options, " / "))
	}
	if a := m.attachment(); a != nil {
		return fmt.Sprintf("<%s, %d bytes>", strings.TrimSpace(kindOf(m.Content)+" "+a.Name), a.Size)
	}
	return ""
}

func (s *Service) entry() string {
	switch {
	case s.TopicCreated != nil:
		return fmt.Sprintf("<topic %s created>", s.TopicCreated.Name)
	case s.Pinned != nil:
		return fmt.Sprintf("<pinned: %s>", headline(s.Pinned.Shown()))
	case len(s.Joined) > 0:
		return fmt.Sprintf("<%s joined>", s.Joined[0].FirstName)
	case s.Left != nil:
		return fmt.Sprintf("<%s left>", s.Left.FirstName)
	case s.MigrateTo != 0:
		return "<became a supergroup>"
	case s.MigrateFrom != 0:
		return "<was a basic group>"
	}
	return "<service message>"
}
