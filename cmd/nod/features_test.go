package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"nod/tools"
)

// tree resolves names against the source of this program.
type tree struct{ packages map[string]map[string]bool } // declared names by folder, also Type.Method and Type.Field

// names are what a folder's files declare; those of tests have "test " before them.
func (tr *tree) names(dir string) map[string]bool {
	if known, ok := tr.packages[dir]; ok {
		return known
	}
	names := map[string]bool{}
	files, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
	if err != nil {
		panic(err) // a pattern of our own
	}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			continue // the compiler tells
		}
		lead := ""
		if strings.HasSuffix(path, "_test.go") {
			lead = "test "
		}
		for _, decl := range file.Decls {
			for _, name := range declares(decl) {
				names[lead+name] = true
			}
		}
	}
	tr.packages[dir] = names
	return names
}

func declares(decl ast.Decl) (names []string) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			name = baseName(d.Recv.List[0].Type) + "." + name
		}
		names = append(names, name)
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.ValueSpec:
				for _, id := range s.Names {
					names = append(names, id.Name)
				}
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
				for _, member := range members(s.Type) {
					names = append(names, s.Name.Name+"."+member)
				}
			}
		}
	}
	return names
}

// members are the fields of a struct or the methods of an interface.
func members(t ast.Expr) (names []string) {
	var list *ast.FieldList
	switch t := t.(type) {
	case *ast.StructType:
		list = t.Fields
	case *ast.InterfaceType:
		list = t.Methods
	default:
		return nil
	}
	for _, f := range list.List {
		for _, id := range f.Names {
			names = append(names, id.Name)
		}
	}
	return names
}

