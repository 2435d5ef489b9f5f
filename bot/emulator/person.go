package emulator

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Option changes how a person's message is sent.
type Option func(*Person, *Message)

// ReplyTo makes the message a reply.
func ReplyTo(id int) Option {
	return func(p *Person, m *Message) {
		if to := p.chat.find(id); to != nil {
			m.ReplyTo = shown(to)
		}
	}
}

// Quoting makes the message a reply that quotes a part of the other one's text.
func Quoting(id int, part string) Option {
	return func(p *Person, m *Message) {
		ReplyTo(id)(p, m)
		if m.ReplyTo != nil {
			at := max(0, strings.Index(m.ReplyTo.words(), part))
			m.Quote = &Quote{Text: part, Position: unitsOf(m.ReplyTo.words()[:at]), IsManual: true}
		}
	}
}

// Caption is the text under a file, photo or the first part of an album.
func Caption(text string) Option {
	return func(_ *Person, m *Message) {
		m.Caption, m.CaptionEntities = clean(text, nil)
		m.CaptionEntities = detect(m.Caption, nil)
	}
}

// ForwardedFrom makes the message a forward of what the user wrote at that time.
func ForwardedFrom(u User, at time.Time) Option {
	return func(_ *Person, m *Message) { m.Forward = &Origin{Type: "user", Date: at.Unix(), SenderUser: &u} }
}

// WithEntities gives the text these entities, also wrong ones, in place of the detected.
func WithEntities(e ...Entity) Option {
	return func(_ *Person, m *Message) { m.Entities = e }
}

// SentAt dates the message back, as one that waited while the bot was down.
func SentAt(at time.Time) Option {
	return func(_ *Person, m *Message) { m.Date = at.Unix() }
}

// Upload is a file that a person sends. With Size set and no Data it is a file of that size whose content Telegram does
// not hand out.
type Upload struct {
	Name string
	Mime string // default: by name, then content
	Data []byte
	Size int64
}

// send posts a person's message and queues its update.
func (p *Person) send(m *Message, opts []Option) Message {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return *p.sendLocked(m, opts)
}

func (p *Person) sendLocked(m *Message, opts []Option) *Message {
	user := p.user
	m.From = &user
	m.Thread, m.InTopic = p.thread, p.thread != 0
	for _, o := range opts {
		o(p, m)
	}
	if p.chat.state == stateUnstarted || p.chat.state == stateBlocked {
		p.chat.state = ""
	}
	p.s.post(p.chat, m)
	if p.chat.keyboards[m.Thread] != nil && (p.chat.keyboards[m.Thread].OneTime || p.chat.keyboards[m.Thread].ForceReply) {
		delete(p.chat.keyboards, m.Thread)
	}
	if p.delivered(m) {
		p.s.push("message", m, time.Unix(m.Date, 0), updateLife)
	}
	return m
}

// delivered tells whether the bot gets to see the message: in privacy mode not every one of a group.
func (p *Person) delivered(m *Message) bool {
	bot := p.s.bot
	switch {
	case p.chat.state != "" || p.chat.moved != 0:
		return false
	case !p.s.opts.Privacy || p.chat.Type == "private" || isAdmin(p.chat.members[bot.ID]):
		return true
	case m.ReplyTo != nil && m.ReplyTo.From != nil && m.ReplyTo.From.ID == bot.ID:
		return true
	}
	for _, e := range append(m.Entities, m.CaptionEntities...) {
		word := m.Words(e)
		at := strings.EqualFold(word, "@"+bot.Username)
		name, to, _ := strings.Cut(word, "@")
		if at || e.Type == "bot_command" && name != "" && (to == "" || strings.EqualFold(to, bot.Username)) {
			return true
		}
	}
	return false
}

// SendText writes a message. Commands, mentions, addresses and the like are marked as Telegram does; a text beyond 4096
// characters goes out in parts, as the apps send it, and the last part is returned.
func (p *Person) SendText(text string, opts ...Option) Message {
	text, _ = clean(text, nil)
	runes := []rune(text)
	for len(runes) > maxText {
		p.send(textMessage(string(runes[:maxText])), opts)
		runes = runes[maxText:]
	}
	return p.send(textMessage(string(runes)), opts)
}

func textMessage(text string) *Message {
	return &Message{Content: Content{Text: text, Entities: detect(text, nil)}}
}

// SendDocument sends a file as it is.
func (p *Person) SendDocument(u Upload, opts ...Option) Message {
	return p.sendFile(kindDocument, u, opts)
}

// SendVideo sends a video.
func (p *Person) SendVideo(u Upload, opts ...Option) Message { return p.sendFile(kindVideo, u, opts) }

// SendAudio sends a piece of music.
func (p *Person) SendAudio(u Upload, opts ...Option) Message { return p.sendFile(kindAudio, u, opts) }

// SendVoice sends a voice note.
func (p *Person) SendVoice(u Upload, opts ...Option) Message { return p.sendFile(kindVoice, u, opts) }

// SendSticker sends a sticker that stands for the emoji.
func (p *Person) SendSticker(emoji string, u Upload, opts ...Option) Message {
	return p.sendFile(kindSticker, u, append([]Option{func(_ *Person, m *Message) { m.Sticker.Emoji = emoji }}, opts...))
}

// SendPhoto sends a picture, which loses its name on the way.
func (p *Person) SendPhoto(u Upload, opts ...Option) Message { return p.sendFile(kindPhoto, u, opts) }

func (p *Person) sendFile(kind string, u Upload, opts []Option) Message {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return *p.sendLocked(&Message{Content: p.s.uploaded(kind, u)}, opts)
}

