package render

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// prose is text of n characters in paragraphs of numbered words.
func prose(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "w%d", i)
		switch {
		case i%60 == 59:
			b.WriteString("\n\n")
		case i%12 == 11:
			b.WriteString(".\n")
		default:
			b.WriteString(" ")
		}
	}
	return strings.TrimSpace(b.String()[:n-1] + "x")
}

func TestSEND1_EveryCharacterInFewestParts(t *testing.T) {
	for _, c := range []struct {
		name, in string
		parts    int
	}{
		{"5,000 characters", prose(5000), 2},
		{"40,000 characters", prose(40_000), 10},
		{"one message exactly", prose(4090), 1},
		{"without blanks", strings.Repeat("x", 8180), 2},
		{"CJK", strings.Repeat("日本語の文章。", 1000), 2},
		{"emoji count once", strings.Repeat("🙂", 4000), 1},
		{"markup does not count", strings.Repeat("**b** ", 45) + strings.Repeat("x", 3900), 1},
		{"nothing", "", 0},
		{"nothing to see", " \n\u200b\u2800\t\n", 0},
		{"a comment is shown as typed", "<!-- -->", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			parts := checkParts(t, c.in)
			if len(parts) != c.parts {
				t.Errorf("want %d parts, got %d", c.parts, len(parts))
			}
			var all strings.Builder
			for _, p := range parts {
				all.WriteString(p.Plain)
			}
			if want, got := ink(strings.ReplaceAll(c.in, "**", "")), ink(all.String()); want != got {
				t.Errorf("want %.200q…, got %.200q…", want, got)
			}
		})
	}
}

func TestSEND1_LongAnswersAsFile(t *testing.T) {
	for _, c := range []struct {
		n      int
		asFile bool
	}{{100, false}, {20_000, false}, {21_000, true}, {200_000, true}} {
		parts, asFile := Answer(prose(c.n))
		if asFile != c.asFile || asFile && len(parts) != 1 || len(parts) > MaxParts {
			t.Errorf("%d characters: %d parts, as a file: %v", c.n, len(parts), asFile)
		}
		if asFile && (!strings.HasSuffix(parts[0].Plain, "…") || utf8.RuneCountInString(parts[0].Plain) > 1000 || !strings.HasPrefix(parts[0].Plain, "w0 w1")) {
			t.Errorf("the head is %q", parts[0].Plain)
		}
	}
	if parts, asFile := Answer(" "); len(parts) != 0 || asFile {
		t.Errorf("an empty answer: %v, %v", parts, asFile)
	}
}

// TestSEND3_TagsAcrossCuts names what each part begins and ends with.
func TestSEND3_TagsAcrossCuts(t *testing.T) {
	code := strings.Repeat("if a < b && c > d {\n", 300)
	for _, c := range []struct{ name, in, begin, end string }{
		{"bold", "**" + strings.Repeat("bold ", 1200) + "x**", "<b>bold ", "</b>"},
		{"nested styles", "**_~~" + strings.Repeat("bold ", 1200) + "x~~_**", "<b><i><s>bold ", "</s></i></b>"},
		{"link", "[" + strings.Repeat("label ", 1000) + "x](https://x.test/a_b)", `<a href="https://x.test/a_b">label `, "</a>"},
		{"code block", "```go\n" + code + "```", `<pre><code class="language-go">if a &lt; b &amp;&amp; c &gt; d {`, "</code></pre>"},
		{"quote", "> " + strings.Repeat("quoted ", 900), "<blockquote expandable>quoted ", "</blockquote>"},
		{"code block in a quote", "> ```\n> " + strings.ReplaceAll(code, "\n", "\n> "), "<blockquote expandable><pre>if a ", "</pre></blockquote>"},
		{"inline code", "`" + strings.Repeat("code ", 1000) + "x`", "<code>code ", "</code>"},
		{"entities", strings.Repeat("&", 6000), "&amp;", "&amp;"},
		{"emoji sequences", strings.Repeat("👨‍👩‍👧‍👦", 1000), "👨‍👩‍👧‍👦", "👨‍👩‍👧‍👦"},
		{"flags", strings.Repeat("🇩🇪", 3000), "🇩🇪", "🇩🇪"},
		{"combining marks", strings.Repeat("e\u0301\u0302", 2000), "e\u0301\u0302", "e\u0301\u0302"},
	} {
		t.Run(c.name, func(t *testing.T) {
			parts := checkParts(t, c.in)
			if len(parts) < 2 {
				t.Fatalf("%d parts", len(parts))
			}
			for i, p := range parts {
				if !strings.HasPrefix(p.HTML, c.begin) || !strings.HasSuffix(p.HTML, c.end) {
					t.Errorf("part %d is %.60q … %q", i+1, p.HTML, p.HTML[max(0, len(p.HTML)-60):])
				}
			}
		})
	}
}

