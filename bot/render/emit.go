package render

import (
	"strings"
	"unicode/utf8"
)

// part renders a stretch of the flow as a message; tail follows outside of every tag.
func (f *flow) part(from, end int, tail string) Part {
	var html strings.Builder
	html.Grow(end - from + (end-from)/4)
	var open []*tag
	for i := f.runAt(from); i < len(f.runs) && f.runs[i].start < end; i++ {
		path := f.runs[i].tag.path()
		n := shared(open, path)
		for j := len(open) - 1; j >= n; j-- {
			html.WriteString(open[j].closing())
		}
		for _, t := range path[n:] {
			html.WriteString(t.opening())
		}
		open = path
		escapeTo(&html, f.text[max(from, f.runs[i].start):min(end, f.runEnd(i))])
	}
	for j := len(open) - 1; j >= 0; j-- {
		html.WriteString(open[j].closing())
	}
	html.WriteString(tail)
	return Part{HTML: html.String(), Plain: f.plain(from, end) + tail}
}

// plain is a stretch of the flow without tags, each link followed by its address unless that is what it shows. An
// address for which a message has no room is left out.
func (f *flow) plain(from, end int) string {
	var b strings.Builder
	room := message.runes - utf8.RuneCount(f.text[from:end])
	var address string
	for i := f.runAt(from); i < len(f.runs) && f.runs[i].start < end; i++ {
		b.Write(f.text[max(from, f.runs[i].start):min(end, f.runEnd(i))])
		l := f.runs[i].tag.nearest(link)
		last := i+1 == len(f.runs) || f.runs[i+1].start >= end || f.runs[i+1].tag.nearest(link) != l
		if l == nil || !last {
			continue
		}
		address = " (" + l.arg + ")"
		if n := utf8.RuneCountInString(address); n <= room {
			b.WriteString(address)
			room -= n
		}
	}
	return b.String()
}

// shared is the number of outermost tags that two paths have in common.
func shared(a, b []*tag) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func (t *tag) opening() string {
	switch t.kind {
	case bold:
		return "<b>"
	case italic:
		return "<i>"
	case strike:
		return "<s>"
	case code:
		return "<code>"
	case link:
		return `<a href="` + Escape(t.arg) + `">`
	case pre:
		return preOpening(t.arg)
	default:
		if t.long {
			return "<blockquote expandable>"
		}
		return "<blockquote>"
	}
}

func (t *tag) closing() string {
	switch t.kind {
	case bold:
		return "</b>"
	case italic:
		return "</i>"
	case strike:
		return "</s>"
	case code:
		return "</code>"
	case link:
		return "</a>"
	case pre:
		return preClosing(t.arg)
	default:
		return "</blockquote>"
	}
}

// size is the number of bytes that the tag takes where it is opened and closed.
func (t *tag) size() int { return len(t.opening()) + len(t.closing()) }
