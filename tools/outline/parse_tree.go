//go:build outline && cgo

package outline

import (
	"context"
	"fmt"
	"sort"
	"strings"

	sitter "github.com/smacker/go-tree-sitter"
)

// Grammars says whether the grammars of tree-sitter are built in.
const Grammars = true

// maxLevels is how deep a tree is gone down. What people write is far less deep.
const maxLevels = 400

// parse finds definitions with the language's grammar; ok says whether it has one.
func parse(lang language, src []byte) (f found, ok bool, err error) {
	g, ok := grammars[lang]
	if !ok {
		return found{}, false, nil
	}
	parser := sitter.NewParser()
	defer parser.Close()
	parser.SetLanguage(g.load())
	tree, err := parser.ParseCtx(context.Background(), nil, src)
	if err != nil {
		return found{}, true, fmt.Errorf("parsing it as %s: %w", lang, err)
	}
	w := walker{grammar: g, src: src, starts: lineStarts(src)}
	root := tree.RootNode()
	if root.HasError() {
		w.Note = fmt.Sprintf("the parser got lost first in line %d, so some may be missing", firstError(root))
	}
	w.at = sitter.NewTreeCursor(root)
	defer w.at.Close()
	w.children(0, nil, 0)
	if len(w.Items) == 0 { // the whole may be within a function that is called, as in older modules of JavaScript
		w.open = true
		w.at.Reset(root)
		w.children(0, nil, 0)
	}
	return w.found, true, nil
}

// firstError is the line in which the parser first met what it does not know.
func firstError(root *sitter.Node) int {
	at := sitter.NewTreeCursor(root)
	defer at.Close()
	for at.GoToFirstChild() {
		for !at.CurrentNode().HasError() && at.GoToNextSibling() {
		}
		if n := at.CurrentNode(); n.IsError() || n.IsMissing() || !n.HasError() {
			break
		}
	}
	return int(at.CurrentNode().StartPoint().Row) + 1
}

// grammar is how the definitions of a language look in its trees.
type grammar struct {
	load func() *sitter.Language
	defs map[string]def // by the type of node
}

// def is one kind of definition.
type def struct {
	leaf   bool // what lies in it is not listed, as for functions
	closed bool // nor is what lies in a node of its kind that is no definition
	// text is its signature; "" says that this node is none. Without it, that is the source up to the body.
	text func(w *walker, n *sitter.Node, at place) string
}

// place is where a definition begins, and how many others it lies in.
type place struct{ start, depth int }

// span is a part of the source.
type span struct{ start, end int }

type walker struct {
	found
	*grammar
	src    []byte
	starts []int // of lines
	at     *sitter.TreeCursor
	open   bool // what lies in calls and values is listed, too
}

// children goes through what lies in the node under the cursor. around is what that node, such as an export, adds to its
// definition.
func (w *walker) children(depth int, around *span, level int) {
	if level > maxLevels || !w.at.GoToFirstChild() {
		return
	}
	for more := true; more; more = w.at.GoToNextSibling() {
		if n := w.at.CurrentNode(); n.IsNamed() {
			w.node(n, depth, around, level)
		}
	}
	w.at.GoToParent()
}

func (w *walker) node(n *sitter.Node, depth int, around *span, level int) {
	kind := n.Type()
	d, isDef := w.defs[kind]
	if isDef {
		if text := w.signature(d, n, depth, around); text != "" {
			w.put(n, depth, text, around)
			if !d.leaf {
				w.children(depth+1, nil, level+1)
			}
			return
		}
	}
	switch {
	case d.closed, closed[kind] && !w.open:
	case wrappers[kind]:
		s := span{w.firstCode(n), int(n.EndByte())}
		if around != nil {
			s = *around
		}
		w.children(depth, &s, level+1)
	default:
		w.children(depth, nil, level+1)
	}
}

// wrappers are nodes around a definition that belong to it.
var wrappers = map[string]bool{
	"export_statement": true, "ambient_declaration": true, "lexical_declaration": true, "variable_declaration": true,
	"template_declaration": true,
}

