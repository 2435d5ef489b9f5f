package llm_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"nod/agent/llm"
	"nod/agent/llm/scripted"
)

// serve is a service that gives every request one raw answer.
type serve struct {
	status int
	typ    string // "" is text/event-stream
	header map[string]string
	body   string
}

func (s serve) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	if s.typ != "" {
		w.Header().Set("Content-Type", s.typ)
	}
	for k, v := range s.header {
		w.Header().Set(k, v)
	}
	if s.status != 0 {
		w.WriteHeader(s.status)
	}
	_, _ = io.WriteString(w, s.body)
}

// once asks h a single time, without retries.
func once(t *testing.T, h http.Handler, m llm.Model) (llm.Answer, []llm.Delta, *llm.Error) {
	t.Helper()
	m.Name, m.BaseURL = "m", "http://model.test/v1"
	c, err := llm.New(llm.Options{Models: []llm.Model{m}, Transport: scripted.Transport(h), Tries: 1})
	if err != nil {
		t.Fatal(err)
	}
	var deltas []llm.Delta
	a, err := c.Stream(t.Context(), llm.Request{Messages: []llm.Message{user("x")}}, func(d llm.Delta) { deltas = append(deltas, d) })
	if err == nil {
		return a, deltas, nil
	}
	fault, ok := errors.AsType[*llm.Error](err)
	if !ok {
		t.Fatalf("error is a %T, want *llm.Error: %v", err, err)
	}
	return a, deltas, fault
}

