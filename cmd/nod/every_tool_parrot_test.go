package main

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"nod/agent/llm/scripted"
	"nod/tools"
)

// parrot is a model that makes the calls which people write, such as "do list_files {} #key", and then says what came of
// them. It answers by the words of the conversation alone, so that it may be asked again after a kill. Beside that a plain
// yes confirms what gallery_add has asked.
type parrot struct {
	service *scripted.Server
	mu      sync.Mutex
	results map[string][]string // of calls, as the model reads them, by key
	later   chan struct{}       // closed when those may be answered whose task says "later"
}

func newParrot() *parrot {
	p := &parrot{results: map[string][]string{}, later: make(chan struct{})}
	p.service = scripted.New(p.reply).Lanes(firstWords)
	return p
}

var (
	doForm  = regexp.MustCompile(`(?m)\bdo ([a-z_]+) (\{.*)$`)
	keyForm = regexp.MustCompile(`#([a-z_]+)`)
)

// wish is a call that somebody asks for.
type wish struct {
	tool string
	args json.RawMessage
}

func wishIn(text string) (w wish, ok bool) {
	if strings.HasSuffix(strings.TrimSpace(text), "yes") {
		return wish{tools.GalleryAdd, json.RawMessage(`{"action":"confirm"}`)}, true
	}
	m := doForm.FindStringSubmatch(text)
	if m == nil {
		return w, false
	}
	w.tool = m[1]
	return w, json.NewDecoder(strings.NewReader(m[2])).Decode(&w.args) == nil
}

func (p *parrot) reply(r scripted.Request) scripted.Reply {
	if len(r.Tools) == 0 {
		return scripted.Say("A summary.")
	}
	if subAgent(firstWords(r)) && strings.Contains(firstWords(r), "later") {
		select {
		case <-p.later:
		case <-r.Gone:
			return scripted.Fail(500, "gone", "nobody waits for the answer")
		}
	}
	turn := openTurn(r.Messages)
	key := ""
	for _, m := range r.Messages {
		if found := keyForm.FindAllStringSubmatch(m.Text, -1); m.Role == "user" && len(found) > 0 {
			key = found[len(found)-1][1]
		}
	}
	for i, m := range slices.Backward(turn) {
		if w, ok := wishIn(m.Text); ok && m.Role == "user" {
			if !called(turn[i:], w.tool) {
				return scripted.Call(w.tool, w.args)
			}
			break
		}
	}
	told, ok := lastResult(turn)
	switch {
	case !ok:
		return scripted.Say("Nothing to do.")
	case told.tool == tools.TaskCompleted, told.tool == tools.ReadNotification && key != tools.ReadNotification:
		return scripted.Say("Told: " + plainWords(told.text))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.results[key] = append(p.results[key], told.text)
	return scripted.Say("It says: " + plainWords(told.text))
}

// result is what came of a call.
type result struct{ tool, text string }

// lastResult is that of the turn's last call.
func lastResult(turn []scripted.Message) (r result, ok bool) {
	for _, m := range turn {
		switch {
		case m.Role == "assistant" && len(m.Calls) > 0:
			r.tool = m.Calls[len(m.Calls)-1].Name
		case m.Role == "tool":
			r.text, ok = m.Text, true
		}
	}
	return r, ok
}

func called(turn []scripted.Message, tool string) bool {
	return slices.ContainsFunc(turn, func(m scripted.Message) bool {
		return slices.ContainsFunc(m.Calls, func(c scripted.ToolCall) bool { return c.Name == tool })
	})
}

// plainWords are the first words of a text without what Markdown would take for something else.
func plainWords(text string) string {
	kept := strings.Map(func(r rune) rune {
		if strings.ContainsRune("*_`~[]<>#|\\\n", r) {
			return ' '
		}
		return r
	}, text)
	return string([]rune(kept)[:min(200, len([]rune(kept)))])
}

// read gives what the model has read under a key.
func (p *parrot) read(key string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.results[key])
}

// someMedia is what the services for speech and pictures answer.
var someMedia = scripted.Media{Speech: []byte("OggS\x00\x02 a made-up page OpusHead\x01"), Picture: blankPNG(640, 480)}
