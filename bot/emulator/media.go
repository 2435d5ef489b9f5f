package emulator

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// inputFile resolves a parameter that names a file: a part of the form, attach://part, an address or a file id.
// Both results are nil when there is none.
func (s *Server) inputFile(q *request, field, value string) (*upload, *file, *apiError) {
	if part, ok := strings.CutPrefix(value, "attach://"); ok {
		field, value = part, ""
	}
	if up := q.files[field]; up != nil && value == "" {
		if len(up.data) == 0 {
			return nil, nil, badRequest("File must be non-empty")
		}
		return up, nil, nil
	}
	switch {
	case value == "":
		return nil, nil, nil
	case strings.Contains(value, "://"):
		if checkedLink(value) == "" {
			return nil, nil, badRequest("Wrong HTTP URL specified")
		}
		return nil, nil, badRequest("Failed to get HTTP URL content") // there is no net behind the emulator
	}
	if f := s.files.byID[value]; f != nil {
		return nil, f, nil
	}
	return nil, nil, badRequest("Wrong file identifier/HTTP URL specified")
}

// media is the description of one file to send: the parameters of a send method or an element of an album.
type media struct {
	kind, value      string
	name             string // the form field to look in when value is empty
	title, performer string
	duration         int
	width, height    int
}

// content stores the file and describes it as the kind that Telegram makes of it: what is no voice note, video or song by
// its format becomes a document.
func (s *Server) content(q *request, m media) (Content, *apiError) {
	up, old, err := s.inputFile(q, m.name, m.value)
	switch {
	case err != nil:
		return Content{}, err
	case up == nil && old == nil:
		return Content{}, badRequestf("There is no %s in the request", m.kind)
	case old != nil:
		up = &upload{old.name, old.data}
	}
	if m.kind == kindPhoto {
		w, h, err := photoSize(up.data)
		if err != nil {
			return Content{}, err
		}
		return Content{Photo: s.files.photo(up.data, 0, w, h)}, nil
	}
	kind, mimeType := settle(m.kind, up.name, up.data)
	f := old
	if f == nil {
		f = s.files.add(kind, up.name, mimeType, up.data, 0)
	}
	a := &Attachment{FileID: f.id, UniqueID: f.unique, Name: f.name, MimeType: mimeType, Size: f.size}
	if kind != kindDocument {
		a.Duration, a.Title, a.Performer, a.Width, a.Height = m.duration, m.title, m.performer, m.width, m.height
	}
	return attached(kind, a), nil
}

func attached(kind string, a *Attachment) (c Content) {
	switch kind {
	case kindVideo:
		c.Video = a
	case kindAudio:
		c.Audio = a
	case kindVoice:
		a.Name = ""
		c.Voice = a
	case kindAnimation:
		c.Animation, c.Document = a, a
	case kindSticker:
		a.Type = "regular"
		c.Sticker = a
	default:
		c.Document = a
	}
	return c
}

// formats that keep a file what it was sent as.
var formats = map[string][]string{
	kindVideo:     {"video/mp4", "video/quicktime"},
	kindAudio:     {"audio/mpeg", "audio/mp4", "audio/x-m4a", "audio/aac"},
	kindVoice:     {"audio/ogg", "application/ogg", "video/ogg", "audio/mpeg", "audio/mp4", "audio/x-m4a"},
	kindAnimation: {"image/gif", "video/mp4"},
	kindSticker:   {"image/webp", "image/png", "video/webm", "application/x-tgsticker", "application/octet-stream"},
}

// extensions stands in for the system's table of MIME types, which differs from machine to machine.
var extensions = map[string]string{
	".mp4": "video/mp4", ".mov": "video/quicktime", ".mp3": "audio/mpeg", ".m4a": "audio/mp4", ".aac": "audio/aac", ".ogg": "audio/ogg",
	".oga": "audio/ogg", ".opus": "audio/ogg", ".gif": "image/gif", ".webp": "image/webp", ".webm": "video/webm", ".txt": "text/plain",
	".md": "text/markdown", ".csv": "text/csv", ".json": "application/json", ".pdf": "application/pdf", ".zip": "application/zip",
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".html": "text/html", ".wav": "audio/x-wav",
}

func settle(kind, name string, data []byte) (string, string) {
	mimeType := mimeOf(name, data)
	allowed, limited := formats[kind]
	if limited && !slices.Contains(allowed, mimeType) {
		return kindDocument, mimeType
	}
	if kind == kindVoice {
		mimeType = "audio/ogg"
	}
	return kind, mimeType
}

