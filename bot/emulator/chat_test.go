package emulator_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/bot/emulator"
)

func TestFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := emulator.New(emulator.Options{Flood: &emulator.Flood{Burst: 3}})
		tg.Private(ann)
		group := tg.NewGroup(emulator.GroupOptions{Title: "Team"}, ann)
		send := func(chat int64) reply { return call(t, tg, "sendMessage", params{"chat_id": chat, "text": "x"}) }
		for i := range 3 {
			if r := send(101); !r.OK {
				t.Fatalf("message %d of the burst: %s", i, r.Description)
			}
		}
		if r := send(101); r.Code != 429 || r.Parameters.RetryAfter != 1 {
			t.Errorf("beyond the burst: %d, retry after %d", r.Code, r.Parameters.RetryAfter)
		}
		if r := call(t, tg, "editMessageText", params{"chat_id": 101, "message_id": 1, "text": "y"}); r.Code != 429 {
			t.Errorf("an edit shares the limit: got %d", r.Code)
		}
		must(t, call(t, tg, "sendChatAction", params{"chat_id": 101, "action": "typing"}))
		time.Sleep(time.Second)
		must(t, send(101))
		for range 20 {
			time.Sleep(time.Second)
			must(t, send(group.ID()))
		}
		time.Sleep(time.Second)
		if r := send(group.ID()); r.Code != 429 || r.Parameters.RetryAfter != 40 {
			t.Errorf("the 21st in a group: %d, retry after %d, want 40", r.Code, r.Parameters.RetryAfter)
		}
		tg.SetFlood(nil)
		must(t, send(group.ID()))
	})
}

// RECV-12: General takes no thread id in a send, but takes one for typing.
func TestRECV12_Topics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := emulator.New(emulator.Options{})
		g := tg.NewGroup(emulator.GroupOptions{Title: "Team", Forum: true}, ann)
		general := g.Person(ann).In(emulator.General)
		builds := g.Person(ann).In(g.NewTopic(ann, "Builds"))
		if m := general.SendText("hi"); m.Thread != 1 || !m.InTopic {
			t.Errorf("in General: thread %d, %v", m.Thread, m.InTopic)
		}
		m := builds.SendText("hi")
		if r := call(t, tg, "sendMessage", params{"chat_id": g.ID(), "text": "x", "message_thread_id": 1}); r.Description != "Bad Request: message thread not found" {
			t.Errorf("a send to thread 1: %q", r.Description)
		}
		must(t, call(t, tg, "sendChatAction", params{"chat_id": g.ID(), "action": "typing", "message_thread_id": 1}))
		if got := general.Action(); got != "typing" {
			t.Errorf("in General it does %q", got)
		}
		if got := builds.Action(); got != "" {
			t.Errorf("in Builds it does %q", got)
		}
		must(t, call(t, tg, "sendMessage", params{"chat_id": g.ID(), "text": "to all"}))
		must(t, call(t, tg, "sendMessage", params{"chat_id": g.ID(), "text": "to builders", "message_thread_id": m.Thread}))
		if diff := cmp.Diff("Ann: hi\nnod: to all\n", general.Transcript()); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff("Ann: <topic Builds created>\nAnn: hi\nnod: to builders\n", builds.Transcript()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestPrivacyMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := emulator.New(emulator.Options{Privacy: true})
		g := tg.NewGroup(emulator.GroupOptions{Title: "Team"}, ann)
		p := g.Person(ann)
		must(t, call(t, tg, "sendMessage", params{"chat_id": g.ID(), "text": "mine"}))
		for _, say := range []struct {
			text string
			opts []emulator.Option
			want bool
		}{
			{"among us", nil, false},
			{"/help", nil, true},
			{"/help@nod_bot", nil, true},
			{"/help@other_bot", nil, false},
			{"👋 @nod_bot hi", nil, true},
			{"answer", []emulator.Option{emulator.ReplyTo(1)}, true},
		} {
			before := tg.PendingUpdates()
			p.SendText(say.text, say.opts...)
			if got := tg.PendingUpdates() > before; got != say.want {
				t.Errorf("%q delivered: %v", say.text, got)
			}
		}
		g.Promote(tg.Bot().ID)
		before := tg.PendingUpdates()
		if p.SendText("among us"); tg.PendingUpdates() == before {
			t.Error("an administrator sees everything")
		}
	})
}

