package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent/llm/scripted"
	"nod/bot/emulator"
	"nod/tools"
)

// referring is a nod.yaml whose model is let in by secrets that were typed into the chat.
const referring = `
models:
  - name: scripted
    base_url: http://model.invalid/v1
    api_key: ${secret:my_key}
    context_window: 128000
    headers: {X-Team: "${secret:team}", X-Plain: "as it is"}
`

// modelsOf has nod use the models of a nod.yaml from its next start on.
func (w *world) modelsOf(file string) {
	w.t.Helper()
	newDialog(w.t.(*testing.T), w).writeHome("nod.yaml", []byte(file))
	env := map[string]string{"TELEGRAM_BOT_TOKEN": emulator.Token, "NOD_HOME": w.home, "NOD_WORKSPACE": w.workspace}
	loaded, err := loadConfig(func(name string) string { return env[name] }, true)
	if err != nil {
		w.t.Fatal(err)
	}
	w.config = func(c *Config) {
		c.Models = loaded.Models
		c.Models[0].Wire = w.wire
	}
}

// TestSE9_SecretsOfTheChatLetInToTheModel: after the next start a service is sent the values of secrets that nod.yaml refers
// to, in the key and in a header, and neither the chat nor the log tells them.
func TestSE9_SecretsOfTheChatLetInToTheModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDialog(t, newWorld(t))
		d.start()
		const key, team = "sk-chat-canary-17f41", "team-canary/9x+41"
		d.play(`user> keep my keys
model> call activate_tools {"groups":["config"]}
model> call set_secret {"key":"my_key"}
bot< A secret: my_key
user> ` + key + `
model> call set_secret {"key":"team"}
bot< A secret: team
user> ` + team + `
model> say They are kept.
bot< They are kept.
stop`)
		before := len(d.service.Requests())
		d.modelsOf(referring)
		d.start()
		d.play("user> who am I?\nmodel> say \"You are " + team + " with " + key + "\"\nbot< You are [secret] with [secret]")
		requests := d.service.Requests()[before:]
		if len(requests) != 1 {
			t.Fatalf("%d requests", len(requests))
		}
		for name, want := range map[string]string{"Authorization": "Bearer " + key, "X-Team": team, "X-Plain": "as it is"} {
			if got := requests[0].Header.Get(name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		d.nowhere(key)
		if strings.Contains(d.logs.String(), team) {
			t.Error("the log tells the header")
		}
	})
}

// TestSE9_AMissingSecretEndsTheStart: nod does not go on with a key that is none. All that is missing is named at once.
func TestSE9_AMissingSecretEndsTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.modelsOf(referring)
		cfg := Config{Token: emulator.Token, API: "http://telegram.invalid", Home: w.home, Workspace: w.workspace, Zone: time.UTC, Profile: tools.BusinessProfile}
		w.config(&cfg)
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		err := run(ctx, wiring{
			config: cfg, log: slog.New(slog.NewTextHandler(w.logs, nil)), notice: w.terminal,
			telegram: emulator.Transport(w.telegram), model: scripted.Transport(w.service),
		})
		for _, want := range []string{
			"the api_key of model scripted refers to the secret my_key, which is not stored",
			"the header X-Team of model scripted refers to the secret team, which is not stored",
		} {
			if !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("the start ends with %v, want %q", err, want)
			}
		}
		if calls := w.telegram.Calls("getUpdates"); len(calls) > 0 || len(w.service.Requests()) > 0 {
			t.Errorf("it began: %d polls", len(calls))
		}
	})
}
