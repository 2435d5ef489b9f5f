package fs

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxSearch    = 8 << 20 // bytes of one file that are searched; several are held in memory at once
	maxMatchLine = 400     // bytes of a line that are shown around its match
)

// matcher finds lines.
type matcher struct {
	re      *regexp.Regexp
	literal literal
}

// newMatcher reads a regular expression (RE2). It is matched against one line at a time.
func newMatcher(pattern string, caseSensitive bool) (*matcher, error) {
	flags := ""
	if !caseSensitive {
		flags = "(?i)"
	}
	re, err := regexp.Compile(flags + "(?:" + pattern + ")")
	if err != nil {
		// Compiled alone, so that the error shows what the model wrote.
		if _, own := regexp.Compile(pattern); own != nil {
			err = own
		}
		return nil, fmt.Errorf("the pattern is not usable (RE2: no look-around, no back references): %w", err)
	}
	return &matcher{re: re, literal: requiredLiteral(flags + "(?:" + pattern + ")")}, nil
}

// searched is the part of a file that lines are looked for in.
type searched struct {
	data []byte
	cut  bool // the file goes on beyond it
}

// readSearched reads a file into buf, which grows as needed.
func readSearched(r io.Reader, size int64, buf *bytes.Buffer) (searched, error) {
	buf.Reset()
	buf.Grow(int(min(size, maxSearch)) + bytes.MinRead)
	if _, err := buf.ReadFrom(r); err != nil {
		return searched{}, err
	}
	return searched{data: buf.Bytes(), cut: size > maxSearch}, nil
}

// count counts matching lines, up to limit or the end of ctx: one file with a hard pattern may take long.
func (m *matcher) count(ctx context.Context, s searched, limit int, scratch *[]byte) (n int) {
	prepared := m.literal.prepare(s.data, scratch)
	for from := 0; from < len(prepared) && n < limit && ctx.Err() == nil; {
		start, end, ok := m.literal.nextLine(prepared, from)
		if !ok {
			break
		}
		if m.re.Match(bytes.TrimSuffix(s.data[start:end], []byte("\r"))) {
			n++
		}
		from = end + 1
	}
	return n
}

// cutLine takes the first line, without its end, off a text.
func cutLine(text []byte) (line, rest []byte) {
	line, rest, _ = bytes.Cut(text, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r")), rest
}

// excerpt writes matching lines with their neighbours.
type excerpt struct {
	out     *strings.Builder
	around  int // lines before and after a match
	skip    int // matches that were shown before
	take    int // matches to show
	room    int // bytes of out that may be written
	written int // number of the last line written
}

// write shows matches of s and says how many it showed. It ends with ctx.
func (e *excerpt) write(ctx context.Context, m *matcher, s searched) (shown int) {
	start := e.out.Len()
	var held [][]byte // lines that come before the next match, at most e.around
	owed := 0         // lines that come after the last match
	number := 0
	for rest := s.data; len(rest) > 0 && ctx.Err() == nil; {
		var line []byte
		line, rest = cutLine(rest)
		number++
		found := m.re.FindIndex(line)
		if found != nil && e.skip > 0 {
			e.skip--
			found = nil
		}
		switch {
		case found != nil && shown < e.take && e.out.Len()-start < e.room:
			e.before(held, number)
			e.line(number, ": ", clipAround(line, found))
			held, owed = nil, e.around
			shown++
		case found != nil || shown == e.take && owed == 0:
			return shown
		case owed > 0:
			e.line(number, "- ", clipAround(line, nil))
			owed--
		case e.around > 0:
			held = append(held[max(0, len(held)-e.around+1):], line)
		}
	}
	return shown
}

func (e *excerpt) before(held [][]byte, number int) {
	if first := number - len(held); e.written > 0 && first > e.written+1 && e.around > 0 {
		e.out.WriteString("--\n")
	}
	for i, line := range held {
		e.line(number-len(held)+i, "- ", clipAround(line, nil))
	}
}

func (e *excerpt) line(number int, mark, text string) {
	e.out.WriteString(strconv.Itoa(number))
	e.out.WriteString(mark)
	e.out.WriteString(text)
	e.out.WriteByte('\n')
	e.written = number
}

// clipAround cuts a long line around what was found in it.
func clipAround(line []byte, found []int) string {
	if len(line) <= maxMatchLine {
		return string(line)
	}
	from := 0
	if found != nil {
		from = max(0, min(found[0]-maxMatchLine/4, len(line)-maxMatchLine))
	}
	to := min(from+maxMatchLine, len(line))
	for from > 0 && from < to && !utf8.RuneStart(line[from]) {
		from++
	}
	for to < len(line) && to > from && !utf8.RuneStart(line[to]) {
		to--
	}
	text := string(line[from:to])
	if from > 0 {
		text = "…" + text
	}
	if to < len(line) {
		text += "…"
	}
	return text
}
