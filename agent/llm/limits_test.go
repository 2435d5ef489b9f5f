package llm_test

import (
	stdcmp "cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"nod/agent/llm"
	"nod/agent/llm/scripted"
)

// flood is a service that repeats a frame until 48 MB are sent or the client has had enough. It counts the requests.
type flood struct {
	typ, head, frame string
	asked            int
}

func (f *flood) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	f.asked++
	w.Header().Set("Content-Type", stdcmp.Or(f.typ, "text/event-stream"))
	_, err := io.WriteString(w, f.head)
	for sent := 0; err == nil && sent < 48<<20; sent += len(f.frame) {
		_, err = io.WriteString(w, f.frame)
	}
}

// TestAnswersAreBounded: an answer of 48 MB is cut soon, costs little memory, and is not asked for again, of no model.
func TestAnswersAreBounded(t *testing.T) {
	much := strings.Repeat("é", 10_000)
	args := strings.Repeat("a", 20_000)
	event := func(s string) string { return "data: " + s + "\n\n" }
	tests := []struct {
		name, typ, head, frame, says string
		wire                         string
		text                         int // bytes of the text that is kept, at least
	}{
		{name: "text", frame: frame(`{"content":"`+much+`"}`, ""), says: "longer than 1 MiB", text: 1<<20 - 1},
		{name: "text in one frame", frame: frame(`{"content":"`+strings.Repeat(much, 300)+`"}`, "stop"), says: "longer than 1 MiB", text: 1<<20 - 1},
		{name: "a frame beyond all bounds", frame: frame(`{"content":"`+strings.Repeat(much, 600)+`"}`, "stop"), says: "larger than 8 MiB"},
		{name: "not streamed", typ: "application/json", head: `{"choices":[{"message":{"content":"`, frame: much, says: "larger than 8 MiB"},
		{name: "reasoning", frame: frame(`{"reasoning_content":"`+much+`"}`, ""), says: "larger than 4 MiB"},
		{name: "reasoning in tags", head: frame(`{"content":"<think>"}`, ""), frame: frame(`{"content":"`+much+`"}`, ""), says: "larger than 4 MiB"},
		{name: "reasoning details", frame: frame(`{"reasoning_details":[{"type":"x","text":"`+much+`"}]}`, ""), says: "larger than 4 MiB"},
		{
			name: "arguments", frame: frame(`{"tool_calls":[{"index":0,"id":"1","function":{"name":"f","arguments":"`+args+`"}}]}`, ""),
			says: "larger than 4 MiB",
		},
		{
			name: "calls", frame: frame(`{"tool_calls":[{"function":{"name":"f","arguments":"{}"}},{"function":{"name":"g","arguments":"{}"}}]}`, ""),
			says: "more than 128 calls",
		},
		{name: "text events", wire: llm.WireResponses, frame: event(`{"type":"response.output_text.delta","delta":"` + much + `"}`), says: "longer than 1 MiB", text: 1<<20 - 1},
		{
			name: "argument events", wire: llm.WireResponses,
			head:  event(`{"type":"response.output_item.added","item":{"id":"f","type":"function_call","call_id":"c","name":"f"}}`),
			frame: event(`{"type":"response.function_call_arguments.delta","item_id":"f","delta":"` + args + `"}`), says: "larger than 4 MiB",
		},
		{
			name: "output items", wire: llm.WireResponses,
			frame: event(`{"type":"response.output_item.done","item":{"type":"reasoning","encrypted_content":"` + args + `"}}`), says: "larger than 4 MiB",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			service := &flood{typ: tt.typ, head: tt.head, frame: tt.frame}
			models := []llm.Model{
				{Name: "one", BaseURL: "http://model.test/v1", Wire: tt.wire}, {Name: "two", BaseURL: "http://model.test/v1", Wire: tt.wire},
			}
			c, err := llm.New(llm.Options{Models: models, Transport: scripted.Transport(service)})
			if err != nil {
				t.Fatal(err)
			}
			var before, now runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			a, err := c.Stream(t.Context(), llm.Request{Messages: []llm.Message{user("x")}}, func(llm.Delta) {})
			runtime.GC()
			runtime.ReadMemStats(&now)
			fault, ok := errors.AsType[*llm.Error](err)
			if !ok || fault.Kind != llm.KindTruncated || !strings.Contains(fault.Message, tt.says) || !a.Truncated && tt.typ == "" || service.asked != 1 {
				t.Errorf("error %v, truncated %v, asked %d times", err, a.Truncated, service.asked)
			}
			if n := len(a.Text); n < tt.text || n > 1<<20 || !utf8.ValidString(a.Text) {
				t.Errorf("%d bytes of text are kept", n)
			}
			if grown := int64(now.HeapAlloc) - int64(before.HeapAlloc); grown > 16<<20 {
				t.Errorf("the heap grew by %d KiB", grown>>10)
			}
			for _, call := range a.Calls {
				if len(call.Args) > 300<<10 {
					t.Errorf("%d bytes of arguments are kept", len(call.Args))
				}
			}
		})
	}
}

