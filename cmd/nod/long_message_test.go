package main

import (
	"strings"
	"testing"
	"testing/synctest"

	"nod/agent/llm/scripted"
	"nod/bot/emulator"
)

// TestSTOP3_SplitTextsCountWhole sends what Telegram splits, wherever a text means something: all of it counts.
func TestSTOP3_SplitTextsCountWhole(t *testing.T) {
	long := strings.Repeat("word ", 1200) + "and the end of it"
	tests := []struct {
		name  string
		asks  scripted.Reply // what the model waits for; empty: nothing
		shown string
		reply bool
		text  string
	}{
		{"a message", scripted.Reply{}, "", false, long},
		{"an answer", scripted.Call("ask_user_clarification", `{"title":"T","question":"Which one?"}`), "Which one?", false, long},
		{"a reply to a question", scripted.Call("ask_user_clarification", `{"title":"T","question":"Which one?"}`), "Which one?", true, long},
		{"a reason", scripted.Call("write_file", `{"path":"a.txt","content":"x"}`), "a.txt", true, long},
		{"a custom command", scripted.Reply{}, "", false, "/shorten " + long},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				d := newDialog(t, w)
				d.writeHome("commands/shorten/COMMAND.md", []byte("Make this short: {{args}}\n"))
				w.start()
				var opts []emulator.Option
				if tt.shown != "" {
					w.ann.SendText("go on")
					w.model.push(tt.asks)
					card := w.sees(w.ann, tt.shown)
					d.settle() // nobody is as fast as its record
					if tt.reply {
						opts = append(opts, emulator.ReplyTo(card.ID))
					}
				}
				w.ann.SendText(tt.text, opts...)
				w.model.push(scripted.Say("understood"))
				w.sees(w.ann, "understood")
				d.settle()
				requests := w.service.Requests()
				if last := string(requests[len(requests)-1].Body); strings.Count(last, "word ") != 1200 || !strings.Contains(last, "and the end of it") {
					t.Errorf("the model was told a part of it: %d words", strings.Count(last, "word "))
				}
				if strings.Contains(w.ann.Transcript(), "👀") {
					t.Errorf("a part of it was taken for a message:\n%s", w.ann.Transcript())
				}
				if tt.name == "a custom command" && !d.hasAsked("Make this short: word") {
					t.Error("the command was sent as it stands")
				}
			})
		})
	}
}

// TestSTOP3_AFileInAReplyIsKept replies to what waits with a file: the words are the decision, the file goes with it.
func TestSTOP3_AFileInAReplyIsKept(t *testing.T) {
	tests := []struct {
		name, shown, told string
		asks              scripted.Reply
	}{
		{"to a card", "a.txt", "User rejected this tool call. Reason: like this", scripted.Call("write_file", `{"path":"a.txt","content":"x"}`)},
		{"to a question", "Which one?", "The user answered: like this", scripted.Call("ask_user_clarification", `{"title":"T","question":"Which one?"}`)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				d := newDialog(t, w)
				w.start()
				w.ann.SendText("go on")
				w.model.push(tt.asks)
				card := w.sees(w.ann, tt.shown)
				d.settle()
				w.ann.SendDocument(emulator.Upload{Name: "sample.txt", Data: []byte("s")}, emulator.ReplyTo(card.ID), emulator.Caption("like this"))
				w.model.push(scripted.Say("understood"))
				w.sees(w.ann, "understood")
				d.asked(tt.told)
				d.asked("sample.txt")
				if n := w.model.left(); n != 0 {
					t.Errorf("%d answers of the model were not asked for", n)
				}
			})
		})
	}
}
