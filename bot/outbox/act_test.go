package outbox_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/bot/emulator"
	"nod/bot/outbox"
	"nod/store"
)

func act(p *emulator.Person, s outbox.Slot, a outbox.Action) outbox.Item {
	return outbox.Item{To: to(p), Slot: s, Kind: outbox.Act, Action: &a}
}

// methods are the names of the calls so far.
func methods(r *rig) (names []string) {
	for _, c := range r.server.Calls() {
		names = append(names, c.Method)
	}
	return names
}

func TestActs(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		m := r.ann.SendText("hello")
		r.put(
			act(r.ann, "", outbox.Action{Message: messageID(m), Reaction: "🎉"}),
			outbox.Item{To: to(r.ann), Slot: "sent/1", Plain: "a message"},
			act(r.ann, "sent/1", outbox.Action{Pin: true}),
			act(r.ann, "sent/2", outbox.Action{Poll: &outbox.Poll{Question: "Tea?", Options: []string{"Yes", "No"}}}),
			act(r.ann, "sent/2", outbox.Action{Reaction: "👍"}),
			act(r.ann, "sent/3", outbox.Action{Location: &outbox.Location{Latitude: 41.9, Longitude: 12.5}}),
		)
		r.flush()
		if len(r.deaths()) > 0 {
			t.Errorf("given up: %+v", r.deaths())
		}
		shown := r.ann.Transcript()
		for _, part := range []string{"(🎉)", "<pinned: a message>", "<poll Tea?: Yes / No>", "(👍)", "41.9"} {
			if !strings.Contains(shown, part) {
				t.Errorf("%q is missing in\n%s", part, shown)
			}
		}
		if r.slot("sent/2") == 0 || r.slot("sent/3") == 0 {
			t.Error("a poll or a location is not remembered")
		}
	})
}

func TestAnActOnAMessageThatWasNeverSentDoesNothing(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		r.put(act(r.ann, "sent/none", outbox.Action{Pin: true}), act(r.ann, "", outbox.Action{Reaction: "👍"}))
		r.flush()
		if calls := methods(r); len(calls) > 0 || len(r.deaths()) > 0 {
			t.Errorf("called %v, given up %v", calls, r.deaths())
		}
	})
}

func TestActs_ALostConnectionRepeatsThemOnce(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		r.server.Inject("sendPoll", 1, emulator.DropBefore())
		r.server.Inject("pinChatMessage", 2, emulator.DropBefore())
		m := r.ann.SendText("hello")
		r.put(
			act(r.ann, "sent/1", outbox.Action{Poll: &outbox.Poll{Question: "Tea?", Options: []string{"Yes", "No"}}}),
			act(r.ann, "", outbox.Action{Message: messageID(m), Pin: true}),
		)
		r.flush()
		if diff := cmp.Diff([]string{"sendPoll", "sendPoll", "pinChatMessage", "pinChatMessage", "pinChatMessage"}, methods(r)); diff != "" || len(r.deaths()) > 0 {
			t.Errorf("%s\ngiven up %v", diff, r.deaths())
		}
	})
}

func TestWhatTheBotHasNoRightToIsGivenUpAsSuch(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		g := r.server.NewGroup(emulator.GroupOptions{Title: "Team"}, ann)
		p := g.Person(ann)
		m := p.SendText("hello")
		g.Permit(false)
		keep := func(name string) string {
			handle, err := r.out.Keep(name, strings.NewReader("content"), 7)
			if err != nil {
				t.Fatal(err)
			}
			return handle
		}
		r.put(
			act(p, "", outbox.Action{Message: messageID(m), Pin: true}),
			outbox.Item{To: to(p), Kind: outbox.Upload, File: &outbox.File{Handle: keep("a.png"), Name: "a.png", Kind: outbox.Photo}},
			text(p, "words still go"),
		)
		r.flush()
		if diff := cmp.Diff([]string{"pinChatMessage", "sendPhoto", "sendDocument", "sendMessage"}, methods(r)); diff != "" {
			t.Error(diff)
		}
		dead := r.deaths()
		if len(dead) != 2 || !dead[0].MayNot || !dead[1].MayNot || dead[0].Forbidden || dead[1].Forbidden {
			t.Errorf("given up: %+v", dead)
		}
		// A group that takes no photos, but documents, gets the picture as one.
		g.Permit(true)
		r.server.Inject("sendPhoto", 1, emulator.Fail(400, "Bad Request: not enough rights to send photos to the chat"))
		r.put(outbox.Item{To: to(p), Kind: outbox.Upload, File: &outbox.File{Handle: keep("b.png"), Name: "b.png", Kind: outbox.Photo}})
		r.flush()
		if m, _ := p.Last(); len(r.deaths()) != 2 || m.Document == nil || m.Document.Name != "b.png" {
			t.Errorf("the last message is %+v", m)
		}
	})
}

