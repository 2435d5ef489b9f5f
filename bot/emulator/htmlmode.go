package emulator

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The HTML parse mode, by the rules of TDLib's parse_html (MessageEntity.cpp). It is a scanner of its
// own: nod's renderer is tested against it.

var htmlTags = []string{
	"a", "b", "strong", "i", "em", "s", "strike", "del", "u", "ins", "tg-spoiler", "tg-emoji", "tg-time", "span", "pre", "code",
	"blockquote",
}

var styleOfTag = map[string]string{
	"b": "bold", "strong": "bold", "i": "italic", "em": "italic", "u": "underline", "ins": "underline",
	"s": "strikethrough", "strike": "strikethrough", "del": "strikethrough", "span": "spoiler", "tg-spoiler": "spoiler",
}

type htmlScanner struct {
	text     string
	pos      int
	out      strings.Builder
	units    int // UTF-16 length of out
	open     []openTag
	entities []Entity
}

type openTag struct {
	name     string
	argument string
	format   string // of tg-time
	offset   int    // UTF-16
	begin    int    // bytes of out
}

// parseHTML returns the visible text and its entities, innermost first. Offsets in its errors count bytes of text.
func parseHTML(text string) (string, []Entity, *apiError) {
	s := &htmlScanner{text: text}
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; c {
		case '&':
			if r := s.reference(); r != 0 {
				s.put(r)
			} else {
				s.pos++
				s.put('&')
			}
		case '<':
			if err := s.tag(); err != nil {
				return "", nil, err
			}
		default:
			r, size := utf8.DecodeRuneInString(s.text[s.pos:])
			s.pos += size
			s.put(r)
		}
	}
	if n := len(s.open); n > 0 {
		return "", nil, parseError("Can't find end tag corresponding to start tag %q", s.open[n-1].name)
	}
	for i := range s.entities {
		if s.entities[i].Type == "code" {
			s.entities[i].Language = ""
		}
	}
	return s.out.String(), s.entities, nil
}

// parseError words a fault of the markup.
func parseError(format string, args ...any) *apiError {
	return badRequest("Can't parse entities: " + fmt.Sprintf(format, args...))
}

func (s *htmlScanner) put(r rune) {
	s.out.WriteRune(r)
	s.units += utf16Len(r)
}

// at is the byte at i, NUL past the end.
func (s *htmlScanner) at(i int) byte {
	if i < len(s.text) {
		return s.text[i]
	}
	return 0
}

func isHTMLSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == 0 || c == '\v'
}

// skip moves past whitespace but not past the end; a NUL inside the text stops it too.
func (s *htmlScanner) skip() {
	for s.at(s.pos) != 0 && isHTMLSpace(s.at(s.pos)) {
		s.pos++
	}
}

