package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// complaint is what a service says went wrong, whatever shape it says it in.
type complaint struct {
	message, code, kind string
	status              int // stated inside the body; 0 if not
}

// parseComplaint reads an error body or stream frame in the shapes seen with OpenAI and its imitators: an "error"
// member that is an object or a string, Gemini's list of one, the flat form of Mistral and old vLLM, FastAPI's
// "detail". ok is false when b is none of them.
func parseComplaint(b []byte) (c complaint, ok bool) {
	b = bytes.TrimSpace(b)
	if len(b) > 0 && b[0] == '[' {
		var list []json.RawMessage
		if json.Unmarshal(b, &list) != nil || len(list) == 0 {
			return c, false
		}
		b = list[0]
	}
	var top map[string]json.RawMessage
	if json.Unmarshal(b, &top) != nil {
		return c, false
	}
	raw := top["error"]
	switch {
	case isSet(raw):
	case rawString(top["object"]) == "error", rawString(top["type"]) == "error":
		raw = b
	case isSet(top["detail"]) && !isSet(top["choices"]):
		raw = top["detail"]
	default:
		return c, false
	}
	if s := rawString(raw); s != "" {
		return complaint{message: s}, true
	}
	var e map[string]json.RawMessage
	if json.Unmarshal(raw, &e) != nil {
		return complaint{message: string(raw)}, true
	}
	c = complaint{
		message: cmp.Or(rawString(e["message"]), rawString(e["msg"]), rawString(e["detail"])),
		code:    rawString(e["code"]),
		kind:    cmp.Or(rawString(e["type"]), rawString(e["status"])),
	}
	if n, err := strconv.Atoi(string(e["code"])); err == nil {
		c.code = strconv.Itoa(n)
		if n >= 400 && n < 600 {
			c.status = n
		}
	}
	var meta struct{ Raw string }
	if json.Unmarshal(e["metadata"], &meta) == nil && meta.Raw != "" { // OpenRouter quotes the service behind it
		c.message += ": " + meta.Raw
	}
	if strings.TrimSpace(c.message) == "" {
		c.message = string(raw)
	}
	return c, true
}

