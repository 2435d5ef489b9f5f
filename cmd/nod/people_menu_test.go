package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"nod/bot/emulator"
)

// TestRECV8_TheCommandMenu: it lists the bot's commands and then the custom ones, as far as there is room. Names that
// Telegram does not take are left out with a warning, and the bot starts.
func TestRECV8_TheCommandMenu(t *testing.T) {
	builtIn := []string{
		"help", "new", "stop", "pending", "jobs", "models", "model", "context", "cost", "compact", "tools", "grants", "rules", "profile", "resettools", "sethome", "enroll",
		"leave", "status", "id",
	}
	for name, custom := range map[string]int{"few": 3, "101 and more": 101} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				want := builtIn
				for n := range custom {
					name := fmt.Sprintf("custom%03d", n)
					w.custom(name)
					want = append(want, name)
				}
				bad := []string{strings.Repeat("x", 33), "Capitals", "with-dash", "ünicode"}
				for _, name := range bad {
					w.custom(name)
				}
				w.start()
				ctx, cancel := w.within()
				defer cancel()
				call, err := w.telegram.WaitCall(ctx, emulator.Method("setMyCommands"))
				if err != nil {
					t.Fatal(err)
				}
				var menu []emulator.Command
				if err := json.Unmarshal([]byte(call.Params["commands"]), &menu); err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, c := range menu {
					got = append(got, c.Name)
					if c.Description == "" {
						t.Errorf("/%s has no description", c.Name)
					}
				}
				if diff := cmp.Diff(want[:min(len(want), 100)], got); diff != "" {
					t.Error(diff)
				}
				for _, name := range bad {
					if !strings.Contains(w.logs.String(), name) {
						t.Errorf("nothing warns of %q", name)
					}
				}
				w.ann.SendText(fmt.Sprintf("/custom%03d", custom-1))
				w.asked(fmt.Sprintf("Do custom%03d.", custom-1))
			})
		})
	}
}

// custom writes a custom command.
func (w *world) custom(name string) {
	w.t.Helper()
	dir := filepath.Join(w.home, "commands", name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "COMMAND.md"), []byte("Do "+name+"."), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// asked waits until the model is asked with a text.
func (w *world) asked(text string) {
	w.t.Helper()
	ctx, cancel := w.within()
	defer cancel()
	err := w.telegram.Wait(ctx, func() bool {
		for _, r := range w.service.Requests() {
			if strings.Contains(r.LastUser(), text) {
				return true
			}
		}
		return false
	})
	if err != nil {
		w.t.Fatalf("waiting for the model to be asked %q: %v", text, err)
	}
}
