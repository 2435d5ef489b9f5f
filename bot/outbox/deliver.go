package outbox

import (
	"context"
	"fmt"
	"strings"
	"time"

	tg "github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"nod/store"
)

// Time limits of calls. Near its limits Telegram holds a request instead of answering 429, so a short limit would only
// make false failures and duplicates.
const (
	callTime   = time.Minute
	uploadTime = 15 * time.Minute
	quickTime  = 30 * time.Second // what is best effort
	graceTime  = 5 * time.Second  // for a call that runs when the program ends
)

// maxPhoto is Telegram's limit for photos; larger ones go as documents.
const maxPhoto = 10 << 20

// maxCaption is Telegram's limit for captions, in code points.
const maxCaption = 1024

// GeneralTopic is the thread id of a forum's General topic. Messages there are sent without a thread id, "typing" with it.
const GeneralTopic = 1

// fix is what an item's delivery has to do without, as its refusals taught.
type fix struct {
	noRich, plain, noReply, noThread, fresh, asFile, asDocument, clipped bool
}

// learn changes f for the next try; false means that nothing is left to try.
func (f *fix) learn(c class, it *Item) bool {
	var what *bool
	text, upload, album := it.Kind == Text, it.Kind == Upload, it.Kind == Album
	switch {
	case it.Rich != "" && !f.noRich && (c == badMarkup || c == tooLong || c == refused):
		what = &f.noRich
	case c == badMarkup && it.HTML != "":
		what = &f.plain
	case c == noReply && it.ReplyTo != 0:
		what = &f.noReply
	case c == noThread && thread(it.To) != 0:
		what = &f.noThread
	case c == gone && text:
		what = &f.fresh
	case c == tooLong && text:
		what = &f.asFile
	case c == tooLong && (upload || album):
		what = &f.clipped
	case upload && (c == badMedia || c == mayNot && it.File.Kind != Document):
		what = &f.asDocument
	case (c == badMedia || c == mayNot) && album:
		what = &f.asDocument
	}
	if what == nil || *what {
		return false
	}
	*what = true
	return true
}

// deliver makes the row's call, and repeats it without what was refused. The new message's id is 0 when none was sent.
func (l *lane) deliver(ctx context.Context, r row, message store.MessageID) (store.MessageID, verdict) {
	for {
		sent, v := l.guard(func() (store.MessageID, verdict) { return l.call(ctx, &r.item, message, l.attempt.fix) })
		if !l.attempt.fix.learn(v.class, &r.item) {
			return sent, v
		}
		l.o.log.Warn("delivered in another form", "chat", l.chat, "item", r.key.N, "class", v.class.String(), "err", v.err)
	}
}

// call makes one API call for an item whose slot holds message (0: none).
func (l *lane) call(ctx context.Context, it *Item, message store.MessageID, f fix) (store.MessageID, verdict) {
	l.pace.take(time.Now())
	limit := callTime
	if it.Kind == Upload || it.Kind == Album {
		limit = uploadTime
	}
	ctx, cancel := bounded(ctx, limit)
	defer cancel()
	switch {
	case it.Kind == Delete:
		return 0, change(l.remove(ctx, it, message))
	case it.Kind == Upload:
		return l.upload(ctx, it, f)
	case it.Kind == Album:
		return l.album(ctx, it, f)
	case it.Kind == Act:
		return l.act(ctx, it, message, f)
	case f.asFile:
		file := &models.InputFileUpload{Filename: "message.txt", Data: strings.NewReader(it.Plain)}
		return sent(l.o.client.SendDocument(ctx, documentParams(it, f, file, "", "")))
	case message != 0 && !it.Fresh && !f.fresh:
		v := change(l.edit(ctx, it, message, f))
		if v.class == gone && it.Kind == Edit {
			v.class = done // there is nothing left to change
		}
		return 0, v
	}
	if rich := richOf(it, f); rich != nil {
		return sent(l.o.client.SendRichMessage(ctx, richParams(it, f, *rich)))
	}
	return sent(l.o.client.SendMessage(ctx, messageParams(it, f)))
}

// bounded limits a call, and lets one that runs when ctx ends go on for graceTime, so that its outcome is known.
func bounded(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(graceTime, cancel) })
	return call, func() {
		stop()
		cancel()
	}
}

// sent reads the outcome of a call that makes a message.
func sent(m *models.Message, err error) (store.MessageID, verdict) {
	if err != nil {
		return 0, classify(err)
	}
	return store.MessageID(m.ID), verdict{}
}

// change reads the outcome of a call that changes a message: one whose answer was lost may be repeated.
func change(err error) verdict {
	v := classify(err)
	v.harmless = true
	return v
}

func (l *lane) remove(ctx context.Context, it *Item, message store.MessageID) error {
	_, err := l.o.client.DeleteMessage(ctx, &tg.DeleteMessageParams{ChatID: int64(it.To.Chat), MessageID: int(message)})
	return err
}

func (l *lane) edit(ctx context.Context, it *Item, message store.MessageID, f fix) error {
	chat, id := int64(it.To.Chat), int(message)
	if it.keyboardOnly() {
		_, err := l.o.client.EditMessageReplyMarkup(ctx, &tg.EditMessageReplyMarkupParams{ChatID: chat, MessageID: id, ReplyMarkup: markup(it)})
		return err
	}
	if rich := richOf(it, f); rich != nil {
		_, err := l.o.client.EditMessageText(ctx, &tg.EditMessageTextParams{ChatID: chat, MessageID: id, RichMessage: rich, ReplyMarkup: markup(it)})
		return err
	}
	text, mode := form(it, f)
	_, err := l.o.client.EditMessageText(ctx, &tg.EditMessageTextParams{
		ChatID: chat, MessageID: id, Text: text, ParseMode: mode, ReplyMarkup: markup(it), LinkPreviewOptions: noPreview(),
	})
	return err
}

