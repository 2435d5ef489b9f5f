package render

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// Where the parser's work grows faster than its input, what a person would write is let through and the rest stays as
// typed: a model can be talked into writing anything.
const (
	maxNesting = 64  // of quotes and lists; each blank line costs a look at all that are open
	maxTries   = 500 // of one inline parser in one block that led to nothing, or not yet; each may read on to its end
)

// shallow lets a block parser open no more than maxNesting blocks in one another.
type shallow struct{ parser.BlockParser }

// Open is part of parser.BlockParser.
func (s shallow) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	if len(pc.OpenedBlocks()) >= maxNesting {
		return nil, parser.NoChildren
	}
	return s.BlockParser.Open(parent, reader, pc)
}

// bounded stops an inline parser after maxTries in one block.
type bounded struct {
	parser.InlineParser
	key parser.ContextKey
}

func bound(p parser.InlineParser) bounded { return bounded{p, parser.NewContextKey()} }

// tries counts in one block.
type tries struct {
	block ast.Node
	n     int
}

// Parse is part of parser.InlineParser.
func (b bounded) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	t, _ := pc.Get(b.key).(*tries)
	if t == nil || t.block != parent {
		t = &tries{block: parent}
		pc.Set(b.key, t)
	}
	if t.n >= maxTries {
		return nil
	}
	node := b.InlineParser.Parse(parent, block, pc)
	switch node.(type) {
	case *ast.Link, *ast.Image, *ast.RawHTML:
	default:
		t.n++
	}
	return node
}

// CloseBlock is part of parser.CloseBlocker, which some inline parsers are.
func (b bounded) CloseBlock(parent ast.Node, block text.Reader, pc parser.Context) {
	if c, ok := b.InlineParser.(parser.CloseBlocker); ok {
		c.CloseBlock(parent, block, pc)
	}
}

// codeSpans remembers which lengths of backticks found no partner in a block, so that the rest of it is not read again
// for each.
type codeSpans struct{ parser.InlineParser }

var unclosedKey = parser.NewContextKey()

type unclosed struct {
	block   ast.Node
	lengths map[int]bool
}

// Parse is part of parser.InlineParser.
func (c codeSpans) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	u, _ := pc.Get(unclosedKey).(*unclosed)
	if u == nil || u.block != parent {
		u = &unclosed{block: parent, lengths: map[int]bool{}}
		pc.Set(unclosedKey, u)
	}
	line, segment := block.PeekLine()
	n := len(line) - len(bytes.TrimLeft(line, "`"))
	if u.lengths[n] {
		block.Advance(n)
		return ast.NewTextSegment(segment.WithStop(segment.Start + n))
	}
	node := c.InlineParser.Parse(parent, block, pc)
	if node.Kind() != ast.KindCodeSpan {
		u.lengths[n] = true
	}
	return node
}