func baseName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return baseName(t.X)
	case *ast.IndexExpr:
		return baseName(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// homes are the folders of the packages that the table speaks of by their names.
var homes = map[string]string{"approvals": "approvals", "prompt": "agent/prompt"}

// notGo are words of the table that look like names of Go and are none of this program's.
var notGo = []string{"MCP", "Telegram", "os.Root", "nod.yaml", "tools.profile"}

// notTools are names of the specifications that are not of tools.
var notTools = []string{
	"truncate_label", "target_path", "execute_async", "sub_agents_only", "root_agent_only", "openai_definition", "drive_execution", "category_of",
	"describe_call", "known_tools",
}

var (
	featureLine = regexp.MustCompile(`^//\t([SAN])  (.{46})(\S.*)\n$`)
	goWord      = regexp.MustCompile(`/?[A-Za-z][A-Za-z0-9]*(?:[./][A-Za-z][A-Za-z0-9]*)*`)
	snakeWord   = regexp.MustCompile(`\b[a-z]+(?:_[a-z]+)+\b`)
)

// faultsOfTable compares a table of features with the catalogue, both ways, and with the source.
func (tr *tree) faultsOfTable(src string) (faults []string) {
	named := map[string]bool{}
	for line := range strings.Lines(src) {
		if !strings.HasPrefix(line, "//\t") {
			continue
		}
		columns := featureLine.FindStringSubmatch(line)
		if columns == nil {
			faults = append(faults, "this line has no two columns: "+line)
			continue
		}
		feature, where := strings.TrimSpace(columns[2]), columns[3]
		if strings.HasPrefix(where, "not carried, because ") {
			continue
		}
		for _, name := range snakeWord.FindAllString(feature, -1) {
			if _, is := tools.EntryOf(name); !is && !slices.Contains(notTools, name) {
				faults = append(faults, fmt.Sprintf("%s: there is no tool %s", feature, name))
			}
		}
		for _, word := range strings.FieldsFunc(feature, func(r rune) bool { return r == ',' || r == ':' || r == ' ' }) {
			named[word] = true
		}
		for _, word := range goWord.FindAllString(where, -1) {
			if !tr.resolves(word, where) {
				faults = append(faults, fmt.Sprintf("%s: there is no %s", feature, word))
			}
		}
	}
	for _, e := range tools.Catalogue {
		if !named[e.Tool] {
			faults = append(faults, "the table does not name "+e.Tool)
		}
	}
	return faults
}

// resolves says whether a word of the right column is plain English, or something that there is.
func (tr *tree) resolves(word, line string) bool {
	first, rest, dotted := strings.Cut(word, ".")
	switch {
	case strings.HasPrefix(word, "/"), slices.Contains(notGo, word): // a command in the chat
		return true
	case strings.HasSuffix(word, ".go"):
		return there("tools/"+word) || strings.Contains(word, "/") && there(word)
	case strings.Contains(word, "/"):
		return there(word)
	case strings.HasPrefix(word, "Test"):
		_, dir, _ := strings.Cut(line, word+" in ")
		dir, _, _ = strings.Cut(dir, " ")
		return tr.names(strings.TrimRight(dir, ";,."))["test "+word]
	case dotted && homes[first] != "":
		return tr.names(homes[first])[rest]
	case dotted, word[0] >= 'A' && word[0] <= 'Z':
		return tr.names("tools")[word]
	}
	return true
}

func there(path string) bool {
	_, err := os.Stat(filepath.Join("../..", path))
	return err == nil
}

// TestFeatureTableNamesEveryTool compares the table of tools/features.go with the catalogue, both ways, and looks up
// everything that it points at.
func TestFeatureTableNamesEveryTool(t *testing.T) {
	src, err := os.ReadFile("../../tools/features.go")
	if err != nil {
		t.Fatal(err)
	}
	tr := &tree{map[string]map[string]bool{}}
	for _, fault := range tr.faultsOfTable(string(src)) {
		t.Error(fault)
	}
}

// TestASpoiltFeatureTableIsNoticed changes one word of the table at a time.
func TestASpoiltFeatureTableIsNoticed(t *testing.T) {
	raw, err := os.ReadFile("../../tools/features.go")
	if err != nil {
		t.Fatal(err)
	}
	src, tr := string(raw), &tree{map[string]map[string]bool{}}
	spoilt := map[string]struct{ from, to, want string }{
		"a tool that is gone":      {"list_files, read_file,", "list_files, reed_file,", "there is no tool reed_file"},
		"a tool that is left out":  {"list_items, toggle_item", "list_items,            ", "the table does not name toggle_item"},
		"a tool of a plain name":   {"S  restart  ", "S  reboot   ", "the table does not name restart"},
		"a method that is gone":    {"run.ask;", "run.beg;", "there is no run.beg"},
		"a field that is gone":     {"Traits.RootOnly;", "Traits.RootOnce;", "there is no Traits.RootOnce"},
		"a type that is gone":      {"KnownTools;", "KnownTolls;", "there is no KnownTolls"},
		"a name of elsewhere":      {"approvals.Origin", "approvals.Source1", "there is no approvals.Source1"},
		"a test that is gone":      {"TestNoToolRunsAnother in", "TestNoToolWalksAway in", "there is no TestNoToolWalksAway"},
		"a test of another folder": {"TestNoToolRunsAnother in cmd/nod", "TestNoToolRunsAnother in tools", "there is no TestNoToolRunsAnother"},
		"a file that is gone":      {"interrupted.go", "broken_off.go", "there is no"},
		"a folder that is gone":    {"tools/telegram", "tools/telegraph", "there is no tools/telegraph"},
		"a line out of its column": {"//\tS  category  ", "//\tS category   ", "has no two columns"},
	}
	for _, name := range slices.Sorted(maps.Keys(spoilt)) {
		c := spoilt[name]
		bad := strings.Replace(src, c.from, c.to, 1)
		if bad == src {
			t.Errorf("%s: the table has no %q", name, c.from)
		}
		if faults := strings.Join(tr.faultsOfTable(bad), "\n"); !strings.Contains(faults, c.want) {
			t.Errorf("%s: %q", name, faults)
		}
	}
}