func (l *lane) upload(ctx context.Context, it *Item, f fix) (store.MessageID, verdict) {
	kept, err := l.o.folder().Open(it.File.Handle)
	if err != nil {
		return 0, verdict{class: refused, err: fmt.Errorf("opening a file to send: %w", err)}
	}
	defer kept.Close()
	info, err := kept.Stat()
	if err != nil {
		return 0, verdict{class: refused, err: fmt.Errorf("opening a file to send: %w", err)}
	}
	data := &models.InputFileUpload{Filename: it.File.Name, Data: kept}
	caption, mode := captionOf(it, f)
	kind := it.File.Kind
	if f.asDocument || kind == Photo && info.Size() > maxPhoto {
		kind = Document
	}
	return sent(l.sendFile(ctx, kind, documentParams(it, f, data, caption, mode)))
}

// sendFile sends what d describes as a file of that kind.
func (l *lane) sendFile(ctx context.Context, kind FileKind, d *tg.SendDocumentParams) (*models.Message, error) {
	switch c := l.o.client; kind {
	case Photo:
		return c.SendPhoto(ctx, &tg.SendPhotoParams{
			ChatID: d.ChatID, MessageThreadID: d.MessageThreadID, Photo: d.Document, Caption: d.Caption, ParseMode: d.ParseMode,
			DisableNotification: d.DisableNotification, ReplyParameters: d.ReplyParameters, ReplyMarkup: d.ReplyMarkup,
		})
	case Video:
		return c.SendVideo(ctx, &tg.SendVideoParams{
			ChatID: d.ChatID, MessageThreadID: d.MessageThreadID, Video: d.Document, Caption: d.Caption, ParseMode: d.ParseMode,
			DisableNotification: d.DisableNotification, ReplyParameters: d.ReplyParameters, ReplyMarkup: d.ReplyMarkup,
			SupportsStreaming: true,
		})
	case Audio:
		return c.SendAudio(ctx, &tg.SendAudioParams{
			ChatID: d.ChatID, MessageThreadID: d.MessageThreadID, Audio: d.Document, Caption: d.Caption, ParseMode: d.ParseMode,
			DisableNotification: d.DisableNotification, ReplyParameters: d.ReplyParameters, ReplyMarkup: d.ReplyMarkup,
		})
	case Voice:
		return c.SendVoice(ctx, &tg.SendVoiceParams{
			ChatID: d.ChatID, MessageThreadID: d.MessageThreadID, Voice: d.Document, Caption: d.Caption, ParseMode: d.ParseMode,
			DisableNotification: d.DisableNotification, ReplyParameters: d.ReplyParameters, ReplyMarkup: d.ReplyMarkup,
		})
	default:
		return c.SendDocument(ctx, d)
	}
}

func messageParams(it *Item, f fix) *tg.SendMessageParams {
	text, mode := form(it, f)
	return &tg.SendMessageParams{
		ChatID: int64(it.To.Chat), MessageThreadID: threadOf(it, f), Text: text, ParseMode: mode, LinkPreviewOptions: noPreview(),
		DisableNotification: it.Silent, ReplyParameters: reply(it, f), ReplyMarkup: markup(it),
	}
}

// richOf is the item as a rich message, or nil where it is none.
func richOf(it *Item, f fix) *models.InputRichMessage {
	if it.Rich == "" || f.noRich || f.plain {
		return nil
	}
	return &models.InputRichMessage{Markdown: it.Rich}
}

func richParams(it *Item, f fix, rich models.InputRichMessage) *tg.SendRichMessageParams {
	return &tg.SendRichMessageParams{
		ChatID: int64(it.To.Chat), MessageThreadID: threadOf(it, f), RichMessage: rich,
		DisableNotification: it.Silent, ReplyParameters: reply(it, f), ReplyMarkup: markup(it),
	}
}

func documentParams(it *Item, f fix, file models.InputFile, caption string, mode models.ParseMode) *tg.SendDocumentParams {
	return &tg.SendDocumentParams{
		ChatID: int64(it.To.Chat), MessageThreadID: threadOf(it, f), Document: file, Caption: caption, ParseMode: mode,
		DisableNotification: it.Silent, ReplyParameters: reply(it, f), ReplyMarkup: markup(it),
	}
}

// form is the item's text as it is sent.
func form(it *Item, f fix) (text string, mode models.ParseMode) {
	if f.plain || it.HTML == "" {
		return it.Plain, ""
	}
	return it.HTML, models.ParseModeHTML
}

// markup is the item's keyboard. The library can't send a nil list of rows, and a nil pointer in its interface would
// be sent as null.
func markup(it *Item) models.ReplyMarkup {
	switch {
	case it.Keyboard == nil:
		return nil
	case it.Keyboard.InlineKeyboard == nil:
		return &models.InlineKeyboardMarkup{InlineKeyboard: [][]models.InlineKeyboardButton{}}
	}
	return it.Keyboard
}

func reply(it *Item, f fix) *models.ReplyParameters {
	if it.ReplyTo == 0 || f.noReply {
		return nil
	}
	return &models.ReplyParameters{MessageID: int(it.ReplyTo), AllowSendingWithoutReply: true}
}

func threadOf(it *Item, f fix) int {
	if f.noThread {
		return 0
	}
	return thread(it.To)
}

// thread is the thread id for sending to an address.
func thread(to store.Address) int {
	if to.Topic == GeneralTopic {
		return 0
	}
	return to.Topic
}

func noPreview() *models.LinkPreviewOptions { return &models.LinkPreviewOptions{IsDisabled: tg.True()} }

// clip cuts text to a number of code points.
func clip(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return string(runes[:limit-1]) + "…"
}
