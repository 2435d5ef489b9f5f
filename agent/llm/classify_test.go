package llm

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	h := func(kv ...string) http.Header {
		out := http.Header{}
		for i := 0; i < len(kv); i += 2 {
			out.Set(kv[i], kv[i+1])
		}
		return out
	}
	tests := []struct {
		name   string
		header http.Header
		body   string
		want   time.Duration
	}{
		{"nothing", nil, "", 0},
		{"seconds", h("Retry-After", "7"), "", 7 * time.Second},
		{"parts of seconds", h("Retry-After", "1.5"), "", 1500 * time.Millisecond},
		{"milliseconds go first", h("Retry-After", "7", "Retry-After-Ms", "250"), "", 250 * time.Millisecond},
		{"date", h("Retry-After", "Mon, 30 Nov 2026 12:00:30 GMT"), "", 30 * time.Second},
		{"date gone by", h("Retry-After", "Mon, 30 Nov 2026 11:00:30 GMT"), "", 0},
		{"negative, NaN, huge", h("Retry-After", "-1"), "", 0},
		{"not a number", h("Retry-After", "NaN"), "", 0},
		{"huge", h("Retry-After", "1e300"), "", 24 * time.Hour},
		{"used up window", h("X-Ratelimit-Remaining-Tokens", "0", "X-Ratelimit-Reset-Tokens", "6m0s", "X-Ratelimit-Remaining-Requests", "5", "X-Ratelimit-Reset-Requests", "9m"), "", 6 * time.Minute},
		{"Azure's -1", h("X-Ratelimit-Remaining-Tokens", "-1", "X-Ratelimit-Reset-Tokens", "0"), "", 0},
		{"Anthropic's date", h("Anthropic-Ratelimit-Requests-Remaining", "3", "Anthropic-Ratelimit-Requests-Reset", "2026-11-30T12:09:00Z", "Anthropic-Ratelimit-Tokens-Remaining", "0", "Anthropic-Ratelimit-Tokens-Reset", "2026-11-30T12:02:00Z"), "", 2 * time.Minute},
		{"Anthropic's latest date", h("Anthropic-Ratelimit-Input-Tokens-Remaining", "0", "Anthropic-Ratelimit-Input-Tokens-Reset", "2026-11-30T12:00:09Z", "Anthropic-Ratelimit-Output-Tokens-Remaining", "0", "Anthropic-Ratelimit-Output-Tokens-Reset", "2026-11-30T12:00:05Z"), "", 9 * time.Second},
		{"Anthropic's date gone by", h("Anthropic-Ratelimit-Requests-Remaining", "0", "Anthropic-Ratelimit-Requests-Reset", "2026-11-30T11:59:00Z"), "", 0},
		{"Anthropic's date far away", h("Anthropic-Ratelimit-Requests-Remaining", "0", "Anthropic-Ratelimit-Requests-Reset", "2999-01-01T00:00:00Z"), "", 24 * time.Hour},
		{"Retry-After goes before windows", h("Retry-After", "3", "Anthropic-Ratelimit-Requests-Remaining", "0", "Anthropic-Ratelimit-Requests-Reset", "2026-11-30T12:09:00Z"), "", 3 * time.Second},
		{"in words", nil, "Please try again in 7.66s. Visit", 7660 * time.Millisecond},
		{"in words, minutes", nil, "Please try again in 1m30s", 90 * time.Second},
		{"Google", nil, `{"retryDelay": "17s"}`, 17 * time.Second},
	}
	for _, tt := range tests {
		if got := retryAfter(tt.header, []byte(tt.body), now); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestWindowIn(t *testing.T) {
	tests := map[string]int{
		`{"error":{"n_prompt_tokens":9000,"n_ctx":8192}}`:                                                         8192,
		"This model's maximum context length is 128,000 tokens. However, your messages resulted in 130000 tokens": 128000,
		"prompt is too long: 215000 tokens > 200000 maximum":                                                      200000,
		"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).":                 1048576,
		"This model's maximum prompt length is 131072 but the request contains 537812 tokens.":                    131072,
		"Prompt contains 40000 tokens, too large for model with 32768 maximum context length":                     32768,
		"Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)":                    262144,
		"the request exceeds the available context size (4096 tokens)":                                            4096,
		"context_length_exceeded":                         0,
		"maximum context length is 12":                    0,
		"maximum context length is 999999999999999999999": 0,
	}
	for text, want := range tests {
		if got := windowIn(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func TestGeminiSchema(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"no schema", ``, `{"type":"object","properties":{}}`},
		{"not an object", `true`, `{"type":"object","properties":{}}`},
		{
			"unknown keywords", `{"type":"object","properties":{"a":{"type":"array","uniqueItems":true,"items":{"type":"string","const":"x","propertyNames":{}}}},"patternProperties":{}}`,
			`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","enum":["x"]}}}}`,
		},
		{
			"exclusive bounds", `{"type":"object","properties":{"i":{"type":"integer","exclusiveMinimum":0,"exclusiveMaximum":10},"f":{"type":"number","exclusiveMinimum":0.5},"d4":{"type":"number","exclusiveMinimum":true,"minimum":1}}}`,
			`{"type":"object","properties":{"i":{"type":"integer","minimum":1,"maximum":9},"f":{"type":"number","minimum":0.5},"d4":{"type":"number","minimum":1}}}`,
		},
		{
			"types and null", `{"type":"object","properties":{"a":{"type":["null","string"]},"b":{"type":["string","integer"]}}}`,
			`{"type":"object","properties":{"a":{"type":"string","nullable":true},"b":{"type":"string"}}}`,
		},
		{
			"references", `{"type":"object","properties":{"a":{"$ref":"#/$defs/A","description":"mine"}},"$defs":{"A":{"type":"object","properties":{"x":{"type":"string"}}}}}`,
			`{"type":"object","properties":{"a":{"type":"object","description":"mine","properties":{"x":{"type":"string"}}}}}`,
		},
		{
			"formats and number enums", `{"type":"object","properties":{"u":{"type":"string","format":"uri"},"t":{"type":"string","format":"date-time"},"n":{"type":"integer","enum":[1,2]}}}`,
			`{"type":"object","properties":{"u":{"type":"string"},"t":{"type":"string","format":"date-time"},"n":{"type":"integer"}}}`,
		},
		{
			"oneOf", `{"type":"object","properties":{"a":{"oneOf":[{"type":"string","$comment":"x"},true]}}}`,
			`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"}]}}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got, want any
			if err := json.Unmarshal(schemaFor(json.RawMessage(tt.in), true), &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
	endless := `{"type":"object","properties":{"a":{"$ref":"#"},"b":{"$ref":"#/properties/b"}}}`
	laughs := `{"type":"object","properties":{"a":{"$ref":"#"},"b":{"$ref":"#"},"c":{"$ref":"#"},"d":{"$ref":"#"},"e":{"$ref":"#"},"f":{"$ref":"#"}}}`
	if out := schemaFor(json.RawMessage(laughs), true); len(out) > 1<<20 || !json.Valid(out) {
		t.Errorf("multiplying references made %d bytes", len(out))
	}
	if out := schemaFor(json.RawMessage(endless), true); strings.Contains(string(out), "$ref") || !json.Valid(out) {
		t.Errorf("recursive schema: %.200s", out)
	}
}

func FuzzClassify(f *testing.F) {
	f.Add(429, []byte(`{"error":{"message":"try again in 1e999s","code":429}}`))
	f.Add(200, []byte(`[{"error":null}]`))
	f.Add(0, []byte(`{"object":"error","detail":["x"]}`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		e := classify(&Model{Name: "m", APIKey: "verysecretkey"}, status, nil, body)
		if e.After < 0 || e.Window < 0 || len([]rune(e.Message)) > 400 || strings.ContainsAny(e.Message, "\n\x00") || strings.Contains(e.Error(), "verysecretkey") {
			t.Fatalf("%+v", e)
		}
	})
}
