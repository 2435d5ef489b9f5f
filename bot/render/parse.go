package render

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdownParser reads GitHub's Markdown. Footnotes, definition lists and the like stay as typed.
var markdownParser = parser.NewParser(
	parser.WithBlockParsers(
		util.Prioritized(parser.NewSetextHeadingParser(), 100),
		util.Prioritized(parser.NewThematicBreakParser(), 200),
		util.Prioritized(shallow{parser.NewListParser()}, 300),
		util.Prioritized(parser.NewListItemParser(), 400),
		util.Prioritized(parser.NewCodeBlockParser(), 500),
		util.Prioritized(parser.NewATXHeadingParser(), 600),
		util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
		util.Prioritized(shallow{parser.NewBlockquoteParser()}, 800),
		util.Prioritized(parser.NewHTMLBlockParser(), 900),
		util.Prioritized(parser.NewParagraphParser(), 1000),
	),
	parser.WithInlineParsers(
		util.Prioritized(extension.NewTaskCheckBoxParser(), 0),
		util.Prioritized(codeSpans{parser.NewCodeSpanParser()}, 100),
		util.Prioritized(bound(formulas{}), 150),
		util.Prioritized(bound(parser.NewLinkParser()), 200),
		util.Prioritized(parser.NewAutoLinkParser(), 300),
		util.Prioritized(bound(parser.NewRawHTMLParser()), 400),
		util.Prioritized(bound(parser.NewEmphasisParser()), 500),
		util.Prioritized(bound(extension.NewStrikethroughParser()), 500),
		util.Prioritized(extension.NewLinkifyParser(), 999),
	),
	parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
	parser.WithParagraphTransformers(util.Prioritized(tables{extension.NewTableParagraphTransformer()}, 200)),
	parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
)

// parse renders Markdown without a limit.
func parse(markdown string) *flow {
	source := []byte(normalize(markdown))
	document := markdownParser.Parse(text.NewReader(source))
	b := builder{source: source, referred: referred(document)}
	b.headings = map[int]bool{}
	b.blocks(document, 2)
	return &b.flow
}

// normalize keeps one kind of line end, and replaces what Go and the parser could not agree on.
func normalize(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.ContainsAny(s, "\r\x00\u2028\u2029") {
		s = lineEnds.Replace(s)
	}
	return s
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\x00", " ")

// referred lists the link definitions that some link uses, by their normalised label. The others are shown as typed.
func referred(document ast.Node) map[string]bool {
	used := map[string]bool{}
	_ = ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // the walker returns no error
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			if n.Reference != nil {
				used[util.ToLinkReference(n.Reference.Value)] = true
			}
		case *ast.Image:
			if n.Reference != nil {
				used[util.ToLinkReference(n.Reference.Value)] = true
			}
		}
		return ast.WalkContinue, nil
	})
	return used
}