// uploaded stores a person's file; s.mu is held.
func (s *Server) uploaded(kind string, u Upload) Content {
	if kind == kindPhoto {
		w, h, err := photoSize(u.Data)
		if err != nil { // the apps shrink what the API would refuse
			w, h = 1280, 960
		}
		return Content{Photo: s.files.photo(u.Data, u.Size, w, h)}
	}
	if u.Mime == "" {
		u.Mime = mimeOf(u.Name, u.Data)
	}
	f := s.files.add(kind, u.Name, u.Mime, u.Data, u.Size)
	return attached(kind, &Attachment{FileID: f.id, UniqueID: f.unique, Name: f.name, MimeType: f.mime, Size: f.size})
}

// SendAlbum sends photos and videos (by their MIME type), or else documents, as one album: one update each. Options apply
// to all messages, but a caption to the first.
func (p *Person) SendAlbum(files []Upload, opts ...Option) []Message {
	visual := !slices.ContainsFunc(files, func(u Upload) bool { return visualKind(u) == kindDocument })
	return p.album(files, visual, opts)
}

func (p *Person) album(files []Upload, visual bool, opts []Option) []Message {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.s.files.n++
	album := fmt.Sprint(13_000_000_000_000 + p.s.files.n)
	var sent []Message
	for i, u := range files {
		kind := kindDocument
		if visual {
			kind = visualKind(u)
		}
		options := slices.Clone(opts)
		if i > 0 {
			options = append(options, Caption(""))
		}
		m := p.sendLocked(&Message{Content: p.s.uploaded(kind, u), AlbumID: album}, options)
		sent = append(sent, *m)
	}
	return sent
}

func visualKind(u Upload) string {
	kind := u.Mime
	if kind == "" {
		kind = mimeOf(u.Name, u.Data)
	}
	switch {
	case strings.HasPrefix(kind, "image/"):
		return kindPhoto
	case strings.HasPrefix(kind, "video/"):
		return kindVideo
	}
	return kindDocument
}

// SendLocation sends a point on the map.
func (p *Person) SendLocation(latitude, longitude float64, opts ...Option) Message {
	return p.send(&Message{Content: Content{Location: &Location{latitude, longitude}}}, opts)
}

// SendContact sends an address-book entry.
func (p *Person) SendContact(phone, firstName string, opts ...Option) Message {
	return p.send(&Message{Content: Content{Contact: &Contact{Phone: phone, FirstName: firstName}}}, opts)
}

// SendPoll sends a poll.
func (p *Person) SendPoll(question string, options []string, opts ...Option) Message {
	poll := &Poll{ID: "1", Question: question, Type: "regular", IsAnonymous: true}
	for _, o := range options {
		poll.Options = append(poll.Options, PollOption{Text: o})
	}
	return p.send(&Message{Content: Content{Poll: poll}}, opts)
}

// Forward forwards a message of another chat, or of this one.
func (p *Person) Forward(m Message, opts ...Option) Message {
	from := m.Forward
	if from == nil {
		from = &Origin{Type: "user", Date: m.Date, SenderUser: m.From}
	}
	return p.send(&Message{Content: m.Content, Forward: from}, opts)
}

// Edit changes the text, or the caption, of a message that the person wrote.
func (p *Person) Edit(id int, text string) error {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	m := p.chat.find(id)
	if m == nil || m.From == nil || m.From.ID != p.user.ID {
		return fmt.Errorf("editing message %d: it is not a message of %s", id, p.user.FirstName)
	}
	changed := *m
	text, _ = clean(text, nil)
	if m.Text != "" {
		changed.Text, changed.Entities = text, detect(text, nil)
	} else {
		changed.Caption, changed.CaptionEntities = text, detect(text, nil)
	}
	changed.EditDate = now()
	p.s.replace(p.chat, &changed)
	if p.delivered(&changed) {
		p.s.push("edited_message", &changed, time.Now(), updateLife)
	}
	return nil
}

// Delete deletes a message for everybody; the bot is not told, as on Telegram.
func (p *Person) Delete(id int) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.s.drop(p.chat, id)
}

// React sets the person's reactions to a message, none for taking them back.
func (p *Person) React(id int, emoji ...string) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	old := p.chat.marks[id].reactions[p.user.ID]
	p.s.react(p.chat, id, p.user.ID, emoji)
	p.s.push("message_reaction", struct {
		Chat    Chat           `json:"chat"`
		Message int            `json:"message_id"`
		User    User           `json:"user"`
		Date    int64          `json:"date"`
		Old     []reactionType `json:"old_reaction"`
		New     []reactionType `json:"new_reaction"`
	}{p.chat.Chat, id, p.user, now(), asTypes(old), asTypes(emoji)}, time.Now(), updateLife)
}

func asTypes(emoji []string) []reactionType {
	types := []reactionType{}
	for _, e := range emoji {
		types = append(types, reactionType{"emoji", e})
	}
	return types
}

// StopDraft presses Stop on the draft that the bot shows; false when there is none that can be stopped.
func (p *Person) StopDraft() bool {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	d := p.chat.draft
	if d == nil || !d.CanStop || time.Now().After(d.until) {
		return false
	}
	p.chat.draft = nil
	p.s.push("stopped_message_generation", struct {
		Chat   Chat  `json:"chat"`
		Thread int   `json:"message_thread_id,omitempty"`
		Draft  int64 `json:"draft_id"`
	}{p.chat.Chat, d.Thread, d.ID}, time.Now(), updateLife)
	return true
}
