package render

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// formulas keeps mathematics as typed: $…$ and $$…$$, \(…\) and \[…\]. Without it Markdown would take their backslashes,
// stars and underscores. Its node is goldmark's RawHTML, which means exactly "as typed".
type formulas struct{}

// Trigger is part of parser.InlineParser.
func (formulas) Trigger() []byte { return []byte{'$', '\\'} }

// Parse is part of parser.InlineParser.
func (formulas) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	switch {
	case bytes.HasPrefix(line, []byte("$$")):
		return verbatim(block, 2, "$$")
	case bytes.HasPrefix(line, []byte(`\(`)):
		return verbatim(block, 2, `\)`)
	case bytes.HasPrefix(line, []byte(`\[`)):
		return verbatim(block, 2, `\]`)
	case line[0] == '$':
		if n := dollars(line); n > 0 {
			return verbatim(block, n, "")
		}
	}
	return nil
}

// dollars is the length of a formula between single dollar signs at the start of line, by the rule that keeps prices
// apart: none of its insides touches a blank at either end, and no digit follows.
func dollars(line []byte) int {
	if len(line) < 3 || util.IsSpace(line[1]) {
		return 0
	}
	n := bytes.IndexByte(line[1:], '$')
	if n < 1 {
		return 0
	}
	end := n + 2
	if util.IsSpace(line[n]) || end < len(line) && util.IsNumeric(line[end]) {
		return 0
	}
	return end
}

// verbatim takes skip bytes and then all up to and including the closer, over line ends within one block.
func verbatim(block text.Reader, skip int, closer string) ast.Node {
	const far = 2000 // bytes; it bounds the search where openers are many and closers are none
	node := ast.NewRawHTML()
	for length := 0; length < far; {
		line, segment := block.PeekLine()
		if line == nil {
			return nil
		}
		if i := bytes.Index(line[skip:], []byte(closer)); i >= 0 {
			n := skip + i + len(closer)
			node.Segments.Append(segment.WithStop(segment.Start + n))
			block.Advance(n)
			return node
		}
		node.Segments.Append(segment)
		block.AdvanceLine()
		length += len(line)
		skip = 0
	}
	return nil
}
