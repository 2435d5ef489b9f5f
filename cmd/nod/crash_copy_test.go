package main

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"nod/agent/llm/scripted"
	"nod/bot/emulator"
	"nod/tools"
)

// TestNOD2_BothCopiesOfACardTellTheTruth loses the answer to a card's sending, so that it is sent again, and presses the
// copy that nod does not know of.
func TestNOD2_BothCopiesOfACardTellTheTruth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start()
		card := func(c emulator.Call) bool { return c.Params["reply_markup"] != "" }
		w.telegram.InjectWhen("sendMessage", 1, card, emulator.DropAfter())
		w.model.push(scripted.Call(tools.WriteFile, map[string]any{"path": "a.txt", "content": "a"}), scripted.Say("Written."))
		w.ann.SendText("write it")
		copies := w.buttons(2)
		if _, err := w.ann.PressOn(copies[0], "✅ Approve"); err != nil {
			t.Fatal(err)
		}
		w.sees(w.ann, "Written.")
		w.buttons(0)
		for _, m := range w.ann.Messages() {
			if slices.Contains(copies, m.ID) && !strings.Contains(m.Shown(), "✅ Approved") {
				t.Errorf("a copy of the card says %q", m.Shown())
			}
		}
		w.end()
	})
}

// buttons waits until that many messages of Ann's chat can be decided on.
func (w *world) buttons(n int) (ids []int) {
	w.t.Helper()
	ctx, cancel := w.within()
	defer cancel()
	err := w.telegram.Wait(ctx, func() bool {
		ids = nil
		for _, m := range w.ann.Messages() {
			if slices.Contains(slices.Concat(m.Keyboard.Labels()...), "✅ Approve") {
				ids = append(ids, m.ID)
			}
		}
		return len(ids) == n
	})
	if err != nil {
		w.t.Fatalf("waiting for %d messages with buttons: %v; the chat:\n%s", n, err, w.ann.Transcript())
	}
	return ids
}
