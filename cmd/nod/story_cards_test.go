package main

import (
	"slices"
	"strings"
	"testing"

	"nod/agent/llm/scripted"
	"nod/bot/emulator"
)

func TestNOD5_ALongCommandIsApprovedOnItsLastPageOnly(t *testing.T) {
	story(t, func(d *dialog) {
		command := strings.TrimSuffix(strings.Repeat("echo harmless && ", 353), " && ")[:5980] + " ; rm -rf everything"
		d.play("user> run it")
		d.model.push(scripted.Call("execute_cmd", map[string]string{"command": command}))
		d.play("bot< Run this command?")
		var shown strings.Builder
		for {
			card, _ := d.ann.Last()
			shown.WriteString(pageOf(card))
			next := turnButton(card)
			approve := slices.Contains(labels(card), "✅ Approve")
			if approve != (next == "") {
				t.Fatalf("Approve %v, next page %q: %q", approve, next, labels(card))
			}
			if next == "" {
				break
			}
			d.press(d.ann, next)
			d.settle()
		}
		if got := shown.String(); got != command {
			t.Errorf("the pages show %d of %d characters, ending in %q", len(got), len(command), got[max(0, len(got)-40):])
		}
		d.play("press> ❌ Reject\nbot< Rejected by Ann")
		d.model.push(scripted.Say("Then not."))
		d.play("bot< Then not.")
	})
}

// pageOf is the part of a command that a card shows.
func pageOf(m emulator.Message) string {
	for _, e := range m.Entities {
		if e.Type == "pre" {
			return m.Words(e)
		}
	}
	return ""
}

func labels(m emulator.Message) []string { return slices.Concat(m.Keyboard.Labels()...) }

// turnButton is the button that leads to the next page, or "".
func turnButton(m emulator.Message) string {
	for _, l := range labels(m) {
		if strings.HasSuffix(l, "▶") {
			return l
		}
	}
	return ""
}

func TestNOD4_AStrangersPressIsRefused(t *testing.T) {
	story(t, func(d *dialog) {
		d.play("user> write it\nmodel> call write_file {\"path\":\"a.md\",\"content\":\"a\\n\"}\nbot< Create a.md?")
		card, _ := d.ann.Last()
		eve := d.telegram.Private(emulator.User{ID: 666, FirstName: "Eve"})
		answer := d.answerTo(eve.PressData(card.ID, card.Keyboard.Rows[0][0].Data))
		if !answer.Alert {
			t.Errorf("a stranger's press was answered with %+v, not with an alert", answer)
		}
		d.play("file> b.md\n  still pending\npress> ✅ Approve\nmodel> say Written.\nbot< Written.")
		if got := d.read("a.md"); got != "a\n" {
			t.Errorf("after Ann's press the file holds %q", got)
		}
	})
}

func TestNOD6_TwoPressesAtOnceHaveOneEffect(t *testing.T) {
	for range 20 {
		story(t, func(d *dialog) {
			d.play("user> write it\nmodel> call write_file {\"path\":\"a.md\",\"content\":\"a\\n\"}\nbot< Create a.md?")
			card, _ := d.ann.Last()
			var presses []*emulator.Press
			for _, label := range []string{"✅ Approve", "❌ Reject", "✅ Approve"} {
				p, err := d.ann.PressOn(card.ID, label)
				if err != nil {
					t.Fatal(err)
				}
				presses = append(presses, p)
			}
			for _, p := range presses {
				d.answerTo(p)
			}
			d.play("model> say Over.\nbot< Over.\nbot< Approved by Ann")
			if got := d.read("a.md"); got != "a\n" {
				t.Errorf("Approve came first, and the file holds %q", got)
			}
		})
	}
}
