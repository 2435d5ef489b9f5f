package emulator

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// pageState is what a browser has to know: everything at first, later what changed since a revision.
type pageState struct {
	Messages []pageMessage `json:"messages,omitempty"`
	Gone     []int         `json:"gone,omitempty"`
	Chat     pageChat      `json:"chat"`
	rev      uint64
}

// pageChat is what surrounds the messages; it is sent whole each time.
type pageChat struct {
	Me       User       `json:"me"`
	Bot      User       `json:"bot"`
	Notice   string     `json:"notice,omitempty"`
	Suggest  []string   `json:"suggest,omitempty"`
	Action   string     `json:"action,omitempty"`
	Until    int64      `json:"until,omitempty"` // when the action ends, Unix milliseconds
	Draft    *pageDraft `json:"draft,omitempty"`
	Commands []Command  `json:"commands"`
	Replies  *Replies   `json:"replies,omitempty"`
	Pinned   []int      `json:"pinned,omitempty"`
}

type pageDraft struct {
	Text     string   `json:"text"`
	Entities []Entity `json:"entities,omitempty"`
	CanStop  bool     `json:"can_stop"`
	Until    int64    `json:"until"`
}

type pageMessage struct {
	Message
	Mine      bool           `json:"mine"`
	Silent    bool           `json:"silent"`
	Rich      string         `json:"rich,omitempty"` // in place of the blocks
	Reactions []pageReaction `json:"reactions,omitempty"`
}

type pageReaction struct {
	Emoji string `json:"emoji"`
	Mine  bool   `json:"mine"`
}

// state collects what changed after rev; s.mu is held.
func (g *page) state(rev uint64) pageState {
	p := g.person
	c := p.chat
	st := pageState{rev: p.s.rev}
	for _, m := range c.messages {
		if k := c.marks[m.ID]; k.rev > rev && p.sees(m) {
			st.Messages = append(st.Messages, g.message(m, k))
		}
	}
	for _, gone := range c.gone {
		if gone.rev > rev && rev > 0 {
			st.Gone = append(st.Gone, gone.id)
		}
	}
	st.Chat = pageChat{
		Me: p.user, Bot: p.s.bot, Notice: g.opts.Notice, Suggest: g.opts.Suggestions, Commands: p.s.commandsFor(c, p.user), Replies: c.keyboards[p.thread],
		Pinned: slices.Clone(c.pinned),
	}
	now := time.Now()
	if a := c.activity; now.Before(a.until) {
		st.Chat.Action, st.Chat.Until = a.kind, a.until.UnixMilli()
	}
	if d := c.draft; d != nil && now.Before(d.until) {
		st.Chat.Draft = &pageDraft{d.Text, d.Entities, d.CanStop, d.until.UnixMilli()}
	}
	return st
}

func (g *page) message(m *Message, k mark) pageMessage {
	out := pageMessage{Message: *m, Mine: m.From != nil && m.From.ID == g.person.user.ID, Silent: m.Silent}
	if m.Rich != nil {
		out.Rich = m.Rich.Source
	}
	for _, u := range slices.Sorted(maps.Keys(k.reactions)) {
		for _, e := range k.reactions[u] {
			out.Reactions = append(out.Reactions, pageReaction{e, u == g.person.user.ID})
		}
	}
	return out
}

const keepAlive = 15 * time.Second

// events streams the state as server-sent events: all of it first, or what changed since Last-Event-ID, then each change.
func (g *page) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	rev, _ := strconv.ParseUint(r.Header.Get("Last-Event-ID"), 10, 64)
	out := http.NewResponseController(w)
	ticker := time.NewTicker(keepAlive)
	defer ticker.Stop()
	s := g.person.s
	var shown []byte // the chat part as it was sent last
	for {
		s.mu.Lock()
		st, changed := g.state(rev), s.changed
		s.mu.Unlock()
		around, err := json.Marshal(st.Chat)
		if err != nil {
			return // a page's own types always encode
		}
		if len(st.Messages)+len(st.Gone) > 0 || string(around) != string(shown) {
			body, err := json.Marshal(st)
			if err != nil {
				return
			}
			if _, err := fmt.Fprintf(w, "id: %d\ndata: %s\n\n", st.rev, body); err != nil || out.Flush() != nil {
				return
			}
			shown = around
		}
		rev = st.rev
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		case <-ticker.C:
			if _, err := fmt.Fprint(w, ": still here\n\n"); err != nil || out.Flush() != nil {
				return
			}
		}
	}
}
