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
	units := utf16.Encode([]rune(text))
	var b strings.Builder
	var open []Entity // innermost last
	flushed := 0
	flush := func(to int) {
		to = min(max(to, flushed), len(units))
		b.WriteString(html.EscapeString(string(utf16.Decode(units[flushed:to]))))
		flushed = to
	}
	// closeTo ends what ends at or before the offset; what lies inside it is closed and opened again.
	closeTo := func(offset int) {
		for {
			i := slices.IndexFunc(open, func(e Entity) bool { return e.end() <= offset })
			if i < 0 {
				return
			}
			end := open[i].end()
			for j := range open {
				if open[j].end() < end {
					i, end = j, open[j].end()
				}
			}
			flush(end)
			reopen := slices.Clone(open[i+1:])
			for _, e := range slices.Backward(open[i:]) {
				b.WriteString(endTag(e))
			}
			open = open[:i]
			for _, e := range reopen {
				if e.end() > end {
					b.WriteString(startTag(e))
					open = append(open, e)
				}
			}
		}
	}
	for _, e := range entities {
		if startTag(e) == "" {
			continue
		}
		closeTo(e.Offset)
		flush(e.Offset)
		b.WriteString(startTag(e))
		open = append(open, e)
	}
	closeTo(len(units))
	flush(len(units))
	return b.String()
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
