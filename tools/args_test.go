package tools_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/tools"
)

// TestSA8_OneReading: what the rules, the card and the run read is one value. Go's own decoder folds the case of keys and
// takes the last of two, so that a map and a struct made from the same bytes differ.
func TestSA8_OneReading(t *testing.T) {
	deep := strings.Repeat(`[`, 65) + strings.Repeat(`]`, 65)
	tests := []struct{ name, args, want string }{
		{"S-A8 case-folded and twice", `{"path":"a","PATH":"b","path":"c"}`, `the key "path" stands twice`},
		{"twice", `{"path":"a","path":"b"}`, `the key "path" stands twice`},
		{"twice, once escaped", `{"path":"a","p\u0061th":"b"}`, `the key "path" stands twice`},
		{"case-folded", `{"path":"a","LINE":3}`, `additional properties 'LINE' not allowed`},
		{"case-folded instead", `{"Path":"a"}`, `additional properties 'Path' not allowed`},
		{"folded by Unicode", `{"path":"a","item\u017f":[]}`, "not allowed"}, // ſ folds to s
		{"unknown", `{"path":"a","sudo":true}`, `additional properties 'sudo' not allowed`},
		{"twice, nested", `{"path":"a","items":[{"name":"x","name":"y"}]}`, `the key "name" stands twice`},
		{"unknown, nested", `{"path":"a","items":[{"name":"x","root":1}]}`, `items/0: additional properties 'root' not allowed`},
		{"case-folded, nested", `{"path":"a","where":{"Name":"x"}}`, `where: additional properties 'Name' not allowed`},
		{"twice, in text", `{"path":"a","items":"[{\"name\":\"x\",\"name\":\"y\"}]"}`, "items: got string"},
		{"two objects", `{"path":"a"}{"path":"b"}`, "something follows the JSON"},
		{"trailing text", `{"path":"a"} and more`, "something follows the JSON"},
		{"trailing bracket", `{"path":"a"}}`, "something follows the JSON"},
		{"cut off", `{"path":"a`, "broken or cut off"},
		{"cut off after a key", `{"path"`, "broken or cut off"},
		{"cut off in a list", `{"path":"a","tags":["x"`, "broken or cut off"},
		{"trailing comma", `{"path":"a",}`, "broken or cut off"},
		{"single quotes", `{'path':'a'}`, "broken or cut off"},
		{"no JSON", `path=a`, "broken or cut off"},
		{"a list", `["a"]`, "must be one JSON object"},
		{"a text", `"{\"path\":\"a\"}"`, "must be one JSON object"},
		{"null", `null`, "must be one JSON object"},
		{"too deep", `{"path":"a","tags":` + deep + `}`, "nested deeper than 64"},
		{"too deep to walk", strings.Repeat(`[`, 1_000_000), "nested deeper than 64"},
		{"an exponent that would panic the validator", `{"path":"a","line":1e-9999999}`, "1e-9999999 is out of range"},
		{"the same in text", `{"path":"a","line":"1e-9999999"}`, "line: got string, want integer"},
		{"an endless exponent", `{"path":"a","line":1e` + strings.Repeat("9", 99) + `}`, "is out of range"},
		{"endless digits", `{"path":"a","line":` + strings.Repeat("9", 401) + `}`, "too many digits"},
		{"beyond int64", `{"path":"a","line":9223372036854775808}`, "don't fit"},
		{"a fraction", `{"path":"a","line":1.5}`, "line: got number, want integer"},
		{"null for a required one", `{"path":null}`, "path: got null, want string"},
	}
	tool := toolOf[allArgs]()
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inv, err := tool.Decode([]byte(test.args))
			if err == nil {
				t.Fatalf("decoded as %s", inv.Args())
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("got  %v\nwant %q in it", err, test.want)
			}
		})
	}
}

func TestAllFaultsAtOnce(t *testing.T) {
	_, err := toolOf[allArgs]().Decode([]byte(`{"mode":"warp","line":0,"items":[{"count":"many"}],"where":{},"sudo":1,"Sudo":2}`))
	if err == nil {
		t.Fatal("decoded")
	}
	for _, want := range []string{
		"missing property 'path'", "'sudo'", "'Sudo'", "mode: value must be one of 'fast', 'slow'", "line: minimum: got 0, want 1",
		"items/0: missing property 'name'", "items/0/count: got string, want integer", "where: missing property 'name'",
		`The schema is {`, `"required":["path"]`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not named in\n%v", want, err)
		}
	}
}