// closed are nodes whose definitions are not the file's but a call's or a value's.
var closed = map[string]bool{
	"arrow_function": true, "function_expression": true, "function": true, "generator_function": true, "lambda": true,
	"lambda_expression": true, "closure_expression": true, "call_expression": true, "new_expression": true, "comment": true,
	"lambda_literal": true, "anonymous_function": true, "method_invocation": true, "token_tree": true,
}

// aside are nodes before a definition that are left out of its signature.
var aside = map[string]bool{
	"decorator": true, "annotation": true, "marker_annotation": true, "attribute": true, "comment": true, "line_comment": true,
	"block_comment": true, "multiline_comment": true,
}

// bodies are nodes at which a signature ends.
var bodies = map[string]bool{
	"class_body": true, "enum_class_body": true, "function_body": true, "protocol_body": true, "computed_property": true,
	"block": true, "keyframe_block_list": true, "keyword_as": true, "pure_virtual_clause": true, "default_method_clause": true, "do_block": true, "body_statement": true, "compound_statement": true, "declaration_list": true,
	"field_declaration_list": true, "field_initializer_list": true, "enumerator_list": true, "macro_rule": true,
	"column_definitions": true, "create_query": true,
}

func (w *walker) signature(d def, n *sitter.Node, depth int, around *span) string {
	at := place{w.firstCode(n), depth}
	if around != nil {
		at.start = around.start
	}
	if d.text != nil {
		return d.text(w, n, at)
	}
	return w.text(at.start, bodyStart(n))
}

// bodyStart is where a definition's signature ends.
func bodyStart(n *sitter.Node) int {
	end := int(n.EndByte())
	for _, field := range []string{"body", "value"} {
		if b := n.ChildByFieldName(field); b != nil {
			end = min(end, int(b.StartByte()))
		}
	}
	for i := range min(int(n.ChildCount()), 40) {
		if child := n.Child(i); bodies[child.Type()] {
			end = min(end, int(child.StartByte()))
		}
	}
	return end
}

// firstCode is where a node begins, without annotations.
func (w *walker) firstCode(n *sitter.Node) int {
	for i := range min(int(n.ChildCount()), 40) {
		child := n.Child(i)
		switch {
		case aside[child.Type()]:
		case child.Type() == "modifiers" && w.firstCode(child) == int(child.EndByte()):
		case child.Type() == "modifiers":
			return w.firstCode(child)
		default:
			return w.skipBlanks(int(child.StartByte()))
		}
	}
	if n.ChildCount() > 0 && n.Type() == "modifiers" {
		return int(n.EndByte())
	}
	return w.skipBlanks(int(n.StartByte()))
}

// skipBlanks is where the code after some blanks begins: some grammars take them into their nodes.
func (w *walker) skipBlanks(at int) int {
	for at < len(w.src) && strings.IndexByte(" \t\r\n", w.src[at]) >= 0 {
		at++
	}
	return at
}

// text is a part of the source as a signature.
func (w *walker) text(start, end int) string {
	return trimSignature(string(w.src[start:max(end, start)]))
}

func (w *walker) content(n *sitter.Node) string {
	if n == nil {
		return ""
	}
	return string(w.src[n.StartByte():n.EndByte()])
}

func (w *walker) put(n *sitter.Node, depth int, text string, around *span) {
	start, end := w.firstCode(n), int(n.EndByte())
	if around != nil {
		start, end = around.start, around.end
	}
	end = len(strings.TrimRight(string(w.src[:end]), " \t\r\n"))
	w.add(item{Line: w.line(start), End: w.line(max(end-1, start)), Depth: depth, Text: text})
}

func (w *walker) line(offset int) int {
	return sort.Search(len(w.starts), func(i int) bool { return w.starts[i] > offset })
}

func lineStarts(src []byte) []int {
	starts := []int{0}
	for i, c := range src {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}
