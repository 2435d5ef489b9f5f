package render

import (
	"strings"
	"unicode/utf8"
)

// Escape makes text safe between tags and in a quoted attribute. Bytes that are not UTF-8, which Telegram refuses,
// become U+FFFD.
func Escape(text string) string { return escaper.Replace(strings.ToValidUTF8(text, "\uFFFD")) }

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// Code is text in the typeface of code, within a line.
func Code(text string) string { return "<code>" + Escape(text) + "</code>" }

// Pre is a code block. The language may be empty; what can't be a language's name in it is dropped.
func Pre(text, language string) string {
	language = languageName(language)
	return preOpening(language) + Escape(text) + preClosing(language)
}

func preOpening(language string) string {
	if language == "" {
		return "<pre>"
	}
	return `<pre><code class="language-` + language + `">`
}

func preClosing(language string) string {
	if language == "" {
		return "</pre>"
	}
	return "</code></pre>"
}

// languageName keeps the characters that names of languages consist of (c++, c#, objective-c, asp.net, x86_asm).
func languageName(s string) string {
	s = strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("+#._-", r) {
			return r
		}
		return -1
	}, s)
	return s[:min(len(s), 32)]
}

// escapeTo writes text that is valid UTF-8 and stands between tags, where quotation marks are harmless.
func escapeTo(b *strings.Builder, text []byte) {
	done := 0
	for i, c := range text {
		ref := ""
		switch c {
		case '&':
			ref = "&amp;"
		case '<':
			ref = "&lt;"
		case '>':
			ref = "&gt;"
		default:
			continue
		}
		b.Write(text[done:i])
		b.WriteString(ref)
		done = i + 1
	}
	b.Write(text[done:])
}

// escapedSize is the number of bytes that escapeTo writes for a rune of the given size.
func escapedSize(r rune, size int) int {
	switch {
	case r >= utf8.RuneSelf:
		return size
	case r == '&':
		return len("&amp;")
	case r == '<', r == '>':
		return len("&lt;")
	}
	return size
}
