package scripted_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	openai "github.com/sashabaranov/go-openai"
	"go.uber.org/goleak"

	"nod/agent/llm/scripted"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// post sends a body and gives status and answer.
func post(t *testing.T, s http.Handler, path, body string) (int, string) {
	t.Helper()
	rec := httptest.NewRecorder()
	s.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1"+path, strings.NewReader(body)))
	return rec.Code, rec.Body.String()
}

// Every fault that a strict service refuses is refused, with a message that names it.
func TestChatIsStrict(t *testing.T) {
	const user = `{"role":"user","content":"hi"}`
	call := func(ids ...string) string {
		var calls []string
		for _, id := range ids {
			calls = append(calls, `{"id":"`+id+`","type":"function","function":{"name":"f","arguments":"{}"}}`)
		}
		return `{"role":"assistant","content":null,"tool_calls":[` + strings.Join(calls, ",") + `]}`
	}
	tool := func(id string) string { return `{"role":"tool","tool_call_id":"` + id + `","content":"ok"}` }
	fn := func(f string) string { return `"tools":[{"type":"function","function":` + f + `}],` }
	tests := []struct {
		name, messages, extra, says string // says "" means accepted
	}{
		{"plain", user, "", ""},
		{"system first", `{"role":"system","content":"s"},` + user, "", ""},
		{"answered calls", user + `,` + call("1", "2") + `,` + tool("1") + `,` + tool("2"), "", ""},
		{"a tool", user, fn(`{"name":"f","parameters":{"type":"object","properties":{}}}`), ""},
		{"system later", user + `,{"role":"system","content":"s"}`, "", "must be at the beginning"},
		{"no messages", "", "", "empty array"},
		{"unanswered call", user + `,` + call("1", "2") + `,` + tool("1"), "", "did not have response messages: 2"},
		{"user before the result", user + `,` + call("1") + `,` + user, "", "must be followed by tool messages"},
		{"orphan result", user + `,` + tool("1"), "", "must be a response to a preceding message"},
		{"result twice", user + `,` + call("1") + `,` + tool("1") + `,` + tool("1"), "", "must be a response"},
		{"results in another order", user + `,` + call("1", "2") + `,` + tool("2") + `,` + tool("1"), "", "must be a response"},
		{"id twice", user + `,` + call("1", "1") + `,` + tool("1") + `,` + tool("1"), "", "must be unique"},
		{"no id", user + `,` + call("") + `,` + tool(""), "", "not empty"},
		{"bad arguments", user + `,` + strings.Replace(call("1"), `"{}"`, `"{"`, 1) + `,` + tool("1"), "", "expected a JSON object"},
		{"bad name in history", user + `,` + strings.Replace(call("1"), `"f"`, `"a.b"`, 1) + `,` + tool("1"), "", "Invalid function name"},
		{"empty user", `{"role":"user","content":" "}`, "", "non-empty"},
		{"no content", `{"role":"user"}`, "", "Invalid value for 'content'"},
		{"no content beside calls", user + `,` + strings.Replace(call("1"), `"content":null,`, "", 1) + `,` + tool("1"), "", "Invalid value for 'content'"},
		{"empty result", user + `,` + call("1") + `,{"role":"tool","tool_call_id":"1","content":""}`, "", "non-empty"},
		{"trailing assistant", user + `,{"role":"assistant","content":"x"}`, "", "prefill"},
		{"two users", user + `,` + user, "", "alternate"},
		{"assistant first", `{"role":"assistant","content":"x"},` + user, "", "alternate"},
		{"strange role", `{"role":"bot","content":"x"}`, "", "Supported values"},
		{"image in a result", user + `,` + call("1") + `,{"role":"tool","tool_call_id":"1","content":[{"type":"image_url","image_url":{"url":"data:x"}}]}`, "", "Image URLs are only allowed"},
		{"tool name", user, fn(`{"name":"a.b","parameters":{"type":"object","properties":{}}}`), "does not match pattern"},
		{"no schema", user, fn(`{"name":"f","parameters":null}`), "Invalid schema"},
		{"required but not defined", user, fn(`{"name":"f","parameters":{"type":"object","properties":{},"required":["x"]}}`), "'x' is not defined"},
		{"stream_options without stream", user, `"stream_options":{},`, "only allowed when"},
		{"no model", user, `"model":"",`, "must provide a model"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := scripted.New(scripted.Sequence(scripted.Say("ok")))
			model := `"model":"m",`
			if strings.Contains(tt.extra, `"model"`) {
				model = ""
			}
			status, body := post(t, s, "/chat/completions", `{`+model+tt.extra+`"messages":[`+tt.messages+`]}`)
			if want := map[bool]int{true: 200, false: 400}[tt.says == ""]; status != want || !strings.Contains(body, tt.says) {
				t.Errorf("status %d %s; want %d with %q", status, body, want, tt.says)
			}
			if n := len(s.Requests()); (n == 1) != (tt.says == "") {
				t.Errorf("%d requests recorded", n)
			}
		})
	}
}