func isSet(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

func rawString(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// classify turns a refusal into an Error. status 0 means that it came inside a stream without one; body is the whole
// text, as numbers hide in vendors' own fields.
func classify(m *Model, status int, h http.Header, body []byte) *Error {
	c, ok := parseComplaint(body)
	if !ok {
		c.message = plainText(body)
	}
	if c.status != 0 && status < 400 {
		status = c.status
	}
	all := strings.ToLower(c.message + " " + c.code + " " + c.kind)
	e := &Error{Model: m.Name, Status: status, Message: redact(c.message, m.secrets(), 400)}
	e.Kind = kindOf(status, c, all)
	switch e.Kind {
	case KindOverflow:
		e.Window = windowIn(string(body))
	case KindRateLimited, KindUnavailable:
		e.After = retryAfter(h, body, time.Now())
	case KindBadRequest, KindNotFound:
		e.fix = remedy(all)
	}
	return e
}

func kindOf(status int, c complaint, all string) Kind {
	switch {
	case overflows(status, all):
		return KindOverflow
	case hasAny(all, "insufficient_quota", "exceeded your current quota", "billing_hard_limit", "credit balance is too low", "insufficient balance"):
		return KindQuota
	case c.code == "tool_use_failed": // Groq: the model wrote its own dialect; the next try mostly works
		return KindUnavailable
	case strings.Contains(all, "jinja exception"): // llama.cpp, with 500 too: the same messages fail in its template again
		return KindBadRequest
	case status == 400 && (c.code == "model_not_found" || hasAny(all, "unknown model", "invalid model", "model not found")):
		return KindNotFound
	}
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return KindAuth
	case http.StatusPaymentRequired:
		return KindQuota
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return KindNotFound
	case http.StatusTooManyRequests:
		return KindRateLimited
	case 0, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly:
		switch {
		case hasAny(all, "rate_limit", "rate limit"):
			return KindRateLimited
		case status == 0 && c.kind == "invalid_request_error":
			return KindBadRequest
		}
		return KindUnavailable
	}
	if status >= 500 {
		return KindUnavailable
	}
	return KindBadRequest
}

// Phrases with which services say that the context is too long, and those that only sound like it.
var (
	overflowPhrases = []string{
		"context_length_exceeded", "exceed_context_size", "maximum context length", "context length", "context window",
		"prompt is too long", "prompt too long", "input is too long", "input token count", "too many input tokens",
		"reduce the length of the messages", "exceeds the available context size", "exceeded model token limit",
		"greater than the context length", "maximum prompt length", "too large for model with",
		"context size has been exceeded", "request entity too large", "model_context_window_exceeded",
	}
	overflowVetoes = []string{"rate limit", "too many requests", "quota", "tokens per minute"}
)

func overflows(status int, all string) bool {
	switch status {
	case 0, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusInternalServerError:
		return !hasAny(all, overflowVetoes...) && (hasAny(all, overflowPhrases...) || status == http.StatusRequestEntityTooLarge)
	}
	return false
}

func hasAny(s string, phrases ...string) bool {
	for _, p := range phrases {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}

// windowShapes are ways in which an overflow error states the window (llama.cpp, OpenAI and vLLM, Anthropic, Gemini, xAI,
// Mistral, Kimi). Few programs ever meet one.
var windowShapes = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`"n_ctx"\s*:\s*(\d+)`),
		regexp.MustCompile(`(?i)maximum (?:context|prompt) length (?:is|of) ([\d,]+)`),
		regexp.MustCompile(`> ([\d,]+) maximum`),
		regexp.MustCompile(`(?i)maximum number of tokens allowed \(?([\d,]+)`),
		regexp.MustCompile(`(?i)too large for model with ([\d,]+)`),
		regexp.MustCompile(`(?i)exceeded model token limit:? ([\d,]+)`),
		regexp.MustCompile(`(?i)context (?:size|length|window)(?: of| is)? \(?([\d,]+)`),
	}
})

func windowIn(s string) int {
	for _, re := range windowShapes() {
		if m := re.FindStringSubmatch(s); m != nil {
			if n, err := strconv.Atoi(strings.ReplaceAll(m[1], ",", "")); err == nil && n >= 256 {
				return n
			}
		}
	}
	return 0
}

// remedy reads from a refusal what to write differently. Sources of the texts: OpenAI for the wire and max_tokens,
// Mistral for the ids, Gemini's compatible endpoint for schemas, DeepSeek and Kimi for reasoning.
func remedy(all string) quirk {
	refused := hasAny(all, "unsupported", "not supported", "unknown", "unrecognized", "extra", "not permitted", "unexpected", "not allowed")
	switch {
	case hasAny(all, "/v1/responses", "v1/responses", "responses api") && hasAny(all, "chat/completions", "chat completions", "function tools", "tool"):
		return quirkResponses
	case strings.Contains(all, "stream_options"):
		return quirkNoStreamOpts
	case strings.Contains(all, "max_completion_tokens"):
		return quirkMaxCompletion
	case hasAny(all, "tool call id", "tool_call_id", "tool_call.id") && strings.Contains(all, "length of 9"):
		return quirkShortIDs
	case refused && strings.Contains(all, "function_declarations"):
		return quirkGemini
	case strings.Contains(all, "reasoning_content") && hasAny(all, "missing", "must be passed", "required", "must be provided"):
		return quirkNeedReasoning
	case refused && hasAny(all, "reasoning_content", "reasoning_details", "'reasoning'", "extra_content"):
		return quirkNoReasoning
	}
	return 0
}

var tagShape = regexp.MustCompile(`(?s)<(?:script|style|head)\b.*?</(?:script|style|head)>|<[^>]*>`)

// plainText makes an HTML or other error page readable.
func plainText(body []byte) string {
	return strings.Join(strings.Fields(tagShape.ReplaceAllString(string(body[:min(len(body), 4096)]), " ")), " ")
}