// reference decodes a character reference at pos, moves past it and returns its character, or returns 0.
func (s *htmlScanner) reference() rune {
	rest := s.text[s.pos+1:]
	var r rune
	size := 0
	if num, ok := strings.CutPrefix(rest, "#"); ok {
		base, digits := 10, "0123456789"
		if hex, ok := strings.CutPrefix(num, "x"); ok {
			num, base, digits = hex, 16, "0123456789abcdefABCDEF"
		}
		n := len(num) - len(strings.TrimLeft(num, digits))
		code, err := strconv.ParseInt(num[:n], base, 32)
		if err != nil || code == 0 || code >= 0x10ffff || !utf8.ValidRune(rune(code)) {
			return 0
		}
		r, size = rune(code), len(rest)-len(num)+n
	} else {
		n := 0
		for n < len(rest) && isLetter(rest[n]) {
			n++
		}
		r, size = map[string]rune{"lt": '<', "gt": '>', "amp": '&', "quot": '"'}[rest[:n]], n
		if r == 0 {
			return 0
		}
	}
	s.pos += 1 + size
	if s.at(s.pos) == ';' {
		s.pos++
	}
	return r
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func isAlnum(c byte) bool { return isLetter(c) || '0' <= c && c <= '9' }

func (s *htmlScanner) tag() *apiError {
	begin := s.pos
	if s.at(begin+1) == '/' {
		return s.endTag(begin)
	}
	s.pos++
	for !isHTMLSpace(s.at(s.pos)) && s.at(s.pos) != '>' {
		s.pos++
	}
	if s.at(s.pos) == 0 {
		return parseError("Unclosed start tag at byte offset %d", begin)
	}
	t := openTag{name: strings.ToLower(s.text[begin+1 : s.pos]), offset: s.units, begin: s.out.Len()}
	if !slices.Contains(htmlTags, t.name) {
		return parseError("Unsupported start tag \"%s\" at byte offset %d", t.name, begin)
	}
	for s.at(s.pos) != '>' {
		s.skip()
		if s.at(s.pos) == '>' {
			break
		}
		if err := s.attribute(&t, begin); err != nil {
			return err
		}
	}
	s.pos++
	if t.name == "span" && t.argument != "spoiler" {
		return parseError("Tag %q must have class %q at byte offset %d", "span", "tg-spoiler", begin)
	}
	s.open = append(s.open, t)
	return nil
}

func (s *htmlScanner) attribute(t *openTag, begin int) *apiError {
	start := s.pos
	for c := s.at(s.pos); !isHTMLSpace(c) && !strings.ContainsRune(`=>/"'`, rune(c)); c = s.at(s.pos) {
		s.pos++
	}
	name := s.text[start:s.pos]
	if name == "" {
		return parseError("Empty attribute name in the tag %q at byte offset %d", t.name, begin)
	}
	unclosed := parseError("Unclosed start tag %q at byte offset %d", t.name, begin)
	s.skip()
	if s.at(s.pos) != '=' {
		if s.at(s.pos) == 0 {
			return unclosed
		}
		if t.name == "blockquote" && name == "expandable" {
			t.argument = "1"
		}
		return nil
	}
	s.pos++
	s.skip()
	if s.at(s.pos) == 0 {
		return unclosed
	}
	value, err := s.attributeValue()
	if err != nil {
		return err
	}
	if s.at(s.pos) == 0 {
		return parseError("Unclosed start tag at byte offset %d", begin)
	}
	t.set(name, value)
	return nil
}

func (s *htmlScanner) attributeValue() (string, *apiError) {
	start := s.pos
	quote := s.at(s.pos)
	if quote != '"' && quote != '\'' {
		for isAlnum(s.at(s.pos)) || s.at(s.pos) == '.' || s.at(s.pos) == '-' {
			s.pos++
		}
		if c := s.at(s.pos); !isHTMLSpace(c) && c != '>' {
			return "", parseError("Unexpected end of name token at byte offset %d", start)
		}
		return strings.ToLower(s.text[start:s.pos]), nil
	}
	var value strings.Builder
	s.pos++
	for s.at(s.pos) != quote && s.at(s.pos) != 0 {
		if s.at(s.pos) == '&' {
			if r := s.reference(); r != 0 {
				value.WriteRune(r)
				continue
			}
		}
		value.WriteByte(s.text[s.pos])
		s.pos++
	}
	if s.at(s.pos) == quote {
		s.pos++
	}
	return value.String(), nil
}

// set keeps the attributes that mean something for the tag; others are ignored.
func (t *openTag) set(name, value string) {
	switch t.name + " " + name {
	case "a href", "tg-emoji emoji-id", "tg-time unix":
		t.argument = value
	case "tg-time format":
		t.format = value
	case "blockquote expandable":
		t.argument = "1"
	case "code class":
		if language, ok := strings.CutPrefix(value, "language-"); ok {
			t.argument = language
		}
	case "span class":
		if class, ok := strings.CutPrefix(value, "tg-"); ok {
			t.argument = class
		}
	}
}

func (s *htmlScanner) endTag(begin int) *apiError {
	if len(s.open) == 0 {
		return parseError("Unexpected end tag at byte offset %d", begin)
	}
	s.pos += 2
	for !isHTMLSpace(s.at(s.pos)) && s.at(s.pos) != '>' {
		s.pos++
	}
	name := strings.ToLower(s.text[begin+2 : s.pos])
	s.skip()
	if s.at(s.pos) != '>' {
		return parseError("Unclosed end tag at byte offset %d", begin)
	}
	s.pos++
	t := s.open[len(s.open)-1]
	if name != "" && name != t.name {
		return parseError("Unmatched end tag at byte offset %d, expected \"</%s>\", found \"</%s>\"", begin, t.name, name)
	}
	s.open = s.open[:len(s.open)-1]
	if s.units == t.offset {
		return nil
	}
	return s.close(t)
}

// close turns the finished tag into its entity.
func (s *htmlScanner) close(t openTag) *apiError {
	e := Entity{Offset: t.offset, Length: s.units - t.offset}
	var last *Entity
	if n := len(s.entities); n > 0 && s.entities[n-1].Offset == e.Offset && s.entities[n-1].Length == e.Length {
		last = &s.entities[n-1]
	}
	switch t.name {
	case "a":
		if t.argument == "" {
			t.argument = s.out.String()[t.begin:]
		}
		if !e.link(t.argument) {
			return nil
		}
	case "pre":
		if last != nil && last.Type == "code" && last.Language != "" {
			last.Type = "pre"
			return nil
		}
		e.Type = "pre"
	case "code":
		if last != nil && last.Type == "pre" && t.argument != "" {
			last.Language = t.argument
			return nil
		}
		e.Type, e.Language = "code", t.argument
	case "blockquote":
		e.Type = "blockquote"
		if t.argument != "" {
			e.Type = "expandable_blockquote"
		}
	case "tg-emoji":
		if id, err := strconv.ParseInt(t.argument, 10, 64); err != nil || id == 0 {
			return badRequest("Invalid custom emoji identifier specified")
		}
		e.Type, e.EmojiID = "custom_emoji", t.argument
	case "tg-time":
		unix, err := strconv.ParseInt(t.argument, 10, 32)
		if err != nil || unix < 0 {
			return nil
		}
		e.Type, e.UnixTime, e.TimeFormat = "date_time", unix, t.format
	default:
		e.Type = styleOfTag[t.name]
	}
	s.entities = append(s.entities, e)
	return nil
}
