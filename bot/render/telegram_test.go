package render

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"nod/bot/emulator"
)

// telegram sends messages to a strict Bot API server, which shares no code with this package.
type telegram struct {
	server *emulator.Server
	chat   int64
}

func newTelegram() telegram {
	server := emulator.New(emulator.Options{KeepCalls: 1})
	ann := server.Private(emulator.User{ID: 101, FirstName: "Ann"})
	ann.SendText("/start") // a bot can't begin a conversation
	return telegram{server, ann.ChatID()}
}

// message is what arrives of a text.
type arrived struct {
	Text     string            `json:"text"`
	Entities []emulator.Entity `json:"entities"`
}

// send reports what people see, or fails the test with the server's refusal.
func (tg telegram) send(t *testing.T, html string) arrived {
	t.Helper()
	body, err := json.Marshal(map[string]any{"chat_id": tg.chat, "text": html, "parse_mode": "HTML"})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPost, "/bot"+emulator.Token+"/sendMessage", strings.NewReader(string(body)))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	tg.server.ServeHTTP(w, r)
	var reply struct {
		OK          bool    `json:"ok"`
		Description string  `json:"description"`
		Result      arrived `json:"result"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	if !reply.OK {
		t.Fatalf("Telegram refuses %q: %s", html, reply.Description)
	}
	return reply.Result
}

// part holds one part to the limits, with the margins that a message should keep, and reports what arrives.
func (tg telegram) part(t *testing.T, p Part) arrived {
	t.Helper()
	m := tg.send(t, p.HTML)
	entities := strings.Count(p.HTML, "<") - strings.Count(p.HTML, "</") - strings.Count(p.HTML, "<code class=")
	for name, over := range map[string]bool{
		"4096 code points":              utf8.RuneCountInString(m.Text) > 4096,
		"32768 bytes":                   len(p.HTML) > 32768,
		"90 entities":                   entities > 90,
		"4096 code points of the plain": utf8.RuneCountInString(p.Plain) > 4096,
		"UTF-8":                         !utf8.ValidString(p.HTML) || !utf8.ValidString(p.Plain),
	} {
		if over {
			t.Errorf("over the limit of %s: %d code points, %d bytes, %d entities", name, utf8.RuneCountInString(m.Text), len(p.HTML), entities)
		}
	}
	return m
}