func TestCoercions(t *testing.T) {
	tests := []struct{ name, args, want string }{
		{"as it should be", `{"path":"a","line":3,"all":true,"tags":["x"]}`, `{"path":"a","line":3,"all":true,"tags":["x"]}`},
		{"order and space", ` { "line" : 3 , "path" : "a" } `, `{"path":"a","line":3}`},
		{"not escaped for HTML", `{"path":"a\u003cb\u0026\u003e"}`, `{"path":"a<b&>"}`},
		{"null for not given", `{"path":"a","line":null,"all":null,"tags":null,"where":null}`, `{"path":"a"}`},
		{"a number in a text", `{"path":"a","line":"12","ratio":"0.5"}`, `{"path":"a","line":12,"ratio":0.5}`},
		{"a whole number with a fraction", `{"path":"a","line":3.0}`, `{"path":"a","line":3}`},
		{"a whole number with an exponent", `{"path":"a","line":"1e2"}`, `{"path":"a","line":100}`},
		{"a large integer is kept exactly", `{"path":"a","line":9007199254740993}`, `{"path":"a","line":9007199254740993}`},
		{"a boolean in a text", `{"path":"a","all":"true"}`, `{"path":"a","all":true}`},
		{"one value for a list", `{"path":"a","tags":"x"}`, `{"path":"a","tags":["x"]}`},
		{"a list in a text", `{"path":"a","tags":"[\"x\",\"y\"]"}`, `{"path":"a","tags":["x","y"]}`},
		{"an object in a text", `{"path":"a","where":"{\"name\":\"x\"}"}`, `{"path":"a","where":{"name":"x"}}`},
		{"a text that looks like a number stays a text", `{"path":"12"}`, `{"path":"12"}`},
		{"a text that looks like a list stays a text", `{"path":"[1]"}`, `{"path":"[1]"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inv, err := toolOf[allArgs]().Decode([]byte(test.args))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(inv.Args())); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	for _, args := range []string{
		`{"path":12}`, `{"path":"a","line":"x"}`, `{"path":"a","line":"null"}`, `{"path":"a","line":"NaN"}`, `{"path":"a","line":" 1"}`,
		`{"path":"a","all":"1"}`, `{"path":"a","all":1}`, `{"path":"a","tags":[1]}`, `{"path":"a","where":"x"}`,
	} {
		if inv, err := toolOf[allArgs]().Decode([]byte(args)); err == nil {
			t.Errorf("%s was decoded as %s", args, inv.Args())
		}
	}
}

func TestCheckRefusesAndFillsIn(t *testing.T) {
	tool := toolOf(func(s *tools.Spec[penArgs]) {
		s.Check = func(in *penArgs) error {
			if in.Text == "" {
				return errors.New("text is empty; say what to write")
			}
			in.Times = max(in.Times, 1)
			return nil
		}
	})
	inv, err := tool.Decode([]byte(`{"text":"a"}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(inv.Args()), `{"text":"a","times":1}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if _, err := tool.Decode([]byte(`{"text":""}`)); err == nil || err.Error() != "text is empty; say what to write" {
		t.Errorf("got %v", err)
	}
}

// FuzzArgs: nothing panics, and what decodes is read from its canonical form to the same canonical form.
func FuzzArgs(f *testing.F) {
	for _, seed := range []string{
		`{"path":"a","line":3,"ratio":1e-7,"all":true,"tags":["x"],"items":[{"name":"y","count":2}],"where":{"name":"z"}}`,
		`{"path":"a","PATH":"b","path":"c"}`, `{"path":"\ud800\u2028<&>","line":"12","tags":"[\"x\"]"}`, `{"line":1e-9999999}`,
		`{"path":"a","line":1e400,"ratio":"-0.0"}`, `{"path":null,"items":"[{}]"}`, `[[[[`, "", "{}{}", `{"path":"a","ratio":-0.0}`,
	} {
		f.Add([]byte(seed))
	}
	tool := toolOf[allArgs]()
	f.Fuzz(func(t *testing.T, args []byte) {
		inv, err := tool.Decode(args)
		if err != nil {
			return
		}
		again, err := tool.Decode(inv.Args())
		if err != nil {
			t.Fatalf("%q decodes as %q, which does not: %v", args, inv.Args(), err)
		}
		if !bytes.Equal(inv.Args(), again.Args()) {
			t.Errorf("%q decodes as %q and then as %q", args, inv.Args(), again.Args())
		}
	})
}
