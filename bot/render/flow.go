package render

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is one of Telegram's entities.
type kind uint8

const (
	bold kind = iota + 1
	italic
	strike
	code
	link
	pre
	quote
)

// tag is one element around text. Tags form a tree; the text's tag is the innermost one, nil outside of any.
type tag struct {
	parent *tag
	kind   kind
	arg    string // the address of a link, the language of a code block
	long   bool   // a quote that is shown folded
}

func (t *tag) within(k kind) bool { return t.nearest(k) != nil }

// nearest is the innermost tag of the kind, t included.
func (t *tag) nearest(k kind) *tag {
	for ; t != nil; t = t.parent {
		if t.kind == k {
			return t
		}
	}
	return nil
}

// path lists the tags from the outermost in.
func (t *tag) path() []*tag {
	var p []*tag
	for ; t != nil; t = t.parent {
		p = append(p, t)
	}
	slices.Reverse(p)
	return p
}

// run is a stretch of text under one tag; it ends where the next begins.
type run struct {
	start int
	tag   *tag
}

// flow is a rendered document before it is cut: its visible text, and which tags cover which stretch of it.
type flow struct {
	text     []byte
	runes    int // code points in text
	runs     []run
	headings map[int]bool // ends of headings, after which no message should end
}

// runAt is the index of the run that covers a byte of the text.
func (f *flow) runAt(pos int) int {
	i, found := slices.BinarySearchFunc(f.runs, pos, func(r run, pos int) int { return r.start - pos })
	if found {
		return i
	}
	return i - 1
}

func (f *flow) tagAt(pos int) *tag {
	if i := f.runAt(pos); i >= 0 {
		return f.runs[i].tag
	}
	return nil
}

// runEnd is where the i-th run ends.
func (f *flow) runEnd(i int) int {
	if i+1 < len(f.runs) {
		return f.runs[i+1].start
	}
	return len(f.text)
}

// writer grows a flow. Line breaks are owed rather than written, so that a block only says how far it keeps from what
// came before, and nothing follows the last one.
type writer struct {
	flow
	tag    *tag
	owed   int    // line breaks before the next text
	indent string // begins every line of the current block
	lead   string // begins the next line in place of indent: a list item's marker
}

// gap keeps the next text at least n line breaks away.
func (w *writer) gap(n int) { w.owed = max(w.owed, n) }

// atLineStart tells whether the next text begins a line.
func (w *writer) atLineStart() bool { return w.owed > 0 || len(w.text) == 0 }

// put writes text under the current tag. Line breaks in it are kept, up to one blank line.
func (w *writer) put(s string) {
	for line := range strings.SplitAfterSeq(s, "\n") {
		body, broken := strings.CutSuffix(line, "\n")
		if body != "" {
			w.startLine()
			w.raw(clean(body), w.tag)
		}
		if broken {
			w.owed = min(w.owed+1, 2)
		}
	}
}

// startLine pays the owed line breaks and begins the line. Neither belongs to a style, only to the quote around it.
func (w *writer) startLine() {
	if !w.atLineStart() {
		return
	}
	around := w.tag.nearest(quote)
	if len(w.text) > 0 {
		between := around
		if w.tagAt(len(w.text)-1).nearest(quote) != around {
			between = nil
		}
		w.raw(strings.Repeat("\n", w.owed), between)
	}
	w.owed = 0
	if w.lead == "" {
		w.raw(w.indent, around)
		return
	}
	w.raw(w.lead, around)
	w.lead = ""
}

// flushLead writes a waiting marker on a line of its own, for what can't stand beside it.
func (w *writer) flushLead() {
	if w.lead == "" {
		return
	}
	w.lead = strings.TrimRight(w.lead, " ")
	w.startLine()
	w.gap(1)
}

// block writes text that keeps its line breaks and blanks: a code block or a table.
func (w *writer) block(language, s string) {
	s = strings.TrimRight(s, "\n")
	if blank([]byte(s)) {
		return
	}
	w.flushLead()
	t := &tag{parent: w.tag.nearest(quote), kind: pre, arg: language}
	saved := w.indent
	w.indent, w.tag = "", t
	w.startLine()
	w.raw(clean(s), t)
	w.indent, w.tag = saved, t.parent
}

// raw writes clean text under a tag, with no regard to lines.
func (w *writer) raw(s string, t *tag) {
	if s == "" {
		return
	}
	if n := len(w.runs); n == 0 || w.runs[n-1].tag != t {
		w.runs = append(w.runs, run{start: len(w.text), tag: t})
	}
	w.text = append(w.text, s...)
	w.runes += utf8.RuneCountInString(s)
}

// enter puts an element around what follows and returns the tag to go back to. Telegram drops or splits what it can't
// nest, so that is settled here: nothing nests in code, code replaces the styles around it, links and quotes do not
// nest.
func (w *writer) enter(k kind, arg string) (back *tag) {
	back = w.tag
	switch {
	case back.within(code), back.within(k), k == code && back.within(link):
		return back
	case k == code:
		w.tag = &tag{parent: back.nearest(quote), kind: code}
	default:
		w.tag = &tag{parent: back, kind: k, arg: arg}
	}
	return back
}

// clean removes what Telegram would remove and turns into blanks what it would turn into blanks, so that the length
// that is counted here is the one that is counted there. A ring above, one of the three combining marks that it drops,
// is first joined with its letter where Unicode has both in one.
func clean(s string) string {
	if !strings.ContainsFunc(s, dirty) && utf8.ValidString(s) {
		return s
	}
	s = rings.Replace(s)
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r < ' ':
			return ' '
		case r == '\u2028', r == '\u2029':
			return ' '
		case dirty(r):
			return -1
		default:
			return r // an invalid byte arrives here as U+FFFD
		}
	}, s)
}

func dirty(r rune) bool {
	return r < ' ' && r != '\n' || 0x2028 <= r && r <= 0x202E || r == '\u030A' || r == '\u0333' || r == '\u033F'
}

var rings = strings.NewReplacer("a\u030A", "\u00E5", "A\u030A", "\u00C5", "u\u030A", "\u016F", "U\u030A", "\u016E",
	"w\u030A", "\u1E98", "y\u030A", "\u1E99", "\r", "")

// blank tells whether nothing of a text can be seen; Telegram refuses a message of such characters only.
func blank(text []byte) bool {
	return !bytes.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsSpace(r) && !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point) &&
			r != '\u2800' && r != '\uFFFC'
	})
}
