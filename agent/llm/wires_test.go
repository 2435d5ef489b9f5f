package llm_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/agent/llm"
	"nod/agent/llm/scripted"
)

var ping = llm.ToolDef{Name: "ping", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}

const refusesTools = "Function tools with reasoning_effort are not supported for gpt-6 in /v1/chat/completions. Please use /v1/responses instead."

// wires lists the wires of a server's requests.
func wires(s *scripted.Server) string {
	var out []string
	for _, r := range s.Requests() {
		out = append(out, r.Wire)
	}
	return strings.Join(out, " ")
}

func TestWireIsFound(t *testing.T) {
	notFound := scripted.Fail(404, "unknown_url", "Unknown request URL: POST /v1/responses")
	tests := []struct {
		name, id, wire string
		refuse         map[string]scripted.Reply // by wire
		want           string                    // wires of two requests
	}{
		{"chat by itself", "m", "", nil, "chat chat"},
		{"the service's refusal", "gpt-6.1-terra", "", map[string]scripted.Reply{"chat": scripted.Fail(400, "", refusesTools)}, "chat responses responses"},
		{"a 404 that names the other wire", "o9-pro", "", map[string]scripted.Reply{"chat": scripted.Fail(404, "", "This model is only supported in v1/responses and not in v1/chat/completions.")}, "chat responses responses"},
		{"go-openai's refusal", "gpt-6-sol", "", nil, "responses responses"},
		{"go-openai's refusal, but a proxy without responses", "gpt-6-astra", "", map[string]scripted.Reply{"responses": notFound}, "responses chat chat"},
		{"go-openai's refusal overruled", "gpt-6-sol", llm.WireChat, nil, "chat chat"},
		{"responses by configuration", "m", llm.WireResponses, nil, "responses responses"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := scripted.New(func(r scripted.Request) scripted.Reply {
				if r.Model != tt.id {
					t.Errorf("model %q", r.Model)
				}
				if refusal, ok := tt.refuse[r.Wire]; ok {
					return refusal
				}
				return scripted.Say("ok")
			})
			c := newClient(t, s, llm.Model{ID: tt.id, Wire: tt.wire})
			for range 2 {
				if got := ask(t, t.Context(), c, llm.Request{Tools: []llm.ToolDef{ping}}); got.Text != "ok" {
					t.Fatalf("answer %+v, error %v", got.Answer, got.err)
				}
			}
			if got := wires(s); got != tt.want {
				t.Errorf("wires %q, want %q", got, tt.want)
			}
		})
	}
}

func TestGoOpenAIRefusesTheModel(t *testing.T) {
	got := ask(t, t.Context(), newClient(t, scripted.New(scripted.Sequence()), llm.Model{ID: "text-davinci-003"}), llm.Request{})
	if got.err == nil || got.err.Kind != llm.KindBadRequest || !strings.Contains(got.err.Message, "model is not supported") {
		t.Errorf("error %v", got.err)
	}
}

// has says whether the JSON body of a request holds text.
func has(r scripted.Request, text string) bool { return strings.Contains(string(r.Body), text) }

func TestPeculiaritiesAreLearned(t *testing.T) {
	turn := []llm.Message{
		user("hi"),
		{Role: llm.RoleAssistant, Calls: []llm.Call{{ID: "functions.ping:0", Name: "ping", Args: "{}"}}},
		{Role: llm.RoleTool, CallID: "functions.ping:0", Text: "pong"},
	}
	tests := []struct {
		name     string
		accepts  func(scripted.Request) bool
		refusal  string
		model    llm.Model
		requests int // until the first answer
	}{
		{"no stream_options", func(r scripted.Request) bool { return !has(r, "stream_options") }, "Unknown field: stream_options", llm.Model{}, 2},
		{"max_completion_tokens", func(r scripted.Request) bool { return has(r, `"max_completion_tokens":100`) && !has(r, `"max_tokens"`) }, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", llm.Model{}, 2},
		{"Mistral's ids, learned", shortIDs, "Tool call id was functions.ping:0 but must be a-z, A-Z, 0-9, with a length of 9.", llm.Model{}, 2},
		{"Mistral's ids, by name", shortIDs, "unreachable", llm.Model{ID: "mistralai/large"}, 1},
		{"Kimi's ids stay", func(r scripted.Request) bool { return r.Messages[1].Calls[0].ID == "functions.ping:0" }, "unreachable", llm.Model{ID: "kimi-k2"}, 1},
		{"DeepSeek wants reasoning", func(r scripted.Request) bool { return r.Messages[1].Reasoning == "(not recorded)" }, "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1", llm.Model{}, 2},
		{"DeepSeek wants a content", func(r scripted.Request) bool { return has(r, `"content":""`) }, "unreachable", llm.Model{}, 1},
		{"extra fields", func(r scripted.Request) bool {
			return has(r, `"reasoning_effort":"low"`) && r.Header.Get("X-Title") == "nod"
		}, "unreachable", llm.Model{Body: map[string]any{"reasoning_effort": "low"}, Headers: map[string]llm.Secret{"X-Title": "nod"}}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := scripted.New(func(r scripted.Request) scripted.Reply {
				if !tt.accepts(r) {
					return scripted.Fail(400, "", tt.refusal)
				}
				return scripted.Say("ok")
			})
			c := newClient(t, s, tt.model)
			for range 2 {
				if got := ask(t, t.Context(), c, llm.Request{Messages: turn, Tools: []llm.ToolDef{ping}, MaxOutput: 100}); got.Text != "ok" {
					t.Fatalf("answer %+v, error %v", got.Answer, got.err)
				}
			}
			if n := len(s.Requests()); n != tt.requests+1 {
				t.Errorf("%d requests, want %d", n, tt.requests+1)
			}
		})
	}
}

