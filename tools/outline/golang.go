package outline

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
)

// outlineGo lists functions, types with the methods of interfaces, constants and variables. What a syntax error leaves of
// the file is listed too.
func outlineGo(name string, content []byte) (found, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, content, parser.SkipObjectResolution)
	g := goOutline{files: files, src: content}
	if list, ok := errors.AsType[scanner.ErrorList](err); ok && len(list) > 0 {
		g.Note = syntaxNote(list[0].Pos.Line)
	}
	if file == nil {
		return found{}, fmt.Errorf("parsing Go: %w", err)
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			end := d.End()
			if d.Body != nil {
				end = d.Body.Pos()
			}
			g.item(0, d, d.Pos(), end)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				g.spec(d.Tok, spec)
			}
		}
	}
	return g.found, nil
}

func syntaxNote(line int) string {
	return fmt.Sprintf("it has syntax errors, the first in line %d, so some may be missing", line)
}

type goOutline struct {
	found
	files *token.FileSet
	src   []byte
}

func (g *goOutline) spec(tok token.Token, spec ast.Spec) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		g.typeSpec(s)
	case *ast.ValueSpec:
		end := s.Names[len(s.Names)-1].End()
		if s.Type != nil {
			end = s.Type.End()
		}
		g.put(0, s, tok.String()+" "+g.text(s.Pos(), end))
	}
}

func (g *goOutline) typeSpec(s *ast.TypeSpec) {
	switch t := s.Type.(type) {
	case *ast.StructType:
		g.put(0, s, "type "+g.text(s.Pos(), t.Fields.Pos()))
	case *ast.InterfaceType:
		g.put(0, s, "type "+g.text(s.Pos(), t.Methods.Pos()))
		for _, m := range t.Methods.List {
			g.item(1, m, m.Pos(), m.End())
		}
	default:
		g.put(0, s, "type "+g.text(s.Pos(), s.End()))
	}
}

func (g *goOutline) item(depth int, node ast.Node, from, to token.Pos) {
	g.put(depth, node, g.text(from, to))
}

func (g *goOutline) put(depth int, node ast.Node, text string) {
	g.add(item{Line: g.line(node.Pos()), End: g.line(node.End()), Depth: depth, Text: text})
}

func (g *goOutline) line(p token.Pos) int { return g.files.PositionFor(p, false).Line }

// text is a part of the source. After a syntax error a node may end before it begins, or behind the file.
func (g *goOutline) text(from, to token.Pos) string {
	start, end := g.files.PositionFor(from, false).Offset, g.files.PositionFor(to, false).Offset
	start = min(max(start, 0), len(g.src))
	return string(g.src[start:min(max(end, start), len(g.src))])
}
