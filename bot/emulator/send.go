package emulator

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// outgoing is what all send methods share: where to, how, in reply to what, with which keyboard.
type outgoing struct {
	chat    *chat
	message *Message // without its content
	markup  markup
}

// outgoing reads the shared parameters. Nothing is changed yet, so that a refusal leaves no trace.
func (s *Server) outgoing(q *request) (*outgoing, *apiError) {
	c, thread, err := s.target(q)
	if err != nil {
		return nil, err
	}
	m, err := q.markup(c)
	if err != nil {
		return nil, err
	}
	o := &outgoing{chat: c, markup: m, message: &Message{
		From: &s.bot, Thread: thread, InTopic: thread != 0, Keyboard: m.inline,
		Delivery: Delivery{Silent: q.flag("disable_notification"), Protected: q.flag("protect_content"), NoPreview: q.noPreview()},
	}}
	return o, o.reply(q)
}

func (q *request) noPreview() bool {
	var o struct {
		Disabled bool `json:"is_disabled"`
	}
	_, err := q.decode("link_preview_options", &o)
	return err == nil && (o.Disabled || q.flag("disable_web_page_preview"))
}

// reply resolves reply_parameters.
func (o *outgoing) reply(q *request) *apiError {
	var p struct {
		MessageID int    `json:"message_id"`
		Lenient   bool   `json:"allow_sending_without_reply"`
		Quote     string `json:"quote"`
		Mode      string `json:"quote_parse_mode"`
	}
	if raw := q.text("reply_parameters"); raw != "" {
		if !json.Valid([]byte(raw)) {
			return badRequest("Can't parse reply parameters JSON object")
		}
		if json.Unmarshal([]byte(raw), &p) != nil {
			return badRequest("Object expected as reply parameters")
		}
	} else {
		p.MessageID, p.Lenient = q.id("reply_to_message_id"), q.flag("allow_sending_without_reply")
	}
	if p.MessageID <= 0 {
		return nil
	}
	to := o.chat.find(p.MessageID)
	if to == nil {
		if p.Lenient {
			return nil
		}
		return badRequest("message to be replied not found")
	}
	o.message.ReplyTo = shown(to)
	if p.Quote == "" {
		return nil
	}
	quote, _, err := formatted(p.Quote, p.Mode, "")
	if err != nil {
		return err
	}
	at := strings.Index(to.words(), quote)
	if quote == "" || at < 0 || utf8.RuneCountInString(quote) > maxQuote {
		return badRequest("QUOTE_TEXT_INVALID")
	}
	o.message.Quote = &Quote{Text: quote, Position: unitsOf(to.words()[:at]), IsManual: true}
	return nil
}

// words is the text or the caption of a message.
func (m *Message) words() string {
	if m.Text != "" {
		return m.Text
	}
	return m.Caption
}

// commit paces, posts and applies the reply keyboard.
func (s *Server) commit(o *outgoing) (*Message, *apiError) {
	if err := s.flood.take(o.chat, 1, time.Now()); err != nil {
		return nil, err
	}
	m := s.post(o.chat, o.message)
	switch {
	case o.markup.replies != nil:
		o.chat.keyboards[m.Thread] = o.markup.replies
	case o.markup.remove:
		delete(o.chat.keyboards, m.Thread)
	}
	return m, nil
}

func (s *Server) sendMessage(q *request) (any, *apiError) {
	content, err := textContent(q)
	if err != nil {
		return nil, err
	}
	o, err := s.outgoing(q)
	if err != nil {
		return nil, err
	}
	if utf8.RuneCountInString(content.Text) > maxText {
		return nil, badRequest("message is too long")
	}
	o.message.Content = content
	return answer(s.commit(o))
}

// answer lets a handler return a typed result without a typed nil.
func answer[T any](v *T, err *apiError) (any, *apiError) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

func textContent(q *request) (c Content, err *apiError) {
	if q.text("text") == "" {
		return c, badRequest("Message text is empty")
	}
	c.Text, c.Entities, err = formatted(q.text("text"), q.text("parse_mode"), q.text("entities"))
	if err == nil && c.Text == "" {
		err = badRequest("Text must be non-empty")
	}
	return c, err
}

func captionOf(q *request) (string, []Entity, *apiError) {
	text, entities, err := formatted(q.text("caption"), q.text("parse_mode"), q.text("caption_entities"))
	if err == nil && utf8.RuneCountInString(text) > maxCaption {
		err = badRequest("message caption is too long")
	}
	return text, entities, err
}

var chatActions = []string{
	"cancel", "typing", "record_video", "upload_video", "record_audio", "record_voice", "upload_audio", "upload_voice", "upload_photo",
	"upload_document", "choose_sticker", "pick_up_location", "find_location", "record_video_note", "upload_video_note",
}

const actionLife = 5 * time.Second

func (s *Server) sendChatAction(q *request) (any, *apiError) {
	kind := strings.ToLower(q.text("action"))
	if !slices.Contains(chatActions, kind) {
		return nil, badRequest("Wrong parameter action in request")
	}
	c, err := s.chatArg(q.text("chat_id"))
	if err == nil {
		err = c.refusal()
	}
	if err != nil {
		return nil, err
	}
	thread := q.id("message_thread_id")
	if _, ok := c.topics[thread]; thread > 0 && !ok { // General is fine here, unlike in a send
		return nil, badRequest("Message thread not found")
	}
	c.activity = activity{kind, thread, time.Now().Add(actionLife)}
	if kind == "cancel" {
		c.activity = activity{}
	}
	s.note()
	return true, nil
}

func (s *Server) forwardMessage(q *request) (any, *apiError) {
	o, from, err := s.copyOf(q, "message to forward not found")
	if err != nil {
		return nil, err
	}
	if from.Protected || from.Service != nil {
		return nil, badRequest("the message can't be forwarded")
	}
	o.message.Content, o.message.Keyboard = from.Content, nil
	o.message.Forward = &Origin{Type: "user", Date: from.Date, SenderUser: from.From}
	if from.Forward != nil {
		o.message.Forward = from.Forward
	}
	return answer(s.commit(o))
}

func (s *Server) copyMessage(q *request) (any, *apiError) {
	o, from, err := s.copyOf(q, "message to copy not found")
	if err != nil {
		return nil, err
	}
	if from.Protected || from.Service != nil {
		return nil, badRequest("the message can't be copied")
	}
	o.message.Content = from.Content
	if _, ok := q.params["caption"]; ok && from.Text == "" {
		if o.message.Caption, o.message.CaptionEntities, err = captionOf(q); err != nil {
			return nil, err
		}
	}
	m, err := s.commit(o)
	if err != nil {
		return nil, err
	}
	return map[string]int{"message_id": m.ID}, nil
}

func (s *Server) copyOf(q *request, missing string) (*outgoing, *Message, *apiError) {
	o, err := s.outgoing(q)
	if err != nil {
		return nil, nil, err
	}
	source, err := s.chatArg(q.text("from_chat_id"))
	if err != nil {
		return nil, nil, err
	}
	m := source.find(q.id("message_id"))
	if m == nil {
		return nil, nil, badRequest(missing)
	}
	return o, m, nil
}

// Words returns the part of the text or caption that an entity marks.
func (m *Message) Words(e Entity) string {
	units := utf16.Encode([]rune(m.words()))
	return string(utf16.Decode(units[e.Offset:e.end()]))
}
