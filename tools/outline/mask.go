package outline

import (
	"strings"
)

// syntax is what must be known of a language to tell code from comments and strings.
type syntax struct {
	comments []string    // what begins a comment that the line ends
	blocks   [][2]string // what begins and ends a longer comment
	nested   bool        // such comments may lie in one another
	quotes   []quote     // longer ones before those that they begin with
	// special finds the end of what the above can't tell, which begins at i: a string where text is set, else a comment.
	// It gives back i where nothing of the kind begins.
	special func(src string, i int) (end int, text bool)
}

// quote is a kind of string.
type quote struct {
	mark  string // on both sides
	lines bool   // it may go over several lines
	raw   bool   // a backslash is nothing special
}

var (
	double    = quote{mark: `"`}
	single    = quote{mark: `'`}
	doubles   = quote{mark: `"`, lines: true}
	singles   = quote{mark: `'`, lines: true, raw: true}
	threefold = quote{mark: `"""`, lines: true}
	threeApos = quote{mark: `'''`, lines: true}
)

// masked is a source with the same bytes at the same places, but for what was blanked. Line ends are all there.
type masked struct {
	code string // without comments and strings
	text string // without comments
}

// mask takes comments and strings out of a source.
func (s *syntax) mask(src string) masked {
	code, text := []byte(src), []byte(src)
	for i := 0; i < len(src); {
		if end := s.comment(src, i); end > i {
			blank(code[i:end])
			blank(text[i:end])
			i = end
			continue
		}
		if end := s.str(src, i); end > i {
			blank(code[i:end])
			i = end
			continue
		}
		if s.special != nil {
			if end, isText := s.special(src, i); end > i {
				blank(code[i:end])
				if !isText {
					blank(text[i:end])
				}
				i = end
				continue
			}
		}
		i++
	}
	return masked{string(code), string(text)}
}

func blank(b []byte) {
	for i, c := range b {
		if c != '\n' {
			b[i] = ' '
		}
	}
}

// comment is where a comment that begins at i ends, or i.
func (s *syntax) comment(src string, i int) int {
	for _, b := range s.blocks {
		if strings.HasPrefix(src[i:], b[0]) {
			return blockEnd(src, i, b, s.nested)
		}
	}
	for _, c := range s.comments {
		if strings.HasPrefix(src[i:], c) {
			return lineEnd(src, i)
		}
	}
	return i
}

func blockEnd(src string, i int, marks [2]string, nested bool) int {
	depth := 0
	for i < len(src) {
		switch {
		case strings.HasPrefix(src[i:], marks[0]) && (nested || depth == 0):
			depth++
			i += len(marks[0])
		case strings.HasPrefix(src[i:], marks[1]):
			i += len(marks[1])
			if depth--; depth == 0 {
				return i
			}
		default:
			i++
		}
	}
	return i
}

