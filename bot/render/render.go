// Package render turns the Markdown of a model's answer into messages that Telegram accepts, and arbitrary text into
// something that a person can judge on an approval card.
//
// It owns the mapping from Markdown to Telegram's HTML, the cutting of long answers into messages, and the making visible
// of characters that a screen hides. Sending, pacing and keyboards belong to others. Every function is pure and safe
// for concurrent use, takes any input, valid UTF-8 or not, and never fails: what is not formatting is shown as typed.
package render

import (
	"strings"
	"unicode/utf8"
)

// MaxParts is the number of messages that one answer may take.
const MaxParts = 5

// Part is one message. Both forms hold the same text.
type Part struct {
	HTML  string // for parse_mode HTML
	Plain string // for the case that the HTML is refused: no tags, links as "label (url)"; never longer than a message
}

// Limits of one message. Telegram counts code points after parsing, bytes before it, and keeps about a hundred entities
// whose payload (addresses and languages above all) is bounded as well; each limit here stays a little below its.
type limits struct {
	runes    int
	bytes    int
	entities int
	payload  int
}

var message = limits{runes: 4090, bytes: 32000, entities: 90, payload: 8000}

// headRunes keeps the head of an answer that is sent as a file short enough for the file's caption (1024 code points).
const headRunes = 1000

// Parts renders an answer as the fewest messages that hold it without ugly cuts. Text with nothing to see in it gives
// no parts.
func Parts(markdown string) []Part {
	f := parse(markdown)
	var parts []Part
	for from, rest := 0, f.runes; from < len(f.text); {
		end, next := f.cut(from, rest, message)
		if !blank(f.text[from:end]) {
			parts = append(parts, f.part(from, end, ""))
		}
		rest -= utf8.RuneCount(f.text[from:next])
		from = next
	}
	return parts
}

// Answer renders an answer for sending: as its parts, or, with asFile, as the one message that goes with a file of the
// whole Markdown, because there would be more than MaxParts of them.
func Answer(markdown string) (parts []Part, asFile bool) {
	const surelyLong = 128 << 10 // bytes; not worth rendering to see that it is too long
	if len(markdown) <= surelyLong {
		if parts = Parts(markdown); len(parts) <= MaxParts {
			return parts, false
		}
	}
	return []Part{Head(markdown)}, true
}

// Preview renders the beginning of an answer as one message, with … at its end where something is left out. Its cost
// does not grow with the answer, so it can be called for each growing state of it. It is the zero Part when there is
// nothing to see yet.
func Preview(markdown string) Part { return head(markdown, message) }

// Head is the beginning of an answer of which the rest goes as a file. It fits into a caption.
func Head(markdown string) Part {
	l := message
	l.runes = headRunes
	return head(markdown, l)
}

// head parses only as much Markdown as can matter: even text in a four-byte script, marked up as heavily as it gets
// in practice, fills the message before that.
func head(markdown string, l limits) Part {
	const ellipsis = "…"
	markdown = strings.TrimRight(markdown, " \t\r\n")
	source := beginning(markdown, 6*l.runes)
	f := parse(source)
	l.runes -= 2
	end, next := f.cut(0, f.runes, l)
	switch whole := next >= len(f.text) && len(source) == len(markdown); {
	case blank(f.text[:end]):
		return Part{}
	case whole:
		return f.part(0, end, "")
	case f.tagAt(end - 1).within(pre):
		return f.part(0, end, "\n"+ellipsis)
	default:
		return f.part(0, end, ellipsis)
	}
}

// beginning is at most n bytes of s, whole lines where there are any.
func beginning(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := n; i > n/2; i-- {
		if s[i] == '\n' {
			return s[:i]
		}
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
