package render

import (
	"strings"
	"testing"
	"unicode"
)

// FuzzParts repeats its input, so that small ones reach the cuts: large ones are slow to fuzz with.
func FuzzParts(f *testing.F) {
	for _, s := range hostile {
		f.Add(s, uint16(1))
		f.Add(s+" ", uint16(300))
	}
	f.Fuzz(func(t *testing.T, unit string, times uint16) {
		const enough = 9_000 // bytes, for two or three parts
		markdown := strings.Repeat(unit, max(1, min(int(times), enough/max(len(unit), 1))))
		checkParts(t, markdown)
		tg := newTelegram()
		for _, p := range []Part{Preview(markdown), Head(markdown)} {
			if p != (Part{}) {
				tg.part(t, p)
			}
		}
	})
}

// checkParts renders and holds what is promised of every answer: each part is accepted and within the limits, and all
// of them together show what the uncut document shows, in order.
func checkParts(t *testing.T, markdown string) []Part {
	t.Helper()
	tg := newTelegram()
	parts := Parts(markdown)
	var seen strings.Builder
	for _, p := range parts {
		seen.WriteString(tg.part(t, p).Text)
	}
	if want, got := ink(string(parse(markdown).text)), ink(seen.String()); want != got {
		t.Errorf("visible text changed:\nwant %q\ngot  %q", want, got)
	}
	return parts
}

// ink is what can be seen of a text.
func ink(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || blank([]byte(string(r))) {
			return -1
		}
		return r
	}, s)
}

var hostile = []string{
	"", " \n\t", "plain", "use `List<int>` and <CoT>", "<b>x", "</b>", "a < b && c > d &amp; &#60; &nbsp; &bogus;",
	"[t](https://x.test/foo__bar__baz) [w](https://x.test/Foo_(bar)) *a* _b_ __c__",
	"```go\nfunc", "````\n```\nx\n```\n````", "- [ ] a\n- [x] b\n  1. c\n     > q\n     > > r",
	"| a | b |\n|:-:|--:|\n| 日本 | `x\\|y` |\n", "|a|\n|-|", "***a** b*", "~~a **b** `c`~~", "$a_1*b*c$ \\(x_{i}\\) \\[ y \\]",
	"[a]: https://x.test\n[a] [^1]\n\n[^1]: https://y.test", "![i](https://x.test/i.png) [![b](https://x.test/b)](https://x.test)",
	"# h\n\n> q\n\n---\n<div>\n**x**\n</div>", "\xff\x00\u202e\u2028x\u030a", "e\u0301👨‍👩‍👧‍👦🇩🇪",
	"**bold ", "&", "👨‍👩‍👧‍👦", "a\u0301\u0302", "[l](https://x.test/?q=\"&&&&) ", "`a` ", "x", "word ", "> ", "- ", "> - ",
}
