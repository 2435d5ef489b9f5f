package emulator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
	"github.com/google/go-cmp/cmp"

	"nod/bot/emulator"
)

// ids returns the update ids of a getUpdates answer, counted from the first.
func ids(t testing.TB, r reply) []int {
	t.Helper()
	var updates []struct {
		ID int `json:"update_id"`
	}
	if err := json.Unmarshal(must(t, r).Result, &updates); err != nil {
		t.Fatal(err)
	}
	got := []int{}
	for _, u := range updates {
		got = append(got, u.ID-500_000_000)
	}
	return got
}

func poll(t testing.TB, tg *emulator.Server, offset, timeout int) reply {
	if offset > 0 {
		offset += 500_000_000
	}
	return call(t, tg, "getUpdates", params{"offset": offset, "timeout": timeout})
}

func TestPollAcknowledges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := emulator.New(emulator.Options{})
		p := tg.Private(ann)
		for _, s := range []string{"a", "b", "c"} {
			p.SendText(s)
		}
		for _, step := range []struct {
			name   string
			offset int
			want   []int
		}{
			{"from the start", 0, []int{1, 2, 3}},
			{"acknowledge one", 2, []int{2, 3}},
			{"again: not acknowledged is delivered again", 2, []int{2, 3}},
			{"an offset from the future acknowledges nothing", 900, []int{2, 3}},
			{"the last only", -1, []int{3}},
			{"all", 4, []int{}},
		} {
			if diff := cmp.Diff(step.want, ids(t, poll(t, tg, step.offset, 0))); diff != "" {
				t.Errorf("%s: %s", step.name, diff)
			}
			time.Sleep(4 * time.Second) // beyond the window in which the same offset gets special treatment
		}
		if n := tg.PendingUpdates(); n != 0 {
			t.Errorf("%d updates left", n)
		}
	})
}

func TestPollHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := emulator.New(emulator.Options{})
		start := time.Now()
		if got := ids(t, poll(t, tg, 1, 600)); len(got) != 0 || time.Since(start) != 50*time.Second {
			t.Errorf("got %v after %v, want nothing after the 50 s that Telegram allows", got, time.Since(start))
		}
		go func() {
			time.Sleep(10 * time.Second)
			tg.Private(ann).SendText("x")
		}()
		start = time.Now()
		if got := ids(t, poll(t, tg, 1, 50)); len(got) != 1 || time.Since(start) != 10*time.Second {
			t.Errorf("got %v after %v, want one update after 10 s", got, time.Since(start))
		}
		synctest.Wait()
	})
}

// Asking the same offset again at once is slowed down: 3 s without updates, one update with.
func TestPollSameOffset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := emulator.New(emulator.Options{})
		poll(t, tg, 1, 0)
		start := time.Now()
		poll(t, tg, 1, 0)
		if got := time.Since(start); got != 3*time.Second {
			t.Errorf("the second poll took %v", got)
		}
		p := tg.Private(ann)
		p.SendText("a")
		p.SendText("b")
		time.Sleep(time.Second)
		if got := ids(t, poll(t, tg, 1, 0)); len(got) != 2 {
			t.Errorf("got %v", got)
		}
		if got := ids(t, poll(t, tg, 1, 0)); len(got) != 1 {
			t.Errorf("at once again: got %v", got)
		}
	})
}

func TestPollConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := emulator.New(emulator.Options{})
		const want = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
		start := time.Now()
		ended := make(chan time.Duration, 3)
		hold := func(timeout int) {
			r := poll(t, tg, 1, timeout)
			if timeout < 50 && r.Description != want {
				t.Errorf("got %v %q", r.OK, r.Description)
			}
			ended <- time.Since(start)
		}
		go hold(49)
		synctest.Wait()
		go hold(48)
		synctest.Wait()
		if got := <-ended; got != 0 {
			t.Errorf("the first conflict came after %v, want at once", got)
		}
		go hold(50)
		if got := <-ended; got != 3*time.Second {
			t.Errorf("the second conflict came after %v, want 3 s", got)
		}
		must(t, call(t, tg, "setWebhook", params{"url": "https://example.com/hook"}))
		<-ended
	})
}

func TestWebhookEndsPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := emulator.New(emulator.Options{})
		got := make(chan reply)
		go func() { got <- poll(t, tg, 1, 50) }()
		synctest.Wait()
		must(t, call(t, tg, "setWebhook", params{"url": "https://example.com/hook"}))
		if r := <-got; r.Code != 409 || r.Description != "Conflict: terminated by setWebhook request" {
			t.Errorf("got %d %q", r.Code, r.Description)
		}
		must(t, call(t, tg, "deleteWebhook", params{}))
		if r := poll(t, tg, 1, 0); !r.OK {
			t.Errorf("after deleteWebhook: %q", r.Description)
		}
	})
}

func TestUpdatesExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := emulator.New(emulator.Options{})
		p := tg.Private(ann)
		m := p.SendText("a")
		p.PressData(m.ID, "x")
		p.SendText("late", emulator.SentAt(time.Now().Add(-24*time.Hour+10*time.Second)))
		for _, step := range []struct {
			after time.Duration
			want  int
		}{{0, 3}, {20 * time.Second, 2}, {151 * time.Second, 1}, {24 * time.Hour, 0}} {
			time.Sleep(step.after)
			if got := tg.PendingUpdates(); got != step.want {
				t.Errorf("%v later: %d updates, want %d", step.after, got, step.want)
			}
		}
	})
}

func TestAllowedUpdates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := emulator.New(emulator.Options{})
		p := tg.Private(ann)
		m := p.SendText("a")
		for _, step := range []struct {
			allowed string
			want    int // updates of: a text, a reaction
		}{
			{`["message_reaction"]`, 1},
			{"", 1}, // unchanged
			{"nonsense", 1},
			{`["message","message_reaction"]`, 2},
			{`[]`, 1},
		} {
			must(t, call(t, tg, "getUpdates", params{"offset": -1, "allowed_updates": step.allowed}))
			must(t, call(t, tg, "deleteWebhook", params{"drop_pending_updates": true}))
			p.SendText("b")
			p.React(m.ID, "👍")
			if got := tg.PendingUpdates(); got != step.want {
				t.Errorf("allowed %q: %d updates, want %d", step.allowed, got, step.want)
			}
		}
	})
}

// TestEncodings sends the same call in each way that the API takes.
func TestEncodings(t *testing.T) {
	tg := emulator.New(emulator.Options{})
	p := tg.Private(ann)
	path := "/bot" + emulator.Token + "/"
	form := url.Values{"chat_id": {"101"}, "text": {"form"}, "disable_notification": {"YES"}}
	withType := func(r *http.Request, kind string) *http.Request {
		r.Header.Set("Content-Type", kind)
		return r
	}
	post := func(path, kind, body string) *http.Request {
		return withType(httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)), kind)
	}
	for _, r := range []*http.Request{
		httptest.NewRequest(http.MethodGet, path+"SENDMESSAGE?chat_id=101&text=query&disable_notification=1", nil),
		post(path+"sendMessage", "application/x-www-form-urlencoded", form.Encode()),
		post(path+"sendMessage?chat_id=1", "application/json; charset=utf-8", `{"chat_id":101,"text":"json","disable_notification":true,"entities":null}`),
		post(path+"test/sendmessage", "multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"chat_id\"\r\n\r\n101\r\n--b\r\n"+
			"Content-Disposition: form-data; name=\"text\"\r\n\r\nmultipart\r\n--b\r\nContent-Disposition: form-data; name=\"disable_notification\"\r\n\r\ntrue\r\n--b--\r\n"),
	} {
		must(t, do(t, tg, r))
		if m, _ := p.Last(); !m.Silent {
			t.Errorf("%s: the flag was lost", m.Text)
		}
	}
	must(t, do(t, tg, post(path+"getMe", "multipart/form-data; boundary=b", ""))) // what go-telegram/bot sends without parameters
	must(t, do(t, tg, post(path+"getMe", "application/json", "")))
	want := "nod: query\nnod: form\nnod: json\nnod: multipart\n"
	if diff := cmp.Diff(want, p.Transcript()); diff != "" {
		t.Error(diff)
	}
	if r := do(t, tg, post(path+"getMe", "application/json", "[1]")); r.Code != 400 {
		t.Errorf("a list as JSON body: %d", r.Code)
	}
	must(t, do(t, tg, httptest.NewRequest(http.MethodGet, path+"sendMessage?chat_id=101&text=x&disable_notification=nope&message_thread_id=abc", nil)))
	if m, _ := p.Last(); m.Silent {
		t.Error("a flag that is no word for yes counted as yes")
	}
}