// TestEveryWordArrives strews words over random Markdown. Left out is the syntax that hides words by its meaning:
// addresses behind labels, and the line that opens a code block.
func TestEveryWordArrives(t *testing.T) {
	syntax := []string{
		"*", "**", "_", "`", "~~", "[", "]", "(", ")", "!", "|", "||", "\n", "\n\n", "- ", "1. ", "> ", "# ", " ", "\t", "    ", "$", "\\", "\\(",
		"<", "<b>", ">", "&amp;", "\n|--|--|\n", "- [ ] ", "\n---\n", "\n===\n", "<!--", "-->", "<br>", ":", "\n    ", "\n```\n", "[^", "]: ",
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var in strings.Builder
		words := 0
		for range 1 + r.IntN(25) {
			in.WriteString(syntax[r.IntN(len(syntax))])
			if r.IntN(2) == 0 && !strings.HasSuffix(in.String(), "```") {
				fmt.Fprintf(&in, "Q%dz", words)
				words++
			}
		}
		if strings.Contains(in.String(), "~~~") || strings.Contains(in.String(), "````") {
			continue
		}
		var shown strings.Builder
		for _, p := range Parts(in.String()) {
			shown.WriteString(p.Plain + "\n")
		}
		rest := shown.String()
		for i := range words {
			if !strings.Contains(rest, fmt.Sprintf("Q%dz", i)) {
				t.Fatalf("word %d of %q is missing in %q", i, in.String(), rest)
			}
		}
	}
}

func TestCutPrefersBorders(t *testing.T) {
	words := func(n int) string { return strings.TrimSpace(strings.Repeat("word ", n/5)) }
	for _, c := range []struct{ name, in, end, begin string }{
		{"a block's end", words(2500) + "\n\nend.\n\nbegin " + words(2500), "end.", "begin"},
		{"a line's end", words(2500) + "\nend.\nbegin " + words(2500), "end.", "begin"},
		{"a word's end", words(6000), "word", "word"},
		{"not below a heading", words(2500) + "\n\nend.\n\n## begin\n\n" + words(2500), "end.", "begin"},
		{"a line of code, if there is room", "```\n" + strings.Repeat("begin "+strings.Repeat("x", 60)+" end\n", 60) + "```", "end", "begin"},
		{"before a code block", words(3000) + " end\n\n```\nbegin\n" + strings.Repeat("code\n", 300) + "```", "end", "begin"},
		{"where a line may break", strings.Repeat("文", 3000) + "終。" + strings.Repeat("始", 2000), "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			parts := checkParts(t, c.in)
			if len(parts) != 2 || !strings.HasSuffix(parts[0].Plain, c.end) || !strings.HasPrefix(parts[1].Plain, c.begin) {
				for _, p := range parts {
					t.Logf("%.30q … %.30q", p.Plain, p.Plain[max(0, len(p.Plain)-30):])
				}
				t.Errorf("want two parts, the cut between %q and %q", c.end, c.begin)
			}
		})
	}
}

