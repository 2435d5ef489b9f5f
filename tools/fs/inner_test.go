package fs

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// TestIgnore holds what `git check-ignore` says of the same lines and paths.
func TestIgnore(t *testing.T) {
	top := parseIgnore(nil, "/w", strings.Join([]string{
		"# a comment", "", "*.log", "!keep.log", "/build", "node_modules/", "docs/*.pdf", "**/cache", "deep/**", "a/**/z",
		`\#hash`, `\!bang`, "trail   ", `esc\ `, "{x}", "[ab].c", "mid*dle", "!deep/back",
	}, "\n"))
	sub := parseIgnore(top, "/w/sub", "!x.log\nonly.txt\r\n/rooted\n")
	tests := []struct {
		rules  *ignore
		path   string
		folder bool
		want   bool
	}{
		{top, "x.log", false, true},
		{top, "in/x.log", false, true},
		{top, "keep.log", false, false},
		{top, "build", true, true},
		{top, "build", false, true},
		{top, "in/build", true, false},
		{top, "node_modules", true, true},
		{top, "node_modules", false, false},
		{top, "in/node_modules", true, true},
		{top, "docs/a.pdf", false, true},
		{top, "docs/in/a.pdf", false, false},
		{top, "in/docs/a.pdf", false, false},
		{top, "cache", true, true},
		{top, "in/in/cache", false, true},
		{top, "deep", true, false},
		{top, "deep/x", false, true},
		{top, "deep/back", false, false},
		{top, "a/z", false, true},
		{top, "a/b/c/z", false, true},
		{top, "a/b", true, false},
		{top, "#hash", false, true},
		{top, "!bang", false, true},
		{top, "trail", false, true},
		{top, "esc ", false, true},
		{top, "{x}", false, true},
		{top, "x", false, false},
		{top, "a.c", false, true},
		{top, "c.c", false, false},
		{top, "mid-dle", false, true},
		{sub, "sub/x.log", false, false},
		{sub, "sub/y.log", false, true},
		{sub, "sub/in/only.txt", false, true},
		{sub, "sub/rooted", false, true},
		{sub, "sub/in/rooted", false, false},
		{nil, "x.log", false, false},
	}
	for _, tt := range tests {
		path := "/w/" + tt.path
		if got := tt.rules.matches(path, path[strings.LastIndex(path, "/")+1:], tt.folder); got != tt.want {
			t.Errorf("%s is ignored: %v", tt.path, got)
		}
	}
}

// naiveCount is what count must come to: the expression against each line.
func naiveCount(re *regexp.Regexp, text string) (n int) {
	for _, line := range lines(text) {
		if re.MatchString(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")) {
			n++
		}
	}
	return n
}

func FuzzMatcher(f *testing.F) {
	for _, pattern := range []string{"foo", "fo+", "^foo$", "(?:a|b)c", "kK", "straße", "s", "x{0,2}y", `\bend\b`, "(foo){2}", "", "[", `a\nb`, "\ufffd"} {
		f.Add(pattern, "foo\nFOO\r\nac\nbc\n\nſ K straSSE\nxxy\nthe end\nfoofoo\n\xff\na\nb", true)
		f.Add(pattern, "no newline at the end: Foo", false)
	}
	var scratch []byte
	f.Fuzz(func(t *testing.T, pattern, text string, caseSensitive bool) {
		m, err := newMatcher(pattern, caseSensitive)
		if err != nil {
			return
		}
		if got, want := m.count(t.Context(), searched{data: []byte(text)}, len(text)+1, &scratch), naiveCount(m.re, text); got != want {
			t.Errorf("%q in %q: %d matches, not %d (literal %q)", pattern, text, got, want, m.literal.text)
		}
		var out strings.Builder
		e := excerpt{out: &out, around: 2, take: 3, room: maxText}
		if got, want := e.write(t.Context(), m, searched{data: []byte(text)}), min(3, naiveCount(m.re, text)); got != want {
			t.Errorf("%q in %q: showed %d matches, not %d", pattern, text, got, want)
		}
	})
}

func FuzzEdit(f *testing.F) {
	f.Add("a\r\nb\r\n", "a\nb", "c\nd", false, 1)
	f.Add("x\nx", "x", "", true, 2)
	f.Add("\ufeffone\n\ntwo", "o", "0", false, 1)
	f.Fuzz(func(t *testing.T, text, find, with string, all bool, line int) {
		old := file{shown: "f", data: []byte(text), info: fakeInfo{}}
		in := editIn{Path: "f", Old: find, New: with, ReplaceAll: all}
		if in.check() != nil || !utf8.ValidString(text) {
			return
		}
		data, _, err := in.edit(old)
		if err == nil {
			checkEdit(t, text, string(data), in)
		} else if err.Error() == "" {
			t.Error("an error without words")
		}
		checkLines(t, old, line, with)
	})
}

