package emulator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// sees tells that the message is in the person's topic. General and "no topic" are one, and outside topics a person sees
// the whole chat.
func (p *Person) sees(m *Message) bool {
	if p.thread == 0 && !p.chat.IsForum {
		return true
	}
	return max(p.thread, General) == max(m.Thread, General)
}

// Messages returns what stands in the person's chat and topic, oldest first.
func (p *Person) Messages() []Message {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	var list []Message
	for _, m := range p.chat.messages {
		if p.sees(m) {
			list = append(list, *m)
		}
	}
	return list
}

// Last returns the newest message of the bot; ok is false when there is none.
func (p *Person) Last() (m Message, ok bool) {
	for _, m := range slices.Backward(p.Messages()) {
		if m.From != nil && m.From.ID == p.s.bot.ID {
			return m, true
		}
	}
	return Message{}, false
}

// WaitMessage waits for a message of the chat and topic that matches, as it stands at that time, and returns the newest
// such one. The error of an ended ctx shows the transcript.
func (p *Person) WaitMessage(ctx context.Context, match func(Message) bool) (found Message, err error) {
	err = p.s.wait(ctx, func() bool {
		for _, m := range slices.Backward(p.chat.messages) {
			if p.sees(m) && match(*m) {
				found = *m
				return true
			}
		}
		return false
	})
	if err != nil {
		return Message{}, fmt.Errorf("waiting for a message: %w; the chat:\n%s", err, p.Transcript())
	}
	return found, nil
}

// WaitText waits for a message of the bot whose text or caption contains part.
func (p *Person) WaitText(ctx context.Context, part string) (Message, error) {
	return p.WaitMessage(ctx, func(m Message) bool {
		return m.From != nil && m.From.ID == p.s.bot.ID && strings.Contains(m.Shown(), part)
	})
}

// WaitButton waits for a message with that button, by label or callback data.
func (p *Person) WaitButton(ctx context.Context, label string) (Message, error) {
	return p.WaitMessage(ctx, func(m Message) bool {
		_, ok := m.Keyboard.find(label)
		return ok
	})
}

// Wait waits until ok, called now and after each change, says true. It may look at the server, not wait on it.
func (s *Server) Wait(ctx context.Context, ok func() bool) error {
	for {
		changed := s.Changed()
		if ok() {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// Shown is the text that a person reads in the message, without its keyboard.
func (m Message) Shown() string {
	if m.Rich != nil {
		return m.Rich.Source
	}
	return m.words()
}

// Action is what the bot is shown to be doing, such as typing; "" for nothing.
func (p *Person) Action() string {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	a := p.chat.activity
	if time.Now().After(a.until) || max(a.thread, General) != max(p.thread, General) {
		return ""
	}
	return a.kind
}

// Draft is the preview that the bot shows; ok is false when there is none.
func (p *Person) Draft() (d Draft, ok bool) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if p.chat.draft == nil || time.Now().After(p.chat.draft.until) || p.chat.draft.Thread != p.thread {
		return Draft{}, false
	}
	return *p.chat.draft, true
}

// Reactions returns the emoji under a message, the bot's last.
func (p *Person) Reactions(id int) []string {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.chat.reactionsTo(id)
}

func (c *chat) reactionsTo(id int) []string {
	var emoji []string
	by := c.marks[id].reactions
	for _, u := range slices.Sorted(maps.Keys(by)) {
		emoji = append(emoji, by[u]...)
	}
	return emoji
}

// Commands is the command menu as the person sees it.
func (p *Person) Commands() []Command {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.s.commandsFor(p.chat, p.user)
}

// Pinned returns the ids of the pinned messages, the newest last.
func (p *Person) Pinned() []int {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return slices.Clone(p.chat.pinned)
}

// ReplyKeyboard returns what the bot put in place of the keyboard, or nil.
func (p *Person) ReplyKeyboard() *Replies {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return p.chat.keyboards[p.thread]
}

// File returns the name and content of a file by its id, as the apps download it; without the API's limit.
func (s *Server) File(id string) (name string, data []byte, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files.byID[id]
	if f == nil || f.missing() {
		return "", nil, false
	}
	return f.name, f.data, true
}

// FileID is the id of the file that the message carries, of a photo's largest size; "" for none.
func (m Message) FileID() string {
	if n := len(m.Photo); n > 0 {
		return m.Photo[n-1].FileID
	}
	if a := m.attachment(); a != nil {
		return a.FileID
	}
	return ""
}

func (m Message) attachment() *Attachment {
	for _, a := range []*Attachment{m.Animation, m.Document, m.Video, m.Audio, m.Voice, m.Sticker} {
		if a != nil {
			return a
		}
	}
	return nil
}
