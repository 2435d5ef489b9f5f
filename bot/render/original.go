package render

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Original undoes Visible. It refuses escapes that Visible can't have written. Only tests need it: that there is a way back
// proves that what a card shows is all that was asked for.
func Original(shown string) (string, error) {
	var b strings.Builder
	for shown != "" {
		i := strings.IndexAny(shown, string([]rune{escapeOpen, tabMark, spaceMark}))
		if i < 0 {
			break
		}
		b.WriteString(shown[:i])
		r, size := utf8.DecodeRuneInString(shown[i:])
		shown = shown[i+size:]
		switch r {
		case tabMark:
			b.WriteByte('\t')
		case spaceMark:
			b.WriteByte(' ')
		default:
			inside, rest, found := strings.Cut(shown, string(escapeClose))
			if !found {
				return "", fmt.Errorf("reading an escape: %q is not closed", clip(shown))
			}
			s, err := unescape(inside)
			if err != nil {
				return "", err
			}
			b.WriteString(s)
			shown = rest
		}
	}
	b.WriteString(shown)
	return b.String(), nil
}

// unescape reads the inside of one escape: U+ and a code point or 0x and a byte, each in upper-case hexadecimal, and ×
// with a count.
func unescape(inside string) (string, error) {
	const longest = 64 << 20 // repeats, so that a forged count can't fill the memory
	what, times, counted := strings.Cut(inside, "×")
	n := 1
	if counted {
		var err error
		if n, err = strconv.Atoi(times); err != nil || n <= maxRepeats || n > longest {
			return "", fmt.Errorf("reading the escape %q: the count is not right", clip(inside))
		}
	}
	var unit string
	switch kind, digits := what[:min(2, len(what))], what[min(2, len(what)):]; kind {
	case "U+":
		c, err := strconv.ParseUint(digits, 16, 32)
		if err != nil || !utf8.ValidRune(rune(c)) || fmt.Sprintf("%04X", c) != digits {
			return "", fmt.Errorf("reading the escape %q: not a code point", clip(inside))
		}
		unit = string(rune(c))
	case "0x":
		c, err := strconv.ParseUint(digits, 16, 8)
		if err != nil || fmt.Sprintf("%02X", c) != digits {
			return "", fmt.Errorf("reading the escape %q: not a byte", clip(inside))
		}
		unit = string([]byte{byte(c)})
	default:
		return "", fmt.Errorf("reading the escape %q: it begins with neither U+ nor 0x", clip(inside))
	}
	return strings.Repeat(unit, n), nil
}

// clip keeps an error's quotation short.
func clip(s string) string {
	if len(s) > 20 {
		return s[:20]
	}
	return s
}
