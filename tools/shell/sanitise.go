package shell

import (
	"bytes"
	"unicode/utf8"
)

const (
	// keptLine is how long an unfinished line may get before it is passed on and a carriage return
	// can no longer take it back.
	keptLine = 4 << 10
	// maxControl bounds what an unterminated escape sequence can swallow.
	maxControl = 4 << 10
)

// What the next byte belongs to.
type mode int

const (
	inText    mode = iota
	inEscape       // after ESC: intermediates, then one final byte (ECMA-35)
	inCSI          // control sequence: up to a byte of 0x40–0x7E (ECMA-48 5.4)
	inString       // OSC, DCS, SOS, PM, APC: up to BEL or ST (ECMA-48 5.6)
	inStringE      // ESC inside a string, maybe of ST
)

// sanitiser turns the bytes that programs write for a terminal into plain valid UTF-8: escape sequences
// and control characters go, each run of bytes that is no UTF-8 becomes one U+FFFD, and of a line that
// was redrawn with carriage returns, as progress bars are, the last state stays. Pieces of any size come
// in; text goes out to sink in whole lines where these aren't longer than keptLine.
type sanitiser struct {
	sink func([]byte)

	buf   []byte // text not passed on yet
	line  int    // buf[line:] is the unfinished line
	torn  bool   // the unfinished line's beginning was passed on already
	cr    bool   // a carriage return came; it counts once more text follows
	bad   bool   // buf ends with the U+FFFD of a run that may go on
	mode  mode
	eaten int    // bytes of the escape sequence so far
	part  []byte // the beginning of a rune that the next piece completes
}

// plain marks the bytes that are copied as they are.
var plain = func() (t [256]bool) {
	for b := 0x20; b < 0x7f; b++ {
		t[b] = true
	}
	t['\n'], t['\t'] = true, true
	return t
}()

// Write takes the next piece. It never fails.
func (s *sanitiser) Write(p []byte) (int, error) {
	n := len(p)
	if len(s.part) > 0 {
		p = append(s.part, p...)
		s.part = nil
	}
	for len(p) > 0 {
		if s.mode == inText {
			p = s.text(p)
		} else {
			p = s.control(p)
		}
	}
	s.pass(false)
	return n, nil
}

// Close passes on what was held back. It never fails.
func (s *sanitiser) Close() error {
	if len(s.part) > 0 {
		s.invalid()
		s.part = nil
	}
	s.pass(true)
	return nil
}

// text consumes at least one byte of p, or saves p as the beginning of a rune.
func (s *sanitiser) text(p []byte) []byte {
	if n := harmless(p); n > 0 {
		s.put(p[:n])
		return p[n:]
	}
	if p[0] >= utf8.RuneSelf {
		return s.odd(p)
	}
	switch p[0] {
	case '\r':
		s.cr = true
	case '\b':
		s.back()
	case 0x1b:
		s.mode, s.eaten = inEscape, 0
	default: // a run of NUL bytes is common enough to be fast about
		n := 1
		for ; n < len(p) && p[n] == p[0]; n++ {
		}
		return p[n:]
	}
	return p[1:]
}

// harmless is how many bytes at the beginning of p are text to be copied as it is.
func harmless(p []byte) int {
	n := 0
	for n < len(p) {
		if plain[p[n]] {
			n++
			continue
		}
		r, size := utf8.DecodeRune(p[n:])
		if r < 0xa0 || r == utf8.RuneError && size == 1 {
			break
		}
		n += size
	}
	return n
}

// odd consumes a byte that begins no rune, or a control of C1; or saves the beginning of a rune.
func (s *sanitiser) odd(p []byte) []byte {
	if !utf8.FullRune(p) {
		s.part = bytes.Clone(p)
		return nil
	}
	r, size := utf8.DecodeRune(p)
	switch {
	case r == utf8.RuneError:
		s.invalid()
	case r == 0x9b:
		s.mode, s.eaten = inCSI, 0
	case r == 0x90 || r == 0x98 || r >= 0x9d: // DCS, SOS, OSC, PM, APC
		s.mode, s.eaten = inString, 0
	}
	return p[size:]
}

func (s *sanitiser) invalid() {
	if !s.bad {
		s.put([]byte("\uFFFD"))
		s.bad = true
	}
}

// control consumes one byte of an escape sequence. A sequence that breaks the rules, gets too long or
// meets a line's end is over, so that it can't hide what follows.
func (s *sanitiser) control(p []byte) []byte {
	b := p[0]
	s.eaten++
	if b == '\n' || s.eaten > maxControl {
		s.mode = inText
		return p
	}
	switch s.mode {
	case inEscape:
		if b != 0x1b && (b < 0x20 || b >= 0x7f) {
			s.mode = inText
			return p
		}
		s.escape(b)
	case inCSI:
		switch {
		case b == 0x1b:
			s.mode = inEscape
		case b < 0x20 || b >= 0x7f:
			s.mode = inText
			return p
		case b >= 0x40:
			s.mode = inText
		}
	case inString:
		switch b {
		case 0x07:
			s.mode = inText
		case 0x1b:
			s.mode = inStringE
		}
	case inStringE:
		s.mode = inText
		if b != '\\' {
			s.mode = inEscape
			return p
		}
	}
	return p[1:]
}

func (s *sanitiser) escape(b byte) {
	switch {
	case b == '[':
		s.mode = inCSI
	case b == ']' || b == 'P' || b == 'X' || b == '^' || b == '_':
		s.mode = inString
	case b == 0x1b || b >= 0x20 && b <= 0x2f:
		s.mode = inEscape
	default:
		s.mode = inText
	}
}

// put appends text, which begins a redrawn line anew where a carriage return came before.
func (s *sanitiser) put(p []byte) {
	s.bad = false
	if s.cr {
		s.cr = false
		switch {
		case p[0] == '\n':
		case s.torn:
			s.newline()
		default:
			s.buf = s.buf[:s.line]
		}
	}
	s.buf = append(s.buf, p...)
	if i := bytes.LastIndexByte(p, '\n'); i >= 0 {
		s.line, s.torn = len(s.buf)-len(p)+i+1, false
	}
}

func (s *sanitiser) newline() {
	s.buf = append(s.buf, '\n')
	s.line, s.torn = len(s.buf), false
}

// back takes one rune back, as overstruck text of old manual pages expects.
func (s *sanitiser) back() {
	_, size := utf8.DecodeLastRune(s.buf[s.line:])
	s.buf = s.buf[:len(s.buf)-size]
	s.bad = false
}

// pass hands on what can no longer change.
func (s *sanitiser) pass(all bool) {
	n := s.line
	if all || len(s.buf)-s.line > keptLine {
		n = len(s.buf)
	}
	if n == 0 {
		return
	}
	s.sink(s.buf[:n])
	if n > s.line {
		s.torn = true
	}
	s.buf = append(s.buf[:0], s.buf[n:]...)
	s.line = 0
}
