package render

import (
	"slices"
	"strings"

	"github.com/rivo/uniseg"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

const (
	phoneColumns  = 40 // of fixed width that a phone shows without wrapping
	columnGap     = "  "
	longestHeader = 60 // bytes of a column's name that can be repeated in every row
)

// table writes a table as aligned text where a phone has the width for it, else as a block a row. A table with links
// becomes blocks too, because nothing in aligned text can be a link.
func (b *builder) table(n *extast.Table) {
	var rows [][]ast.Node
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []ast.Node
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, cell)
		}
		rows = append(rows, cells)
	}
	b.cell = true
	defer func() { b.cell = false }()
	if s, ok := b.grid(rows, n.Alignments); ok {
		b.block("", s)
		return
	}
	b.rowBlocks(rows)
}

// grid is the aligned form, if it is narrow enough and loses nothing.
func (b *builder) grid(rows [][]ast.Node, align []extast.Alignment) (string, bool) {
	cells := make([][]string, len(rows))
	widths := make([]int, len(align))
	for i, row := range rows {
		for j, cell := range row {
			s, ok := b.cellText(cell)
			if !ok || j >= len(widths) {
				return "", false
			}
			cells[i] = append(cells[i], s)
			widths[j] = max(widths[j], uniseg.StringWidth(s))
		}
	}
	total := (len(widths) - 1) * len(columnGap)
	for _, w := range widths {
		total += w
	}
	if total > phoneColumns {
		return "", false
	}
	var s strings.Builder
	for i, row := range cells {
		s.WriteString(alignedRow(row, widths, align))
		if i == 0 {
			s.WriteString(underline(widths))
		}
	}
	return s.String(), true
}

// cellText is the plain text of a cell, or false when it holds a link or a line break.
func (b *builder) cellText(cell ast.Node) (string, bool) {
	in := builder{source: b.source, referred: b.referred, cell: true}
	in.inlines(cell)
	for _, r := range in.runs {
		if r.tag.within(link) {
			return "", false
		}
	}
	s := string(in.text)
	return s, !strings.Contains(s, "\n")
}

func alignedRow(row []string, widths []int, align []extast.Alignment) string {
	var s strings.Builder
	for j, w := range widths {
		cell := ""
		if j < len(row) {
			cell = row[j]
		}
		space := w - uniseg.StringWidth(cell)
		left := 0
		switch align[j] {
		case extast.AlignRight:
			left = space
		case extast.AlignCenter:
			left = space / 2
		}
		if j > 0 {
			s.WriteString(columnGap)
		}
		s.WriteString(strings.Repeat(" ", left) + cell + strings.Repeat(" ", space-left))
	}
	return strings.TrimRight(s.String(), " ") + "\n"
}

func underline(widths []int) string {
	lines := make([]string, len(widths))
	for j, w := range widths {
		lines[j] = strings.Repeat("─", w)
	}
	return strings.TrimRight(strings.Join(lines, columnGap), " ") + "\n"
}

// rowBlocks is the other form: a line for each cell, named by its column, the first in bold. Where the names are too
// long to repeat, or there is nothing for them to name, a row is one line.
func (b *builder) rowBlocks(rows [][]ast.Node) {
	head := rows[0]
	if len(rows) == 1 || slices.ContainsFunc(head, b.tooLong) {
		for i, row := range rows {
			if i > 0 {
				b.gap(2)
			}
			b.joined(row)
		}
		return
	}
	for i, row := range rows[1:] {
		if i > 0 {
			b.gap(2)
		}
		for j, cell := range row {
			back := b.tag
			if j == 0 {
				b.enter(bold, "")
			}
			b.labelled(head, j, cell)
			b.tag = back
		}
	}
}

func (b *builder) tooLong(header ast.Node) bool {
	n := 0
	lines := header.Lines()
	for i := range lines.Len() {
		segment := lines.At(i)
		n += segment.Len()
	}
	return n > longestHeader
}

func (b *builder) joined(row []ast.Node) {
	for j, cell := range row {
		if j > 0 {
			b.put(" · ")
		}
		b.inlines(cell)
	}
}

// labelled writes "header: value" on a line of its own. An empty cell is shown as a dash, one whose column has no name
// by its value alone.
func (b *builder) labelled(head []ast.Node, j int, cell ast.Node) {
	b.gap(1)
	if j < len(head) && head[j].HasChildren() {
		b.inlines(head[j])
		b.put(": ")
	}
	if !cell.HasChildren() {
		b.put("–")
		return
	}
	b.inlines(cell)
}
