package render

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// Beyond these a paragraph stays as typed: the parser fills up short rows, so that a small text can make a table of any
// size.
const (
	maxColumns = 64
	maxCells   = 20_000
)

// tables makes tables of paragraphs as goldmark does, but not monstrous ones, and without losing cells.
type tables struct{ parser.ParagraphTransformer }

// Transform is part of parser.ParagraphTransformer.
func (t tables) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	source := reader.Source()
	if monstrous(node.Lines(), source) {
		return
	}
	parent, before, after := node.Parent(), node.PreviousSibling(), node.NextSibling()
	t.ParagraphTransformer.Transform(node, reader, pc)
	n := parent.FirstChild()
	if before != nil {
		n = before.NextSibling()
	}
	for ; n != nil && n != after; n = n.NextSibling() {
		if n.Kind() != extast.KindTable {
			continue
		}
		for row := n.FirstChild(); row != nil; row = row.NextSibling() {
			keepExcess(row, source)
		}
	}
}

func monstrous(lines *text.Segments, source []byte) bool {
	for i := range lines.Len() {
		segment := lines.At(i)
		line := segment.Value(source)
		if len(bytes.Trim(line, "|-: \t\n")) > 0 { // not the line below a header
			continue
		}
		if columns := bytes.Count(line, []byte("|")) + 1; columns > maxColumns || columns*lines.Len() > maxCells {
			return true
		}
	}
	return false
}

// keepExcess gives what follows a row's last cell to that cell. GitHub drops it, but it is mostly code with a bar in
// it that should have been escaped.
func keepExcess(row ast.Node, source []byte) {
	cell := row.LastChild()
	if cell == nil || cell.Lines().Len() == 0 { // a cell that was filled up has no text
		return
	}
	segment := cell.Lines().At(0)
	rest, _, _ := bytes.Cut(source[segment.Stop:], []byte("\n"))
	rest = bytes.TrimRight(rest, " \t")
	rest = bytes.TrimRight(bytes.TrimSuffix(rest, []byte("|")), " \t")
	if len(bytes.Trim(rest, "| \t")) > 0 {
		cell.Lines().Set(0, segment.WithStop(segment.Stop+len(rest)))
	}
}