func TestEdits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := emulator.New(emulator.Options{})
		p := tg.Private(ann)
		kb := params{"inline_keyboard": [][]params{{{"text": "A", "callback_data": "a"}, {"text": "B", "url": "https://x.test"}}, {}}}
		must(t, call(t, tg, "sendMessage", params{"chat_id": 101, "text": "one", "reply_markup": kb}))
		edit := func(method string, p params) {
			t.Helper()
			p["chat_id"], p["message_id"] = 101, 1
			must(t, call(t, tg, method, p))
		}
		shows := func(want string) {
			t.Helper()
			if diff := cmp.Diff(want, p.Transcript()); diff != "" {
				t.Error(diff)
			}
		}
		shows("nod: one\n  [A] [B]\n")
		edit("editMessageReplyMarkup", params{"reply_markup": params{"inline_keyboard": [][]params{}}})
		shows("nod: one\n")
		edit("editMessageReplyMarkup", params{"reply_markup": kb})
		edit("editMessageText", params{"text": "<b>two</b>", "parse_mode": "HTML"})
		shows("nod: two\n") // an edit without a keyboard takes it away
		m, _ := p.Last()
		if m.EditDate == 0 || m.HTML() != "<b>two</b>" {
			t.Errorf("edited message: %d, %s", m.EditDate, m.HTML())
		}
		edit("editMessageText", params{"text": "two"}) // the same words without bold are another content
		must(t, call(t, tg, "deleteMessages", params{"chat_id": 101, "message_ids": []int{1, 2, 3}}))
		shows("")
	})
}

func TestReplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := emulator.New(emulator.Options{})
		p := tg.Private(ann)
		m := p.SendText("a question, long enough")
		must(t, call(t, tg, "sendMessage", params{"chat_id": 101, "text": "re", "reply_parameters": params{"message_id": m.ID, "quote": "question"}}))
		p.Delete(m.ID)
		// SEND-9: a reply to what was deleted arrives without the reply
		must(t, call(t, tg, "sendMessage", params{"chat_id": 101, "text": "lenient", "reply_parameters": params{"message_id": m.ID, "allow_sending_without_reply": true}}))
		if diff := cmp.Diff("nod: <reply to Ann: question> re\nnod: lenient\n", p.Transcript()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestDrafts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := emulator.New(emulator.Options{})
		p := tg.Private(ann)
		draft := func() {
			must(t, call(t, tg, "sendMessageDraft", params{"chat_id": 101, "draft_id": "7", "text": "wri", "can_stop": true}))
		}
		draft()
		if d, ok := p.Draft(); !ok || d.Text != "wri" {
			t.Errorf("draft %+v, %v", d, ok)
		}
		if diff := cmp.Diff("nod is writing: wri\n", p.Transcript()); diff != "" {
			t.Error(diff)
		}
		time.Sleep(31 * time.Second)
		if _, ok := p.Draft(); ok {
			t.Error("a draft outlived its 30 s")
		}
		draft()
		sent(t, tg)
		if _, ok := p.Draft(); ok {
			t.Error("a draft stayed beside the message")
		}
		draft()
		if !p.StopDraft() || tg.PendingUpdates() != 1 {
			t.Errorf("stopping: %d updates", tg.PendingUpdates())
		}
	})
}

func TestTypingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := emulator.New(emulator.Options{})
		p := tg.Private(ann)
		typing := func() { must(t, call(t, tg, "sendChatAction", params{"chat_id": 101, "action": "typing"})) }
		typing()
		time.Sleep(6 * time.Second)
		if got := p.Action(); got != "" {
			t.Errorf("after 6 s: %q", got)
		}
		typing()
		sent(t, tg)
		if got := p.Action(); got != "" {
			t.Errorf("after a message: %q", got)
		}
	})
}

