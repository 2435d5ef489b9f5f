package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"nod/agent/llm/scripted"
	"nod/bot/emulator"
)

// TestRECV2_AFileThatWasBeingFetchedWhenNodEnded is fetched by the next start, and the person is not asked to send it again.
func TestRECV2_AFileThatWasBeingFetchedWhenNodEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.telegram.Inject("getFile", 1, emulator.Hang())
		w.start()
		w.ann.SendDocument(emulator.Upload{Name: "list.txt", Data: []byte("milk\n")}, emulator.Caption("look"))
		synctest.Wait()
		w.end()
		if last, ok := w.ann.Last(); ok {
			t.Errorf("before the end nod said %q", last.Shown())
		}
		var seen string
		w.model.answer(func(r scripted.Request) scripted.Reply {
			seen = r.LastUser()
			return scripted.Say("I see it.")
		})
		w.start()
		w.sees(w.ann, "I see it.")
		saved, err := filepath.Glob(filepath.Join(w.workspace, "uploads", "*"))
		if err != nil || len(saved) != 1 || !strings.Contains(seen, filepath.Base(saved[0])) || !strings.Contains(seen, "look") {
			t.Fatalf("saved %q, %v; the model was told %q", saved, err, seen)
		}
		if raw, err := os.ReadFile(saved[0]); err != nil || string(raw) != "milk\n" {
			t.Errorf("the file holds %q, %v", raw, err)
		}
		w.end()
	})
}
