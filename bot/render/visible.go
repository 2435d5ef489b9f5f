package render

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What stands for hidden characters. The first opens an escape such as ⟪U+202E⟫, ⟪U+0020×12⟫ or ⟪0xFF⟫; the other two
// keep indentation readable. Where a text itself holds one of the three, that one is escaped.
const (
	escapeOpen  = '⟪'
	escapeClose = '⟫'
	tabMark     = '⇥'
	spaceMark   = '∙'
)

const (
	maxBlanks  = 8  // blanks or line ends in a row that are shown as they are
	maxIndents = 64 // blanks at the start of a line that are shown one by one
	maxRepeats = 4  // equal escapes in a row that are written out
)

// Visible rewrites text so that nothing in it can hide on a screen: control and format characters, combining marks,
// blanks other than the space, line and paragraph separators, private and unassigned code points, fillers, bytes that
// are not UTF-8 and long runs of blanks or line ends become escapes. Tabs and long runs of spaces that only indent a
// line become marks. Original gives the exact bytes back.
//
// changed reports that there were escapes, about which a reader should be warned; marks of indentation don't count.
func Visible(s string) (shown string, changed bool) {
	if plainText(s) {
		return s, false
	}
	v := visible{rest: s}
	for v.rest != "" {
		v.step()
	}
	return v.out.String(), v.changed
}

// plainText is the quick way out for text that needs no change.
func plainText(s string) bool {
	blanks := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c == ' ' || c == '\n':
			if blanks++; blanks > maxBlanks {
				return false
			}
		case c < ' ' || c > '~':
			return false
		default:
			blanks = 0
		}
	}
	return true
}

// visible is the state of one rewriting.
type visible struct {
	out     strings.Builder
	rest    string
	lineEnd int  // length of out where its last line begins
	inText  bool // the line holds more than indentation, and a diff's mark, already
	empty   int  // line ends since the last text
	changed bool
}

// step rewrites the next run of equal characters.
func (v *visible) step() {
	r, size := utf8.DecodeRuneInString(v.rest)
	unit := v.rest[:size]
	n := 1
	for strings.HasPrefix(v.rest[n*size:], unit) {
		n++
	}
	v.rest = v.rest[n*size:]
	switch {
	case r == '\n':
		v.lineEnds(n)
	case r == ' ' && (n <= maxBlanks || !v.inText && n <= maxIndents):
		v.spaces(n)
	case r == '\t' && !v.inText && n <= maxIndents:
		v.out.WriteString(strings.Repeat(string(tabMark), n))
	case r == utf8.RuneError && size == 1:
		v.escape(fmt.Sprintf("0x%02X", unit[0]), n)
	case r == ' ', hidden(r):
		v.escape(fmt.Sprintf("U+%04X", r), n)
	default:
		v.text(unit, n)
	}
}

// text writes characters as they are. A diff's mark at the start of a line leaves the line at its indentation.
func (v *visible) text(unit string, n int) {
	mark := (unit == "+" || unit == "-") && n == 1 && v.out.Len() == v.lineEnd
	v.inText = v.inText || !mark
	v.empty = 0
	v.out.WriteString(strings.Repeat(unit, n))
}

func (v *visible) spaces(n int) {
	shown := " "
	if n > maxBlanks {
		shown = string(spaceMark)
	}
	v.out.WriteString(strings.Repeat(shown, n))
}

// lineEnds shows that lines are empty, or blank, where there are many, so that they can't push text off a screen.
func (v *visible) lineEnds(n int) {
	empty := v.empty + n
	switch {
	case n > maxBlanks:
		v.escape("U+000A", n-1)
		n = 1
	case empty > maxBlanks:
		v.escape("U+000A", n)
		n = 0
	}
	v.out.WriteString(strings.Repeat("\n", n))
	v.lineEnd, v.inText, v.empty = v.out.Len(), false, empty
}

func (v *visible) escape(what string, n int) {
	v.changed, v.inText, v.empty = true, true, 0
	if n > maxRepeats {
		what += "×" + strconv.Itoa(n)
		n = 1
	}
	v.out.WriteString(strings.Repeat(string(escapeOpen)+what+string(escapeClose), n))
}

// hidden tells whether a reader may fail to see a character, or see another one. The tables are those of Unicode 15;
// what was assigned later counts as unassigned.
func hidden(r rune) bool {
	switch {
	case r >= ' ' && r <= '~':
		return false
	case r == escapeOpen, r == tabMark, r == spaceMark:
		return true
	case r == '\u2800', r == '\uFFFC', r == '\U0001D159': // symbols by category, blank on the screen
		return true
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Other_Default_Ignorable_Code_Point):
		return true
	}
	return !unicode.IsGraphic(r) || unicode.Is(unicode.Zs, r)
}
