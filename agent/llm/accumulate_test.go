package llm

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// fold puts deltas of tool calls (one JSON list of them a frame) together.
func fold(t testing.TB, finish string, deltas ...string) (Answer, error) {
	t.Helper()
	d := draft{sink: func(Delta) {}}
	for _, calls := range deltas {
		if err := d.addChunk([]byte(`{"choices":[{"index":0,"delta":{"tool_calls":` + calls + `}}]}`)); err != nil {
			t.Fatal(err)
		}
	}
	d.finish = finish
	return d.answer(&Model{Name: "m", ID: "m"})
}

func TestMODEL3_CallsAreKeptApart(t *testing.T) {
	f := func(id string) Call { return Call{ID: id, Name: "f", Args: `{"a":1}`} }
	g := func(id string) Call { return Call{ID: id, Name: "g", Args: `{"b":2}`} }
	tests := []struct {
		name   string
		deltas []string
		want   []Call
	}{
		{"fragments", []string{`[{"index":0,"id":"1","function":{"name":"f","arguments":""}}]`, `[{"index":0,"function":{"arguments":"{\"a\""}}]`, `[{"index":0,"function":{"arguments":":1}"}}]`}, []Call{f("1")}},
		{"two, interleaved", []string{`[{"index":0,"id":"1","function":{"name":"f"}},{"index":1,"id":"2","function":{"name":"g"}}]`, `[{"index":1,"function":{"arguments":"{\"b\":2}"}}]`, `[{"index":0,"function":{"arguments":"{\"a\":1}"}}]`}, []Call{f("1"), g("2")}},
		{"both at index 0 (Ollama)", []string{`[{"index":0,"id":"1","function":{"name":"f","arguments":"{\"a\":1}"}}]`, `[{"index":0,"id":"2","function":{"name":"g","arguments":"{\"b\":2}"}}]`}, []Call{f("1"), g("2")}},
		{"both at index 0, arguments later (Gemini)", []string{`[{"index":0,"id":"1","function":{"name":"f"}}]`, `[{"index":0,"id":"1","function":{"arguments":"{\"a\":1}"}}]`, `[{"index":0,"id":"2","function":{"name":"g"}}]`, `[{"index":0,"function":{"arguments":"{\"b\":2}"}}]`}, []Call{f("1"), g("2")}},
		{"no index, ids", []string{`[{"id":"1","function":{"name":"f","arguments":"{\"a\":1}"}}]`, `[{"id":"2","function":{"name":"g","arguments":"{\"b\":2}"}}]`}, []Call{f("1"), g("2")}},
		{"no index, no ids", []string{`[{"function":{"name":"f","arguments":"{\"a\":1}"}}]`, `[{"function":{"name":"g","arguments":"{\"b\":2}"}}]`}, []Call{f("*"), g("*")}},
		{"no ids, same name twice", []string{`[{"index":0,"function":{"name":"f","arguments":"{\"a\":1}"}}]`, `[{"index":0,"function":{"name":"f","arguments":"{\"a\":1}"}}]`}, []Call{f("*"), f("*")}},
		{"a fresh id in every fragment (GLM-4)", []string{`[{"index":0,"id":"1","function":{"name":"f","arguments":""}}]`, `[{"index":0,"id":"9","function":{"arguments":"{\"a\""}}]`, `[{"index":0,"id":"8","function":{"name":null,"arguments":":1}"}}]`}, []Call{f("1")}},
		{"empty names in later fragments", []string{`[{"index":0,"id":"1","function":{"name":"f","arguments":""}}]`, `[{"index":0,"id":"","function":{"name":"","arguments":"{\"a\":1}"}}]`}, []Call{f("1")}},
		{"the name in every fragment", []string{`[{"index":0,"id":"1","function":{"name":"f","arguments":"{\"a\""}}]`, `[{"index":0,"id":"1","function":{"name":"f","arguments":":1}"}}]`}, []Call{f("1")}},
		{"a split name", []string{`[{"index":0,"id":"1","function":{"name":"read_"}}]`, `[{"index":0,"function":{"name":"file"}}]`, `[{"index":0,"function":{"arguments":"{}"}}]`}, []Call{{ID: "1", Name: "read_file", Args: "{}"}}},
		{"indices that start at 1, or below 0", []string{`[{"index":1,"id":"1","function":{"name":"f","arguments":"{\"a\":1}"}}]`, `[{"index":-1,"id":"2","function":{"name":"g","arguments":"{\"b\":2}"}}]`}, []Call{f("1"), g("2")}},
		{"one id twice", []string{`[{"index":0,"id":"1","function":{"name":"f","arguments":"{\"a\":1}"}}]`, `[{"index":1,"id":"1","function":{"name":"g","arguments":"{\"b\":2}"}}]`}, []Call{f("1"), g("*")}},
		{"a delta before any call", []string{`[{"function":{"arguments":"{\"a\":1}"}}]`}, []Call{{ID: "*", Args: `{"a":1}`, Problem: "the call names no tool; send it again with the tool's name"}}},
		{"null and empty fragments", []string{`null`, `[]`, `[{}]`}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, _ := fold(t, "stop", tt.deltas...)
			seen := map[string]bool{}
			for i, c := range a.Calls {
				if c.ID == "" || seen[c.ID] {
					t.Errorf("id %q is empty or used twice", c.ID)
				}
				seen[c.ID] = true
				if i < len(tt.want) && tt.want[i].ID == "*" {
					a.Calls[i].ID = "*"
				}
			}
			if d := cmp.Diff(tt.want, a.Calls, cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
		})
	}
}

