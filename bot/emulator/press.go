package emulator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// How long a press can be answered, and how long its answer may be. The window is an estimate: Telegram says only that it
// is some tens of seconds.
const (
	answerWindow  = 60 * time.Second
	maxAnswerText = 200
)

// press is a callback query. Server.mu guards it.
type press struct {
	id       string
	born     time.Time
	answered bool
	answer   Answer
}

// Answer is what the person sees after a press: nothing but the end of the progress bar, a notice, or an alert.
type Answer struct {
	Text  string `json:"text,omitempty"`
	Alert bool   `json:"alert,omitempty"`
	URL   string `json:"url,omitempty"`
}

// Press is a press of a callback button.
type Press struct {
	ID string // of the callback query
	s  *Server
}

// Answer waits until the bot has answered the press.
func (p *Press) Answer(ctx context.Context) (a Answer, err error) {
	err = p.s.wait(ctx, func() bool {
		pr := p.s.presses[p.ID]
		a = pr.answer
		return pr.answered
	})
	if err != nil {
		return Answer{}, fmt.Errorf("waiting for the answer to press %s: %w", p.ID, err)
	}
	return a, nil
}

func (s *Server) answerCallbackQuery(q *request) (any, *apiError) {
	pr := s.presses[q.text("callback_query_id")]
	if pr == nil || pr.answered || time.Since(pr.born) > answerWindow {
		return nil, badRequest("query is too old and response timeout expired or query ID is invalid")
	}
	text := strings.TrimSpace(q.text("text"))
	if utf8.RuneCountInString(text) > maxAnswerText {
		return nil, badRequest("MESSAGE_TOO_LONG")
	}
	if u := q.text("url"); u != "" && checkedLink(u) == "" {
		return nil, badRequest("URL_INVALID")
	}
	pr.answered = true
	pr.answer = Answer{text, q.flag("show_alert"), q.text("url")}
	s.note()
	return true, nil
}

// Press presses the button with that label, or callback data, on the newest message of the chat and topic that has one.
func (p *Person) Press(label string) (*Press, error) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	var seen []string
	for _, m := range slices.Backward(p.chat.messages) {
		if !p.sees(m) {
			continue
		}
		if b, ok := m.Keyboard.find(label); ok {
			return p.press(m, b)
		}
		for _, row := range m.Keyboard.Labels() {
			seen = append(seen, row...)
		}
	}
	return nil, fmt.Errorf("pressing %q: no such button, there is %q", label, seen)
}

// PressOn presses the button with that label, or callback data, on one message.
func (p *Person) PressOn(message int, label string) (*Press, error) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	m := p.chat.find(message)
	if m == nil {
		return nil, fmt.Errorf("pressing %q: there is no message %d", label, message)
	}
	b, ok := m.Keyboard.find(label)
	if !ok {
		return nil, fmt.Errorf("pressing %q: message %d has %q", label, message, m.Keyboard.Labels())
	}
	return p.press(m, b)
}

// PressData sends a callback query with any data for a message, as a modified client can: the message need not have such
// a button, and need not exist any more.
func (p *Person) PressData(message int, data string) *Press {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	m := p.chat.find(message)
	if m == nil {
		m = &Message{ID: message, Chat: p.chat.Chat} // with date 0, which marks an inaccessible message
	}
	return p.query(m, data)
}

func (p *Person) press(m *Message, b Button) (*Press, error) {
	if b.Data == "" {
		return nil, fmt.Errorf("pressing %q: it is not a callback button", b.Text)
	}
	return p.query(m, b.Data), nil
}

func (p *Person) query(m *Message, data string) *Press {
	p.s.pressN++
	pr := &press{id: fmt.Sprint(4_000_000_000 + p.s.pressN), born: time.Now()}
	p.s.presses[pr.id] = pr
	p.s.push("callback_query", struct {
		ID       string   `json:"id"`
		From     User     `json:"from"`
		Message  *Message `json:"message"`
		Instance string   `json:"chat_instance"`
		Data     string   `json:"data"`
	}{pr.id, p.user, m, fmt.Sprint(1_000_000 + p.chat.ID), data}, pr.born, pressLife)
	return &Press{pr.id, p.s}
}
