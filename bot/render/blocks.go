package render

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/rivo/uniseg"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

const (
	rule      = "────────────"
	quoteBar  = "│ " // begins the lines of a quote within a quote, which Telegram does not have
	foldRunes = 700  // a quote longer than this is shown folded
	step      = "   "
	maxIndent = 8 * len(step) // bytes; deeper nesting is shown no deeper
	tabStop   = 4             // columns, in code
)

// builder walks the syntax tree and writes the flow.
type builder struct {
	writer
	source   []byte
	referred map[string]bool // see the function of this name
	lists    int             // how many bullet lists are open
	cell     bool            // in a table's cell, where <br> is the only way to break a line
}

// blocks writes the children of a block, at most gap line breaks apart.
func (b *builder) blocks(parent ast.Node, gap int) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if before := n.PreviousSibling(); before != nil {
			b.gap(min(gap, nearness(before, n)))
		}
		b.oneBlock(n)
	}
}

// nearness is the number of line breaks that two neighbours need at most: what belongs to a section's heading, and the
// list that a list item's text introduces, stand right below it.
func nearness(before, n ast.Node) int {
	h, ok := before.(*ast.Heading)
	underHeading := ok && h.Level > 1 && n.Kind() != ast.KindHeading
	sublist := n.Kind() == ast.KindList && n.Parent().Kind() == ast.KindListItem && before.Kind() != ast.KindList
	if underHeading || sublist {
		return 1
	}
	return 2
}

func (b *builder) oneBlock(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		b.heading(n)
	case *ast.Blockquote:
		b.quote(n)
	case *ast.List:
		b.list(n)
	case *ast.FencedCodeBlock:
		b.fence(n)
	case *ast.CodeBlock:
		b.block("", expandTabs(b.lines(n.Lines())))
	case *ast.HTMLBlock:
		b.put(b.lines(n.Lines()))
		if n.HasClosure() {
			b.put(string(n.ClosureLine.Value(b.source)))
		}
	case *ast.ThematicBreak:
		b.put(rule)
	case *ast.LinkReferenceDefinition:
		if label := util.ToLinkReference(n.Label); !b.referred[label] || footnote(n.Label) {
			b.put(b.lines(n.Lines()))
		}
	case *extast.Table:
		b.table(n)
	default: // paragraphs, and the text of tight list items
		b.inlines(n)
	}
}

// fence writes a code block. What stands behind the backticks and is not a language is dropped with the rest of the
// line, unless it is all there is: code that was put on the opening line.
func (b *builder) fence(n *ast.FencedCodeBlock) {
	language, _, _ := bytes.Cut(n.Language(b.source), []byte(","))
	content := b.lines(n.Lines())
	if content == "" && n.Info != nil {
		language, content = nil, string(n.Info.Segment.Value(b.source))
	}
	b.block(languageName(string(language)), expandTabs(content))
}

func (b *builder) heading(n *ast.Heading) {
	back := b.enter(bold, "")
	b.inlines(n)
	b.tag = back
	b.headings[len(b.text)] = true
}

func (b *builder) quote(n ast.Node) {
	indent := b.indent
	if b.tag.within(quote) {
		if b.lead != "" {
			b.lead += quoteBar
		}
		b.indent = deeper(b.indent, quoteBar)
		if b.lead == "" {
			b.gap(1)
		}
		b.blocks(n, 2)
		b.indent = indent
		return
	}
	b.flushLead()
	back := b.enter(quote, "")
	b.indent = ""
	before := b.runes
	b.blocks(n, 2)
	b.tag.long = b.runes-before > foldRunes
	b.tag, b.indent = back, indent
}

func (b *builder) list(n *ast.List) {
	gap := 2
	if n.IsTight {
		gap = 1
	}
	bullet := [...]string{"• ", "◦ ", "▪ "}[min(b.lists, 2)]
	number := n.Start
	indent := b.indent
	if !n.IsOrdered() {
		b.lists++
		defer func() { b.lists-- }()
	}
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		if item.PreviousSibling() != nil {
			b.gap(gap)
		}
		marker := bullet
		if n.IsOrdered() {
			marker = strconv.Itoa(number) + string(n.Marker) + " "
			number++
		}
		if box := checkBox(item); box != "" {
			marker = strings.TrimPrefix(marker, bullet) + box // it stands for the bullet
		}
		if b.lead == "" {
			b.lead = indent
		}
		b.lead += marker
		b.indent = deeper(indent, step)
		b.blocks(item, gap)
		b.flushLead() // of an item with nothing in it
		b.indent = indent
	}
}

// deeper adds to an indent, within reason.
func deeper(indent, by string) string {
	if len(indent) >= maxIndent {
		return indent
	}
	return indent + by
}

// checkBox is the box that a list item begins with, or "".
func checkBox(item ast.Node) string {
	if item.FirstChild() == nil {
		return ""
	}
	switch box, ok := item.FirstChild().FirstChild().(*extast.TaskCheckBox); {
	case !ok:
		return ""
	case box.IsChecked:
		return "☑ "
	default:
		return "☐ "
	}
}

// lines is the text of source lines as typed.
func (b *builder) lines(segments *text.Segments) string {
	var s strings.Builder
	for i := range segments.Len() {
		segment := segments.At(i)
		s.Write(segment.Value(b.source))
	}
	return s.String()
}

// footnote tells whether a link's label is a footnote's, which stays as typed.
func footnote(label []byte) bool { return bytes.HasPrefix(label, []byte("^")) }

// expandTabs puts blanks for tabs, which Telegram would show as one.
func expandTabs(s string) string {
	if !strings.Contains(s, "\t") {
		return s
	}
	var b strings.Builder
	column := 0
	for piece := range strings.SplitAfterSeq(s, "\t") {
		before, tab := strings.CutSuffix(piece, "\t")
		b.WriteString(before)
		if i := strings.LastIndexByte(before, '\n'); i >= 0 {
			column, before = 0, before[i+1:]
		}
		column += uniseg.StringWidth(before)
		if tab {
			n := tabStop - column%tabStop
			b.WriteString(strings.Repeat(" ", n))
			column += n
		}
	}
	return b.String()
}
