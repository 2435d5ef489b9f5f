package tools_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"nod/tools"
)

// allArgs has one field of each kind that tools use.
type allArgs struct {
	Path  string   `json:"path" jsonschema:"which file"`
	Mode  string   `json:"mode,omitempty"`
	Line  int      `json:"line,omitempty"`
	Ratio float64  `json:"ratio,omitempty"`
	All   bool     `json:"all,omitempty"`
	Tags  []string `json:"tags,omitempty"`
	Items []item   `json:"items,omitempty"`
	Where *item    `json:"where,omitempty"`
}

type item struct {
	Name  string `json:"name"`
	Count int    `json:"count,omitempty"`
}

func (allArgs) Refine(properties map[string]*jsonschema.Schema) {
	properties["mode"].Enum = []any{"fast", "slow"}
	properties["line"].Minimum = jsonschema.Ptr(1.0)
	properties["line"].Default = []byte("1")
}

func toolOf[In any](edits ...func(*tools.Spec[In])) tools.Tool {
	spec := tools.Spec[In]{
		Name: "edit", Description: "Edits.", Traits: tools.Traits{Category: tools.Filesystem, Effect: tools.Write},
		Run: func(context.Context, tools.Call, In) (tools.Output, error) { return tools.Output{}, nil },
	}
	for _, edit := range edits {
		edit(&spec)
	}
	return tools.New(spec)
}

func TestSchemaComesFromTheType(t *testing.T) {
	var got, want any
	if err := json.Unmarshal(toolOf[allArgs]().Schema(), &got); err != nil {
		t.Fatal(err)
	}
	const wanted = `{
		"type": "object", "required": ["path"], "additionalProperties": false,
		"properties": {
			"path": {"type": "string", "description": "which file"},
			"mode": {"type": "string", "enum": ["fast", "slow"]},
			"line": {"type": "integer", "minimum": 1, "default": 1},
			"ratio": {"type": "number"},
			"all": {"type": "boolean"},
			"tags": {"type": ["null", "array"], "items": {"type": "string"}},
			"items": {"type": ["null", "array"], "items": {
				"type": "object", "required": ["name"], "additionalProperties": false,
				"properties": {"name": {"type": "string"}, "count": {"type": "integer"}}
			}},
			"where": {
				"type": ["null", "object"], "required": ["name"], "additionalProperties": false,
				"properties": {"name": {"type": "string"}, "count": {"type": "integer"}}
			}
		}
	}`
	if err := json.Unmarshal([]byte(wanted), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

type byPointer struct {
	Mode string `json:"mode"`
}

func (*byPointer) Refine(properties map[string]*jsonschema.Schema) {
	properties["mode"].Enum = []any{"fast"}
}

func TestRefineOnAPointerCountsToo(t *testing.T) {
	if _, err := toolOf[byPointer]().Decode([]byte(`{"mode":"slow"}`)); err == nil {
		t.Error("the enumeration is not in the schema")
	}
}

func TestSchemaOfNoArguments(t *testing.T) {
	tool := toolOf[struct{}]()
	for _, args := range []string{"", "  ", "{}", " { } "} {
		inv, err := tool.Decode([]byte(args))
		if err != nil || string(inv.Args()) != "{}" {
			t.Errorf("%q: %v", args, err)
		}
	}
	if _, err := tool.Decode([]byte(`{"a":1}`)); err == nil {
		t.Error("an unknown key was taken")
	}
}

func TestNewPanicsOnWhatCannotWork(t *testing.T) {
	type spec = tools.Spec[penArgs]
	tests := map[string]func(*spec){
		"must match":                  func(s *spec) { s.Name = "no spaces" },
		"must match ":                 func(s *spec) { s.Name = strings.Repeat("n", 64) },
		"no description":              func(s *spec) { s.Description = "" },
		"exactly one of Run and Ask":  func(s *spec) { s.Run = nil },
		"exactly one of Run and Ask ": func(s *spec) { s.Ask = question },
		"nobody could see it":         func(s *spec) { s.Traits.SubAgentsOnly, s.Traits.RootOnly = true, true },
		"read or write":               func(s *spec) { s.Traits.Effect = "" },
		"no category":                 func(s *spec) { s.Traits.Category = "" },
	}
	for want, edit := range tests {
		t.Run(want, func(t *testing.T) { wantPanic(t, strings.TrimSpace(want), func() { toolOf(edit) }) })
	}
	t.Run("no struct", func(t *testing.T) { wantPanic(t, "must be a struct", func() { toolOf[string]() }) })
	t.Run("no JSON", func(t *testing.T) { wantPanic(t, "deriving its schema", func() { toolOf[struct{ C chan int }]() }) })
}

func wantPanic(t *testing.T, want string, fn func()) {
	t.Helper()
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, want) || !strings.Contains(text, "declaring tool") {
			t.Errorf("got %q, want %q in it", text, want)
		}
	}()
	fn()
}

type patterned struct {
	Items []item `json:"items"`
}

func (patterned) Refine(properties map[string]*jsonschema.Schema) {
	properties["items"].Items.Properties["name"].Pattern = "^a"
}

func TestAKeywordThatNothingChecksIsRefused(t *testing.T) {
	wantPanic(t, `not checked, at "items/0/name"`, func() { toolOf[patterned]() })
}

type bounded struct {
	Title string            `json:"title,omitempty"`
	Tags  []string          `json:"tags,omitempty"`
	Share float64           `json:"share,omitempty"`
	Env   map[string]string `json:"env,omitempty"`
}

func (bounded) Refine(properties map[string]*jsonschema.Schema) {
	properties["title"].MaxLength = jsonschema.Ptr(3)
	properties["title"].MinLength = jsonschema.Ptr(2)
	properties["tags"].MaxItems = jsonschema.Ptr(2)
	properties["share"].Maximum = jsonschema.Ptr(0.5)
}

func TestBounds(t *testing.T) {
	tests := map[string]string{
		`{"title":"äöü"}`:                "",
		`{"title":"äöüß"}`:               "title: maxLength: got 4, want 3",
		`{"title":"a"}`:                  "title: minLength: got 1, want 2",
		`{"tags":["a","b"]}`:             "",
		`{"tags":["a","b","c"]}`:         "tags: maxItems: got 3, want 2",
		`{"tags":["a",1]}`:               "tags/1: got number, want string",
		`{"share":0.5}`:                  "",
		`{"share":1}`:                    "share: maximum: got 1, want 0.5",
		`{"env":{"A":"b"}}`:              "",
		`{"env":{"A":"b","B":1}}`:        "env/B: got number, want string",
		`{"env":{"A":"b"},"share":"ab"}`: "share: got string, want number",
	}
	for args, want := range tests {
		_, err := toolOf[bounded]().Decode([]byte(args))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", args, err, want)
		}
	}
}