// frame is a chat completion frame with a delta and, unless "", a finish reason.
func frame(delta, finish string) string {
	f := "null"
	if finish != "" {
		f = `"` + finish + `"`
	}
	return `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + f + "}]}\n\n"
}

const done = "data: [DONE]\n\n"

var ignoreWire = cmpopts.IgnoreFields(llm.Answer{}, "Wire", "Model")

// The rows of the table of what services do and go-openai makes of it.
func TestServiceBehaviour(t *testing.T) {
	hi, stop := frame(`{"content":"hi"}`, ""), frame(`{}`, "stop")
	plain := llm.Answer{Text: "hi", Finish: llm.FinishStop}
	cut := llm.Answer{Text: "hi", Truncated: true}
	calls := func(c ...llm.Call) llm.Answer { return llm.Answer{Calls: c, Finish: llm.FinishCalls} }
	tests := []struct {
		name  string
		serve serve
		want  llm.Answer
		kind  llm.Kind // with says
		says  string   // the error holds it; "" means no error
	}{
		{name: "ok", serve: serve{body: hi + stop + done}, want: plain},
		{name: "no DONE after finish_reason", serve: serve{body: hi + stop}, want: plain},
		{name: "MODEL-4 closes after one chunk", serve: serve{body: hi}, want: cut, kind: llm.KindTruncated, says: "ended before"},
		{name: "MODEL-4 DONE without finish_reason", serve: serve{body: hi + done}, want: cut, kind: llm.KindTruncated, says: "ended before"},
		{
			name: "last line without newline", serve: serve{body: hi + strings.TrimRight(frame(`{"content":" LAST"}`, "stop"), "\n")},
			want: llm.Answer{Text: "hi LAST", Finish: llm.FinishStop},
		},
		{
			name: "error frame", serve: serve{body: hi + "data: {\"error\":{\"message\":\"boom\",\"code\":500}}\n\n"},
			want: cut, kind: llm.KindUnavailable, says: "(HTTP 500): boom",
		},
		{
			name:  "MODEL-5 error frame after a comment",
			serve: serve{body: ": OPENROUTER PROCESSING\n\n" + hi + "data: {\"error\":{\"message\":\"boom\",\"code\":502}}\n\n"},
			want:  cut, kind: llm.KindUnavailable, says: "(HTTP 502): boom",
		},
		{
			name:  "MODEL-5 error frame after an event line",
			serve: serve{body: "event: error\ndata: {\"error\":{\"message\":\"boom\",\"code\":\"server_error\"}}\n\n"},
			want:  llm.Answer{Truncated: true}, kind: llm.KindUnavailable, says: "boom",
		},
		{
			name: "error frame with a space", serve: serve{body: hi + "data: { \"error\": {\"message\":\"boom\"}}\n\n" + done},
			want: cut, kind: llm.KindUnavailable, says: "boom",
		},
		{
			name:  "error not the first key",
			serve: serve{body: hi + `data: {"id":"g","error":{"code":429,"message":"Provider busy"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}` + "\n\n" + done},
			want:  cut, kind: llm.KindRateLimited, says: "Provider busy",
		},
		{
			name: "finish_reason error and nothing else", serve: serve{body: hi + frame(`{}`, "error") + done},
			want: llm.Answer{Text: "hi"}, kind: llm.KindUnavailable, says: "ended the answer with an error",
		},
		{name: "error is a string", serve: serve{body: hi + "data: {\"error\":\"boom string\"}\n\n"}, want: cut, kind: llm.KindUnavailable, says: "boom string"},
		{name: "error without message", serve: serve{body: hi + "data: {\"error\":{\"code\":\"x\"}}\n\n"}, want: cut, kind: llm.KindUnavailable, says: `{"code":"x"}`},
		{
			name: "the word error in text", serve: serve{body: frame(`{"content":"\"error\": none"}`, "stop")},
			want: llm.Answer{Text: `"error": none`, Finish: llm.FinishStop},
		},
		{
			name: "200 with a JSON error", serve: serve{typ: "application/json", body: `{"error":{"message":"json boom","code":429}}`},
			kind: llm.KindRateLimited, says: "json boom",
		},
		{
			name:  "200 with a whole completion",
			serve: serve{typ: "application/json", body: `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"full"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`},
			want:  llm.Answer{Text: "full", Finish: llm.FinishStop, Usage: llm.Usage{In: 3, Out: 1}},
		},
		{
			name: "200 with a whole completion and no finish_reason", serve: serve{typ: "application/json", body: `{"choices":[{"message":{"content":"full"}}]}`},
			want: llm.Answer{Text: "full", Finish: llm.FinishStop},
		},
		{
			name: "200 with HTML", serve: serve{typ: "text/html", body: "<html><head><title>x</title></head>\n<body>captive portal</body></html>"},
			kind: llm.KindUnavailable, says: "got text/html instead of an event stream: captive portal",
		},
		{name: "151 comments in a row", serve: serve{body: strings.Repeat(": ping\n\n", 151) + hi + stop + done}, want: plain},
		{
			name:  "arguments as an object",
			serve: serve{body: frame(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":{"a":1}}}]}`, "tool_calls") + done},
			want:  calls(llm.Call{ID: "c1", Name: "f", Args: `{"a":1}`}),
		},
		{
			name:  "MODEL-3 calls without an index, finish_reason stop",
			serve: serve{body: frame(`{"tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{}"}},{"id":"c2","function":{"name":"g","arguments":"{}"}}]}`, "stop") + done},
			want:  calls(llm.Call{ID: "c1", Name: "f", Args: "{}"}, llm.Call{ID: "c2", Name: "g", Args: "{}"}),
		},
		{
			name:  "complete calls without finish_reason",
			serve: serve{body: frame(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":"{}"}}]}`, "")},
			want:  calls(llm.Call{ID: "c1", Name: "f", Args: "{}"}),
		},
		{
			name:  "content as a list",
			serve: serve{body: frame(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}`, "") + frame(`{"content":[{"type":"text","text":"hi"}]}`, "stop")},
			want:  plain,
		},
		{name: "float and string where an int is due", serve: serve{body: `data: {"created":1.7e9,"choices":[{"index":"0","delta":{"content":"hi"},"finish_reason":"stop"}]}` + "\n\n"}, want: plain},
		{
			name: "MODEL-6 choices null, missing, empty; null frame; content null",
			serve: serve{body: "data: {\"choices\":null}\n\ndata: {}\n\ndata: null\n\n" + frame(`{"content":null}`, "") + hi + stop +
				`data: {"choices":[],"usage":{"prompt_tokens":10.0,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":8}}}` + "\n\n" + done},
			want: llm.Answer{Text: "hi", Finish: llm.FinishStop, Usage: llm.Usage{In: 10, Cached: 8, Out: 2}},
		},
		{name: "CRLF and no space after data:", serve: serve{body: strings.ReplaceAll(strings.ReplaceAll(hi+stop+done, "data: ", "data:"), "\n", "\r\n")}, want: plain},
		{name: "no blank line between frames", serve: serve{body: strings.ReplaceAll(hi+stop+done, "\n\n", "\n")}, want: plain},
		{name: "a frame over several data lines", serve: serve{body: "data: {\"choices\":[{\"index\":0,\ndata: \"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\n"}, want: plain},
		{
			name: "a line longer than the reader's buffer", serve: serve{body: frame(`{"content":"`+strings.Repeat("long ", 20_000)+`"}`, "stop")},
			want: llm.Answer{Text: strings.Repeat("long ", 20_000), Finish: llm.FinishStop},
		},
		{name: "a second choice", serve: serve{body: hi + `data: {"choices":[{"index":1,"delta":{"content":"other"}}]}` + "\n\n" + stop}, want: plain},
		{name: "a frame that is not JSON", serve: serve{body: hi + "data: {\"choices\"\n\n"}, want: cut, kind: llm.KindUnavailable, says: "not JSON"},
		{
			name:  "usage extras of DeepSeek and OpenRouter",
			serve: serve{body: hi + stop + `data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"prompt_cache_hit_tokens":8,"cost":0.1}}` + "\n\n"},
			want:  llm.Answer{Text: "hi", Finish: llm.FinishStop, Usage: llm.Usage{In: 10, Cached: 8, Out: 2, USD: 0.1}},
		},
		{name: "length", serve: serve{body: frame(`{"content":"hi"}`, "length")}, want: llm.Answer{Text: "hi", Finish: llm.FinishLength}},
		{name: "content filter", serve: serve{body: frame(`{"content":"hi"}`, "content_filter")}, want: llm.Answer{Text: "hi", Finish: llm.FinishFilter}},
		{name: "refusal", serve: serve{body: frame(`{"refusal":"no"}`, "stop")}, want: llm.Answer{Text: "no", Finish: llm.FinishStop}},
		{name: "a finish_reason of its own", serve: serve{body: hi + frame(`{}`, "eos_token")}, want: plain},
		{
			name: "MODEL-6 nothing at all", serve: serve{body: frame(`{"content":null}`, "stop") + done},
			want: llm.Answer{Finish: llm.FinishStop, Empty: true},
		},
		{
			name: "redirect", serve: serve{status: 302, header: map[string]string{"Location": "http://elsewhere.test/?key=1"}},
			kind: llm.KindNotFound, says: "redirects",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, _, err := once(t, tt.serve, llm.Model{})
			if d := cmp.Diff(tt.want, a, ignoreWire); d != "" {
				t.Error(d)
			}
			switch {
			case tt.says == "" && err != nil:
				t.Errorf("error %v", err)
			case tt.says != "" && err == nil:
				t.Errorf("no error, want %q", tt.says)
			case err != nil && (err.Kind != tt.kind || !strings.Contains(err.Error(), tt.says)):
				t.Errorf("got kind %d %v, want kind %d with %q", err.Kind, err, tt.kind, tt.says)
			}
		})
	}
}

// The rows of the table of refusals.
func TestServiceErrors(t *testing.T) {
	tests := []struct {
		name  string
		serve serve
		want  llm.Error
	}{
		{
			name: "429 with Retry-After",
			serve: serve{
				status: 429, header: map[string]string{"Retry-After": "7", "X-Ratelimit-Remaining-Requests": "0"},
				body: `{"error":{"message":"slow","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`,
			},
			want: llm.Error{Kind: llm.KindRateLimited, Status: 429, Message: "slow", After: 7 * time.Second},
		},
		{
			name: "429 insufficient_quota", serve: serve{status: 429, body: `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}`},
			want: llm.Error{Kind: llm.KindQuota, Status: 429, Message: "You exceeded your current quota, please check your plan and billing details."},
		},
		{
			name: "402", serve: serve{status: 402, body: `{"error":{"code":402,"message":"Insufficient credits"}}`},
			want: llm.Error{Kind: llm.KindQuota, Status: 402, Message: "Insufficient credits"},
		},
		{
			name: "Gemini's list", serve: serve{status: 400, body: `[{"error":{"code":400,"message":"bad","status":"INVALID_ARGUMENT"}}]`},
			want: llm.Error{Kind: llm.KindBadRequest, Status: 400, Message: "bad"},
		},
		{
			name: "HTML", serve: serve{status: 502, typ: "text/html", body: "<html><style>b{}</style>bad <b>gateway</b></html>"},
			want: llm.Error{Kind: llm.KindUnavailable, Status: 502, Message: "bad gateway"},
		},
		{
			name: "a string", serve: serve{status: 404, body: `{"error":"model 'x' not found"}`},
			want: llm.Error{Kind: llm.KindNotFound, Status: 404, Message: "model 'x' not found"},
		},
		{
			name: "FastAPI", serve: serve{status: 422, body: `{"detail":"Unprocessable"}`},
			want: llm.Error{Kind: llm.KindBadRequest, Status: 422, Message: "Unprocessable"},
		},
		{
			name: "flat, as by vLLM", serve: serve{status: 400, body: `{"object":"error","message":"This model's maximum context length is 8192 tokens.","type":"BadRequestError","param":null,"code":400}`},
			want: llm.Error{Kind: llm.KindOverflow, Status: 400, Message: "This model's maximum context length is 8192 tokens.", Window: 8192},
		},
		{
			name: "llama.cpp", serve: serve{status: 400, body: `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":4096}}`},
			want: llm.Error{Kind: llm.KindOverflow, Status: 400, Message: "the request exceeds the available context size", Window: 4096},
		},
		{
			name: "llama.cpp as a 500", serve: serve{status: 500, body: `{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}`},
			want: llm.Error{Kind: llm.KindOverflow, Status: 500, Message: "Context size has been exceeded."},
		},
		{
			name: "llama.cpp's assistant messages", serve: serve{status: 400, body: `{"error":{"code":400,"message":"Cannot have 2 or more assistant messages at the end of the list.","type":"invalid_request_error"}}`},
			want: llm.Error{Kind: llm.KindBadRequest, Status: 400, Message: "Cannot have 2 or more assistant messages at the end of the list."},
		},
		{
			name: "llama.cpp's template as a 500 fails again", serve: serve{status: 500, body: `{"error":{"code":500,"message":"Error: Jinja Exception: System message must be at the beginning.","type":"server_error"}}`},
			want: llm.Error{Kind: llm.KindBadRequest, Status: 500, Message: "Error: Jinja Exception: System message must be at the beginning."},
		},
		{
			name: "llama.cpp's template as a 400", serve: serve{status: 400, body: `{"error":{"code":400,"message":"Jinja Exception: Conversation roles must alternate","type":"invalid_request_error"}}`},
			want: llm.Error{Kind: llm.KindBadRequest, Status: 400, Message: "Jinja Exception: Conversation roles must alternate"},
		},
		{
			name: "GLM's 1214", serve: serve{status: 400, body: `{"error":{"code":"1214","message":"The messages parameter is illegal. Please check the documentation."}}`},
			want: llm.Error{Kind: llm.KindBadRequest, Status: 400, Message: "The messages parameter is illegal. Please check the documentation."},
		},
		{
			name: "Anthropic's window", serve: serve{
				status: 429, header: map[string]string{"Anthropic-Ratelimit-Requests-Remaining": "0", "Anthropic-Ratelimit-Requests-Reset": "2999-01-01T00:00:00Z"},
				body: `{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`,
			},
			want: llm.Error{Kind: llm.KindRateLimited, Status: 429, Message: "slow", After: 24 * time.Hour},
		},
		{
			name: "Anthropic's overflow", serve: serve{status: 400, body: `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 215000 tokens > 200000 maximum"}}`},
			want: llm.Error{Kind: llm.KindOverflow, Status: 400, Message: "prompt is too long: 215000 tokens > 200000 maximum", Window: 200000},
		},
		{
			name: "rate limit that sounds like overflow", serve: serve{status: 429, body: `{"error":{"message":"Request too large: tokens per minute (TPM) limit 30000; reduce the length of the messages. Please try again in 1.5s."}}`},
			want: llm.Error{
				Kind: llm.KindRateLimited, Status: 429, After: 1500 * time.Millisecond,
				Message: "Request too large: tokens per minute (TPM) limit 30000; reduce the length of the messages. Please try again in 1.5s.",
			},
		},
		{
			name: "param is no string", serve: serve{status: 400, body: `{"error":{"message":"m","type":"t","param":{"a":1},"code":"c"}}`},
			want: llm.Error{Kind: llm.KindBadRequest, Status: 400, Message: "m"},
		},
		{name: "500, empty", serve: serve{status: 500}, want: llm.Error{Kind: llm.KindUnavailable, Status: 500}},
		{
			name: "529", serve: serve{status: 529, body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`},
			want: llm.Error{Kind: llm.KindUnavailable, Status: 529, Message: "Overloaded"},
		},
		{
			name: "401 that quotes the key", serve: serve{status: 401, body: `{"error":{"message":"Incorrect API key provided: key-of-mine. See https://x.test/?k=key-of-mine","code":"invalid_api_key"}}`},
			want: llm.Error{Kind: llm.KindAuth, Status: 401, Message: "Incorrect API key provided: [redacted]. See https://x.test/"},
		},
		{
			name: "OpenRouter quotes the service behind it", serve: serve{status: 400, body: `{"error":{"code":400,"message":"Provider returned error","metadata":{"raw":"tools are broken"}}}`},
			want: llm.Error{Kind: llm.KindBadRequest, Status: 400, Message: "Provider returned error: tools are broken"},
		},
		{
			name: "Groq's tool_use_failed may work next time", serve: serve{status: 400, body: `{"error":{"message":"Failed to call a function.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"x"}}`},
			want: llm.Error{Kind: llm.KindUnavailable, Status: 400, Message: "Failed to call a function."},
		},
		{
			name: "400 model_not_found", serve: serve{status: 400, body: `{"error":{"message":"no","code":"model_not_found"}}`},
			want: llm.Error{Kind: llm.KindNotFound, Status: 400, Message: "no"},
		},
		{
			name: "413", serve: serve{status: 413, typ: "text/html", body: "<h1>413 Request Entity Too Large</h1>"},
			want: llm.Error{Kind: llm.KindOverflow, Status: 413, Message: "413 Request Entity Too Large"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := once(t, tt.serve, llm.Model{APIKey: "key-of-mine"})
			if err == nil {
				t.Fatal("no error")
			}
			tt.want.Model = "m"
			if d := cmp.Diff(tt.want, *err, cmpopts.IgnoreUnexported(llm.Error{})); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestResponsesEvents(t *testing.T) {
	message := `{"id":"m1","type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}`
	call := `{"id":"f1","type":"function_call","call_id":"c1","name":"f","arguments":"{\"a\":1}"}`
	ev := func(s string) string { return "event: x\ndata: " + s + "\n\n" }
	tests := []struct {
		name, body, says string
		kind             llm.Kind
		want             llm.Answer
	}{
		{
			name: "text and usage",
			body: ev(`{"type":"response.output_text.delta","delta":"hi"}`) +
				ev(`{"type":"response.completed","response":{"error":null,"output":[`+message+`],"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":2}}}}`),
			want: llm.Answer{Text: "hi", Finish: llm.FinishStop, Usage: llm.Usage{In: 9, Cached: 4, Out: 3, Reasoning: 2}},
		},
		{
			name: "only the whole response", body: ev(`{"type":"response.completed","response":{"output":[` + message + `,` + call + `]}}`),
			want: llm.Answer{Text: "hi", Finish: llm.FinishCalls, Calls: []llm.Call{{ID: "c1", Name: "f", Args: `{"a":1}`}}},
		},
		{
			name: "no output in the last event",
			body: ev(`{"type":"response.output_item.added","output_index":0,"item":{"id":"f1","type":"function_call","call_id":"c1","name":"f","arguments":""}}`) +
				ev(`{"type":"response.function_call_arguments.delta","item_id":"f1","delta":"{\"a\""}`) + ev(`{"type":"response.function_call_arguments.delta","item_id":"f1","delta":":1}"}`) +
				ev(`{"type":"response.completed","response":{"output":[]}}`),
			want: llm.Answer{Finish: llm.FinishCalls, Calls: []llm.Call{{ID: "c1", Name: "f", Args: `{"a":1}`}}},
		},
		{
			name: "MODEL-2 incomplete in a call",
			body: ev(`{"type":"response.output_item.added","item":{"id":"f1","type":"function_call","call_id":"c1","name":"f","arguments":""}}`) +
				ev(`{"type":"response.function_call_arguments.delta","item_id":"f1","delta":"{\"a\":\"b"}`) +
				ev(`{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"},"output":[]}}`),
			want: llm.Answer{Finish: llm.FinishLength, Calls: []llm.Call{{ID: "c1", Name: "f", Args: `{"a":"b`, Problem: "the arguments were cut off before their end; send the call again, with shorter arguments if they are long"}}},
		},
		{
			name: "MODEL-4 cut", body: ev(`{"type":"response.output_text.delta","delta":"hi"}`),
			want: llm.Answer{Text: "hi", Truncated: true}, kind: llm.KindTruncated, says: "ended before",
		},
		{
			name: "failed", body: ev(`{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"slow"}}}`),
			want: llm.Answer{Truncated: true}, kind: llm.KindRateLimited, says: "slow",
		},
		{
			name: "failed without a reason", body: ev(`{"type":"response.failed","response":{}}`),
			want: llm.Answer{Truncated: true}, kind: llm.KindUnavailable, says: "did not say why",
		},
		{
			name: "error event", body: ev(`{"type":"error","code":"server_error","message":"boom","param":null}`),
			want: llm.Answer{Truncated: true}, kind: llm.KindUnavailable, says: "boom",
		},
		{
			name: "refusal", body: ev(`{"type":"response.refusal.delta","delta":"no"}`) + ev(`{"type":"response.completed","response":{"output":[]}}`),
			want: llm.Answer{Text: "no", Finish: llm.FinishStop},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, _, err := once(t, serve{body: tt.body}, llm.Model{Wire: llm.WireResponses})
			if d := cmp.Diff(tt.want, a, ignoreWire); d != "" {
				t.Error(d)
			}
			if tt.says == "" && err != nil || tt.says != "" && (err == nil || err.Kind != tt.kind || !strings.Contains(err.Error(), tt.says)) {
				t.Errorf("error %v, want kind %d with %q", err, tt.kind, tt.says)
			}
		})
	}
	t.Run("not streamed", func(t *testing.T) {
		a, _, err := once(t, serve{typ: "application/json", body: `{"object":"response","status":"completed","output":[` + message + `]}`}, llm.Model{Wire: llm.WireResponses})
		if d := cmp.Diff(llm.Answer{Text: "hi", Finish: llm.FinishStop}, a, ignoreWire); d != "" || err != nil {
			t.Error(d, err)
		}
	})
}
