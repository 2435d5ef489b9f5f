package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/agent/llm/scripted"
	"nod/bot/emulator"
)

func TestSEND1_AnAnswerOf5000CharactersIsTwoMessages(t *testing.T) {
	story(t, func(d *dialog) {
		text := words(5000)
		d.play("user> tell me everything")
		d.model.push(scripted.Say(text))
		d.play("bot< " + text[4950:])
		d.settle()
		got := d.said()
		if len(got) != 2 {
			t.Fatalf("%d messages instead of 2", len(got))
		}
		if diff := cmp.Diff(unspaced(text), unspaced(got[0].Shown()+got[1].Shown())); diff != "" {
			t.Error(diff)
		}
		if quiet := d.silent("sendMessage"); !cmp.Equal(quiet, []bool{false, true}) {
			t.Errorf("silent: %v; the first part alone makes a sound", quiet)
		}
	})
}

// silent says of each finished call whether it made no sound.
func (d *dialog) silent(methods ...string) (list []bool) {
	for _, c := range d.telegram.Calls(methods...) {
		list = append(list, c.Params["disable_notification"] == "true")
	}
	return list
}

func TestSEND1_AnAnswerOf40000CharactersIsASummaryAndAFile(t *testing.T) {
	story(t, func(d *dialog) {
		text := "# Everything\n\n" + words(40_000)
		d.play("user> tell me everything")
		d.model.push(scripted.Say(text))
		d.play("bot< Everything")
		d.settle()
		got := d.said()
		if len(got) != 2 {
			t.Fatalf("%d messages instead of 2:\n%s", len(got), d.ann.Transcript())
		}
		if head := got[0].Shown(); !strings.Contains(head, "answer.md") || len([]rune(head)) > 4096 {
			t.Errorf("the first message does not say where the rest is: %q", head)
		}
		name, data, _ := d.telegram.File(got[1].FileID())
		if diff := cmp.Diff(text, string(data)); diff != "" || name != "answer.md" {
			t.Errorf("the file is %q: %s", name, diff)
		}
		if quiet := d.silent("sendMessage", "sendDocument"); !cmp.Equal(quiet, []bool{false, true}) {
			t.Errorf("silent: %v; the summary alone makes a sound", quiet)
		}
	})
}

func TestSEND1_AStreamedLongAnswerIsNeverSentTwice(t *testing.T) {
	story(t, func(d *dialog) {
		text := words(9000)
		d.play("user> tell me everything")
		reply := scripted.Reply{}
		for i := 0; i < len(text); i += 1000 {
			reply = reply.Say(text[i:min(i+1000, len(text))]).Sleep(1e9)
		}
		d.model.push(reply)
		d.play("bot< " + text[8960:])
		d.settle()
		var all strings.Builder
		for _, m := range d.said() {
			all.WriteString(m.Shown())
		}
		if diff := cmp.Diff(unspaced(text), unspaced(all.String())); diff != "" {
			t.Error(diff)
		}
	})
}

func TestSEND3_FormattingGoesOnBehindACut(t *testing.T) {
	for name, wrap := range map[string][2]string{
		"bold": {"**", "**"},
		"pre":  {"```go\n", "\n```"},
	} {
		t.Run(name, func(t *testing.T) {
			story(t, func(d *dialog) {
				text := strings.Repeat("a & b < c 👩‍👩‍👧 ", 500)[:6000]
				text = strings.ToValidUTF8(strings.TrimSpace(text), "")
				d.play("user> format it")
				d.model.push(scripted.Say(wrap[0] + text + wrap[1]))
				d.settle()
				var all strings.Builder
				for _, m := range d.said() {
					all.WriteString(m.Shown())
					if !covered(m, name) {
						t.Errorf("%s does not cover all of a part: %v", name, m.Entities)
					}
				}
				if diff := cmp.Diff(unspaced(text), unspaced(all.String())); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// covered says whether one kind of formatting covers the whole text of a message.
func covered(m emulator.Message, kind string) bool {
	for _, e := range m.Entities {
		if e.Type == kind && strings.TrimSpace(m.Words(e)) == strings.TrimSpace(m.Text) {
			return true
		}
	}
	return false
}
