package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent/llm/scripted"
	"nod/bot/emulator"
)

// nowhere fails where a text is read that only a person and the vault may know.
func (w *world) nowhere(canary string) {
	w.t.Helper()
	for _, r := range w.service.Requests() {
		if strings.Contains(requestText(r)+r.System, canary) {
			w.t.Errorf("the model reads %q", canary)
		}
	}
	if strings.Contains(w.logs.String(), canary) {
		w.t.Errorf("the log holds %q", canary)
	}
	w.end()
	db, err := os.ReadFile(filepath.Join(w.home, databaseName))
	if err != nil {
		w.t.Fatal(err)
	}
	if strings.Contains(string(db), canary) {
		w.t.Errorf("the database holds %q", canary)
	}
}

// TestSE9_AnEditOfATypedSecretIsNoMessage: who has mistyped a secret and corrects it before the message is deleted does not
// tell the model.
func TestSE9_AnEditOfATypedSecretIsNoMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start()
		w.telegram.Inject("deleteMessage", 1, emulator.RetryAfter(5))
		w.model.push(scripted.Call("activate_tools", map[string]any{"groups": []string{"config"}}), scripted.Call("set_secret", map[string]any{"key": "github"}))
		w.model.answer(func(scripted.Request) scripted.Reply {
			time.Sleep(3 * time.Second)
			return scripted.Call("list_secrets", map[string]any{})
		})
		w.model.push(scripted.Say("It is kept."), scripted.Say("More."))
		w.ann.SendText("keep my token")
		w.sees(w.ann, "Send its value as your next message.")
		m := w.ann.SendText("gh-canary-17f41a")
		time.Sleep(time.Second)
		if err := w.ann.Edit(m.ID, "gh-canary-27f41b"); err != nil {
			t.Fatal(err)
		}
		w.sees(w.ann, "It is kept.")
		time.Sleep(time.Minute)
		if all := w.ann.Transcript(); strings.Contains(all, "canary") {
			t.Errorf("the chat shows it: %s", all)
		}
		w.sees(w.ann, "A secret counts as it was sent first")
		w.nowhere("27f41b")
	})
}

// TestSE9_ATypedSecretAnswersWhatAsksForOne: where a question that was put earlier waits too, the secret is not taken for
// its answer, which the model reads.
func TestSE9_ATypedSecretAnswersWhatAsksForOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start()
		w.model.push(
			scripted.Call("activate_tools", map[string]any{"groups": []string{"config"}}),
			scripted.Say("").Call("ask_user_clarification", map[string]any{"title": "Colour", "question": "Which colour?"}).Call("set_secret", map[string]any{"key": "github"}),
			scripted.Say("Both are kept."),
		)
		w.ann.SendText("keep my token")
		w.sees(w.ann, "Which colour?")
		w.sees(w.ann, "Send its value as your next message.")
		w.ann.SendText("gh-canary-27f41b")
		time.Sleep(time.Second)
		w.ann.SendText("red")
		w.sees(w.ann, "Both are kept.")
		w.nowhere("27f41b")
	})
}

// TestSE9_AReplyToAClosedQuestionForASecretIsNoMessage: it may be the secret, which came after a /stop, after the question had
// expired, or a second time.
func TestSE9_AReplyToAClosedQuestionForASecretIsNoMessage(t *testing.T) {
	for name, closes := range map[string]func(*world){
		"stopped": func(w *world) {
			w.ann.SendText("/stop")
			w.sees(w.ann, "⏹ Stopped.")
		},
		"answered": func(w *world) {
			w.model.push(scripted.Say("It is kept."))
			w.ann.SendText("gh-canary-27f41b")
			w.sees(w.ann, "It is kept.")
		},
		"expired": func(w *world) {
			w.model.push(scripted.Say("Nobody answered."))
			time.Sleep(25 * time.Hour)
			w.sees(w.ann, "Nobody answered.")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.start()
				w.model.push(scripted.Call("activate_tools", map[string]any{"groups": []string{"config"}}), scripted.Call("set_secret", map[string]any{"key": "github"}))
				w.ann.SendText("keep my token")
				card := w.sees(w.ann, "Send its value as your next message.")
				closes(w)
				w.ann.SendText("gh-canary-17f41a", emulator.ReplyTo(card.ID))
				w.sees(w.ann, "This question is closed.")
				w.model.push(scripted.Say("You are welcome."))
				w.ann.SendText("thanks")
				w.sees(w.ann, "You are welcome.")
				if all := w.ann.Transcript(); strings.Contains(all, "canary") {
					t.Errorf("the chat shows it: %s", all)
				}
				w.nowhere("17f41a")
			})
		})
	}
}

// TestSE9_ASecretThatAStopOvertookShowsNowhere: it was typed while nod was away, and below it a /stop took the question back.
func TestSE9_ASecretThatAStopOvertookShowsNowhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start()
		w.model.push(scripted.Call("activate_tools", map[string]any{"groups": []string{"config"}}), scripted.Call("set_secret", map[string]any{"key": "github"}))
		w.ann.SendText("keep my token")
		w.sees(w.ann, "Send its value as your next message.")
		w.end()
		time.Sleep(time.Minute)
		w.ann.SendText("gh-canary-17f41a")
		w.ann.SendText("/stop")
		w.start()
		w.sees(w.ann, "deleted and kept nowhere")
		w.model.push(scripted.Say("You are welcome."))
		w.ann.SendText("thanks")
		w.sees(w.ann, "You are welcome.")
		time.Sleep(time.Minute)
		if all := w.ann.Transcript(); strings.Contains(all, "canary") {
			t.Errorf("the chat shows it: %s", all)
		}
		w.nowhere("17f41a")
	})
}
