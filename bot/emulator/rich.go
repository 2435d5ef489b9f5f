package emulator

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of rich messages and drafts (Bot API 10.3).
const (
	maxRich   = 32768 // characters
	draftLife = 30 * time.Second
)

// richContent reads rich_message. Telegram parses it on its servers, so that only size and form are checked here.
func richContent(q *request) (Content, *apiError) {
	var in struct {
		HTML     string `json:"html"`
		Markdown string `json:"markdown"`
	}
	ok, wrong := q.decode("rich_message", &in)
	switch {
	case !ok:
		return Content{}, badRequest(`parameter "rich_message" is required`)
	case wrong != nil:
		return Content{}, badRequest("Can't parse rich message JSON object")
	case in.HTML != "" && in.Markdown != "":
		return Content{}, badRequest("RICH_MESSAGE_SOURCE_INVALID")
	}
	source := in.Markdown + in.HTML
	switch {
	case strings.TrimSpace(source) == "":
		return Content{}, badRequest("RICH_MESSAGE_EMPTY_INVALID") // the name is a guess after the others of its family
	case utf8.RuneCountInString(source) > maxRich:
		return Content{}, badRequest("RICH_MESSAGE_TOO_LONG_INVALID") // likewise
	}
	return Content{Rich: &Rich{Blocks: []RichBlock{{"paragraph", source}}, Source: source}}, nil
}

func (s *Server) sendRichMessage(q *request) (any, *apiError) {
	content, err := richContent(q)
	if err != nil {
		return nil, err
	}
	o, err := s.outgoing(q)
	if err != nil {
		return nil, err
	}
	o.message.Content = content
	return answer(s.commit(o))
}

func (s *Server) sendMessageDraft(q *request) (any, *apiError) {
	text, entities, err := formatted(q.text("text"), q.text("parse_mode"), q.text("entities"))
	if err == nil && utf8.RuneCountInString(text) > maxText {
		err = badRequest("message is too long")
	}
	if err != nil {
		return nil, err
	}
	return s.draft(q, Draft{Text: text, Entities: entities})
}

func (s *Server) sendRichMessageDraft(q *request) (any, *apiError) {
	content, err := richContent(q)
	if err != nil {
		return nil, err
	}
	return s.draft(q, Draft{Text: content.Rich.Source})
}

// draft shows d until a message of the bot takes its place, or for 30 s.
func (s *Server) draft(q *request, d Draft) (any, *apiError) {
	c, thread, err := s.target(q)
	if err != nil {
		return nil, err
	}
	if c.Type != "private" {
		return nil, badRequest("TEXTDRAFT_PEER_INVALID")
	}
	d.ID, _ = strconv.ParseInt(q.text("draft_id"), 10, 64)
	if d.ID == 0 {
		return nil, badRequest("TEXTDRAFT_ID_INVALID") // the name is a guess; that 0 is refused is documented
	}
	d.Thread, d.CanStop, d.until = thread, q.flag("can_stop"), time.Now().Add(draftLife)
	c.draft = &d
	s.note()
	return true, nil
}
