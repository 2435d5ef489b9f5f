package render

import (
	"html"
	"net/url"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"
)

// inlines writes what a paragraph, a heading, a cell or a span holds.
func (b *builder) inlines(parent ast.Node) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		b.oneInline(n)
	}
}

func (b *builder) oneInline(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		b.textNode(n)
	case *ast.String:
		b.put(string(n.Value))
	case *ast.CodeSpan:
		b.codeSpan(n)
	case *ast.Emphasis:
		k := italic
		if n.Level > 1 {
			k = bold
		}
		b.within(k, "", n)
	case *extast.Strikethrough:
		b.within(strike, "", n)
	case *extast.TaskCheckBox:
		// written as the item's marker
	case *ast.Link:
		if n.Reference != nil && footnote(n.Reference.Value) {
			b.put("[")
			b.inlines(n)
			b.put("]")
			return
		}
		b.link(n, decode(string(n.Destination)))
	case *ast.Image:
		b.image(n)
	case *ast.AutoLink:
		b.put(string(n.Label(b.source))) // Telegram finds addresses by itself
	case *ast.RawHTML:
		b.rawHTML(b.lines(n.Segments))
	default:
		b.inlines(n)
	}
}

func (b *builder) within(k kind, arg string, n ast.Node) {
	back := b.enter(k, arg)
	b.inlines(n)
	b.tag = back
}

func (b *builder) textNode(n *ast.Text) {
	s := string(n.Segment.Value(b.source))
	if !n.IsRaw() {
		s = decode(s)
	}
	b.put(s)
	if n.SoftLineBreak() || n.HardLineBreak() {
		b.gap(1)
	}
}

// codeSpan joins the lines of a span: a line break in it counts as a blank.
func (b *builder) codeSpan(n *ast.CodeSpan) {
	var s strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			s.Write(c.Segment.Value(b.source))
		case *ast.String: // where a table's cell had \|
			s.Write(c.Value)
		}
	}
	back := b.enter(code, "")
	b.put(strings.ReplaceAll(strings.TrimRight(s.String(), "\n"), "\n", " "))
	b.tag = back
}

func (b *builder) rawHTML(s string) {
	if b.cell && strings.EqualFold(strings.TrimRight(strings.Trim(s, "<>"), "/ "), "br") {
		b.gap(1)
		return
	}
	b.put(s)
}

// link puts an address behind its label where Telegram takes it, else beside the label.
func (b *builder) link(n ast.Node, address string) {
	switch {
	case !n.HasChildren():
		b.put(address)
	case address == "", b.tag.within(link), b.label(n) == address:
		b.inlines(n)
	case linkable(address):
		b.within(link, address, n)
	default:
		b.inlines(n)
		b.put(" (" + address + ")")
	}
}

// image is a link to the picture.
func (b *builder) image(n *ast.Image) {
	address := decode(string(n.Destination))
	back := b.tag
	if linkable(address) {
		b.enter(link, address)
	}
	b.put("🖼 ")
	b.inlines(n)
	if n.FirstChild() == nil {
		b.put("image")
	}
	b.tag = back
	if address != "" && !linkable(address) {
		b.put(" (" + address + ")")
	}
}

// label is the text of a link that consists of one plain text.
func (b *builder) label(n ast.Node) string {
	if t, ok := n.FirstChild().(*ast.Text); ok && n.ChildCount() == 1 {
		return decode(string(t.Segment.Value(b.source)))
	}
	return ""
}

// linkable tells whether Telegram keeps a link to the address. It drops those to hosts without a dot and with other
// schemes in silence, and the reader would never see where the label led.
func linkable(address string) bool {
	const tooLong = 2000 // bytes; a few of these fill a message's allowance
	u, err := url.Parse(address)
	if err != nil || len(address) > tooLong || strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || dirty(r) }) {
		return false
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		host := u.Hostname()
		return strings.Contains(host, ".") && !strings.HasSuffix(host, ".")
	case "tg":
		return u.Host != ""
	}
	return false
}

// decode resolves CommonMark's backslash escapes and character references in one pass, so that neither makes the other.
func decode(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && util.IsPunct(s[i+1]):
			b.WriteByte(s[i+1])
			i += 2
		case c == '&':
			ref := reference(s[i:])
			b.WriteString(html.UnescapeString(ref))
			i += len(ref)
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String()
}

// reference is the character reference at the start of s with its semicolon, or else the lone ampersand.
func reference(s string) string {
	const longest = 33 // &CounterClockwiseContourIntegral;
	for i := 1; i < min(len(s), longest); i++ {
		switch c := s[i]; {
		case c == ';':
			return s[:i+1]
		case c == '#', '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		default:
			return "&"
		}
	}
	return "&"
}
