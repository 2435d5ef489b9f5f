package llm_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"nod/agent/llm"
	"nod/agent/llm/scripted"
)

// newClient makes a client of models that s plays. The zero Model is one.
func newClient(t testing.TB, s *scripted.Server, models ...llm.Model) *llm.Client {
	t.Helper()
	if len(models) == 0 {
		models = []llm.Model{{}}
	}
	for i := range models {
		models[i].BaseURL = "http://model.test/v1"
		if models[i].Name == "" {
			models[i].Name = "m"
		}
	}
	c, err := llm.New(llm.Options{Models: models, Transport: scripted.Transport(s)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func user(text string) llm.Message { return llm.Message{Role: llm.RoleUser, Text: text} }

func result(c llm.Call, text string) llm.Message {
	return llm.Message{Role: llm.RoleTool, CallID: c.ID, Text: text}
}

func TestToolLoopOnBothWires(t *testing.T) {
	for _, wire := range []string{llm.WireChat, llm.WireResponses} {
		t.Run(wire, func(t *testing.T) {
			s := scripted.New(scripted.Sequence(
				scripted.Think("hm").Say("I'll ", "look.").Call("read_file", `{"path":"a"}`).Call("read_file", `{"path":"b"}`),
				scripted.Say("done").Usage(scripted.Usage{In: 30, Cached: 20, Out: 2}),
			))
			c := newClient(t, s, llm.Model{Wire: wire})
			req := llm.Request{System: "be kind", Messages: []llm.Message{user("hi")}, Tools: []llm.ToolDef{{Name: "read_file"}}}
			var deltas []llm.Delta
			a, err := c.Stream(t.Context(), req, func(d llm.Delta) { deltas = append(deltas, d) })
			if err != nil {
				t.Fatal(err)
			}
			want := llm.Answer{
				Text: "I'll look.", Finish: llm.FinishCalls, Model: "m",
				Calls: []llm.Call{
					{ID: "call_1", Name: "read_file", Args: `{"path":"a"}`}, {ID: "call_2", Name: "read_file", Args: `{"path":"b"}`},
				},
			}
			if d := cmp.Diff(want, a, cmpopts.IgnoreFields(llm.Answer{}, "Wire", "Usage")); d != "" {
				t.Error(d)
			}
			wantDeltas := []llm.Delta{{Reasoning: true}, {Text: "I'll "}, {Text: "look."}, {Call: "read_file"}, {Call: "read_file"}}
			if d := cmp.Diff(wantDeltas, deltas); d != "" {
				t.Error(d)
			}

			req.Messages = append(req.Messages, a.Message(), result(a.Calls[0], "A"), result(a.Calls[1], "B"))
			a, err = c.Stream(t.Context(), req, nil)
			if err != nil {
				t.Fatal(err)
			}
			want = llm.Answer{Text: "done", Finish: llm.FinishStop, Model: "m", Usage: llm.Usage{In: 30, Cached: 20, Out: 2}}
			if d := cmp.Diff(want, a, cmpopts.IgnoreFields(llm.Answer{}, "Wire")); d != "" {
				t.Error(d)
			}
			thought := map[string]string{llm.WireChat: "hm", llm.WireResponses: "sealed:hm"}[wire]
			wantHistory := []scripted.Message{
				{Role: "user", Text: "hi"},
				{Role: "assistant", Text: "I'll look.", Reasoning: thought, Calls: []scripted.ToolCall{
					{ID: "call_1", Name: "read_file", Args: `{"path":"a"}`}, {ID: "call_2", Name: "read_file", Args: `{"path":"b"}`},
				}},
				{Role: "tool", CallID: "call_1", Text: "A"},
				{Role: "tool", CallID: "call_2", Text: "B"},
			}
			last := s.Requests()[1]
			if d := cmp.Diff(wantHistory, last.Messages); d != "" {
				t.Error(d)
			}
			if last.Wire != wire || last.System != "be kind" {
				t.Errorf("wire %s, system %q", last.Wire, last.System)
			}
		})
	}
}

func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// SEND-10: reasoning in tags is neither shown nor part of the answer, however the stream splits the tags.
func TestSEND10_Think(t *testing.T) {
	tests := []struct {
		name, want string
		chunks     []string
	}{
		{"whole", "Hello", []string{"<think>secret</think>\n\nHello"}},
		{"split tags", "Hello", []string{"<thi", "nk>sec", "ret</th", "ink>", "\n", "Hello"}},
		{"in the middle", "a  b", []string{"a <think>secret</think> b"}},
		{"unclosed", "a ", []string{"a <think>secret", " more secret"}},
		{"swallowed opening tag", "Hello", []string{"secret plan", "</think>Hello"}},
		{"other tags stay", "use List<int> and <CoT>, <thin", []string{"use List<int> and ", "<CoT>, <thin"}},
		{"quoted tag", "write `<think>` first", []string{"write `", "<think>` first"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := ""
			for _, c := range tt.chunks {
				body += frame(`{"content":`+quote(c)+`}`, "")
			}
			a, deltas, err := once(t, serve{body: body + frame(`{}`, "stop")}, llm.Model{})
			if err != nil || a.Text != tt.want {
				t.Errorf("text %q, %v; want %q", a.Text, err, tt.want)
			}
			shown := ""
			for _, d := range deltas {
				if d.Retract {
					shown = ""
				}
				shown += d.Text
			}
			if shown != tt.want {
				t.Errorf("shown %q, want %q", shown, tt.want)
			}
		})
	}
}
