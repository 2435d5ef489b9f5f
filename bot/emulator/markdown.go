package emulator

import (
	"strings"
	"unicode/utf8"
)

// The two Markdown parse modes, by the rules of TDLib's parse_markdown and parse_markdown_v2 (MessageEntity.cpp). nod never
// sends them, because a model's text does not keep to their escapes; they are here so that this can be shown.

// markScanner is the state that both modes share.
type markScanner struct {
	text     string
	pos      int
	out      strings.Builder
	units    int // UTF-16 length of out
	entities []Entity
}

func (s *markScanner) at(i int) byte {
	if i < len(s.text) {
		return s.text[i]
	}
	return 0
}

// put copies the character at pos.
func (s *markScanner) put() {
	r, size := utf8.DecodeRuneInString(s.text[s.pos:])
	s.pos += size
	s.out.WriteRune(r)
	s.units += utf16Len(r)
}

func (s *markScanner) has(token string) bool { return strings.HasPrefix(s.text[s.pos:], token) }

// language reads the word after three backticks and the line end that follows.
func (s *markScanner) language() string {
	end := s.pos
	for !isHTMLSpace(s.at(end)) && s.at(end) != '`' {
		end++
	}
	language := ""
	if s.at(end) != 0 && s.at(end) != '`' {
		language = s.text[s.pos:end]
		s.pos = end
	}
	s.pos += len(s.text[s.pos:]) - len(strings.TrimPrefix(strings.TrimPrefix(s.text[s.pos:], "\r"), "\n"))
	return language
}

// add ends an entity that began at the offset; empty ones are dropped.
func (s *markScanner) add(e Entity, offset int) {
	e.Offset, e.Length = offset, s.units-offset
	if e.Length > 0 {
		s.entities = append(s.entities, e)
	}
}

// parseMarkdown is the legacy mode: no nesting, and only _ * ` [ can be escaped.
func parseMarkdown(text string) (string, []Entity, *apiError) {
	s := &markScanner{text: text}
	for s.pos < len(text) {
		c := text[s.pos]
		if c == '\\' && s.at(s.pos+1) != 0 && strings.IndexByte("_*`[", s.at(s.pos+1)) >= 0 {
			s.pos++
			s.put()
			continue
		}
		if strings.IndexByte("_*`[", c) < 0 {
			s.put()
			continue
		}
		if err := s.span(c); err != nil {
			return "", nil, err
		}
	}
	return s.out.String(), s.entities, nil
}

func (s *markScanner) span(c byte) *apiError {
	begin, offset := s.pos, s.units
	end, e := string(c), Entity{Type: map[byte]string{'_': "italic", '*': "bold", '`': "code", '[': "text_link"}[c]}
	s.pos++
	switch {
	case c == '[':
		end = "]"
	case c == '`' && s.has("``"):
		s.pos += 2
		end, e = "```", Entity{Type: "pre", Language: s.language()}
	}
	for s.pos < len(s.text) && !s.has(end) {
		s.put()
	}
	if s.pos >= len(s.text) {
		return parseError("Can't find end of the entity starting at byte offset %d", begin)
	}
	inside := s.text[begin+1 : s.pos]
	s.pos += len(end)
	if c == '[' {
		address := inside
		if rest, ok := strings.CutPrefix(s.text[s.pos:], "("); ok {
			address, _, _ = strings.Cut(rest, ")")
			s.pos = min(len(s.text), s.pos+len(address)+2)
		}
		if !e.link(address) {
			return nil
		}
	}
	s.add(e, offset)
	return nil
}

// mark is an open entity of MarkdownV2.
type openMark struct {
	Entity
	token string // that ends it
	name  string // in errors
	pos   int    // bytes of the source
	begin int    // bytes of the output
}

type markdownV2 struct {
	markScanner
	open  []openMark
	quote int // UTF-16 offset of the open quotation, -1 for none
}

// parseMarkdownV2 is the newer mode: everything nests, and every reserved character has to be escaped.
func parseMarkdownV2(text string) (string, []Entity, *apiError) {
	s := &markdownV2{markScanner: markScanner{text: text}, quote: -1}
	for s.pos < len(text) {
		if err := s.step(); err != nil {
			return "", nil, err
		}
	}
	if n := len(s.open); n > 0 {
		return "", nil, parseError("Can't find end of %s entity at byte offset %d", s.open[n-1].name, s.open[n-1].pos)
	}
	s.endQuote()
	return s.out.String(), s.entities, nil
}