// MODEL-2: arguments that were cut off are never runnable, whatever the finish reason says.
func TestMODEL2_TruncatedArguments(t *testing.T) {
	delta := `[{"index":0,"id":"1","function":{"name":"write_file","arguments":"{\"path\":\"a\",\"content\":\"hel"}}]`
	for _, finish := range []string{"stop", "tool_calls", "length", "eos", "", "content_filter", "error"} {
		t.Run(finish, func(t *testing.T) {
			a, err := fold(t, finish, delta)
			if len(a.Calls) != 1 || a.Calls[0].Problem == "" || isObject(a.Calls[0].Args) {
				t.Errorf("calls %+v: want one with a problem and no usable arguments", a.Calls)
			}
			if broken := finish == "" || finish == "error"; broken != (err != nil) {
				t.Errorf("error %v", err)
			}
		})
	}
	t.Run("complete with length", func(t *testing.T) {
		a, err := fold(t, "length", `[{"index":0,"id":"1","function":{"name":"f","arguments":"{}"}}]`)
		if err != nil || len(a.Calls) != 1 || a.Calls[0].Problem != "" {
			t.Errorf("%+v, %v", a, err)
		}
	})
}

func TestArgs(t *testing.T) {
	tests := []struct {
		raw, want string
		err       error
	}{
		{"", "{}", nil},
		{" null ", "{}", nil},
		{` {"a": 1} `, `{"a": 1}`, nil},
		{"```json\n{\"a\":{\"b\":\"}\"}}\n```", `{"a":{"b":"}"}}`, nil},
		{`Sure: {"a":1}. Done`, `{"a":1}`, nil},
		{`"{\"a\":1}"`, `{"a":1}`, nil},
		{`{"city": "Par`, "", errArgsCut},
		{`{"a":{"b":1}`, "", errArgsCut},
		{"```json\n{\"a\":", "", errArgsCut},
		{`[{"a":1},`, "", errArgsBad},
		{`[1]`, "", errArgsBad},
		{`"text"`, "", errArgsBad},
		{`{"a":1}{"b":2}`, "", errArgsMany},
		{`{"a":1}{"b`, "", errArgsMany},
		{`{'a':1}`, "", errArgsBad},
		{`{"a":1]`, "", errArgsBad},
		{`no`, "", errArgsBad},
	}
	for _, tt := range tests {
		got, err := Args(tt.raw)
		if got != tt.want || err != tt.err {
			t.Errorf("Args(%q) = %q, %v; want %q, %v", tt.raw, got, err, tt.want, tt.err)
		}
	}
}

func FuzzArgs(f *testing.F) {
	for _, s := range []string{"", `{"a":1}`, "```\n{\"a\":1}\n```", `{"city":"Par`, `{"a":1}{"b":2}`, `"{\"a\":1}"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := Args(raw)
		if err != nil {
			return
		}
		if !isObject(got) {
			t.Fatalf("Args(%q) = %q, which is not a JSON object", raw, got)
		}
		if got != "{}" && !strings.Contains(raw, got) && !strings.Contains(raw, `\`) {
			t.Fatalf("Args(%q) = %q, which the model did not write", raw, got)
		}
	})
}

func FuzzAccumulate(f *testing.F) {
	f.Add([]byte(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":"{}"}}]}}]}`), []byte(`{"choices":[]}`))
	f.Add([]byte(`{"choices":[{"delta":{"content":[{"type":"text","text":"x"}]},"finish_reason":"stop"}]}`), []byte(`{"usage":{"prompt_tokens":1e300}}`))
	f.Add([]byte(`{"type":"response.output_item.done","item":{"type":"function_call","name":"f","arguments":"{"}}`), []byte(`{"type":"response.completed","response":{"output":[{"type":"message"}]}}`))
	f.Fuzz(func(t *testing.T, one, two []byte) {
		m := &Model{Name: "m", ID: "m", BaseURL: "http://x"}
		chat, resp := draft{sink: func(Delta) {}}, draft{sink: func(Delta) {}}
		for _, frame := range [][]byte{one, two, one} {
			_ = chat.addChunk(frame)
			_ = resp.addEvent(m, frame)
		}
		for _, d := range []*draft{&chat, &resp} {
			a, _ := d.answer(m)
			if a.Usage.In < 0 || a.Usage.Out < 0 {
				t.Fatalf("usage %+v", a.Usage)
			}
			seen := map[string]bool{}
			for _, c := range a.Calls {
				if c.ID == "" || seen[c.ID] || (c.Problem == "") != (isObject(c.Args) && c.Name != "") && c.Name != "" {
					t.Fatalf("illegal call %+v", c)
				}
				seen[c.ID] = true
			}
		}
	})
}