var nine = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)

func shortIDs(r scripted.Request) bool {
	return nine.MatchString(r.Messages[1].Calls[0].ID) && r.Messages[1].Calls[0].ID == r.Messages[2].CallID
}

// What a service wants back goes to it and to nobody else.
func TestWireBlob(t *testing.T) {
	call := `"tool_calls":[{"index":0,"id":"c1","function":{"name":"ping","arguments":"{}"},"extra_content":{"google":{"thought_signature":"SIG"}}}]`
	tests := []struct {
		name, wire, stream string
		want               []string // in the next request to the same model
	}{
		{"reasoning_content", llm.WireChat, frame(`{"reasoning_content":"deep "}`, "") + frame(`{"reasoning_content":"thought",`+call+`}`, "tool_calls"), []string{`"reasoning_content":"deep thought"`, `"extra_content":{"google":{"thought_signature":"SIG"}}`}},
		{"reasoning", llm.WireChat, frame(`{"reasoning":"deep thought",`+call+`}`, "stop"), []string{`"reasoning":"deep thought"`}},
		{
			"reasoning_details", llm.WireChat,
			frame(`{"reasoning_details":[{"type":"reasoning.text","index":0,"text":"deep "}]}`, "") + frame(`{"reasoning_details":[{"type":"reasoning.text","index":0,"text":"thought","signature":"s"},{"type":"reasoning.encrypted","index":1,"data":"d"}],`+call+`}`, "stop"),
			[]string{`"reasoning_details":[{"index":0,"signature":"s","text":"deep thought","type":"reasoning.text"},{"data":"d","index":1,"type":"reasoning.encrypted"}]`},
		},
		{"think tags before calls", llm.WireChat, frame(`{"content":"<think>deep thought</think>",`+call+`}`, "stop"), []string{`\u003cthink\u003edeep thought\u003c/think\u003e`}},
		{
			"output items", llm.WireResponses,
			`data: {"type":"response.completed","response":{"output":[{"type":"reasoning","id":"r1","encrypted_content":"deep thought","summary":[]},{"type":"function_call","id":"f1","call_id":"c1","name":"ping","arguments":"{}","status":"completed","vendor":{"x":1}}]}}` + "\n\n",
			[]string{`{"type":"reasoning","id":"r1","encrypted_content":"deep thought","summary":[]}`, `"vendor":{"x":1}`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := 0
			s := scripted.New(func(scripted.Request) scripted.Reply {
				if n++; n == 1 {
					return scripted.Raw(tt.stream)
				}
				return scripted.Say("ok")
			})
			c := newClient(t, s, llm.Model{Name: "same", Wire: tt.wire}, llm.Model{Name: "other", Wire: tt.wire})
			first := ask(t, t.Context(), c, llm.Request{Tools: []llm.ToolDef{ping}})
			if first.err != nil || len(first.Calls) != 1 || strings.Contains(first.Text, "thought") {
				t.Fatalf("answer %+v, error %v", first.Answer, first.err)
			}
			h := []llm.Message{user("hi"), first.Message(), {Role: llm.RoleTool, CallID: "c1", Text: "pong"}}
			for _, model := range []string{"same", "other"} {
				if got := ask(t, t.Context(), c, llm.Request{Model: model, Messages: h, Tools: []llm.ToolDef{ping}}); got.Text != "ok" {
					t.Fatalf("answer %+v, error %v", got.Answer, got.err)
				}
				last := s.Requests()[len(s.Requests())-1]
				for _, want := range tt.want {
					if has(last, want) != (model == "same") {
						t.Errorf("to %s: %s is there: %v\n%s", model, want, has(last, want), last.Body)
					}
				}
			}
		})
	}
	t.Run("changed messages are told anew", func(t *testing.T) {
		s := scripted.New(scripted.Sequence(scripted.Think("deep thought").Say("text").Call("ping", "{}"), scripted.Say("ok")))
		c := newClient(t, s, llm.Model{Wire: llm.WireResponses})
		first := ask(t, t.Context(), c, llm.Request{Tools: []llm.ToolDef{ping}})
		m := first.Message()
		m.Calls = nil
		if got := ask(t, t.Context(), c, llm.Request{Messages: []llm.Message{user("hi"), m, user("go on")}}); got.Text != "ok" {
			t.Fatalf("answer %+v, error %v", got.Answer, got.err)
		}
		if r := s.Requests()[1]; has(r, "deep thought") || has(r, "ping") {
			t.Errorf("stale items in %s", r.Body)
		}
	})
	t.Run("a refusal of reasoning is learned", func(t *testing.T) {
		s := scripted.New(func(r scripted.Request) scripted.Reply {
			if has(r, "deep thought") {
				return scripted.Fail(400, "", "'messages.1' : property 'reasoning_content' is unsupported")
			}
			return scripted.Think("deep thought").Say("text")
		})
		c := newClient(t, s)
		first := ask(t, t.Context(), c, llm.Request{})
		if got := ask(t, t.Context(), c, llm.Request{Messages: []llm.Message{user("hi"), first.Message(), user("go on")}}); got.Text != "text" {
			t.Errorf("answer %+v, error %v", got.Answer, got.err)
		}
	})
}

