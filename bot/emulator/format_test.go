package emulator

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// show prints entities in one line: kind@offset+length and what else they hold.
func show(entities []Entity) string {
	var list []string
	for _, e := range entities {
		s := fmt.Sprintf("%s@%d+%d", e.Type, e.Offset, e.Length)
		for _, more := range []string{e.URL, e.Language, e.EmojiID} {
			if more != "" {
				s += "=" + more
			}
		}
		if e.User != nil {
			s += fmt.Sprint("=", e.User.ID)
		}
		list = append(list, s)
	}
	return strings.Join(list, " ")
}

func TestFormatted(t *testing.T) {
	for _, row := range []struct{ name, mode, in, text, entities string }{
		{"styles", "html", "<b>b</b><i>i</i><u>u</u><s>s</s>", "bius", "bold@0+1 italic@1+1 underline@2+1 strikethrough@3+1"},
		{"other names", "HTML", "<STRONG>b</strong><em>i</em><ins>u</ins><del>s</del><strike>t</strike>", "biust", "bold@0+1 italic@1+1 underline@2+1 strikethrough@3+2"},
		{"spoilers", "html", `<tg-spoiler>a</tg-spoiler> <span class="tg-spoiler">b</span>`, "a b", "spoiler@0+1 spoiler@2+1"},
		{"offsets are UTF-16", "html", "😀é<b>x</b>", "😀éx", "bold@3+1"},
		{"references", "html", "&lt;&gt;&amp;&quot;&#39;&#x27;&#65 &nbsp; &apos; & &amp", `<>&"''A &nbsp; &apos; & &`, ""},
		{"link", "html", `<a href="https://x.test/a?b=1&amp;c=2">x</a>`, "x", "text_link@0+1=https://x.test/a?b=1&c=2"},
		{"link without address takes its text", "html", `<a>x.test</a>`, "x.test", "text_link@0+6=http://x.test/"},
		{"link to nowhere is dropped", "html", `<a href="javascript:alert(1)">x</a>`, "x", ""},
		{"mention by id", "html", `<a href="tg://user?id=7">x</a>`, "x", "text_mention@0+1=7"},
		{"unknown attributes", "html", `<b class='x' id=y-1.z data>x</b >`, "x", "bold@0+1"},
		{"end tag for anything", "html", `<b>x</>`, "x", "bold@0+1"},
		{"code", "html", "<code>a &lt; b</code>", "a < b", "code@0+5"},
		{"pre", "html", "<pre>x\n  y</pre>", "x\n  y", "pre@0+5"},
		{"pre with language", "html", `<pre><code class="language-go">x</code></pre>`, "x", "pre@0+1=go"},
		{"the other nesting", "html", `<code class="language-go"><pre>x</pre></code>`, "x", "pre@0+1=go"},
		{"language outside pre is dropped", "html", `<code class="language-go">x</code>`, "x", "code@0+1"},
		{"quotes", "html", "<blockquote>a</blockquote><blockquote expandable>b</blockquote>", "ab", "blockquote@0+1 expandable_blockquote@1+1"},
		{"emoji", "html", `<tg-emoji emoji-id="5368">👍</tg-emoji>`, "👍", "custom_emoji@0+2=5368"},
		{"time", "html", `<tg-time unix="1700000000" format="wDT">soon</tg-time>`, "soon", "date_time@0+4"},
		{"nothing inside code", "html", "<code><b>x</b>y</code>", "xy", "code@0+2"},
		{"code inside bold splits it", "html", "<b>a<code>b</code>c</b>", "abc", "bold@0+1 code@1+1 bold@2+1"},
		{"links do not nest", "html", `<a href="https://a.test/"><code>x</code>y</a>`, "xy", "text_link@0+2=https://a.test/"},
		{"quotes do not nest", "html", "<blockquote>a<blockquote>b</blockquote></blockquote>", "ab", "blockquote@0+2"},
		{"neighbours merge", "html", "<b>a</b><b>b</b>", "ab", "bold@0+2"},
		{"empty ones go", "html", "<b></b>x", "x", ""},
		{"trim", "html", " \n x <b> y </b> \n", "x  y", "bold@2+2"},
		{"a leading entity keeps its space", "html", "<b> x</b>", " x", "bold@0+2"},
		{"tab and controls", "", "a\tb\x01c\rd\u202ee", "a b cde", ""},
		{"detected", "", "/start@nod_bot see https://x.test/a, @ann #tag a@b.test README.md or $USD", "/start@nod_bot see https://x.test/a, @ann #tag a@b.test README.md or $USD", "bot_command@0+14 url@19+16 mention@37+4 hashtag@42+4 email@47+8 url@56+9 cashtag@69+4"},
		{"not detected", "", "a/b 1/2 x@ /a/b </x> mail@ #1 v1.2.3", "a/b 1/2 x@ /a/b </x> mail@ #1 v1.2.3", ""},
		{"nothing in code", "html", "<code>/start @ann</code>", "/start @ann", "code@0+11"},
		{"detected behind emoji", "", "😀 /start", "😀 /start", "bot_command@3+6"},
		{"Markdown", "Markdown", "*b* _i_ `c` [l](https://x.test/) \\_", "b i c l _", "bold@0+1 italic@2+1 code@4+1 text_link@6+1=https://x.test/"},
		{"Markdown pre", "markdown", "```go\nx```", "x", "pre@0+1=go"},
		{"MarkdownV2", "MarkdownV2", `*b _i_* __u__ ~s~ ||p|| ` + "`c`" + ` [l](https://x.test/\)) \.`, "b i u s p c l .", "bold@0+3 italic@2+1 underline@4+1 strikethrough@6+1 spoiler@8+1 code@10+1 text_link@12+1=https://x.test/)"},
		{"MarkdownV2 pre and quote", "MarkdownV2", "```go\nx```\n>q\n>r\nz", "x\nq\nr\nz", "pre@0+1=go blockquote@2+4"},
	} {
		t.Run(row.name, func(t *testing.T) {
			text, entities, err := formatted(row.in, row.mode, "")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.text, text); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(row.entities, show(entities)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEntitiesByHand(t *testing.T) {
	const sent = `[{"type":"bold","offset":0,"length":3},{"type":"italic","offset":1,"length":4},{"type":"code","offset":9,"length":9},` +
		`{"type":"bold","offset":-1,"length":1},{"type":"sparkle","offset":0,"length":1},{"type":"text_link","offset":0,"length":1,"url":"x.test"}]`
	text, entities, err := formatted("abcde\n\n\n  ", "", sent)
	if err != nil {
		t.Fatal(err)
	}
	if want := "bold@0+3 text_link@0+1=http://x.test/ italic@1+4"; text != "abcde" || show(entities) != want {
		t.Errorf("got %q %s, want %s", text, show(entities), want)
	}
}

// A limit counts code points: 4096 emoji are 8192 UTF-16 units and still one message.
func TestLimitCountsCodePoints(t *testing.T) {
	text, _, err := formatted(strings.Repeat("😀", maxText), "", "")
	if err != nil || utf8.RuneCountInString(text) != maxText {
		t.Errorf("%d characters, %v", utf8.RuneCountInString(text), err)
	}
}

func TestOnlySomeEntitiesAreKept(t *testing.T) {
	_, entities, err := formatted(strings.Repeat("<b>x</b> ", maxEntities+20), "html", "")
	if err != nil || len(entities) != maxEntities {
		t.Errorf("%d entities, %v", len(entities), err)
	}
}

func TestMessageHTML(t *testing.T) {
	const want = `a &lt; <b>b<i>c</i></b><i>d</i> <pre><code class="language-go">x &amp; y</code></pre> <a href="https://x.test/?a=1&amp;b=2">l</a>`
	text, entities, err := formatted(want, "html", "")
	if err != nil {
		t.Fatal(err)
	}
	m := Message{Content: Content{Text: text, Entities: entities}}
	if diff := cmp.Diff(want, m.HTML()); diff != "" {
		t.Error(diff)
	}
}

// FuzzHTML: the parser never panics; what it accepts has entities in range, and written as HTML again it means the same.
func FuzzHTML(f *testing.F) {
	for _, seed := range []string{
		"a < b", "<b>x<i>y</i></b>", `<a href="https://x.test/">x</a>`, "<pre><code class=\"language-go\">x</code></pre>", "<blockquote expandable>x\n</blockquote>y",
		"&lt;&#x1F600;&amp", "<b>😀<code>é</code></b> /start @ann", "<span class='tg-spoiler'>\t</span>", "<u><s>a</s></u><u>b</u>", `<tg-emoji emoji-id="1">x</tg-emoji>`,
		"<b>a<blockquote>b</b></blockquote>", "<i>a<b>b</i>c</b>", "\x00<b\x00>x</b>",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		text, entities, err := formatted(in, "html", "")
		if err != nil {
			if !strings.HasPrefix(err.description, "Bad Request: ") || len(err.description) < 20 {
				t.Fatalf("a strange refusal: %q", err.description)
			}
			return
		}
		units := unitsOf(text)
		last := 0
		for _, e := range entities {
			if e.Offset < last || e.Length <= 0 || e.end() > units {
				t.Fatalf("entity out of order or range in %q: %s", text, show(entities))
			}
			last = e.Offset
		}
		again, entities2, err := formatted(toHTML(text, entities), "html", "")
		if text == "" {
			return
		}
		if err != nil {
			t.Fatalf("%q became %q: %v", in, toHTML(text, entities), err)
		}
		if again != text {
			t.Fatalf("the text changed: %q, %q", text, again)
		}
		if len(entities) == maxEntities || len(entities2) == maxEntities {
			return // the rest was cut off
		}
		if diff := cmp.Diff(entities, entities2, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%q: %s", in, diff)
		}
	})
}
