package outline

import (
	"strings"
)

// maxHead is how much of a line is looked at, in bytes: what is longer was written by no person.
const maxHead = 400

// rule tells one kind of definition by how its line begins.
type rule struct {
	form    *form    // on a line without comments, strings and the blanks at its beginning
	leaf    bool     // what lies in it is not listed, as for functions
	in      bool     // it counts only in a definition that is no leaf
	none    bool     // it is no definition, whatever the rules after it say
	section bool     // what follows lies in it, up to the next one
	ends    []string // in place of the family's
}

// family is how a language's definitions are told by their lines.
type family struct {
	syntax syntax
	rules  []rule
	ends   []string // what ends a signature, outside of parentheses
	levels bool     // what lies in what is told by the indentation
	// split is how a line looks that may be the beginning of a definition which goes on in the next, such as a type before
	// its function's name.
	split *form
}

// scanLines finds definitions by how lines begin, and by indentation what lies in what.
func scanLines(f *found, src string, lang language) {
	fam := families[lang]
	m := fam.syntax.mask(src)
	var open []opened
	section := 0 // 1 in a section
	at, next := 0, 0
	for n := 1; at < len(src); n++ {
		end := lineEnd(src, at)
		code := strings.TrimRight(m.code[at:end], " \t\r")
		from := at
		at = end + 1
		head := strings.TrimLeft(code, " \t")
		if head == "" || from < next { // the latter is in a signature that has been read
			continue
		}
		indent := width(code[:len(code)-len(head)])
		for len(open) > 0 && fam.levels && open[len(open)-1].indent >= indent {
			open = open[:len(open)-1]
		}
		if len(open) > 0 && open[len(open)-1].leaf {
			continue
		}
		from += len(code) - len(head)
		r, least := fam.find(m, from, end, len(open) > 0)
		if r == nil {
			continue
		}
		var text string
		text, next = fam.head(m, from, least, r)
		if r.section {
			section = 0
		}
		f.add(item{Line: n, Depth: len(open) + section, Text: text})
		if r.section {
			section = 1
		}
		if fam.levels {
			open = append(open, opened{indent: indent, leaf: r.leaf})
		}
	}
}

// opened is a definition in which lines may lie.
type opened struct {
	indent int
	leaf   bool
}

// find is the rule for a line that begins at an offset and ends at another, and up to where its definition goes at least.
func (fam *family) find(m masked, from, end int, inside bool) (r *rule, least int) {
	line := func(from, end int) string {
		return strings.TrimRight(m.code[from:min(end, from+maxHead)], " \t\r")
	}
	head := line(from, end)
	for joined, last, n := head, end, 0; n < maxJoined && fam.split != nil && fam.split.MatchString(joined) && last < len(m.code); n++ {
		next := lineEnd(m.code, last+1)
		joined += " " + strings.TrimLeft(line(last+1, next), " \t")
		if last = next; !fam.split.MatchString(joined) {
			if r := fam.match(joined, inside); r != nil {
				return r, last
			}
		}
	}
	return fam.match(head, inside), from
}

// maxJoined is how many more lines a definition may be split over before its parentheses or its body.
const maxJoined = 2

func (fam *family) match(head string, inside bool) *rule {
	for i := range fam.rules {
		if r := &fam.rules[i]; (inside || !r.in) && r.form.MatchString(head) {
			if r.none {
				return nil
			}
			return r
		}
	}
	return nil
}

// width is how far a line is indented.
func width(blanks string) int {
	n := 0
	for _, c := range blanks {
		if n++; c == '\t' {
			n = (n + 7) / 8 * 8
		}
	}
	return n
}

// maxHeads is how many lines a signature may go over.
const maxHeads = 12

// head is a signature that begins at an offset, and where it ends. That is with its line where no parentheses are open, or
// before one of the marks, of which a closing parenthesis at the beginning belongs to the signature; least is the line's
// end at which it may end at the earliest.
func (fam *family) head(m masked, from, least int, r *rule) (text string, to int) {
	marks := fam.ends
	if r.ends != nil {
		marks = r.ends
	}
	depth, newlines := 0, 0
	for to = from; to < len(m.code); to++ {
		for _, mark := range marks {
			if depth <= 0 && to > from && strings.HasPrefix(m.code[to:], mark) {
				return trimSignature(m.text[from:to]), to
			}
			if depth <= 1 && mark[0] == ')' && strings.HasPrefix(m.code[to:], mark) {
				return trimSignature(m.text[from : to+1]), to
			}
		}
		switch m.code[to] {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case '\n':
			if newlines++; depth <= 0 && to >= least || newlines == maxHeads {
				return trimSignature(m.text[from:to]), to
			}
		}
	}
	return trimSignature(m.text[from:to]), to
}

func trimSignature(text string) string { return strings.TrimRight(text, " \t\r\n{:;=,") }