// RECV-4, RECV-6: the real client's poll loop meets conflicts, proxies and refusals, and goes on.
func TestRECV4_RealClientRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		tg, b := newBot(t, emulator.Options{}, bot.WithDefaultHandler(echo), bot.WithErrorsHandler(func(err error) {
			var limited *bot.TooManyRequestsError
			switch {
			case errors.Is(err, bot.ErrorConflict):
				seen = append(seen, "conflict")
			case errors.Is(err, bot.ErrorUnauthorized):
				seen = append(seen, "unauthorized")
			case errors.As(err, &limited):
				seen = append(seen, "limited")
			case strings.Contains(err.Error(), "502 Bad Gateway"):
				seen = append(seen, "proxy")
			default:
				seen = append(seen, "lost")
			}
		}))
		const conflict = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
		tg.Inject("getUpdates", 1, emulator.DropBefore())
		tg.Inject("getUpdates", 1, emulator.BadGateway())
		tg.Inject("getUpdates", 1, emulator.RetryAfter(2))
		tg.Inject("getUpdates", 1, emulator.Fail(409, conflict))
		tg.Inject("getUpdates", 1, emulator.Fail(401, "Unauthorized"))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); b.Start(ctx) }()
		p := tg.Private(ann)
		p.SendText("still there?")
		if _, err := p.WaitText(ctx, "you said"); err != nil {
			t.Fatal(err)
		}
		if err := tg.WaitAcknowledged(ctx); err != nil {
			t.Fatal(err)
		}
		cancel()
		<-done
		if diff := cmp.Diff([]string{"lost", "proxy", "limited", "conflict", "unauthorized"}, seen); diff != "" {
			t.Error(diff)
		}
		if left := tg.ClearFaults(); left != 0 {
			t.Errorf("%d faults were not met", left)
		}
	})
}

// Over a real socket a dropped connection is an EOF too.
func TestOverASocket(t *testing.T) {
	tg := emulator.New(emulator.Options{})
	tg.Private(ann)
	srv := httptest.NewServer(tg)
	defer srv.Close()
	b, err := bot.New(emulator.Token, bot.WithServerURL(srv.URL), bot.WithHTTPClient(time.Second, srv.Client()))
	if err != nil {
		t.Fatal(err)
	}
	tg.Inject("sendMessage", 1, emulator.DropAfter())
	send := &bot.SendMessageParams{ChatID: 101, Text: "x"}
	if _, err := b.SendMessage(t.Context(), send); err == nil || !strings.Contains(err.Error(), "EOF") {
		t.Errorf("got %v, want EOF", err)
	}
	m, err := b.SendMessage(t.Context(), send)
	if err != nil || m.ID != 2 {
		t.Errorf("got %v, %v; want message 2: the first one was sent, too", m, err)
	}
}

