package main

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent/llm"
	"nod/agent/llm/scripted"
)

// TestSE9_WhatAgentsTellEachOtherHoldsNoSecret: the title of a task, what a notification comes from, and what both say are
// masked in the chat, in the transcripts and in what other agents read, in each encoding.
func TestSE9_WhatAgentsTellEachOtherHoldsNoSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.config = func(c *Config) { c.Models[0].APIKey = llm.Secret(canary) }
		w.start()
		for name, encode := range encodings {
			secret := encode(canary)
			task := map[string]any{"mode": "async", "agent_id": "generalist", "title": "dig " + secret, "description": name + secret, "prompt": "Dig with " + secret}
			w.model.push(scripted.Call("execute_task", task), scripted.Say("It is under way: "+name+"."))
			w.ann.SendText("go")
			w.sees(w.ann, "It is under way: "+name+".")
			w.model.answerOnly("[The agent main", func(scripted.Request) scripted.Reply {
				return scripted.Call("notify", map[string]any{"source": "pit " + secret, "summary": "deep " + secret, "event_type": secret, "refs": []string{secret}})
			})
			w.model.push(scripted.Call("write_file", map[string]any{"path": name + ".txt", "content": "x"}))
			w.sees(w.ann, "Create "+name+".txt")
			w.model.push(scripted.Say("Told: " + name + "."))
			w.press(w.ann, "✅ Approve")
			w.sees(w.ann, "Told: "+name+".")
			w.model.answerOnly("[The agent main", func(scripted.Request) scripted.Reply { return scripted.Fail(400, "bad", "no "+secret) })
			w.model.push(scripted.Say("It failed: " + name + "."))
			w.sees(w.ann, "It failed: "+name+".")
			time.Sleep(time.Minute)
		}
		places := map[string]string{"the chat": w.ann.Transcript(), "the log": w.logs.String()}
		for _, r := range w.service.Requests() {
			places["a request"] += requestText(r) + r.System
		}
		for _, c := range w.telegram.Calls() {
			places["a call of Telegram"] += fmt.Sprint(c.Params)
		}
		for place, text := range places {
			for _, trace := range traces(canary) {
				if i := strings.Index(text, trace); i >= 0 {
					t.Errorf("%s holds the secret: …%s…", place, text[max(0, i-80):min(len(text), i+60)])
				}
			}
		}
	})
}

// TestSE9_QuestionsHoldNoSecret: what an agent asks a person is masked as an answer is, with what it offers to choose from.
func TestSE9_QuestionsHoldNoSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.config = func(c *Config) { c.Models[0].APIKey = llm.Secret(canary) }
		w.start()
		for name, encode := range encodings {
			secret := encode(canary)
			w.model.push(scripted.Call("ask_user_clarification", map[string]any{
				"title": name + secret, "question": "Is it " + secret + "?", "suggested_answers": []string{"it is " + secret, "Yes, " + name},
			}))
			w.model.push(scripted.Say("Thanks, " + name + "."))
			w.ann.SendText("go")
			w.press(w.ann, "Yes, "+name)
			w.sees(w.ann, "Thanks, "+name+".") // of two names, one begins the other
		}
		for _, c := range w.telegram.Calls() {
			for _, trace := range traces(canary) {
				if strings.Contains(fmt.Sprint(c.Params), trace) {
					t.Errorf("the chat holds the secret: %s", c)
				}
			}
		}
	})
}

// TestSE9_CaptionsHoldNoSecret: what stands under a file is masked as an answer is.
func TestSE9_CaptionsHoldNoSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.config = func(c *Config) { c.Models[0].APIKey = llm.Secret(canary) }
		w.write("a.txt", "x")
		w.start()
		for name, encode := range encodings {
			w.model.push(scripted.Call("send_attachment", map[string]any{"file_path": "a.txt", "caption": name + " " + encode(canary)}))
			w.model.push(scripted.Say("Sent, " + name + "."))
			w.ann.SendText("go")
			w.sees(w.ann, "Sent, "+name+".")
		}
		sent := 0
		for _, c := range w.telegram.Calls("sendDocument") {
			sent++
			for _, trace := range traces(canary) {
				if strings.Contains(c.Params["caption"], trace) {
					t.Errorf("the chat holds the secret: %s", c)
				}
			}
		}
		if sent != len(encodings) {
			t.Errorf("%d files were sent", sent)
		}
	})
}
