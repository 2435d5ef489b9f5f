package emulator

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

func (s *Server) sendLocation(q *request) (any, *apiError) {
	o, err := s.outgoing(q)
	if err != nil {
		return nil, err
	}
	latitude, err1 := strconv.ParseFloat(q.text("latitude"), 64)
	longitude, err2 := strconv.ParseFloat(q.text("longitude"), 64)
	switch {
	case q.text("latitude") == "" || err1 != nil:
		return nil, badRequest("Latitude is empty")
	case q.text("longitude") == "" || err2 != nil:
		return nil, badRequest("Longitude is empty")
	case latitude < -90 || latitude > 90 || longitude < -180 || longitude > 180:
		return nil, badRequest("Wrong location specified")
	}
	o.message.Location = &Location{latitude, longitude}
	return answer(s.commit(o))
}

func (s *Server) sendContact(q *request) (any, *apiError) {
	o, err := s.outgoing(q)
	if err != nil {
		return nil, err
	}
	if q.text("phone_number") == "" {
		return nil, badRequest(`parameter "phone_number" is required`)
	}
	if q.text("first_name") == "" {
		return nil, badRequest(`parameter "first_name" is required`)
	}
	o.message.Contact = &Contact{Phone: q.text("phone_number"), FirstName: q.text("first_name"), LastName: q.text("last_name")}
	return answer(s.commit(o))
}

// Limits of polls (https://core.telegram.org/bots/api#sendpoll), in characters.
const (
	maxQuestion   = 300
	maxOptionText = 100
	maxOptions    = 12
)

func (s *Server) sendPoll(q *request) (any, *apiError) {
	o, err := s.outgoing(q)
	if err != nil {
		return nil, err
	}
	options, err := pollOptions(q)
	if err != nil {
		return nil, err
	}
	question := strings.TrimSpace(q.text("question"))
	switch n := utf8.RuneCountInString(question); {
	case n == 0:
		return nil, badRequest("Poll question must be non-empty")
	case n > maxQuestion:
		return nil, badRequestf("Poll question length must not exceed %d", maxQuestion)
	}
	kind := strings.ToLower(q.text("type"))
	if kind == "" {
		kind = "regular"
	}
	if kind != "regular" && kind != "quiz" {
		return nil, badRequest("Unsupported poll type specified")
	}
	anonymous := q.text("is_anonymous") == "" || q.flag("is_anonymous")
	s.files.n++
	o.message.Poll = &Poll{
		ID: fmt.Sprint(7_000_000_000 + s.files.n), Question: question, Options: options, Type: kind, IsAnonymous: anonymous,
		Multiple: q.flag("allows_multiple_answers"), IsClosed: q.flag("is_closed"),
	}
	return answer(s.commit(o))
}

func pollOptions(q *request) ([]PollOption, *apiError) {
	raw := q.text("options")
	if !json.Valid([]byte(raw)) {
		return nil, badRequest("Can't parse options JSON object")
	}
	var list []json.RawMessage
	if json.Unmarshal([]byte(raw), &list) != nil {
		return nil, badRequest("Expected an Array of String as options")
	}
	var options []PollOption
	for _, item := range list {
		var text string
		var object struct {
			Text string `json:"text"`
		}
		if json.Unmarshal(item, &text) != nil {
			if json.Unmarshal(item, &object) != nil {
				return nil, badRequest("Expected an option to be of type String")
			}
			text = object.Text
		}
		switch text = strings.TrimSpace(text); {
		case text == "":
			return nil, badRequest("Poll options must be non-empty")
		case utf8.RuneCountInString(text) > maxOptionText:
			return nil, badRequestf("Poll options length must not exceed %d", maxOptionText)
		}
		options = append(options, PollOption{Text: text})
	}
	switch {
	case len(options) == 0:
		return nil, badRequest("Poll must have at least 1 option")
	case len(options) > maxOptions:
		return nil, badRequestf("Poll can't have more than %d options", maxOptions)
	}
	return options, nil
}

func (s *Server) stopPoll(q *request) (any, *apiError) {
	c, m, err := s.messageArg(q, "message with poll to stop not found")
	if err != nil {
		return nil, err
	}
	k, err := q.onlyInline(c)
	if err != nil {
		return nil, err
	}
	if m.Poll == nil || m.From.ID != s.bot.ID {
		return nil, badRequest("message with poll to stop not found")
	}
	poll := *m.Poll
	if poll.IsClosed {
		return nil, badRequest("poll has already been closed")
	}
	poll.IsClosed = true
	changed := *m
	changed.Poll, changed.Keyboard = &poll, k
	s.replace(c, &changed)
	return &poll, nil
}