func TestResponsesIsStrict(t *testing.T) {
	const user, call, output = `{"role":"user","content":"hi"}`, `{"type":"function_call","call_id":"1","name":"f","arguments":"{}"}`, `{"type":"function_call_output","call_id":"1","output":"ok"}`
	sealed := `{"type":"reasoning","id":"r1","encrypted_content":"x","summary":[]}`
	tests := []struct{ name, input, says string }{
		{"plain", user, ""},
		{"loop", user + `,` + sealed + `,` + call + `,` + output, ""},
		{"parallel calls", user + `,` + call + `,` + strings.ReplaceAll(call, `"1"`, `"2"`) + `,` + output + `,` + strings.ReplaceAll(output, `"1"`, `"2"`), ""},
		{"unanswered", user + `,` + call, "did not have response"},
		{"orphan", user + `,` + output, "must be a response"},
		{"reasoning by reference", user + `,{"type":"reasoning","id":"r1"},` + call + `,` + output, "not persisted"},
		{"reasoning alone", user + `,` + sealed, "without its required following item"},
		{"reasoning before a result", user + `,` + call + `,` + sealed + `,` + output, "without its required following item"},
		{"strange item", `{"type":"wish"}`, "Invalid value: 'wish'"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := scripted.New(scripted.Sequence(scripted.Say("ok")))
			status, body := post(t, s, "/responses", `{"model":"m","store":false,"input":[`+tt.input+`]}`)
			if want := map[bool]int{true: 200, false: 400}[tt.says == ""]; status != want || !strings.Contains(body, tt.says) {
				t.Errorf("status %d %s; want %d with %q", status, body, want, tt.says)
			}
		})
	}
}

