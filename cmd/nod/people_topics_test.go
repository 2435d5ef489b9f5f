package main

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent/llm/scripted"
	"nod/bot/emulator"
)

// TestRECV12_TheGeneralTopic: messages to it carry no topic, and "typing…" carries its number; other topics get both.
func TestRECV12_TheGeneralTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start()
		team := w.telegram.NewGroup(emulator.GroupOptions{Title: "Team", Forum: true}, ann)
		builds := team.NewTopic(ann, "Builds")
		for topic, want := range map[int]struct{ message, typing string }{
			emulator.General: {"", "1"},
			builds:           {strconv.Itoa(builds), strconv.Itoa(builds)},
		} {
			p := team.Person(ann).In(topic)
			p.SendText("/enroll")
			w.sees(p, "I listen here")
			p.SendText("@nod_bot hello")
			w.model.push(scripted.Say("One moment.").Sleep(3 * time.Second).Say(" Hello."))
			w.sees(p, "One moment. Hello.")
			for method, want := range map[string]string{"sendMessage": want.message, "sendChatAction": want.typing} {
				calls := w.telegram.Calls(method)
				if len(calls) == 0 || calls[len(calls)-1].Params["message_thread_id"] != want {
					t.Errorf("in topic %d the last %s is %v", topic, method, calls[len(calls)-1])
				}
			}
		}
	})
}