func (s *markdownV2) step() *apiError {
	c := s.at(s.pos)
	var top *openMark
	if n := len(s.open); n > 0 {
		top = &s.open[n-1]
	}
	inCode := top != nil && (top.Type == "code" || top.Type == "pre")
	lineStart := s.pos == 0 || s.at(s.pos-1) == '\n'
	switch {
	case c == '\\' && s.at(s.pos+1) > 0 && s.at(s.pos+1) <= 126:
		s.pos++
		s.put()
	case c == '>' && lineStart && !inCode:
		s.pos++
		if s.quote < 0 {
			s.quote = s.units
		}
	case lineStart && s.quote >= 0 && !inCode:
		s.endQuote()
		return s.plain(c, top, inCode)
	default:
		return s.plain(c, top, inCode)
	}
	return nil
}

// endQuote closes the quotation before the line end that follows its last line.
func (s *markdownV2) endQuote() {
	if s.quote >= 0 {
		s.add(Entity{Type: "blockquote"}, s.quote)
	}
	s.quote = -1
}

func (s *markdownV2) plain(c byte, top *openMark, inCode bool) *apiError {
	reserved := "_*[]()~`>#+-=|{}.!"
	if inCode {
		reserved = "`"
	}
	switch {
	case strings.IndexByte(reserved, c) < 0:
		s.put()
	case top != nil && s.has(top.token) && !(top.token == "_" && s.has("__")):
		return s.end(*top)
	default:
		return s.begin(c)
	}
	return nil
}

func (s *markdownV2) begin(c byte) *apiError {
	m := openMark{pos: s.pos}
	for _, k := range []struct{ start, end, kind, name string }{
		{"```", "```", "pre", "Pre"},
		{"`", "`", "code", "Code"},
		{"*", "*", "bold", "Bold"},
		{"__", "__", "underline", "Underline"},
		{"_", "_", "italic", "Italic"},
		{"~", "~", "strikethrough", "Strikethrough"},
		{"||", "||", "spoiler", "Spoiler"},
		{"![", "]", "custom_emoji", "CustomEmoji"},
		{"[", "]", "text_link", "TextUrl"},
	} {
		if s.has(k.start) {
			m.token, m.Type, m.name = k.end, k.kind, k.name
			s.pos += len(k.start)
			break
		}
	}
	if m.token == "" {
		return parseError(`Character '%c' is reserved and must be escaped with the preceding '\'`, c)
	}
	if m.Type == "pre" {
		m.Language = s.language()
		if m.Language != "" {
			m.name = "PreCode"
		}
	}
	m.Offset, m.begin = s.units, s.out.Len()
	s.open = append(s.open, m)
	return nil
}

func (s *markdownV2) end(m openMark) *apiError {
	s.open = s.open[:len(s.open)-1]
	s.pos += len(m.token)
	if m.Type == "text_link" || m.Type == "custom_emoji" {
		address := s.out.String()[m.begin:]
		if s.at(s.pos) == '(' {
			var err *apiError
			if address, err = s.address(); err != nil {
				return err
			}
		}
		if m.Type == "custom_emoji" {
			id, ok := strings.CutPrefix(address, "tg://emoji?id=")
			if !ok || id == "" {
				return badRequest("Invalid custom emoji identifier specified")
			}
			m.EmojiID = id
		} else if !m.link(address) {
			return nil
		}
	}
	s.add(m.Entity, m.Offset)
	return nil
}

// address reads (…) with its escapes.
func (s *markdownV2) address() (string, *apiError) {
	s.pos++
	begin := s.pos
	var b strings.Builder
	for s.pos < len(s.text) && s.text[s.pos] != ')' {
		if s.text[s.pos] == '\\' && s.pos+1 < len(s.text) {
			s.pos++
		}
		b.WriteByte(s.text[s.pos])
		s.pos++
	}
	if s.pos >= len(s.text) {
		return "", parseError("Can't find end of a URL at byte offset %d", begin)
	}
	s.pos++
	return b.String(), nil
}