// sendFile makes the handler of the method that sends one file of the kind.
func sendFile(kind string) func(*Server, *request) (any, *apiError) {
	return func(s *Server, q *request) (any, *apiError) {
		o, err := s.outgoing(q)
		if err == nil {
			err = s.mayNot(o.chat, kind)
		}
		if err != nil {
			return nil, err
		}
		caption, entities, err := captionOf(q)
		if err != nil {
			return nil, err
		}
		content, err := s.content(q, media{
			kind: kind, name: kind, value: q.text(kind), title: q.text("title"), performer: q.text("performer"),
			duration: q.id("duration"), width: q.id("width"), height: q.id("height"),
		})
		if err != nil {
			return nil, err
		}
		if kind != kindSticker {
			content.Caption, content.CaptionEntities = caption, entities
		}
		o.message.Content = content
		return answer(s.commit(o))
	}
}

// inputMedia is one element of an album, or what editMessageMedia puts in place.
type inputMedia struct {
	Type      string          `json:"type"`
	Media     string          `json:"media"`
	Caption   string          `json:"caption"`
	Mode      string          `json:"parse_mode"`
	Entities  json.RawMessage `json:"caption_entities"`
	Title     string          `json:"title"`
	Performer string          `json:"performer"`
	Duration  int             `json:"duration"`
	Width     int             `json:"width"`
	Height    int             `json:"height"`
}

func (s *Server) inputContent(q *request, in inputMedia) (Content, *apiError) {
	if !slices.Contains([]string{kindPhoto, kindVideo, kindAudio, kindDocument, kindAnimation}, in.Type) {
		return Content{}, badRequest("Can't parse InputMedia: type must be one of photo, video, audio, document, animation")
	}
	if in.Media == "" {
		return Content{}, badRequest("Can't parse InputMedia: media not found")
	}
	caption := &request{params: map[string]string{"caption": in.Caption, "parse_mode": in.Mode, "caption_entities": string(in.Entities)}}
	text, entities, err := captionOf(caption)
	if err != nil {
		return Content{}, err
	}
	c, err := s.content(q, media{
		kind: in.Type, value: in.Media, title: in.Title, performer: in.Performer, duration: in.Duration, width: in.Width, height: in.Height,
	})
	c.Caption, c.CaptionEntities = text, entities
	return c, err
}

const maxAlbum = 10

func (s *Server) sendMediaGroup(q *request) (any, *apiError) {
	o, err := s.outgoing(q)
	if err != nil {
		return nil, err
	}
	o.message.Keyboard = nil // albums have none; the parameter is ignored
	if q.text("media") == "" {
		return nil, badRequest(`parameter "media" is required`)
	}
	if !json.Valid([]byte(q.text("media"))) {
		return nil, badRequest("Can't parse media JSON object")
	}
	var list []inputMedia
	if _, wrong := q.decode("media", &list); wrong != nil {
		return nil, badRequest("Expected an Array of InputMedia")
	}
	switch {
	case len(list) == 0:
		return nil, badRequest("There are no messages to send")
	case len(list) > maxAlbum:
		return nil, badRequest("Too many messages to send as an album")
	}
	contents, err := s.albumContents(q, o.chat, list)
	if err != nil {
		return nil, err
	}
	if err := s.flood.take(o.chat, len(contents), time.Now()); err != nil {
		return nil, err
	}
	s.files.n++
	album := fmt.Sprint(13_000_000_000_000 + s.files.n)
	var sent []*Message
	for _, c := range contents {
		m := *o.message
		m.Content = c
		if len(contents) > 1 {
			m.AlbumID = album
		}
		sent = append(sent, s.post(o.chat, &m))
	}
	return sent, nil
}

func (s *Server) albumContents(q *request, to *chat, list []inputMedia) ([]Content, *apiError) {
	var contents []Content
	for _, in := range list {
		c, err := s.inputContent(q, in)
		if err == nil {
			err = s.mayNot(to, in.Type)
		}
		if err != nil {
			return nil, err
		}
		alone := in.Type == kindAudio || in.Type == kindDocument || in.Type == kindAnimation
		if len(list) > 1 && (in.Type == kindAnimation || alone && in.Type != list[0].Type || !alone && albumClass(list[0].Type) != albumClass(in.Type)) {
			return nil, badRequest("Can't use the media of the specified type in the album")
		}
		contents = append(contents, c)
	}
	return contents, nil
}

// albumClass groups the kinds that may share an album.
func albumClass(kind string) string {
	if kind == kindPhoto || kind == kindVideo {
		return "visual"
	}
	return kind
}
