package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"nod/tools/plugins"
)

// file is nod.yaml. Its keys mean what the variables of the same name mean.
type file struct {
	Token     string      `yaml:"telegram_bot_token"`
	API       string      `yaml:"telegram_api"`
	APIKey    string      `yaml:"openai_api_key"`
	BaseURL   string      `yaml:"openai_base_url"`
	Model     string      `yaml:"model"`
	Models    []fileModel `yaml:"models"`
	Workspace string      `yaml:"workspace"`
	Owner     string      `yaml:"owner"`
	Timezone  string      `yaml:"timezone"`
	Log       string      `yaml:"log"`
	Sandbox   string      `yaml:"sandbox"`
	Writable  string      `yaml:"sandbox_writable"`

	Passphrase string            `yaml:"passphrase"`
	CommandEnv map[string]string `yaml:"command_env"`
	KeepDays   *int              `yaml:"keep_days"`

	Tools fileTools `yaml:"tools"`

	MCP []fileServer `yaml:"mcp"`

	Spending fileSpending `yaml:"spending"`

	Plugins plugins.File `yaml:"plugins"`

	Rules []fileRule `yaml:"rules"`

	Contexts []fileContext `yaml:"contexts"`

	broken bool // it could not be read, so that nothing is known of what it lacks
}

type fileTools struct {
	Profile string `yaml:"profile"`
}

type fileSpending struct {
	Daily float64 `yaml:"daily"`
	Job   float64 `yaml:"job"`
}

type fileModel struct {
	Name          string            `yaml:"name"`
	ID            string            `yaml:"id"`
	BaseURL       string            `yaml:"base_url"`
	APIKey        string            `yaml:"api_key"`
	ContextWindow int               `yaml:"context_window"`
	PriceIn       *float64          `yaml:"price_in"`
	PriceOut      *float64          `yaml:"price_out"`
	Vision        bool              `yaml:"vision"`
	Wire          string            `yaml:"wire"`
	Headers       map[string]string `yaml:"headers"`
	Body          map[string]any    `yaml:"body"`
}

// readFile reads nod.yaml, if there is one. It walks the syntax tree itself, since the library's decoder gives up at the
// first fault and may quote values, which are secrets here.
func (l *loader) readFile(path string) (f file) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f
	}
	if err != nil {
		l.problem("nod.yaml", "%v", err)
		return file{broken: true}
	}
	tree, err := parser.ParseBytes(raw, 0)
	if err != nil {
		l.problem("nod.yaml", "%s", yamlFault(err))
		return file{broken: true}
	}
	if len(tree.Docs) > 1 {
		l.problem("nod.yaml", "it holds %d documents; keep one", len(tree.Docs))
	}
	for _, doc := range tree.Docs {
		if doc.Body != nil {
			l.fill(doc.Body, reflect.ValueOf(&f).Elem(), "")
		}
	}
	return f
}

// yamlFault is a syntax error with its line, without the source that the library would quote.
func yamlFault(err error) string {
	if fault, ok := errors.AsType[yaml.Error](err); ok && fault.GetToken() != nil {
		return fmt.Sprintf("line %d: %s", fault.GetToken().Position.Line, fault.GetMessage())
	}
	return "it is no YAML"
}

// fill puts a mapping into a struct, and names every key that does not belong or has the wrong kind of value.
func (l *loader) fill(node ast.Node, into reflect.Value, where string) {
	mapping, ok := node.(*ast.MappingNode)
	if !ok {
		if node.Type() != ast.NullType && node.Type() != ast.CommentType {
			l.misfit(node, where, "keys with values")
		}
		return
	}
	for _, entry := range mapping.Values {
		key := entry.Key.String()
		field, ok := fieldOf(into, key)
		switch {
		case !ok:
			l.problem("nod.yaml", "line %d: there is no setting %s%s", lineOf(entry.Key), where+key, meant(into, key))
		case field.Kind() == reflect.Slice && field.Type().Elem().Kind() == reflect.Struct:
			l.fillList(entry.Value, field, where+key)
		case field.Kind() == reflect.Struct:
			l.fill(entry.Value, field, where+key+".")
		case field.Kind() == reflect.Pointer && field.Type().Elem().Kind() == reflect.Struct:
			field.Set(reflect.New(field.Type().Elem()))
			l.fill(entry.Value, field.Elem(), where+key+".")
		case field.Kind() == reflect.Pointer && entry.Value.Type() == ast.NullType: // nothing was given
		case field.Kind() == reflect.Pointer: // a number of which it matters that it was given
			value := reflect.New(field.Type().Elem())
			if yaml.NodeToValue(entry.Value, value.Interface()) != nil {
				l.misfit(entry.Value, where+key, kindInWords(value.Elem().Kind()))
				continue
			}
			field.Set(value)
		case yaml.NodeToValue(entry.Value, field.Addr().Interface()) != nil:
			l.misfit(entry.Value, where+key, kindInWords(field.Kind()))
		}
	}
}

func (l *loader) fillList(node ast.Node, into reflect.Value, where string) {
	list, ok := node.(*ast.SequenceNode)
	if !ok {
		l.misfit(node, where, "a list")
		return
	}
	for i, item := range list.Values {
		into.Set(reflect.Append(into, reflect.Zero(into.Type().Elem())))
		setLine(into.Index(i), lineOf(item))
		l.fill(item, into.Index(i), fmt.Sprintf("%s[%d].", where, i))
	}
}

func (l *loader) misfit(node ast.Node, where, want string) {
	if where = strings.TrimSuffix(where, "."); where == "" {
		where = "the file"
	}
	l.problem("nod.yaml", "line %d: %s must be %s", lineOf(node), where, want)
}

func lineOf(node ast.Node) int { return node.GetToken().Position.Line }

// fieldOf is the field of a struct for a key of the file.
func fieldOf(of reflect.Value, key string) (reflect.Value, bool) {
	for i := range of.NumField() {
		if of.Type().Field(i).Tag.Get("yaml") == key {
			return of.Field(i), true
		}
	}
	return reflect.Value{}, false
}

// meant asks for the setting that a mistyped key comes near to, if there is one.
func meant(of reflect.Value, key string) string {
	best, least := "", min(2, (len(key)-1)/2)+1 // of a short word anything could be meant
	for i := range of.NumField() {
		if name := of.Type().Field(i).Tag.Get("yaml"); name != "" {
			if d := slips(strings.ToLower(key), name); d < least {
				best, least = name, d
			}
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// slips is how many letters must be put in, left out or changed to make one word of the other; two that changed places
// are one slip.
func slips(a, b string) int {
	var before, row []int
	for j := range len(b) + 1 {
		row = append(row, j)
	}
	for i := range len(a) {
		next := []int{i + 1}
		for j := range len(b) {
			change := row[j]
			if a[i] != b[j] {
				change++
			}
			d := min(change, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				d = min(d, before[j-1]+1)
			}
			next = append(next, d)
		}
		before, row = row, next
	}
	return row[len(b)]
}

func kindInWords(k reflect.Kind) string {
	switch k {
	case reflect.Int:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list of texts"
	case reflect.Map:
		return "keys with values"
	}
	return "a text"
}