// lineEnd is where the line ends that i lies in, before its newline.
func lineEnd(src string, i int) int {
	if n := strings.IndexByte(src[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(src)
}

// str is where a string that begins at i ends, or i. One that is not closed ends with its line, or with the file.
func (s *syntax) str(src string, i int) int {
	for _, q := range s.quotes {
		if !strings.HasPrefix(src[i:], q.mark) {
			continue
		}
		for i += len(q.mark); i < len(src); i++ {
			switch {
			case strings.HasPrefix(src[i:], q.mark):
				return i + len(q.mark)
			case src[i] == '\\' && !q.raw:
				i++ // a line's end may be escaped, too
			case src[i] == '\n' && !q.lines:
				return i
			}
		}
		return len(src)
	}
	return i
}

// until is where a mark that is looked for from i on ends, or the end of the source.
func until(src string, i int, mark string) int {
	if n := strings.Index(src[min(i, len(src)):], mark); n >= 0 {
		return i + n + len(mark)
	}
	return len(src)
}

// before is the byte before i, or a newline.
func before(src string, i int) byte {
	if i == 0 {
		return '\n'
	}
	return src[i-1]
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// templates are JavaScript's strings between backquotes, with code in them in which there may be more, and its regular
// expressions.
func templates(src string, i int) (end int, text bool) {
	switch src[i] {
	case '`':
		return templateEnd(src, i), true
	case '/':
		return regexpEnd(src, i), true
	}
	return i, false
}

func templateEnd(src string, i int) int {
	var braces []int // of each piece of code that is open: the braces that are open in it
	inCode := false
	for ; i < len(src); i++ {
		switch c := src[i]; {
		case c == '\\':
			i++
		case c == '`' && inCode:
			braces, inCode = append(braces, -1), false
		case c == '`' && len(braces) > 0 && braces[len(braces)-1] == -1:
			if braces = braces[:len(braces)-1]; len(braces) == 0 {
				return i + 1
			}
			inCode = true
		case c == '`':
			braces = append(braces, -1)
		case !inCode && c == '$' && i+1 < len(src) && src[i+1] == '{':
			braces, inCode = append(braces, 0), true
			i++
		case inCode && c == '{':
			braces[len(braces)-1]++
		case inCode && c == '}':
			if braces[len(braces)-1]--; braces[len(braces)-1] < 0 {
				braces, inCode = braces[:len(braces)-1], false
			}
		}
	}
	return len(src)
}

// regexpEnd is where a regular expression that begins at i ends, or i. A slash is one's beginning where no value stands
// before it that could be divided.
func regexpEnd(src string, i int) int {
	head := strings.TrimRight(src[max(i-16, 0):i], " \t")
	if head != "" && !strings.ContainsRune("(,=:[!&|?{};\n<>+-*%~^", rune(head[len(head)-1])) && !valueNext.MatchString(head) {
		return i
	}
	inClass := false
	for at := i + 1; at < len(src) && src[at] != '\n'; at++ {
		switch c := src[at]; {
		case c == '\\':
			at++
		case c == '[':
			inClass = true
		case c == ']':
			inClass = false
		case c == '/' && !inClass:
			return at + 1
		}
	}
	return i
}

var valueNext = formOf(`\b(?:return|typeof|case|in|of|do|else|void|delete|throw)$`)

// charLiteral are characters between apostrophes in Rust, where an apostrophe alone begins a lifetime, and raw strings.
func charLiteral(src string, i int) (end int, text bool) {
	switch src[i] {
	case '\'':
		if m := rustChar.FindString(src[i:min(i+16, len(src))]); m != "" {
			return i + len(m), true
		}
	case 'r':
		if m := rustRaw.FindStringSubmatch(src[i:min(i+64, len(src))]); m != nil && (!isWord(before(src, i)) || before(src, i) == 'b') {
			return until(src, i+len(m[0]), `"`+m[1]), true
		}
	}
	return i, false
}

var (
	rustChar = formOf(`^'(?:\\(?:u\{[0-9a-fA-F_]+\}|x[0-9a-fA-F]{2}|.)|[^\\'\n])'`)
	rustRaw  = formOf(`^r(#*)"`)
)

// swiftRaw are Swift's strings between #" and "#.
func swiftRaw(src string, i int) (end int, text bool) {
	if m := swiftMark.FindStringSubmatch(src[i:min(i+64, len(src))]); src[i] == '#' && m != nil {
		return until(src, i+len(m[0]), m[2]+m[1]), true
	}
	return i, false
}

var swiftMark = formOf(`^(#+)("""|")`)

// cStrings are characters between apostrophes, which also part digits, and raw strings.
func cStrings(src string, i int) (end int, text bool) {
	switch src[i] {
	case '\'':
		if isWord(before(src, i)) && !strings.ContainsRune("uUL8", rune(before(src, i))) {
			return i, false
		}
		apostrophe := syntax{quotes: []quote{single}}
		return apostrophe.str(src, i), true
	case 'R':
		if m := cppRaw.FindStringSubmatch(src[i:min(i+32, len(src))]); m != nil {
			return until(src, i+len(m[0]), ")"+m[1]+`"`), true
		}
	}
	return i, false
}

var cppRaw = formOf(`^R"([^()\\\s"]{0,16})\(`)

// luaLong are Lua's long brackets, as strings and as comments.
func luaLong(src string, i int) (end int, text bool) {
	comment := strings.HasPrefix(src[i:], "--")
	at := i
	if comment {
		at += 2
	}
	if at < len(src) && src[at] == '[' {
		if m := luaMark.FindStringSubmatch(src[at:min(at+64, len(src))]); m != nil {
			return until(src, at+len(m[0]), "]"+m[1]+"]"), !comment
		}
	}
	if comment {
		return lineEnd(src, i), false
	}
	return i, false
}

var luaMark = formOf(`^\[(=*)\[`)

// shellWords are comments, which begin a word, what a backslash escapes, and here-documents.
func shellWords(src string, i int) (end int, text bool) {
	switch src[i] {
	case '#':
		if strings.IndexByte(" \t\n;&|(", before(src, i)) >= 0 {
			return lineEnd(src, i), false
		}
	case '\\':
		return min(i+2, len(src)), true
	case '<':
		if before(src, i) != '<' {
			return hereEnd(src, i, shellHere), true
		}
	}
	return i, false
}

var shellHere = formOf(`^<<-?[ \t]*(['"]?)([A-Za-z_]\w*)(['"]?)`)

// rubyWords are comments from =begin to =end, here-documents, and what follows the end of the program.
func rubyWords(src string, i int) (end int, text bool) {
	atStart := before(src, i) == '\n'
	switch {
	case atStart && strings.HasPrefix(src[i:], "=begin"):
		return until(src, i, "\n=end"), false
	case atStart && strings.HasPrefix(src[i:], "__END__\n"):
		return len(src), false
	case src[i] == '<':
		return hereEnd(src, i, rubyHere), true
	}
	return i, false
}

var rubyHere = formOf(`^<<[~-](['"]?)([A-Z_]\w*)(['"]?)`)

// hereEnd is where a here-document whose mark is at i ends, or i. The rest of the mark's line is taken for a part of it. One
// that is not closed ends with the file.
func hereEnd(src string, i int, mark *form) int {
	m := mark.FindStringSubmatch(src[i:min(i+80, len(src))])
	if c := before(src, i); m == nil || m[1] != m[3] || c == ')' || c >= '0' && c <= '9' { // else it is a shift
		return i
	}
	for at := lineEnd(src, i); at < len(src); {
		next := lineEnd(src, at+1)
		if strings.TrimSpace(src[at+1:next]) == m[2] {
			return next
		}
		at = next
	}
	return len(src)
}

// elixirSigils are Elixir's ?" for a character.
func elixirSigils(src string, i int) (end int, text bool) {
	if src[i] == '?' && i+1 < len(src) && (src[i+1] == '"' || src[i+1] == '\'' || src[i+1] == '#') {
		return i + 2, true
	}
	return i, false
}

// dollarQuotes are PostgreSQL's strings between $tag$, in which bodies of functions stand.
func dollarQuotes(src string, i int) (end int, text bool) {
	if m := dollarMark.FindString(src[i:min(i+80, len(src))]); src[i] == '$' && m != "" {
		return until(src, i+len(m), m), true
	}
	return i, false
}

var dollarMark = formOf(`^\$[A-Za-z_]*\$`)
