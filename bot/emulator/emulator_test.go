package emulator_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"nod/bot/emulator"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ann = emulator.User{ID: 101, FirstName: "Ann", Username: "ann", Language: "en"}

// newBot returns the real client against a fresh server.
func newBot(t *testing.T, o emulator.Options, opts ...bot.Option) (*emulator.Server, *bot.Bot) {
	t.Helper()
	tg := emulator.New(o)
	client := &http.Client{Transport: emulator.Transport(tg)}
	opts = append([]bot.Option{bot.WithHTTPClient(30*time.Second, client), bot.WithNotAsyncHandlers()}, opts...)
	b, err := bot.New(emulator.Token, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return tg, b
}

func pngBytes(t *testing.T, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// echo answers every text in the way of a small bot with a button.
func echo(ctx context.Context, b *bot.Bot, u *models.Update) {
	switch {
	case u.CallbackQuery != nil:
		_, _ = b.AnswerCallbackQuery(ctx, &bot.AnswerCallbackQueryParams{CallbackQueryID: u.CallbackQuery.ID, Text: "got " + u.CallbackQuery.Data})
		m := u.CallbackQuery.Message.Message
		_, _ = b.EditMessageText(ctx, &bot.EditMessageTextParams{ChatID: m.Chat.ID, MessageID: m.ID, Text: "done"})
	case u.Message != nil:
		_, _ = b.SendMessage(ctx, &bot.SendMessageParams{
			ChatID: u.Message.Chat.ID, Text: "<b>you said</b> " + u.Message.Text, ParseMode: models.ParseModeHTML,
			ReplyMarkup: models.InlineKeyboardMarkup{InlineKeyboard: [][]models.InlineKeyboardButton{{{Text: "OK", CallbackData: "ok"}}}},
		})
	}
}

func TestConversation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg, b := newBot(t, emulator.Options{}, bot.WithDefaultHandler(echo))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); b.Start(ctx) }()

		p := tg.Private(ann)
		p.SendText("hello")
		if _, err := p.WaitText(ctx, "you said"); err != nil {
			t.Fatal(err)
		}
		press, err := p.Press("OK")
		if err != nil {
			t.Fatal(err)
		}
		answer, err := press.Answer(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(emulator.Answer{Text: "got ok"}, answer); diff != "" {
			t.Error(diff)
		}
		if _, err := p.WaitText(ctx, "done"); err != nil {
			t.Fatal(err)
		}
		want := "Ann: hello\nnod: done\n"
		if diff := cmp.Diff(want, p.Transcript()); diff != "" {
			t.Error(diff)
		}
		cancel()
		<-done
	})
}

func TestFilesBothWays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg, b := newBot(t, emulator.Options{})
		ctx := t.Context()
		p := tg.Private(ann)
		in := p.SendDocument(emulator.Upload{Name: "in.txt", Data: []byte("from ann")})
		f, err := b.GetFile(ctx, &bot.GetFileParams{FileID: in.FileID()})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := (&http.Client{Transport: emulator.Transport(tg)}).Get(b.FileDownloadLink(f))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || string(got) != "from ann" {
			t.Fatalf("downloaded %q, %v", got, err)
		}
		_, err = b.SendDocument(ctx, &bot.SendDocumentParams{
			ChatID: 101, Caption: "here", Document: &models.InputFileUpload{Filename: "out.txt", Data: strings.NewReader("from bot")},
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = b.SendMediaGroup(ctx, &bot.SendMediaGroupParams{ChatID: 101, Media: []models.InputMedia{
			&models.InputMediaPhoto{Media: "attach://a.png", MediaAttachment: bytes.NewReader(pngBytes(t, 10, 10)), Caption: "two"},
			&models.InputMediaPhoto{Media: "attach://b.png", MediaAttachment: bytes.NewReader(pngBytes(t, 20, 10))},
		}})
		if err != nil {
			t.Fatal(err)
		}
		want := "Ann: <document in.txt, 8 bytes>\nnod: <document out.txt, 8 bytes> here\nnod: <photo 10x10> two\nnod: <photo 20x10>\n"
		if diff := cmp.Diff(want, p.Transcript()); diff != "" {
			t.Error(diff)
		}
		m, _ := p.Last()
		if name, data, ok := tg.File(m.FileID()); !ok || name != "" || len(data) == 0 {
			t.Errorf("file of the last photo: %q, %d bytes, %v", name, len(data), ok)
		}
	})
}

func TestFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg, b := newBot(t, emulator.Options{})
		p := tg.Private(ann)
		send := func(ctx context.Context) error {
			_, err := b.SendMessage(ctx, &bot.SendMessageParams{ChatID: 101, Text: "hi"})
			return err
		}
		var limited *bot.TooManyRequestsError
		for _, c := range []struct {
			name  string
			fault emulator.Fault
			check func(error) bool
			sent  int
		}{
			{"drop before", emulator.DropBefore(), func(err error) bool { return errors.Is(err, io.EOF) }, 0},
			{"drop after", emulator.DropAfter(), func(err error) bool { return errors.Is(err, io.EOF) }, 1},
			{"502", emulator.BadGateway(), func(err error) bool { return strings.Contains(err.Error(), "502 Bad Gateway") }, 1},
			{"500", emulator.ServerError(), func(err error) bool { return strings.Contains(err.Error(), "500 Internal Server Error: restart") }, 1},
			{"429", emulator.RetryAfter(33), func(err error) bool { return errors.As(err, &limited) && limited.RetryAfter == 33 }, 1},
			{"custom", emulator.Fail(403, "Forbidden: x"), func(err error) bool { return errors.Is(err, bot.ErrorForbidden) }, 1},
			{"slow", emulator.Slow(time.Minute), func(err error) bool { return err == nil }, 2},
			{"hang", emulator.Hang(), func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }, 2},
		} {
			tg.Inject("sendMessage", 1, c.fault)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			err := send(ctx)
			cancel()
			if !c.check(err) {
				t.Errorf("%s: got error %v", c.name, err)
			}
			if n := len(p.Messages()); n != c.sent {
				t.Errorf("%s: %d messages, want %d", c.name, n, c.sent)
			}
		}
		synctest.Wait() // the hung handler records its end after its client has gone
		if n := len(tg.Calls("sendMessage")); n != 8 {
			t.Errorf("%d calls recorded, want 8", n)
		}
		for _, c := range tg.Calls("sendMessage") {
			if !c.Done {
				t.Errorf("call not done: %v", c)
			}
		}
	})
}

func TestUndecodableUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := emulator.New(emulator.Options{})
		tg.InjectUpdate(json.RawMessage(`{"message":{"message_id":"not a number"}}`))
		tg.InjectUpdate(json.RawMessage(`{}`))
		resp, err := (&http.Client{Transport: emulator.Transport(tg)}).Get("http://x/bot" + emulator.Token + "/getUpdates")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		got, _ := io.ReadAll(resp.Body)
		want := `{"ok":true,"result":[{"update_id":500000001,"message":{"message_id":"not a number"}},{"update_id":500000002}]}`
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Error(diff)
		}
	})
}
