package render

import (
	"bytes"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// wasteRunes is how much of a message a cut between words is expected to leave empty. A cut may look further back for a
// nicer place only as long as the number of messages stays what it would be at that waste.
const wasteRunes = 40

// cut chooses where the message that begins at from, with rest code points to go, ends, and where the next one begins;
// the blanks between the two are dropped. It goes for the border between two blocks, then for the end of a line, then
// for the end of a word.
func (f *flow) cut(from, rest int, l limits) (end, next int) {
	most := f.reach(from, l)
	if most == len(f.text) {
		return most, most
	}
	least := f.earliest(from, most, rest, l)
	if at, ok := f.lastBreak(least, most); ok {
		return at, f.skipBreaks(at)
	}
	inCode := f.tagAt(most).within(pre)
	if tenth := most - (most-from)/10; inCode && tenth < least { // a line of code is worth a further message
		if at, ok := f.lastBreak(tenth, most); ok {
			return at, f.skipBreaks(at)
		}
	}
	if at, ok := lastBlank(f.text, least, most); ok {
		if inCode {
			return at, at
		}
		return at, at + len(f.text[at:]) - len(bytes.TrimLeft(f.text[at:], " "))
	}
	at := unitBorder(f.text, from, most)
	return at, at
}

// reach is the furthest end of a message that begins at from and keeps within the limits. It lies beyond from.
func (f *flow) reach(from int, l limits) int {
	var open []*tag
	for i := f.runAt(from); i < len(f.runs) && i >= 0; i++ {
		pos := max(from, f.runs[i].start)
		path := f.runs[i].tag.path()
		for _, t := range path[shared(open, path):] {
			l.bytes -= t.size()
			l.payload -= len(t.arg) + 16
			l.entities--
		}
		open = path
		if pos > from && (l.bytes < 0 || l.payload < 0 || l.entities < 0) {
			return pos
		}
		for end := f.runEnd(i); pos < end; {
			r, size := utf8.DecodeRune(f.text[pos:])
			l.runes--
			l.bytes -= escapedSize(r, size)
			if pos > from && (l.runes < 0 || l.bytes < 0) {
				return pos
			}
			pos += size
		}
	}
	return len(f.text)
}

// earliest is the place before which a cut would cost a further message, or leave this one too empty.
func (f *flow) earliest(from, most, rest int, l limits) int {
	full := max(l.runes-wasteRunes, 1)
	spare := rest - (rest-1)/full*full // what this message must take at least
	third := from + (most-from)/3
	pos := from
	for ; spare > 0 && pos < most; spare-- {
		_, size := utf8.DecodeRune(f.text[pos:])
		pos += size
	}
	if pos >= most && utf8.RuneCount(f.text[from:most]) < full { // bytes or entities, not the length, end this message
		return third
	}
	return max(pos, third)
}

// lastBreak is the last border between blocks in (least, most], or else the last end of a line that is not a heading's.
func (f *flow) lastBreak(least, most int) (int, bool) {
	line := -1
	for at := most; at > least; at-- {
		if f.text[at] != '\n' || f.text[at-1] == '\n' || f.headings[at] {
			continue
		}
		if at+1 < len(f.text) && f.text[at+1] == '\n' && !f.tagAt(at).within(pre) {
			return at, true
		}
		if line < 0 {
			line = at
		}
	}
	return line, line >= 0
}

// skipBreaks drops the line breaks at a cut, but of those in a code block only the one that is cut at.
func (f *flow) skipBreaks(at int) int {
	if f.tagAt(at).within(pre) {
		return at + 1
	}
	for at < len(f.text) && f.text[at] == '\n' && !f.tagAt(at).within(pre) {
		at++
	}
	return at
}

// lastBlank is the last blank in (least, most] that ends a word.
func lastBlank(text []byte, least, most int) (int, bool) {
	for at := most; at > least; at-- {
		if text[at] == ' ' && text[at-1] != ' ' {
			return at, true
		}
	}
	return 0, false
}

// unitBorder is the last place in (from, most] that lies neither inside of what a reader sees as one character nor, if
// one is near, where Unicode forbids a line to break. A character longer than that is cut between code points.
func unitBorder(text []byte, from, most int) int {
	const near = 60 // bytes that may be given up for a line break opportunity
	start := from
	for i := most - near; i > from; i-- { // between two ASCII characters there is always a border
		if text[i] < utf8.RuneSelf && text[i-1] < utf8.RuneSelf {
			start = i
			break
		}
	}
	unit, opportunity := start, -1
	state := -1
	rest := text[start:min(len(text), most+utf8.UTFMax)]
	for len(rest) > 0 {
		var cluster []byte
		var boundaries int
		cluster, rest, boundaries, state = uniseg.Step(rest, state)
		if unit+len(cluster) > most {
			break
		}
		unit += len(cluster)
		if boundaries&uniseg.MaskLine != uniseg.LineDontBreak && len(rest) > 0 {
			opportunity = unit
		}
	}
	switch {
	case opportunity > max(from, most-near):
		return opportunity
	case unit > from:
		return unit
	}
	return most
}