// The real go-openai understands what the server says, over a real connection, streamed and not.
func TestGoOpenAIUnderstands(t *testing.T) {
	s := scripted.New(func(scripted.Request) scripted.Reply {
		return scripted.Say("Hel", "lo").Call("f", map[string]int{"a": 1}).Usage(scripted.Usage{In: 5, Out: 2})
	})
	srv := httptest.NewServer(s)
	defer srv.Close()
	cfg := openai.DefaultConfig("k")
	cfg.BaseURL = srv.URL + "/v1"
	cfg.HTTPClient = srv.Client()
	c := openai.NewClientWithConfig(cfg)
	req := openai.ChatCompletionRequest{Model: "m", Messages: []openai.ChatCompletionMessage{{Role: "user", Content: "hi"}}}

	whole, err := c.CreateChatCompletion(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	m := whole.Choices[0].Message
	if m.Content != "Hello" || len(m.ToolCalls) != 1 || m.ToolCalls[0].Function.Arguments != `{"a":1}` || whole.Usage.PromptTokens != 5 {
		t.Errorf("whole answer %+v", whole)
	}

	stream, err := c.CreateChatCompletionStream(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	text, args := "", ""
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, ch := range r.Choices {
			text += ch.Delta.Content
			for _, tc := range ch.Delta.ToolCalls {
				args += tc.Function.Arguments
			}
		}
	}
	if text != "Hello" || args != `{"a":1}` {
		t.Errorf("streamed %q %q", text, args)
	}

	resp, err := c.CreateResponse(t.Context(), openai.CreateResponseRequest{Model: "m", Input: "hi"})
	if err != nil || resp.GetOutputText() != "Hello" {
		t.Errorf("response %+v, %v", resp, err)
	}
	list, err := c.ListModels(t.Context())
	if err != nil || len(list.Models) != 1 {
		t.Errorf("models %+v, %v", list, err)
	}
}

func TestTransport(t *testing.T) {
	get := func(ctx context.Context, reply scripted.Reply) (*http.Response, error) {
		rt := scripted.Transport(scripted.New(scripted.Sequence(reply)))
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://x/chat/completions", strings.NewReader(`{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`))
		if err != nil {
			return nil, err
		}
		return rt.RoundTrip(req)
	}
	slow := scripted.Say("a").Sleep(time.Hour).Say("b")
	t.Run("streams, and the context ends it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			resp, err := get(ctx, slow)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			start := time.Now()
			b, err := io.ReadAll(resp.Body)
			if !strings.Contains(string(b), `"a"`) || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
				t.Errorf("%s, %v after %s", b, err, time.Since(start))
			}
		})
	})
	t.Run("closing the body ends the handler", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			resp, err := get(t.Context(), slow)
			if err != nil {
				t.Fatal(err)
			}
			if err := resp.Body.Close(); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if d := time.Since(start); d != 0 {
				t.Errorf("closing took %s", d)
			}
		})
	})
	t.Run("abort", func(t *testing.T) {
		resp, err := get(t.Context(), scripted.Say("a").Abort())
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("before the header", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := get(ctx, scripted.Reply{}.Sleep(time.Hour)); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
}

func TestParseReply(t *testing.T) {
	r, err := scripted.ParseReply(`
		# a comment
		think "first\nlook"
		say Good morning, "you".
		say "\nbye"
		call read_file {"path": "a b"}
		call list_files
		usage 12 10 3
		finish length
	`)
	if err != nil {
		t.Fatal(err)
	}
	want := scripted.Think("first\nlook").Say(`Good morning, "you".`, "\nbye").Call("read_file", `{"path": "a b"}`).Call("list_files", "{}").
		Usage(scripted.Usage{In: 12, Cached: 10, Out: 3}).Finish("length")
	play := func(r scripted.Reply) string {
		_, body := post(t, scripted.New(scripted.Sequence(r)), "/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`)
		return body
	}
	if got, want := play(r), play(want); got != want {
		t.Errorf("played\n%s\nwant\n%s", got, want)
	}

	r, err = scripted.ParseReply(`fail 429 Retry-After=7 Slow down, x=1`)
	if err != nil {
		t.Fatal(err)
	}
	rec := httptest.NewRecorder()
	scripted.New(scripted.Sequence(r)).ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/chat/completions", strings.NewReader(`{"model":"m","messages":[{"role":"user","content":"hi"}]}`)))
	if rec.Code != 429 || rec.Header().Get("Retry-After") != "7" || !strings.Contains(rec.Body.String(), "Slow down, x=1") {
		t.Errorf("%d %v %s", rec.Code, rec.Header(), rec.Body)
	}

	for _, bad := range []string{"sing la", "call", "sleep long", "fail x", "fail 200 ok", `say "open`, "usage 1"} {
		if _, err := scripted.ParseReply(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func TestQueueSaysWhenItIsOver(t *testing.T) {
	var q scripted.Queue
	q.Push(scripted.Say("a"))
	s := scripted.New(q.Next)
	for i, want := range []string{"a", `the script has no reply for request 1, whose last words of the user are \"hi\"`} {
		_, body := post(t, s, "/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}]}`)
		if !strings.Contains(body, want) {
			t.Errorf("request %d: %s", i, body)
		}
	}
	if q.Len() != 0 {
		t.Error(fmt.Sprint("left: ", q.Len()))
	}
	if status, _ := post(t, s, "/embeddings", "{}"); status != http.StatusNotFound {
		t.Errorf("unknown path: %d", status)
	}
	if status, _ := post(t, s, "/responses", "{"); status != http.StatusBadRequest {
		t.Errorf("no JSON: %d", status)
	}
}
