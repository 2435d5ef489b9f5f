package bot

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf16"

	tg "github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"nod/agent"
	"nod/bot/outbox"
	"nod/store"
	"nod/tools"
)

// maxDownload is the largest file that the Bot API hands out, in bytes (core.telegram.org/bots/api#getfile).
const maxDownload = 20 << 20

// downloadTime bounds one download.
const downloadTime = 2 * time.Minute

// Intake turns messages into what a model reads, and saves the files that came with them.
type Intake struct {
	Client    *tg.Bot
	Wire      *outbox.Wire
	API       string // root of the Bot API, without a final slash
	Token     string
	Workspace *tools.Workspace
	Hearing   func() tools.Hearing // what understands speech now, if anything does
	Driver    *agent.Driver        // whose caps and books hold for that too
	Log       *slog.Logger

	listening listening
}

// attached is a file of a message, before it is fetched.
type attached struct {
	id, name, kind, mime string
	size                 int64
}

// read makes one input of the messages, which belong together. complaint says what could not be had, for the person. What
// a stop has overtaken is not listened to.
func (in *Intake) read(ctx context.Context, messages []*models.Message, overtaken func() bool) (input agent.Input, complaint string) {
	first, last := messages[0], messages[len(messages)-1]
	input = agent.Input{
		Address: addressOf(first), From: store.UserID(first.From.ID), Message: store.MessageID(last.ID),
		At: time.Unix(int64(last.Date), 0), Quote: quoteOf(first), Forwarded: forwardedFrom(first),
	}
	if first.Chat.Type != models.ChatTypePrivate {
		input.Speaker = displayName(first.From)
	}
	var complaints []string
	listening, done := in.listen(ctx, input.Address)
	defer done(nil)
	if overtaken() { // asked once interrupt can reach it
		done(tools.ErrStopped)
	}
	for _, m := range messages {
		if note := noteOf(m); note != "" {
			input.Notes = append(input.Notes, note)
		}
		if f, ok := fileOf(m); ok {
			saved, err := in.fetch(ctx, m, f)
			if err != "" {
				complaints = append(complaints, err)
				input.Notes = append(input.Notes, "a file came that could not be had: "+err)
				continue
			}
			note, complaint := in.hear(listening, m, &saved)
			input.Files = append(input.Files, saved)
			if note != "" {
				input.Notes = append(input.Notes, note)
			}
			if complaint != "" {
				complaints = append(complaints, complaint)
			}
		}
	}
	input.Text = textOfAll(messages)
	return input, strings.Join(complaints, "\n")
}

// textOfAll is the text of messages that belong together. Telegram splits a long paste at its limit, without a break of
// its own.
func textOfAll(messages []*models.Message) string {
	var texts []string
	for _, m := range messages {
		if text := textOf(m); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, pasteJoint(messages))
}

func pasteJoint(messages []*models.Message) string {
	if len(messages) > 1 && messages[0].MediaGroupID == "" && len([]rune(messages[0].Text)) == maxMessage {
		return ""
	}
	return "\n"
}

// maxMessage is the longest text of one message, in characters.
const maxMessage = 4096

// fetch saves a file under uploads/. problem is a sentence for people, or "".
func (in *Intake) fetch(ctx context.Context, m *models.Message, f attached) (saved agent.Attachment, problem string) {
	ctx, cancel := context.WithTimeout(ctx, downloadTime)
	defer cancel()
	if f.size > maxDownload {
		return saved, fmt.Sprintf("%s is too large: bots can fetch files of up to 20 MB, and it has %d MB.", cmp.Or(f.name, "The "+f.kind), f.size>>20)
	}
	body, err := in.open(ctx, f)
	if err != nil {
		in.Log.Warn("fetching a file", "chat", m.Chat.ID, "err", err)
		return saved, fmt.Sprintf("%s could not be fetched from Telegram. Send it again.", cmp.Or(f.name, "The "+f.kind))
	}
	defer body.Close()
	name := fmt.Sprintf("%d-%s", m.ID, tools.SafeName(cmp.Or(f.name, f.kind+extension(f.mime))))
	out, shown, err := in.Workspace.CreateUpload(name)
	if err != nil {
		in.Log.Error("saving a file", "chat", m.Chat.ID, "err", err)
		return saved, "The file could not be saved: the workspace can't be written to."
	}
	defer out.Close()
	n, err := io.Copy(out, io.LimitReader(body, maxDownload+1))
	if err != nil || n > maxDownload {
		in.Log.Warn("fetching a file", "chat", m.Chat.ID, "err", err)
		in.discard([]agent.Attachment{{Path: shown}})
		return saved, fmt.Sprintf("%s could not be fetched whole. Send it again.", cmp.Or(f.name, "The "+f.kind))
	}
	return agent.Attachment{Path: shown, Kind: f.kind, MIME: f.mime, Size: n}, ""
}