func checkEdit(t *testing.T, text, got string, in editIn) {
	t.Helper()
	if onlyCRLF(text) && strings.Count(got, "\n") != strings.Count(got, "\r\n") {
		t.Errorf("%q lost CRLF: %q", text, got)
	}
	plain := func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
	want := strings.Replace(plain(text), plain(in.Old), plain(in.New), 1)
	if !in.ReplaceAll && plain(got) != want && !strings.Contains(in.Old+in.New, "\r") {
		t.Errorf("%q became %q, not %q", text, got, want)
	}
}

// checkLines: what the line tools do to one place leaves every other line as it was.
func checkLines(t *testing.T, old file, line int, content string) {
	t.Helper()
	_, text := cutMark(string(old.data))
	before := lines(text)
	if line < 1 {
		return
	}
	if data, _, err := (insertIn{Line: line, Content: content, Placement: placedAfter}).insert(old); err == nil && len(before) > 0 {
		_, made := cutMark(string(data))
		added := max(1, len(lines(content)))
		got := lines(made)
		if len(got) != len(before)+added {
			t.Errorf("inserting %q at %d of %q gave %q", content, line, text, made)
		}
		open, left := !strings.HasSuffix(text, "\n"), !strings.HasSuffix(made, "\n")
		if open != left && (!open || strings.Trim(got[len(got)-1], "\r\n") != "") {
			t.Errorf("inserting %q into %q changed its end: %q", content, text, made)
		}
	}
	data, _, err := (replaceIn{FromLine: line, ToLine: line, New: content}).replace(old)
	if err != nil {
		return
	}
	_, made := cutMark(string(data))
	if line > 1 && !strings.HasPrefix(made, strings.TrimRight(strings.Join(before[:line-1], ""), "\r\n")) {
		t.Errorf("replacing line %d of %q by %q gave %q", line, text, content, made)
	}
	if line < len(before) && !strings.HasSuffix(made, strings.Join(before[line:], "")) {
		t.Errorf("replacing line %d of %q by %q gave %q", line, text, content, made)
	}
}

// fakeInfo stands for a file that is there.
type fakeInfo struct{ fs.FileInfo }

func (fakeInfo) Size() int64 { return 0 }

// FuzzDiff: what a card shows, applied to the file as it was, gives the file as it becomes.
func FuzzDiff(f *testing.F) {
	f.Add("a\nb\n", "a\nc\n")
	f.Add("", "x")
	f.Add("x\n\n\ny", "x\n\ny\n")
	f.Add("a\r\nb\r\n", "a\r\n")
	f.Fuzz(func(t *testing.T, from, to string) {
		if from == to || binary([]byte(from)) {
			return
		}
		text, _, err := diff(file{shown: "f", data: []byte(from), info: fakeInfo{}}, []byte(to))
		if err != nil {
			t.Fatal(err)
		}
		if onlyCRLF(from) && onlyCRLF(to) {
			from, to = strings.ReplaceAll(from, "\r\n", "\n"), strings.ReplaceAll(to, "\r\n", "\n")
		}
		if got := applyDiff(t, text, lines(from)); got != to {
			t.Errorf("%q with the diff %q is %q, not %q", from, text, got, to)
		}
	})
}

// applyDiff follows a unified diff of old line by line.
func applyDiff(t *testing.T, diff string, old []string) string {
	t.Helper()
	var out []string
	at, added := 0, false
	for _, line := range lines(diff)[2:] {
		var start, n int
		switch mark, text := line[0], line[1:]; mark {
		case '@':
			if _, err := fmt.Sscanf(line, "@@ -%d,%d", &start, &n); err != nil {
				n = 1
			}
			if n > 0 {
				start--
			}
			out = append(out, old[at:start]...)
			at = start
		case '+':
			out = append(out, text)
		case '-', ' ':
			if at >= len(old) || strings.TrimSuffix(old[at], "\n") != strings.TrimSuffix(text, "\n") {
				t.Fatalf("the diff %q does not fit line %d of %q", diff, at+1, old)
			}
			if mark == ' ' {
				out = append(out, old[at])
			}
			at++
		case '\\': // no newline at the end of the line before
			if added {
				out[len(out)-1] = strings.TrimSuffix(out[len(out)-1], "\n")
			}
		}
		added = line[0] == '+'
	}
	return strings.Join(append(out, old[at:]...), "")
}

// TestDiffOfABigFile: a card for the largest file that can be changed is made in bearable time.
func TestDiffOfABigFile(t *testing.T) {
	var a, b strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&a, "line %d of the old file\n", i)
		fmt.Fprintf(&b, "line %d of the new file\n", i*7)
	}
	start := time.Now()
	text, _, err := diff(file{shown: "f", data: []byte(a.String()), info: fakeInfo{}}, []byte(b.String()))
	if err != nil || strings.Count(text, "\n+") < 200_000 {
		t.Errorf("the diff has %d bytes, %v", len(text), err)
	}
	t.Logf("%d bytes in %v", len(text), time.Since(start))
}
