package emulator

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"unicode/utf16"
)

// HTML shows the text or caption with its formatting as the HTML parse mode writes it. Entities that cross are split.
// What Telegram finds by itself (commands, addresses) is left plain.
func (m Message) HTML() string {
	if m.Text == "" {
		return toHTML(m.Caption, m.CaptionEntities)
	}
	return toHTML(m.Text, m.Entities)
}

func toHTML(text string, entities []Entity) string {
	w := &htmlWriter{units: utf16.Encode([]rune(text))}
	for _, e := range entities {
		if startTag(e) == "" {
			continue
		}
		w.closeTo(e.Offset)
		w.text(e.Offset)
		w.push(e)
	}
	w.closeTo(len(w.units))
	w.text(len(w.units))
	return w.out.String()
}

type htmlWriter struct {
	units []uint16
	out   strings.Builder
	open  []Entity // innermost last
	done  int      // units written
}

// text writes the text up to the offset.
func (w *htmlWriter) text(to int) {
	to = min(max(to, w.done), len(w.units))
	w.out.WriteString(html.EscapeString(string(utf16.Decode(w.units[w.done:to]))))
	w.done = to
}

func (w *htmlWriter) push(e Entity) {
	w.out.WriteString(startTag(e))
	w.open = append(w.open, e)
}

// closeTo ends, in order of their ends, the entities that do not reach past the offset.
func (w *htmlWriter) closeTo(offset int) {
	for len(w.open) > 0 {
		first := 0
		for i, e := range w.open {
			if e.end() < w.open[first].end() {
				first = i
			}
		}
		if w.open[first].end() > offset {
			return
		}
		w.text(w.open[first].end())
		w.pop(first)
	}
}

// pop closes an open entity and all inside it; those that last longer are opened again.
func (w *htmlWriter) pop(i int) {
	end := w.open[i].end()
	inside := slices.Clone(w.open[i+1:])
	for _, e := range slices.Backward(w.open[i:]) {
		w.out.WriteString(endTag(e))
	}
	w.open = w.open[:i]
	for _, e := range inside {
		if e.end() > end {
			w.push(e)
		}
	}
}

var tagOfStyle = map[string]string{
	"bold": "b", "italic": "i", "underline": "u", "strikethrough": "s", "spoiler": "tg-spoiler", "code": "code",
	"blockquote": "blockquote", "pre": "pre",
}

func startTag(e Entity) string {
	attr := html.EscapeString
	switch e.Type {
	case "pre":
		if e.Language != "" {
			return fmt.Sprintf(`<pre><code class="language-%s">`, attr(e.Language))
		}
	case "text_link":
		return fmt.Sprintf(`<a href="%s">`, attr(e.URL))
	case "text_mention":
		return fmt.Sprintf(`<a href="tg://user?id=%d">`, e.User.ID)
	case "expandable_blockquote":
		return "<blockquote expandable>"
	case "custom_emoji":
		return fmt.Sprintf(`<tg-emoji emoji-id="%s">`, attr(e.EmojiID))
	case "date_time":
		return fmt.Sprintf(`<tg-time unix="%d" format="%s">`, e.UnixTime, attr(e.TimeFormat))
	}
	if tag := tagOfStyle[e.Type]; tag != "" {
		return "<" + tag + ">"
	}
	return ""
}

func endTag(e Entity) string {
	switch e.Type {
	case "pre":
		if e.Language != "" {
			return "</code></pre>"
		}
	case "text_link", "text_mention":
		return "</a>"
	case "expandable_blockquote":
		return "</blockquote>"
	case "custom_emoji":
		return "</tg-emoji>"
	case "date_time":
		return "</tg-time>"
	}
	return "</" + tagOfStyle[e.Type] + ">"
}
