package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestNoToolRunsAnother reads the syntax of all tools: none may reach for another's definition or for the executor, so
// that the gate, a stop and the log see every act as the one call that it is.
func TestNoToolRunsAnother(t *testing.T) {
	root, read := os.DirFS("../../tools"), 0
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") ||
			!strings.Contains(name, "/") || strings.HasPrefix(name, "tooltest/") {
			return err
		}
		src, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		read++
		complaints, err := cheats(name, string(src))
		for _, c := range complaints {
			t.Error(c)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if read < 50 {
		t.Errorf("only %d files were read", read)
	}
}

// closedToTools are what package tools has for those who run calls.
var closedToTools = []string{"Executor", "NewExecutor", "CallRequest", "Registry", "NewRegistry", "NewCatalogue", "Offer", "Invocation"}

// cheats finds where a file of a tool reaches for another tool: by what runs calls, by beginning a call, or by another
// package's tools.
func cheats(name, src string) (complaints []string, err error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, src, 0)
	if err != nil {
		return nil, err
	}
	complain := func(n ast.Node, format string, args ...any) {
		complaints = append(complaints, fmt.Sprintf("%s %s", files.Position(n.Pos()), fmt.Sprintf(format, args...)))
	}
	imported := map[string]string{} // paths by the names under which the file has them
	for _, i := range file.Imports {
		is, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return nil, err
		}
		local := path.Base(is)
		if i.Name != nil {
			local = i.Name.Name
		}
		if imported[local] = is; local == "." && strings.HasPrefix(is, "nod/") {
			complain(i, "hides where names are from")
		}
	}
	decoders := readers(file, imported)
	ast.Inspect(file, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		from := ""
		if id, ok := sel.X.(*ast.Ident); ok {
			from = imported[id.Name]
		}
		switch what := sel.Sel.Name; {
		case from == "nod/tools" && slices.Contains(closedToTools, what):
			complain(sel, "mentions tools.%s: a tool reaches what it needs through a port", what)
		case strings.HasPrefix(from, "nod/tools/") && strings.HasSuffix(what, "Tools"):
			complain(sel, "takes the tools of %s", from)
		case what == "Decode" && from == "" && !decoders(sel.X):
			complain(sel, "begins a call of another tool")
		}
		return true
	})
	return complaints, nil
}

// readers says which expressions of a file are decoders of the standard library: made on the spot, or held by a variable.
func readers(file *ast.File, imported map[string]string) func(ast.Expr) bool {
	makes := func(e ast.Expr) bool {
		call, ok := e.(*ast.CallExpr)
		if !ok {
			return false
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || sel.Sel.Name != "NewDecoder" {
			return false
		}
		id, ok := sel.X.(*ast.Ident)
		return ok && strings.HasPrefix(imported[id.Name], "encoding/")
	}
	held := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok && len(a.Lhs) == 1 && len(a.Rhs) == 1 {
			if id, ok := a.Lhs[0].(*ast.Ident); ok && makes(a.Rhs[0]) {
				held[id.Name] = true
			}
		}
		return true
	})
	return func(e ast.Expr) bool {
		id, ok := e.(*ast.Ident)
		return makes(e) || ok && held[id.Name]
	}
}

// TestAToolThatRunsAnotherIsFound feeds what TestNoToolRunsAnother looks with sources that cheat, and some that don't.
func TestAToolThatRunsAnotherIsFound(t *testing.T) {
	const head = "package x\n\nimport (\n\t\"encoding/json\"\n\t\"nod/tools\"\n\tother \"nod/tools/fs\"\n)\n\n"
	for name, tt := range map[string]struct{ src, want string }{
		"an executor":        {head + "func f(x *tools.Executor) {}", "x.go:9:11 mentions tools.Executor"},
		"a new one":          {head + "func f() { tools.NewExecutor(nil, nil, nil) }", "mentions tools.NewExecutor"},
		"a registry":         {head + "type t struct{ all *tools.Registry }", "mentions tools.Registry"},
		"an offer":           {head + "func f(o tools.Offer) { o.Find(tools.ReadFile) }", "mentions tools.Offer"},
		"a request":          {head + "var r = tools.CallRequest{}", "mentions tools.CallRequest"},
		"an invocation":      {head + "var v tools.Invocation", "mentions tools.Invocation"},
		"under another name": {"package x\n\nimport t \"nod/tools\"\n\nvar e *t.Executor", "mentions tools.Executor"},
		"under no name":      {"package x\n\nimport . \"nod/tools\"\n\nvar e *Executor", "hides where names are from"},
		"its own tool": {
			head + "func mine() tools.Tool { return nil }\nfunc f() { t := mine(); t.Decode(nil) }", "begins a call of another tool",
		},
		"on the spot":             {head + "func f() { mine().Decode(nil) }", "begins a call of another tool"},
		"a method":                {head + "func (d *desk) f() { d.mine().Decode(nil) }", "begins a call of another tool"},
		"of a list":               {head + "func f(all []tools.Tool) { v, _ := all[0].Decode(nil); v.Start(nil, tools.Call{}) }", "begins a call of another tool"},
		"of a field":              {head + "func (d *desk) f() { d.read.Decode(nil) }", "begins a call of another tool"},
		"a method that is kept":   {head + "func f(t tools.Tool) { begin := t.Decode; begin(nil) }", "begins a call of another tool"},
		"named like a decoder":    {head + "func f(t tools.Tool) { dec := t; dec.Decode(nil) }", "begins a call of another tool"},
		"another package's tools": {head + "func f() { other.Tools(nil) }", "takes the tools of nod/tools/fs"},

		"ports":     {head + "func f(c tools.Call) { c.Scope.Ports.Files.Send(nil, c.Scope.Address, tools.File{}) }", ""},
		"a decoder": {head + "func f() { json.NewDecoder(nil).Decode(nil); d := json.NewDecoder(nil); d.Decode(nil) }", ""},
		"a tool":    {head + "func f() tools.Tool { return tools.New(tools.Spec[int]{Name: tools.ReadFile}) }", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := cheats("x.go", tt.src)
			if err != nil {
				t.Fatal(err)
			}
			if all := strings.Join(got, "\n"); tt.want == "" && all != "" || !strings.Contains(all, tt.want) {
				t.Errorf("the complaints are %q, want %q", got, tt.want)
			}
		})
	}
}