// TestArgumentsAreBounded: a call with too much in it is not runnable and says why; the calls beside it are.
func TestArgumentsAreBounded(t *testing.T) {
	long := `{\"content\":\"` + strings.Repeat("a", 300<<10) + `\"}`
	call := func(id, args string) string {
		return fmt.Sprintf(`{"id":"i%s","type":"function_call","call_id":"%s","name":"f","arguments":"%s"}`, id, id, args)
	}
	wires := map[string]string{
		llm.WireChat: frame(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"`+long+`"}}]}`, "") +
			frame(`{"tool_calls":[{"index":1,"id":"b","function":{"name":"f","arguments":"{}"}}]}`, "tool_calls"),
		llm.WireResponses: `data: {"type":"response.completed","response":{"output":[` + call("a", long) + "," + call("b", "{}") + "]}}\n\n",
	}
	for wire, body := range wires {
		t.Run(wire, func(t *testing.T) {
			a, _, err := once(t, serve{body: body}, llm.Model{Wire: wire})
			if err != nil || len(a.Calls) != 2 {
				t.Fatalf("%d calls, %v", len(a.Calls), err)
			}
			if c := a.Calls[0]; !strings.Contains(c.Problem, "longer than 256 KiB") || len(c.Args) > 2<<10 {
				t.Errorf("the long one: problem %q, %d bytes", c.Problem, len(c.Args))
			}
			if diff := cmp.Diff(llm.Call{ID: "b", Name: "f", Args: "{}"}, a.Calls[1]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestMODEL3_ResponsesCallsAreKeptApart: items are told apart also where ids come twice, and none is made two.
func TestMODEL3_ResponsesCallsAreKeptApart(t *testing.T) {
	item := func(kind, at, id, callID, args string) string {
		return fmt.Sprintf(`data: {"type":"response.output_item.%s"%s,"item":{"type":"function_call","id":"%s","call_id":"%s","name":"f","arguments":"%s"}}`+"\n\n",
			kind, at, id, callID, args)
	}
	end := func(items ...string) string {
		return `data: {"type":"response.completed","response":{"output":[` + strings.Join(items, ",") + "]}}\n\n"
	}
	whole := func(id, callID, args string) string {
		return fmt.Sprintf(`{"type":"function_call","id":"%s","call_id":"%s","name":"f","arguments":"%s"}`, id, callID, args)
	}
	const one, two = `{\"n\":1}`, `{\"n\":2}`
	at := func(n int) string { return fmt.Sprintf(`,"output_index":%d`, n) }
	tests := []struct {
		name, body string
		want       []string
	}{
		{"one call id twice", item("done", at(0), "i1", "c", one) + item("done", at(1), "i2", "c", two) + end(), []string{`{"n":1}`, `{"n":2}`}},
		{"one call id twice, begun together", item("added", at(0), "i1", "c", "") + item("added", at(1), "i2", "c", "") +
			item("done", at(1), "i2", "c", two) + item("done", at(0), "i1", "c", one) + end(), []string{`{"n":1}`, `{"n":2}`}},
		{"one call id twice, no places", item("done", "", "", "c", one) + item("done", "", "", "c", two) + end(), []string{`{"n":1}`, `{"n":2}`}},
		{"one call id twice, whole", end(whole("i1", "c", one), whole("i2", "c", two)), []string{`{"n":1}`, `{"n":2}`}},
		{"all ids twice, whole", end(whole("i", "c", one), whole("i", "c", two)), []string{`{"n":1}`, `{"n":2}`}},
		{"item ids made anew for each event", item("added", at(0), "x", "c", "") + item("done", at(0), "y", "c", one) + end(whole("z", "c", one)), []string{`{"n":1}`}},
		{"the same, no places", item("added", "", "x", "c", "") + item("done", "", "y", "c", one) + end(whole("z", "c", one)), []string{`{"n":1}`}},
		{"no item ids", item("added", at(0), "", "c", "") + item("done", at(0), "", "c", one) + item("done", at(1), "", "d", two) + end(), []string{`{"n":1}`, `{"n":2}`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, deltas, err := once(t, serve{body: tt.body}, llm.Model{Wire: llm.WireResponses})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			ids := map[string]bool{}
			for _, c := range a.Calls {
				got = append(got, c.Args)
				ids[c.ID] = true
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || len(ids) != len(got) {
				t.Errorf("calls %+v: %s", a.Calls, diff)
			}
			if len(deltas) != len(got) {
				t.Errorf("%d calls were told", len(deltas))
			}
		})
	}
}
