package fs

import (
	"bytes"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// literal is a text that every match of an expression holds. Looking for it first leaves most lines to bytes.Index, which
// is far faster than an expression. The zero literal is in everything.
type literal struct {
	text []byte
	fold bool // in upper or lower case; text is ASCII then, in lower case
}

// requiredLiteral finds the longest literal that an expression can't do without.
func requiredLiteral(expression string) literal {
	re, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return literal{}
	}
	return longestLiteral(re)
}

func longestLiteral(re *syntax.Regexp) (best literal) {
	switch re.Op {
	case syntax.OpLiteral:
		return literalOf(string(re.Rune), re.Flags&syntax.FoldCase != 0)
	case syntax.OpCapture, syntax.OpPlus:
		return longestLiteral(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return longestLiteral(re.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if l := longestLiteral(sub); len(l.text) > len(best.text) {
				best = l
			}
		}
	}
	return best
}

func literalOf(text string, fold bool) literal {
	if !fold {
		if strings.ContainsRune(text, utf8.RuneError) {
			return literal{} // an expression finds it in broken UTF-8 too
		}
		return literal{text: []byte(text)}
	}
	// k and s have a third form each, K and ſ, that folds with them; a literal ends before other letters than ASCII.
	ascii := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r >= utf8.RuneSelf || r == 'k' || r == 's' })
	longest := ""
	for _, part := range ascii {
		if len(part) > len(longest) {
			longest = part
		}
	}
	return literal{text: []byte(longest), fold: longest != ""}
}

// prepare makes data ready for nextLine: folded to lower case where need be, byte for byte, in scratch.
func (l literal) prepare(data []byte, scratch *[]byte) []byte {
	if !l.fold {
		return data
	}
	lower := append((*scratch)[:0], data...)
	for i, c := range lower {
		if 'A' <= c && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	*scratch = lower
	return lower
}

// nextLine is where the next line that may match begins and ends in data, at or after from; ok is false when there is
// none. prepared is what prepare made of data.
func (l literal) nextLine(prepared []byte, from int) (start, end int, ok bool) {
	i := bytes.Index(prepared[from:], l.text)
	if i < 0 {
		return 0, 0, false
	}
	start = from + bytes.LastIndexByte(prepared[from:from+i], '\n') + 1
	end = len(prepared)
	if n := bytes.IndexByte(prepared[from+i:], '\n'); n >= 0 {
		end = from + i + n
	}
	return start, end, true
}