// RECV-9: an album is one update each, with one caption.
func TestRECV9_Album(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := emulator.New(emulator.Options{})
		p := tg.Private(ann)
		list := p.SendAlbum([]emulator.Upload{
			{Name: "a.png", Data: pngBytes(t, 200, 100)}, {Name: "b.mp4", Data: []byte("x")}, {Name: "c.png", Data: pngBytes(t, 9, 9)},
		}, emulator.Caption("three"))
		if tg.PendingUpdates() != 3 || list[0].AlbumID == "" || list[0].AlbumID != list[2].AlbumID {
			t.Errorf("%d updates, albums %q and %q", tg.PendingUpdates(), list[0].AlbumID, list[2].AlbumID)
		}
		if diff := cmp.Diff("Ann: <photo 200x100> three\nAnn: <video b.mp4, 1 bytes>\nAnn: <photo 9x9>\n", p.Transcript()); diff != "" {
			t.Error(diff)
		}
		if n := len(list[0].Photo); n != 2 {
			t.Errorf("%d sizes of a photo, want a thumbnail and the photo", n)
		}
	})
}

// RECV-11: a group that becomes a supergroup tells so in both chats.
func TestRECV11_Migrate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := emulator.New(emulator.Options{})
		g := tg.NewGroup(emulator.GroupOptions{Title: "Team", Basic: true}, ann)
		to := g.Migrate()
		if diff := cmp.Diff("Group: <became a supergroup>\n", g.Person(ann).Transcript()); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff("Group: <was a basic group>\n", to.Person(ann).Transcript()); diff != "" {
			t.Error(diff)
		}
		if tg.PendingUpdates() != 2 {
			t.Errorf("%d updates", tg.PendingUpdates())
		}
	})
}

func TestCommandMenu(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := emulator.New(emulator.Options{})
		p := tg.Private(ann)
		set := func(name, scope, language string) {
			q := params{"commands": []params{{"command": "/" + name, "description": "d"}}, "language_code": language}
			if scope != "" {
				q["scope"] = params{"type": scope}
			}
			must(t, call(t, tg, "setMyCommands", q))
		}
		shows := func(want string) {
			t.Helper()
			got := ""
			for _, c := range p.Commands() {
				got += c.Name
			}
			if got != want {
				t.Errorf("menu %q, want %q", got, want)
			}
		}
		set("default", "", "")
		shows("default")
		set("private", "all_private_chats", "")
		set("group", "all_group_chats", "")
		shows("private")
		set("english", "all_private_chats", "en")
		shows("english")
		must(t, call(t, tg, "deleteMyCommands", params{"scope": params{"type": "all_private_chats"}, "language_code": "en"}))
		shows("private")
	})
}

func TestWaitingEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := emulator.New(emulator.Options{})
		p := tg.Private(ann)
		p.SendText("anybody?")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := p.WaitText(ctx, "yes")
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "Ann: anybody?") {
			t.Errorf("got %v, want the transcript in it", err)
		}
		if _, err := tg.WaitCall(ctx, emulator.Method("sendMessage")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if _, err := p.Press("OK"); err == nil {
			t.Error("pressed a button that is not there")
		}
	})
}

func TestCallsAreRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := emulator.New(emulator.Options{})
		tg.Private(ann)
		call(t, tg, "SENDMESSAGE", params{"chat_id": 101, "text": "x"})
		call(t, tg, "sendMessage", params{"chat_id": 1, "text": "x"})
		upload(t, tg, "sendDocument", map[string]string{"chat_id": "101"}, map[string][]byte{"document": []byte("abc")})
		var got []string
		for _, c := range tg.Calls() {
			got = append(got, c.String())
		}
		want := []string{
			`sendMessage chat_id="101" text="x"`,
			`sendMessage chat_id="1" text="x" -> 400 Bad Request: chat not found`,
			`sendDocument chat_id="101" document=<document, 3 bytes>`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		c := tg.Calls("senddocument")[0]
		if c.Files[0].SHA256 != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" || c.N != 3 || c.Code != 200 {
			t.Errorf("call %+v", c)
		}
	})
}

// A text that is longer than a message leaves the app in parts.
func TestLongPasteIsSplit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := emulator.New(emulator.Options{})
		p := tg.Private(ann)
		if m := p.SendText(strings.Repeat("x", 5000)); len(m.Text) != 904 || tg.PendingUpdates() != 2 {
			t.Errorf("last part of %d, %d updates", len(m.Text), tg.PendingUpdates())
		}
	})
}