// What the real client makes of the answers: every result decodes.
func TestRealClientDecodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg, b := newBot(t, emulator.Options{})
		ctx := t.Context()
		g := tg.NewGroup(emulator.GroupOptions{Title: "Team", Forum: true, Admin: true}, ann)
		bob := emulator.User{ID: 102, FirstName: "Bob"}
		g.AskToJoin(bob)
		file := &models.InputFileUpload{Filename: "a.png", Data: bytes.NewReader(pngBytes(t, 200, 100))}
		check := func(what string, err error) {
			t.Helper()
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		_, err := b.SendPhoto(ctx, &bot.SendPhotoParams{ChatID: g.ID(), Photo: file, Caption: "c"})
		check("sendPhoto", err)
		m, err := b.SendVoice(ctx, &bot.SendVoiceParams{ChatID: g.ID(), Voice: &models.InputFileUpload{Filename: "a.ogg", Data: strings.NewReader("OggS")}})
		check("sendVoice", err)
		if m.Voice == nil {
			t.Error("a voice note became something else")
		}
		_, err = b.SendPoll(ctx, &bot.SendPollParams{ChatID: g.ID(), Question: "q", Options: []models.InputPollOption{{Text: "a"}, {Text: "b"}}})
		check("sendPoll", err)
		_, err = b.SendRichMessage(ctx, &bot.SendRichMessageParams{ChatID: g.ID(), RichMessage: models.InputRichMessage{Markdown: "# x"}})
		check("sendRichMessage", err)
		topic, err := b.CreateForumTopic(ctx, &bot.CreateForumTopicParams{ChatID: g.ID(), Name: "Builds"})
		check("createForumTopic", err)
		_, err = b.SendMessage(ctx, &bot.SendMessageParams{ChatID: g.ID(), MessageThreadID: topic.MessageThreadID, Text: "in it"})
		check("sendMessage", err)
		chat, err := b.GetChat(ctx, &bot.GetChatParams{ChatID: g.ID()})
		check("getChat", err)
		if !chat.IsForum || chat.Title != "Team" {
			t.Errorf("chat %+v", chat)
		}
		admins, err := b.GetChatAdministrators(ctx, &bot.GetChatAdministratorsParams{ChatID: g.ID()})
		check("getChatAdministrators", err)
		if len(admins) != 1 || admins[0].Owner == nil {
			t.Errorf("administrators %+v", admins)
		}
		_, err = b.ApproveChatJoinRequest(ctx, &bot.ApproveChatJoinRequestParams{ChatID: g.ID(), UserID: bob.ID})
		check("approveChatJoinRequest", err)
		member, err := b.GetChatMember(ctx, &bot.GetChatMemberParams{ChatID: g.ID(), UserID: bob.ID})
		check("getChatMember", err)
		if member.Member == nil {
			t.Errorf("member %+v", member)
		}
		link, err := b.CreateChatInviteLink(ctx, &bot.CreateChatInviteLinkParams{ChatID: g.ID(), Name: "in"})
		check("createChatInviteLink", err)
		if link.InviteLink == "" {
			t.Error("the link is empty")
		}
		_, err = b.SetChatMenuButton(ctx, &bot.SetChatMenuButtonParams{MenuButton: models.MenuButtonCommands{Type: "commands"}})
		check("setChatMenuButton", err)
		_, err = b.SetMessageReaction(ctx, &bot.SetMessageReactionParams{ChatID: g.ID(), MessageID: m.ID, Reaction: []models.ReactionType{
			{Type: models.ReactionTypeTypeEmoji, ReactionTypeEmoji: &models.ReactionTypeEmoji{Emoji: "👀"}},
		}})
		check("setMessageReaction", err)
		_, err = b.PinChatMessage(ctx, &bot.PinChatMessageParams{ChatID: g.ID(), MessageID: m.ID})
		check("pinChatMessage", err)

		p := g.Person(ann).In(topic.MessageThreadID)
		p.SendLocation(52.5, 13.4)
		p.SendContact("+491", "Bob")
		p.SendSticker("👍", emulator.Upload{Name: "s.webp", Data: []byte("x")})
		p.SendPoll("q", []string{"a"})
		said := p.SendText("hi @nod_bot", emulator.ReplyTo(m.ID))
		p.Forward(said)
		p.SendText("yes", emulator.Quoting(said.ID, "@nod_bot"))
		p.React(said.ID, "👍")
		p.PressData(999, "gone")
		var updates []*models.Update
		if err := json.Unmarshal(must(t, call(t, tg, "getUpdates", params{})).Result, &updates); err != nil {
			t.Fatal(err)
		}
		last := updates[len(updates)-1].CallbackQuery
		if last == nil || last.Message.InaccessibleMessage == nil {
			t.Errorf("a press on a message that is gone: %+v", last)
		}
		want := `nod: <topic Builds created>
nod: in it
Ann: <location 52.5, 13.4>
Ann: <contact Bob, +491>
Ann: <sticker 👍>
Ann: <poll q: a>
Ann: <reply to nod: …> hi @nod_bot
  (👍)
Ann: <forwarded from Ann> hi @nod_bot
Ann: <reply to Ann: @nod_bot> yes
`
		if diff := cmp.Diff(want, p.Transcript()); diff != "" {
			t.Error(diff)
		}
	})
}