func TestRich_IsSentWhereTelegramTakesItAndAsHTMLElsewhere(t *testing.T) {
	for name, c := range map[string]struct {
		fault string
		want  []string
	}{
		"taken":             {"", []string{"sendRichMessage"}},
		"refused":           {"Bad Request: RICH_MESSAGE_EMAIL_INVALID", []string{"sendRichMessage", "sendMessage"}},
		"an older server":   {"Not Found: method not found", []string{"sendRichMessage", "sendMessage"}},
		"unreadable for it": {"Bad Request: can't parse entities: x", []string{"sendRichMessage", "sendMessage"}},
		"too long for it":   {"Bad Request: RICH_MESSAGE_TOO_LONG_INVALID", []string{"sendRichMessage", "sendMessage"}},
	} {
		inBubble(t, outbox.Options{}, func(r *rig) {
			if c.fault != "" {
				code := 400
				if strings.HasPrefix(c.fault, "Not Found") {
					code = 404
				}
				r.server.Inject("sendRichMessage", 1, emulator.Fail(code, c.fault))
			}
			r.put(outbox.Item{To: to(r.ann), HTML: "<b>bold</b>", Plain: "bold", Rich: "**bold**"})
			r.flush()
			if diff := cmp.Diff(c.want, methods(r)); diff != "" || len(r.deaths()) > 0 {
				t.Errorf("%s: %s\ngiven up: %v", name, diff, r.deaths())
			}
		})
	}
}

func TestRich_TakesThePlaceOfAPreview(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		r.out.Preview("s", to(r.ann), outbox.Content{Plain: "bo"})
		time.Sleep(5 * time.Second)
		r.put(outbox.Item{To: to(r.ann), Slot: "s", HTML: "<b>bold</b>", Plain: "bold", Rich: "**bold**"})
		r.flush()
		calls := r.server.Calls("editMessageText")
		if len(calls) != 1 || !strings.Contains(calls[0].Params["rich_message"], "**bold**") || len(said(r.ann)) != 1 {
			t.Errorf("edited with %v; the chat shows %q", calls, said(r.ann))
		}
	})
}

func TestSEND12_DraftThenFinalIsOneMessage(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		for _, words := range []string{"one", "one two", "one two three"} {
			r.out.Preview("s", to(r.ann), outbox.Content{Plain: words, Draft: true})
			time.Sleep(3 * time.Second)
		}
		r.put(outbox.Item{To: to(r.ann), Slot: "s", Plain: "one two three four"})
		r.flush()
		if diff := cmp.Diff([]string{"sendMessageDraft", "sendMessageDraft", "sendMessageDraft", "sendMessage"}, methods(r)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"one two three four"}, said(r.ann)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestDraftsThatAreRefusedBecomeEdits(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		g := r.server.NewGroup(emulator.GroupOptions{Title: "Team"}, ann).Person(ann)
		r.server.Inject("sendMessageDraft", 1, emulator.Fail(400, "Bad Request: TEXTDRAFT_PEER_INVALID"))
		for _, at := range []store.Address{to(r.ann), to(g)} {
			for _, words := range []string{"one", "one two"} {
				r.out.Preview(outbox.Slot("s"+at.String()), at, outbox.Content{Plain: words, Draft: true})
				time.Sleep(5 * time.Second)
			}
		}
		want := []string{"sendMessageDraft", "sendMessage", "editMessageText", "sendMessage", "editMessageText"}
		if diff := cmp.Diff(want, methods(r)); diff != "" {
			t.Error(diff)
		}
	})
}
