package llm

import "strings"

// thinkFilter separates <think>…</think> (also <thinking>) from the visible text of a stream. How the text is split
// over deltas makes no difference; an unclosed block lasts to the end. A tag right after a backtick is text: somebody
// writes about it. A closing tag that nothing opened means that the service swallowed the opening one, so that all
// before it was reasoning.
type thinkFilter struct {
	inside   bool
	tagged   bool // a tag was seen
	eatSpace bool // drop the white space between a block and the first visible text
	visible  bool // some visible text was emitted
	last     byte // last byte before held
	held     string
}

// piece is what a delta turns out to be.
type piece struct {
	text, thought string
	retract       bool // the visible text so far was reasoning
}

var thinkOpen, thinkClose = []string{"<think>", "<thinking>"}, []string{"</think>", "</thinking>"}

// add takes the next delta and gives what can be said about the text so far.
func (f *thinkFilter) add(delta string) piece {
	s := f.held + delta
	f.held = ""
	var p piece
	for s != "" {
		i := strings.IndexByte(s, '<')
		if i < 0 {
			f.put(&p, s)
			break
		}
		f.put(&p, s[:i])
		s = s[i:]
		tag, open, partial := matchTag(s)
		switch {
		case partial && f.last != '`':
			f.held = s
			return p
		case tag == 0 || f.last == '`':
			f.put(&p, s[:1])
			s = s[1:]
		default:
			f.tag(&p, open)
			s = s[tag:]
		}
	}
	return p
}

// end gives what was held back in case it became a tag.
func (f *thinkFilter) end() piece {
	var p piece
	f.put(&p, f.held)
	f.held = ""
	return p
}

func (f *thinkFilter) put(p *piece, s string) {
	if s == "" {
		return
	}
	f.last = s[len(s)-1]
	if f.inside {
		p.thought += s
		return
	}
	if f.eatSpace {
		if s = strings.TrimLeft(s, " \t\r\n"); s == "" {
			return
		}
		f.eatSpace = false
	}
	f.visible = true
	p.text += s
}

func (f *thinkFilter) tag(p *piece, open bool) {
	f.last = '>'
	switch {
	case open:
		f.inside = true
	case f.inside:
		f.inside = false
		f.eatSpace = !f.visible
	case !f.tagged:
		p.retract, p.thought, p.text = f.visible, p.text+p.thought, ""
		f.visible, f.eatSpace = false, true
	}
	f.tagged = true
}

// matchTag looks for a think tag at the start of s: its length and whether it opens, or whether s may become one.
func matchTag(s string) (n int, open, partial bool) {
	for i, tags := range [][]string{thinkOpen, thinkClose} {
		for _, t := range tags {
			switch {
			case len(s) >= len(t) && strings.EqualFold(s[:len(t)], t):
				return len(t), i == 0, false
			case len(s) < len(t) && strings.EqualFold(s, t[:len(s)]):
				partial = true
			}
		}
	}
	return 0, false, partial
}