func TestImages(t *testing.T) {
	h := []llm.Message{
		{Role: llm.RoleUser, Text: "what is it?", Images: []llm.Image{{MIME: "image/png", Data: []byte("x")}}},
		{Role: llm.RoleAssistant, Calls: []llm.Call{{ID: "1", Name: "ping", Args: "{}"}}},
		{Role: llm.RoleTool, CallID: "1", Text: "a picture", Images: []llm.Image{{MIME: "image/png", Data: []byte("y")}}},
	}
	url := func(b64 string) []string { return []string{"data:image/png;base64," + b64} }
	for _, wire := range []string{llm.WireChat, llm.WireResponses} {
		for _, vision := range []bool{true, false} {
			s := scripted.New(scripted.Sequence(scripted.Say("ok")))
			c := newClient(t, s, llm.Model{Wire: wire, Vision: vision})
			if got := ask(t, t.Context(), c, llm.Request{Messages: h}); got.err != nil {
				t.Fatal(got.err)
			}
			call := scripted.Message{Role: "assistant", Calls: []scripted.ToolCall{{ID: "1", Name: "ping", Args: "{}"}}}
			want := []scripted.Message{
				{Role: "user", Text: "what is it?", Images: url("eA==")},
				call,
				{Role: "tool", CallID: "1", Text: "a picture"},
				{Role: "user", Text: "(images from the tool results above)", Images: url("eQ==")},
			}
			if !vision {
				const note = "\n\n(an image stood here, which this model cannot see)"
				want = []scripted.Message{{Role: "user", Text: "what is it?" + note}, call, {Role: "tool", CallID: "1", Text: "a picture" + note}}
			}
			if d := cmp.Diff(want, s.Requests()[0].Messages); d != "" {
				t.Errorf("%s, vision %v: %s", wire, vision, d)
			}
		}
	}
}

func TestTools(t *testing.T) {
	schema := `{"$schema":"https://json-schema.org/draft/2020-12/schema","properties":{"n":{"type":["integer","null"],"exclusiveMinimum":0}},"additionalProperties":false}`
	tools := []llm.ToolDef{{Name: "zoo", Schema: json.RawMessage(schema)}, {Name: "bad.name"}, {Name: "ant", Description: "small"}, {Name: "ant"}}
	for id, want := range map[string]string{
		"m":              `{"additionalProperties":false,"properties":{"n":{"exclusiveMinimum":0,"type":["integer","null"]}},"type":"object"}`,
		"gemini-3-flash": `{"properties":{"n":{"minimum":0,"nullable":true,"type":"integer"}},"type":"object"}`,
	} {
		for _, wire := range []string{llm.WireChat, llm.WireResponses} {
			s := scripted.New(scripted.Sequence(scripted.Say("ok")))
			if got := ask(t, t.Context(), newClient(t, s, llm.Model{ID: id, Wire: wire}), llm.Request{Tools: tools}); got.err != nil {
				t.Fatal(got.err)
			}
			if wire == llm.WireResponses && id != "m" {
				continue // Gemini has no such wire
			}
			wantTools := []scripted.Tool{
				{Name: "ant", Description: "small", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}, {Name: "zoo", Schema: json.RawMessage(want)},
			}
			if d := cmp.Diff(wantTools, s.Requests()[0].Tools); d != "" {
				t.Error(id, d)
			}
		}
	}
}