// discard deletes files of which nothing will come.
func (in *Intake) discard(files []agent.Attachment) {
	for _, f := range files {
		if err := in.Workspace.Root().Remove(f.Path); err != nil {
			in.Log.Warn("deleting a file that was not fetched whole", "err", err)
		}
	}
}

// open begins a download. The link holds the token: it appears in no error and no log.
func (in *Intake) open(ctx context.Context, f attached) (io.ReadCloser, error) {
	file, err := in.Client.GetFile(ctx, &tg.GetFileParams{FileID: f.id})
	if err != nil {
		return nil, err
	}
	link := in.API + "/file/bot" + in.Token + "/" + (&url.URL{Path: file.FilePath}).EscapedPath()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, link, nil)
	if err != nil {
		return nil, fmt.Errorf("opening file %s: the service gave an unusable path", f.id)
	}
	resp, err := in.Wire.Get(req)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// extension is a usual ending for a kind of content, or "".
func extension(kind string) string {
	switch kind {
	case "image/jpeg":
		return ".jpg"
	case "audio/ogg":
		return ".ogg"
	case "video/mp4":
		return ".mp4"
	}
	endings, err := mime.ExtensionsByType(kind)
	if err != nil || len(endings) == 0 {
		return ""
	}
	return endings[0]
}

// fileOf is the file that a message carries.
func fileOf(m *models.Message) (attached, bool) {
	switch {
	case m.Animation != nil: // such a message carries a document too
		a := m.Animation
		return attached{a.FileID, a.FileName, "animation", cmp.Or(a.MimeType, "video/mp4"), a.FileSize}, true
	case len(m.Photo) > 0:
		p := m.Photo[len(m.Photo)-1]
		return attached{p.FileID, "", "photo", "image/jpeg", int64(p.FileSize)}, true
	case m.Document != nil:
		d := m.Document
		return attached{d.FileID, d.FileName, "document", d.MimeType, d.FileSize}, true
	case m.Video != nil:
		d := m.Video
		return attached{d.FileID, d.FileName, "video", cmp.Or(d.MimeType, "video/mp4"), d.FileSize}, true
	case m.Audio != nil:
		d := m.Audio
		return attached{d.FileID, d.FileName, "audio", d.MimeType, d.FileSize}, true
	case m.Voice != nil:
		d := m.Voice
		return attached{d.FileID, "", "voice", cmp.Or(d.MimeType, "audio/ogg"), d.FileSize}, true
	case m.VideoNote != nil:
		d := m.VideoNote
		return attached{d.FileID, "", "video note", "video/mp4", int64(d.FileSize)}, true
	}
	return attached{}, false
}

// noteOf is a line of text for what is no text and no file.
func noteOf(m *models.Message) string {
	switch {
	case m.Venue != nil:
		return fmt.Sprintf("a place: %s, %s (%.6f, %.6f)", m.Venue.Title, m.Venue.Address, m.Venue.Location.Latitude, m.Venue.Location.Longitude)
	case m.Location != nil:
		return fmt.Sprintf("a location: %.6f, %.6f", m.Location.Latitude, m.Location.Longitude)
	case m.Contact != nil:
		return fmt.Sprintf("a contact: %s, phone %s", strings.TrimSpace(m.Contact.FirstName+" "+m.Contact.LastName), m.Contact.PhoneNumber)
	case m.Sticker != nil:
		return strings.TrimSpace("a sticker " + m.Sticker.Emoji)
	case m.Poll != nil:
		var options []string
		for _, o := range m.Poll.Options {
			options = append(options, o.Text)
		}
		return fmt.Sprintf("a poll: %s Options: %s", m.Poll.Question, strings.Join(options, "; "))
	case m.Dice != nil:
		return fmt.Sprintf("a throw of %s: %d", m.Dice.Emoji, m.Dice.Value)
	}
	return ""
}

