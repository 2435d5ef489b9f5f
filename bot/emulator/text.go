package emulator

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Limits of texts, as TDLib has them; lengths are Unicode code points after parsing and trimming.
const (
	maxRawText       = 1 << 15 // bytes before parsing
	maxText          = 4096
	maxCaption       = 1024
	maxQuote         = 1024
	maxEntities      = 100  // those beyond are dropped
	maxEntityPayload = 9500 // bytes, roughly
)

func utf16Len(r rune) int {
	if r >= 0x10000 {
		return 2
	}
	return 1
}

// unitsOf is the length of s in UTF-16 code units.
func unitsOf(s string) (n int) {
	for _, r := range s {
		n += utf16Len(r)
	}
	return n
}

// formatted turns what the bot sent as a text into what people see: parsed, cleaned and trimmed, with the entities that
// Telegram would return. An empty text is left to the caller.
func formatted(raw, mode, entitiesJSON string) (string, []Entity, *apiError) {
	if len(raw) > maxRawText {
		return "", nil, badRequest("Text is too long")
	}
	if !utf8.ValidString(raw) {
		return "", nil, badRequest("Strings must be encoded in UTF-8")
	}
	text, entities, err := marked(raw, strings.ToLower(mode), entitiesJSON)
	if err != nil {
		return "", nil, err
	}
	text, entities = clean(text, entities)
	entities = detect(text, normalise(entities, unitsOf(text)))
	entities = entities[:min(len(entities), maxEntities)]
	if payload(entities) > maxEntityPayload {
		return "", nil, badRequest("ENTITIES_TOO_LONG")
	}
	return text, entities, nil
}

// marked separates the text from its markup.
func marked(raw, mode, entitiesJSON string) (string, []Entity, *apiError) {
	switch {
	case raw == "":
		return "", nil, nil
	case mode == "" || mode == "none":
		var entities []Entity
		if json.Unmarshal([]byte(entitiesJSON), &entities) != nil {
			return raw, nil, nil // what is no list of entities is ignored
		}
		return raw, entities, checkEntities(entities)
	case mode == "html":
		return parseHTML(raw)
	case mode == "markdown":
		return parseMarkdown(raw)
	case mode == "markdownv2":
		return parseMarkdownV2(raw)
	}
	return "", nil, badRequest("Unsupported parse_mode")
}

func checkEntities(entities []Entity) *apiError {
	for i := range entities {
		e := &entities[i]
		switch {
		case e.Type == "":
			return badRequest("Can't parse MessageEntity: Type is not specified")
		case e.Type == "text_link":
			if !e.link(e.URL) {
				return badRequestf("entity URL '%s' is invalid: Wrong HTTP URL", e.URL)
			}
		}
	}
	return nil
}

func payload(entities []Entity) (n int) {
	for _, e := range entities {
		n += 16 + len(e.URL) + len(e.Language)
	}
	return n
}

// clean replaces control characters by spaces, drops what Telegram drops, and trims: spaces and line ends at the front up
// to the first entity, all at the end. Entities move along.
func clean(text string, entities []Entity) (string, []Entity) {
	old := utf16.Encode([]rune(text))
	kept := make([]uint16, 0, len(old))
	at := make([]int, len(old)+1) // the new offset of each old one
	for i, u := range old {
		at[i] = len(kept)
		switch {
		case u == '\r' || 0x2028 <= u && u <= 0x202e || u == 0x0333 || u == 0x033f || u == 0x030a:
		case u < ' ' && u != '\n':
			kept = append(kept, ' ')
		default:
			kept = append(kept, u)
		}
	}
	at[len(old)] = len(kept)
	front := len(kept)
	moved := make([]Entity, 0, len(entities))
	for _, e := range entities {
		if e.Offset < 0 || e.Length <= 0 || e.Offset >= len(old) {
			continue
		}
		end := at[min(len(old), e.Offset+e.Length)]
		e.Offset = at[e.Offset]
		e.Length = end - e.Offset
		if e.Length > 0 {
			moved = append(moved, e)
			front = min(front, e.Offset)
		}
	}
	begin, end := 0, len(kept)
	for end > 0 && isTrimmed(kept[end-1]) {
		end--
	}
	for begin < min(front, end) && isTrimmed(kept[begin]) {
		begin++
	}
	if isBlank(kept[begin:end]) {
		return "", nil
	}
	for i := range moved {
		moved[i].Offset -= begin
		moved[i].Length = min(moved[i].Length, end-begin-moved[i].Offset)
	}
	moved = slices.DeleteFunc(moved, func(e Entity) bool { return e.Length <= 0 })
	return string(utf16.Decode(kept[begin:end])), moved
}

func isTrimmed(u uint16) bool { return u == ' ' || u == '\n' }

// isBlank tells that nothing visible is left.
func isBlank(units []uint16) bool {
	for _, u := range units {
		r := rune(u)
		if !unicode.IsSpace(r) && !unicode.Is(unicode.Cf, r) {
			return false
		}
	}
	return true
}
