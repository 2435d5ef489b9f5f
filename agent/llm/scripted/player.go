package scripted

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// player plays one reply to one client.
type player struct {
	w      http.ResponseWriter
	done   <-chan struct{}
	req    Request
	reply  Reply
	quirks Quirks
	ids    int
}

// wire writes the stages of an answer in the frames of one wire.
type wire interface {
	begin()
	text(s string)
	think(s string)
	call(id, name, args string)
	end(finish string, u Usage)
}

func (p *player) play() {
	if (!p.req.Stream || p.quirks.Whole) && !p.reply.has(stepRaw) {
		p.whole()
		return
	}
	p.w.Header().Set("Content-Type", "text/event-stream")
	var out wire = &chatStream{player: p}
	if p.req.Wire == Responses {
		out = &responseStream{player: p}
	}
	begun := false
	for _, st := range p.reply.steps {
		if spoken := st.kind == stepText || st.kind == stepThink || st.kind == stepCall; spoken && !begun {
			begun = true
			out.begin()
		}
		switch st.kind {
		case stepText:
			out.text(st.text)
		case stepThink:
			out.think(st.text)
		case stepCall:
			out.call(st.id, st.name, st.text)
		case stepPause:
			if !p.sleep(st.pause) {
				return
			}
		case stepRaw:
			p.write(st.text)
		case stepAbort:
			panic(http.ErrAbortHandler)
		case stepCut:
			return
		}
	}
	if p.reply.has(stepRaw) {
		return
	}
	if !begun {
		out.begin()
	}
	if p.quirks.ErrorFrame != "" {
		p.write(": still there\n\n")
		p.frame("", map[string]any{
			"id": "chatcmpl-1", "error": map[string]any{"code": 502, "message": p.quirks.ErrorFrame}, "choices": []any{map[string]any{"finish_reason": "error"}},
		})
		return
	}
	out.end(p.finish(), p.usage())
}

// sleep is false when the client has gone.
func (p *player) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-p.done:
		return false
	}
}

func (p *player) write(s string) {
	_, _ = io.WriteString(p.w, s)
	if f, ok := p.w.(http.Flusher); ok {
		f.Flush()
	}
}

func (p *player) id(prefix string) string {
	p.ids++
	return fmt.Sprintf("%s_%d_%d", prefix, p.req.N, p.ids)
}

func (p *player) finish() string {
	switch {
	case p.reply.finish != "":
		return p.reply.finish
	case p.reply.has(stepCall):
		return "tool_calls"
	}
	return "stop"
}

// usage is what the reply says, else a count of words, which serves as tokens here.
func (p *player) usage() Usage {
	if p.reply.usage != nil {
		return *p.reply.usage
	}
	u := Usage{In: words(p.req.System), Out: 1}
	for _, m := range p.req.Messages {
		u.In += words(m.Text) + 4
	}
	for _, st := range p.reply.steps {
		u.Out += words(st.text)
	}
	return u
}

func words(s string) int { return len(strings.Fields(s)) }