func textOf(m *models.Message) string {
	if m.Text != "" {
		return m.Text
	}
	return m.Caption
}

// maxQuote bounds what is repeated of a message that is replied to, in characters.
const maxQuote = 2000

// quoteOf is what a message replies to: the part that its sender marked, or the whole.
func quoteOf(m *models.Message) string {
	text := ""
	switch {
	case m.Quote != nil && m.Quote.Text != "":
		text = m.Quote.Text
	case m.ReplyToMessage != nil && m.ReplyToMessage.ForumTopicCreated == nil:
		text = textOf(m.ReplyToMessage)
	}
	if r := []rune(text); len(r) > maxQuote {
		return string(r[:maxQuote]) + "…"
	}
	return text
}

// forwardedFrom is whose words a message passes on, or "" when they are its sender's own.
func forwardedFrom(m *models.Message) string {
	if m.ViaBot != nil {
		return displayName(m.ViaBot)
	}
	if m.ForwardOrigin == nil {
		return ""
	}
	switch o := m.ForwardOrigin; {
	case o.MessageOriginUser != nil:
		return displayName(&o.MessageOriginUser.SenderUser)
	case o.MessageOriginHiddenUser != nil:
		return o.MessageOriginHiddenUser.SenderUserName
	case o.MessageOriginChat != nil:
		return o.MessageOriginChat.SenderChat.Title
	case o.MessageOriginChannel != nil:
		return o.MessageOriginChannel.Chat.Title
	}
	return "somebody"
}

func displayName(u *models.User) string {
	name := strings.TrimSpace(u.FirstName + " " + u.LastName)
	return cmp.Or(name, cmp.Or(u.Username, fmt.Sprint(u.ID)))
}

// addressOf is where a message was written. Messages of a forum's General topic come without a number; the outbox knows
// what to make of ours.
func addressOf(m *models.Message) store.Address {
	at := store.Address{Chat: store.ChatID(m.Chat.ID)}
	switch {
	case m.IsTopicMessage:
		at.Topic = m.MessageThreadID
	case m.Chat.IsForum:
		at.Topic = outbox.GeneralTopic
	}
	return at
}

// entityText is the part of a text that an entity covers: Telegram counts in UTF-16 units, and what it sends is checked.
func entityText(text string, e models.MessageEntity) (string, bool) {
	units := utf16.Encode([]rune(text))
	if e.Offset < 0 || e.Length < 0 || e.Offset > len(units) || e.Length > len(units)-e.Offset {
		return "", false
	}
	return string(utf16.Decode(units[e.Offset : e.Offset+e.Length])), true
}

// mentions says whether a message speaks to the bot.
func mentions(m *models.Message, me *models.User) bool {
	if m.ReplyToMessage != nil && m.ReplyToMessage.From != nil && m.ReplyToMessage.From.ID == me.ID {
		return true
	}
	for _, e := range append(m.Entities, m.CaptionEntities...) {
		switch e.Type {
		case models.MessageEntityTypeMention:
			if name, ok := entityText(textOf(m), e); ok && strings.EqualFold(name, "@"+me.Username) {
				return true
			}
		case models.MessageEntityTypeTextMention:
			if e.User != nil && e.User.ID == me.ID {
				return true
			}
		}
	}
	return false
}

// parseCommand reads a chat command at the start of a text. other is true for one that another bot is meant by.
func parseCommand(text, username string) (name, args string, is, other bool) {
	word, args, _ := strings.Cut(strings.TrimSpace(text), " ")
	if head, rest, ok := strings.Cut(word, "\n"); ok {
		word, args = head, rest+" "+args
	}
	if !strings.HasPrefix(word, "/") {
		return "", "", false, false
	}
	name, target, directed := strings.Cut(strings.TrimPrefix(word, "/"), "@")
	return strings.ToLower(name), strings.TrimSpace(args), true, directed && !strings.EqualFold(target, username)
}