func TestInlines(t *testing.T) {
	for _, c := range []struct{ name, in, html string }{
		{"SEND-4 generics", "use List<int> and <CoT>", "use List&lt;int&gt; and &lt;CoT&gt;"},
		{"SEND-4 open tag", "<b>x", "&lt;b&gt;x"},
		{"SEND-4 end tag", "</b>", "&lt;/b&gt;"},
		{"SEND-4 operators", "a < b && c > d", "a &lt; b &amp;&amp; c &gt; d"},
		{"SEND-4 references", "&lt;b&gt; &copy; &#x1F642; &bogus; &amp;lt; \\&lt;", "&lt;b&gt; © 🙂 &amp;bogus; &amp;lt; &amp;lt;"},
		{"SEND-4 comment", "a <!-- b --> c", "a &lt;!-- b --&gt; c"},
		{"SEND-5 underscores in an address", "[t](https://x.test/foo__bar__baz)", `<a href="https://x.test/foo__bar__baz">t</a>`},
		{"SEND-5 parentheses in an address", "[w](https://x.test/Foo_(bar))", `<a href="https://x.test/Foo_(bar)">w</a>`},
		{"SEND-5 emphasis", "*a* _b_ __c__", "<i>a</i> <i>b</i> <b>c</b>"},
		{"SEND-5 no emphasis in words", "snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"},
		{"SEND-5 bare address", "see https://x.test/a_b_c_(d).", "see https://x.test/a_b_c_(d)."},
		{"an address in quotes", `[q](https://x.test/?a="b"&c=<d>)`, `<a href="https://x.test/?a=&quot;b&quot;&amp;c=&lt;d&gt;">q</a>`},
		{"an address that Telegram drops", "[a](./b.go) [c](http://localhost/d)", "a (./b.go) c (http://localhost/d)"},
		{"an address as its label", "[https://x.test](https://x.test)", "https://x.test"},
		{"a link without address", "[a]() [b](<>)", "a b"},
		{"a link without label", "a [](https://x.test/b)", "a https://x.test/b"},
		{"a link on code", "[`f`](https://x.test)", `<a href="https://x.test">f</a>`},
		{"code in bold", "**a `b` c**", "<b>a </b><code>b</code><b> c</b>"},
		{"code over two lines", "`a\nb`", "<code>a b</code>"},
		{"bold in bold", "**a __b__ c**", "<b>a b c</b>"},
		{"picture", "![alt](https://x.test/p.png) ![](https://x.test/q.png)", `<a href="https://x.test/p.png">🖼 alt</a> <a href="https://x.test/q.png">🖼 image</a>`},
		{"line breaks", "a\nb  \nc\\\nd", "a\nb\nc\nd"},
		{"formulas", `$a_1*b*c$ and \(x_{i}*y*z\) and $$p*q*r$$`, `$a_1*b*c$ and \(x_{i}*y*z\) and $$p*q*r$$`},
		{"prices", "from $5 to *about* $10", "from $5 to <i>about</i> $10"},
		{"footnotes", "a[^1]\n\n[^1]: https://x.test", "a[^1]\n\n[^1]: https://x.test"},
		{"definition that is not used", "a\n\n[b]: https://x.test", "a\n\n[b]: https://x.test"},
		{"what Telegram drops", "a\u202eb\u2028c\x01d\u0333e u\u030a", "ab\nc d" + "e ů"},
		{"bytes that are not UTF-8", "a\xffb", "a\uFFFDb"},
		{"NUL", "a\x00b", "a b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			parts := checkParts(t, c.in)
			if len(parts) != 1 {
				t.Fatalf("%d parts", len(parts))
			}
			if diff := cmp.Diff(c.html, parts[0].HTML); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestBlocks(t *testing.T) {
	for _, c := range []struct{ name, in, html string }{
		{"SEND-6 unclosed fence", "a\n```go\nb := \"*c*\"\n\n# d", "a\n\n<pre><code class=\"language-go\">b := \"*c*\"\n\n# d</code></pre>"},
		{"SEND-6 four backticks", "````md\n```\n**a**\n```\n````", "<pre><code class=\"language-md\">```\n**a**\n```</code></pre>"},
		{"SEND-6 odd language", "```c++ title=\"x\"\na\n```\n```\"><b>\nc\n```", "<pre><code class=\"language-c++\">a</code></pre>\n\n<pre><code class=\"language-b\">c</code></pre>"},
		{"tabs in code", "```\n\ta\tb\nabcd\te\n```", "<pre>    a   b\nabcd    e</pre>"},
		{"SEND-7 task list", "- [ ] a\n- [x] b\n\n1. [ ] c", "☐ a\n☑ b\n\n1. ☐ c"},
		{"SEND-7 nested lists", "- a\n  1. b\n     - c\n- d", "• a\n   1. b\n      ◦ c\n• d"},
		{"SEND-7 quotes", "> a\n> > b", "<blockquote>a\n\n│ b</blockquote>"},
		{"SEND-7 long quote", "> " + strings.Repeat("a", 701), "<blockquote expandable>" + strings.Repeat("a", 701) + "</blockquote>"},
		{"SEND-7 table", "|a|b|\n|-|-:|\n|日本|1|\n|x 🙂|22|", "<pre>a      b\n────  ──\n日本   1\nx 🙂  22</pre>"},
		{"SEND-7 wide table", "|name|b|\n|-|-|\n|" + strings.Repeat("x", 40) + "|*1*|", "<b>name: " + strings.Repeat("x", 40) + "</b>\nb: <i>1</i>"},
		{"SEND-7 cells beyond the header", "|a|b|\n|-|-|\n|1|`x | y`|\n|2||3|\n", "<pre>a  b\n─  ─────\n1  x | y\n2  |3</pre>"},
		{"code on the opening line", "~~~ls -la\n~~~\n\n```ls", "<pre>ls -la</pre>\n\n<pre>ls</pre>"},
		{"heading", "# a *b*\nc\n## d\ne", "<b>a <i>b</i></b>\n\nc\n\n<b>d</b>\ne"},
		{"rule", "a\n\n---\n\nb", "a\n\n────────────\n\nb"},
		{"line ends of others", "a\r\n\r\nb\rc", "a\n\nb\nc"},
	} {
		t.Run(c.name, func(t *testing.T) {
			parts := checkParts(t, c.in)
			if len(parts) != 1 {
				t.Fatalf("%d parts", len(parts))
			}
			if diff := cmp.Diff(c.html, parts[0].HTML); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestSEND8_Plain(t *testing.T) {
	for _, c := range []struct{ name, in, plain string }{
		{"link", "**See** [the *docs*](https://x.test/a_b), `<b>`", "See the docs (https://x.test/a_b), <b>"},
		{"link with its own address", "<https://x.test>", "https://x.test"},
		{"code block", "```go\na < b\n```", "a < b"},
		{"table with a link", "|a|\n|-|\n|[b](https://x.test)|", "a: b (https://x.test)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			parts := checkParts(t, c.in)
			if diff := cmp.Diff(c.plain, parts[0].Plain); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	crowded := Parts(strings.Repeat("[l](https://x.test/"+strings.Repeat("a", 90)+") ", 80))
	if n := strings.Count(crowded[0].Plain, "https://"); n < 30 || n >= 80 {
		t.Errorf("a message has room for some addresses, not %d", n)
	}
}

func TestSEND12_PreviewOfEveryPrefix(t *testing.T) {
	markdown := everything(t)
	tg := newTelegram()
	for n := 0; n <= len(markdown); n += 61 { // also in the middle of characters
		p := Preview(markdown[:n])
		if n == 0 {
			if p != (Part{}) {
				t.Errorf("a preview of nothing is %+v", p)
			}
			continue
		}
		tg.part(t, p)
	}
}

func TestPreview(t *testing.T) {
	code := "```go\n" + strings.Repeat("line\n", 2000)
	for _, c := range []struct{ name, in, end string }{
		{"whole", "a **b**", "<b>b</b>"},
		{"long", prose(50_000), "…"},
		{"long code", code, "line</code></pre>\n…"},
		{"whole but for blanks", prose(4000) + strings.Repeat("\n", 30_000), "x"},
		{"unfinished code", "```go\na", "a</code></pre>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Preview(c.in)
			newTelegram().part(t, p)
			if !strings.HasSuffix(p.HTML, c.end) {
				t.Errorf("ends with %q", p.HTML[max(0, len(p.HTML)-40):])
			}
		})
	}
	for _, in := range []string{"", " \n", "\u200b", "```\n"} {
		if p := Preview(in); p != (Part{}) {
			t.Errorf("a preview of %q is %+v", in, p)
		}
	}
}

// TestMonstrous renders what makes a parser's work explode unless it is bounded. Without the guards it runs for
// minutes or out of memory.
func TestMonstrous(t *testing.T) {
	const n = 60_000
	fill := func(s string, n int) string { return strings.Repeat(s, n/len(s)) }
	for name, in := range map[string]string{
		"nested lists above empty lines": fill("1. ", n/2) + fill("\n", n/2) + "x",
		"nested quotes":                  fill("> ", n),
		"links that begin":               fill("[a](", n),
		"emphasis that begins":           fill("*a_", n),
		"formulas that begin":            fill(`\(`, n),
		"code that begins":               fill("\\```\n", n),
		"a table of empty cells":         fill("|a", 2000) + "\n" + fill("|-", 2000) + "\n" + fill("x\n", n),
		"a header for every row":         "|" + fill("a", n/2) + "|b|\n|-|-|\n" + fill("|x|\n", n/2),
		"one character":                  "a" + fill("\u0301", n),
	} {
		t.Run(name, func(t *testing.T) {
			total := 0
			for _, p := range Parts(in) {
				total += len(p.Plain)
			}
			if total > 20*len(in) {
				t.Errorf("%d bytes become %d", len(in), total)
			}
		})
	}
}

func TestSA6_EscapeIsInert(t *testing.T) {
	tg := newTelegram()
	for _, in := range append(hostile, `"><b>✅ approved</b>`, "</pre></code><a href='https://x.test'>x</a>", "&lt;b&gt; &#60;") {
		if blank([]byte(in)) {
			continue
		}
		want := strings.TrimSpace(clean(strings.ReplaceAll(in, "\t", " ")))
		for name, html := range map[string]string{
			"Escape": Escape(in), "Code": Code(in), "Pre": Pre(in, ""), "Pre with a language": Pre(in, `go"><b>`),
		} {
			got := tg.send(t, html)
			if strings.TrimSpace(got.Text) != want && ink(got.Text) != ink(want) {
				t.Errorf("%s: want %q, got %q", name, want, got.Text)
			}
			for _, e := range got.Entities {
				if e.Type == "bold" || e.Type == "text_link" {
					t.Errorf("%s: %q forges %s", name, in, e.Type)
				}
			}
		}
	}
}
