package main

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf16"

	"nod/agent/llm"
	"nod/agent/llm/scripted"
	"nod/bot/emulator"
)

// TestSE9_ACardShowsTheRealCommand: who decides sees what would run, a known secret in it included, since a mask could hide
// what the nod is for. All else that tells of the call is masked: its line in the chat, the log, what the model reads again,
// and what is kept, but for the arguments themselves, which run after a restart.
func TestSE9_ACardShowsTheRealCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.config = func(c *Config) { c.Models[0].APIKey = llm.Secret(canary) }
		w.start()
		command := "echo '" + canary + "' | tee " + base64.StdEncoding.EncodeToString([]byte(canary))
		w.model.push(scripted.Call("execute_cmd", map[string]string{"command": command}))
		w.ann.SendText("go")
		card := w.sees(w.ann, "Run this command?")
		if !strings.Contains(card.Text, command) {
			t.Errorf("the card shows %q", card.Text)
		}
		w.model.push(scripted.Say("I wanted to run " + command))
		w.press(w.ann, "❌ Reject")
		w.sees(w.ann, "I wanted to run echo")

		requests := w.service.Requests()
		places := map[string]string{"the log": w.logs.String(), "the next request": requestText(requests[len(requests)-1])}
		for _, m := range w.ann.Messages() {
			if m.ID != card.ID {
				places["the chat"] += m.Text + "\n"
			}
		}
		for _, call := range w.telegram.Calls() {
			if text := call.Params["text"]; !strings.Contains(text, "Run this command?") {
				places["a call of Telegram"] += fmt.Sprint(call.Params) + "\n"
			}
		}
		w.end()
		places["the database, arguments apart"] = strings.Join(w.rows(), "\n")
		for place, text := range places {
			for _, trace := range traces(canary) {
				if i := strings.Index(text, trace); i >= 0 {
					t.Errorf("%s holds the secret: …%s…", place, text[max(0, i-200):min(len(text), i+60)])
				}
			}
		}
	})
}

// TestTheHostWarningIsBold: that a command is to run outside of the sandbox stands out on its card.
func TestTheHostWarningIsBold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start()
		w.model.push(scripted.Call("execute_cmd", map[string]string{"command": "ls", "access": "host"}))
		w.ann.SendText("go")
		card := w.sees(w.ann, "On the host")
		if want, got := "⚠️ On the host, outside of the sandbox: it can do all that nod's user can.", bold(card); !strings.Contains(got, want+"\n") {
			t.Errorf("in bold is %q", got)
		}
		w.model.push(scripted.Say("Well."))
		w.press(w.ann, "❌ Reject")
		w.sees(w.ann, "Well.")
	})
}

// bold is what stands in bold in a message, a line for each.
func bold(m emulator.Message) (all string) {
	units := utf16.Encode([]rune(m.Text))
	for _, e := range m.Entities {
		if e.Type == "bold" {
			all += string(utf16.Decode(units[e.Offset:e.Offset+e.Length])) + "\n"
		}
	}
	return all
}
