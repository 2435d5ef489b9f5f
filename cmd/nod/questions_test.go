package main

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent/llm/scripted"
	"nod/bot/emulator"
)

// TestWhatWasWrittenBeforeAQuestionIsNotItsAnswer: a message from before, which nod reads after it has asked, goes to the
// agent; one that asks for a secret does not take it away.
func TestWhatWasWrittenBeforeAQuestionIsNotItsAnswer(t *testing.T) {
	for name, ask := range map[string]scripted.Reply{
		"a question": scripted.Call("ask_user_clarification", map[string]any{"title": "Colour", "question": "Which colour?"}),
		"a secret":   scripted.Call("set_secret", map[string]any{"key": "github"}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.start()
				w.model.push(scripted.Call("activate_tools", map[string]any{"groups": []string{"config"}}))
				w.ann.SendText("paint it")
				w.sees(w.ann, "activate_tools")
				w.end()
				m := w.ann.SendText("and call Bob")
				w.telegram.Inject("getUpdates", 1, emulator.Slow(5*time.Second))
				w.model.push(ask)
				w.start()
				time.Sleep(10 * time.Second)
				w.model.push(scripted.Say("Both are done."))
				w.ann.SendText("magenta")
				w.sees(w.ann, "Both are done.")
				requests := w.service.Requests()
				last := requests[len(requests)-1].Messages
				if got := last[len(last)-1].Text; got != "and call Bob" {
					t.Errorf("the model was last told %q", got)
				}
				for _, call := range w.telegram.Calls("deleteMessage") {
					if call.Params["message_id"] == "" || call.Params["message_id"] == fmt.Sprint(m.ID) {
						t.Errorf("it was taken away: %s", call)
					}
				}
			})
		})
	}
}
