package emulator

import (
	"reflect"
	"time"
	"unicode/utf8"
)

const deletable = 48 * time.Hour // a message's age up to which it may be deleted

// editable finds the bot's own message that an edit names.
func (s *Server) editable(q *request) (*chat, *Message, *apiError) {
	if q.text("inline_message_id") != "" {
		return nil, nil, badRequest("MESSAGE_ID_INVALID") // nothing here sends inline messages
	}
	c, m, err := s.messageArg(q, "message to edit not found")
	if err != nil {
		return nil, nil, err
	}
	if m.From == nil || m.From.ID != s.bot.ID || m.Service != nil || m.Forward != nil {
		return nil, nil, badRequest("message can't be edited")
	}
	return c, m, nil
}

func (s *Server) messageArg(q *request, missing string) (*chat, *Message, *apiError) {
	c, err := s.chatArg(q.text("chat_id"))
	if err != nil {
		return nil, nil, err
	}
	if err := c.refusal(); err != nil {
		return nil, nil, err
	}
	id := q.id("message_id")
	if id <= 0 {
		return nil, nil, badRequest("Message identifier is not specified")
	}
	m := c.find(id)
	if m == nil {
		return nil, nil, badRequest(missing)
	}
	return c, m, nil
}

// put replaces a message by its edited copy unless nothing changed.
func (s *Server) put(c *chat, old *Message, content Content, k *Keyboard) (any, *apiError) {
	if reflect.DeepEqual(old.Content, content) && reflect.DeepEqual(old.Keyboard, k) {
		return nil, badRequest("message is not modified: specified new message content and reply markup are exactly the same " +
			"as a current content and reply markup of the message")
	}
	if err := s.flood.take(c, 1, time.Now()); err != nil {
		return nil, err
	}
	m := *old
	m.Content, m.Keyboard, m.EditDate = content, k, now()
	s.replace(c, &m)
	return &m, nil
}

func (s *Server) editMessageText(q *request) (any, *apiError) {
	rich := q.text("rich_message") != ""
	var content Content
	var err *apiError
	if rich {
		content, err = richContent(q)
	} else {
		content, err = textContent(q)
	}
	if err != nil {
		return nil, err
	}
	c, m, err := s.editable(q)
	if err != nil {
		return nil, err
	}
	k, err := q.onlyInline(c)
	switch {
	case err != nil:
		return nil, err
	case m.Text == "" && m.Rich == nil:
		return nil, badRequest("there is no text in the message to edit")
	case utf8.RuneCountInString(content.Text) > maxText:
		return nil, badRequest("MESSAGE_TOO_LONG")
	}
	return s.put(c, m, content, k)
}

func (s *Server) editMessageCaption(q *request) (any, *apiError) {
	caption, entities, err := captionOf(q)
	if err != nil {
		return nil, err
	}
	c, m, err := s.editable(q)
	if err != nil {
		return nil, err
	}
	k, err := q.onlyInline(c)
	switch {
	case err != nil:
		return nil, err
	case m.Photo == nil && m.Media == (Media{}) || m.Sticker != nil:
		return nil, badRequest("there is no caption in the message to edit")
	}
	content := m.Content
	content.Caption, content.CaptionEntities = caption, entities
	return s.put(c, m, content, k)
}

func (s *Server) editMessageReplyMarkup(q *request) (any, *apiError) {
	c, m, err := s.editable(q)
	if err != nil {
		return nil, err
	}
	k, err := q.onlyInline(c)
	if err != nil {
		return nil, err
	}
	return s.put(c, m, m.Content, k)
}

func (s *Server) editMessageMedia(q *request) (any, *apiError) {
	c, m, err := s.editable(q)
	if err != nil {
		return nil, err
	}
	k, err := q.onlyInline(c)
	if err != nil {
		return nil, err
	}
	var in inputMedia
	if ok, wrong := q.decode("media", &in); !ok || wrong != nil {
		return nil, badRequest("Can't parse input media JSON object")
	}
	content, err := s.inputContent(q, in)
	if err != nil {
		return nil, err
	}
	if m.AlbumID != "" && albumClass(in.Type) != albumClass(kindOf(m.Content)) {
		return nil, badRequest("Can't use the media of the specified type in the album")
	}
	return s.put(c, m, content, k)
}

// kindOf names the file that a message carries, "" for none.
func kindOf(c Content) string {
	switch {
	case c.Photo != nil:
		return kindPhoto
	case c.Animation != nil:
		return kindAnimation
	case c.Document != nil:
		return kindDocument
	case c.Video != nil:
		return kindVideo
	case c.Audio != nil:
		return kindAudio
	case c.Voice != nil:
		return kindVoice
	case c.Sticker != nil:
		return kindSticker
	}
	return ""
}

func (s *Server) mayDelete(c *chat, m *Message) bool {
	if time.Since(time.Unix(m.Date, 0)) >= deletable {
		return false
	}
	own := m.From != nil && m.From.ID == s.bot.ID
	return own || c.Type == "private" || isAdmin(c.members[s.bot.ID])
}

func (s *Server) deleteMessage(q *request) (any, *apiError) {
	c, m, err := s.messageArg(q, "message to delete not found")
	if err != nil {
		return nil, err
	}
	if !s.mayDelete(c, m) {
		return nil, badRequest("message can't be deleted")
	}
	s.drop(c, m.ID)
	return true, nil
}

const maxDeletes = 100

func (s *Server) deleteMessages(q *request) (any, *apiError) {
	c, err := s.chatArg(q.text("chat_id"))
	if err == nil {
		err = c.refusal()
	}
	if err != nil {
		return nil, err
	}
	var ids []int
	if _, wrong := q.decode("message_ids", &ids); wrong != nil {
		return nil, badRequest("Expected an Array of message identifiers")
	}
	switch {
	case len(ids) == 0:
		return nil, badRequest("Message identifiers are not specified")
	case len(ids) > maxDeletes:
		return nil, badRequest("Too many message identifiers specified")
	}
	for _, id := range ids { // those that are gone, or must stay, are passed over
		if m := c.find(id); m != nil && s.mayDelete(c, m) {
			s.drop(c, id)
		}
	}
	return true, nil
}
