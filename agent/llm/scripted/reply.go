package scripted

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Reply is what the model does with one request. Build it with Say, Think, Call, Fail or Raw and the methods of the
// same names, which add to a copy.
type Reply struct {
	steps  []step
	usage  *Usage
	finish string
	fault  *fault
}

// Usage is reported at the end of an answer.
type Usage struct{ In, Cached, Out int }

type stepKind int

const (
	stepText stepKind = iota
	stepThink
	stepCall
	stepPause
	stepCut
	stepAbort
	stepRaw
)

type step struct {
	kind  stepKind
	text  string // text, reasoning, arguments or a raw piece of the stream
	id    string // of a call; "" makes one up
	name  string
	pause time.Duration
}

type fault struct {
	status int
	header http.Header
	body   string
}

// Say answers with text, one delta for each chunk.
func Say(chunks ...string) Reply { return Reply{}.Say(chunks...) }

// Think gives reasoning, one delta for each chunk.
func Think(chunks ...string) Reply { return Reply{}.Think(chunks...) }

// Call calls a tool. args is a string that is sent as it is, or any value that is encoded as JSON.
func Call(name string, args any) Reply { return Reply{}.Call(name, args) }

// Fail refuses the request with an OpenAI error.
func Fail(status int, code, message string) Reply {
	body, _ := json.Marshal(map[string]any{"error": map[string]any{
		"message": message, "type": errorType(status), "param": nil, "code": code,
	}})
	return FailBody(status, string(body))
}

// FailBody answers with any status and body.
func FailBody(status int, body string) Reply {
	return Reply{fault: &fault{status, http.Header{}, body}}
}

// Raw sends text as the body, or as part of the stream.
func Raw(text string) Reply { return Reply{}.Raw(text) }

func (r Reply) with(s ...step) Reply {
	r.steps = append(slices.Clip(r.steps), s...)
	return r
}

func (r Reply) texts(k stepKind, chunks []string) Reply {
	for _, c := range chunks {
		r = r.with(step{kind: k, text: c})
	}
	return r
}

// Say adds text.
func (r Reply) Say(chunks ...string) Reply { return r.texts(stepText, chunks) }

// Think adds reasoning.
func (r Reply) Think(chunks ...string) Reply { return r.texts(stepThink, chunks) }

// Call adds a tool call with an id made by the server.
func (r Reply) Call(name string, args any) Reply { return r.CallID("", name, args) }

// CallID adds a tool call with an id of its own.
func (r Reply) CallID(id, name string, args any) Reply {
	text, ok := args.(string)
	if !ok {
		b, err := json.Marshal(args)
		if err != nil {
			panic("scripted: arguments of " + name + ": " + err.Error())
		}
		text = string(b)
	}
	return r.with(step{kind: stepCall, id: id, name: name, text: text})
}

// Sleep waits before what comes next, or less when the client goes away.
func (r Reply) Sleep(d time.Duration) Reply { return r.with(step{kind: stepPause, pause: d}) }

// Cut ends the stream without finish reason, usage or [DONE].
func (r Reply) Cut() Reply { return r.with(step{kind: stepCut}) }

// Abort breaks the connection.
func (r Reply) Abort() Reply { return r.with(step{kind: stepAbort}) }

// Raw adds text to the stream as it is, frames and all. After a Raw, nothing but Cut, Raw and Sleep makes sense.
func (r Reply) Raw(text string) Reply { return r.with(step{kind: stepRaw, text: text}) }

// Usage sets what is reported; otherwise a count of words is.
func (r Reply) Usage(u Usage) Reply { r.usage = &u; return r }

// Finish sets the finish reason of the chat wire; Responses tells only "length" and "content_filter" from the rest.
func (r Reply) Finish(reason string) Reply { r.finish = reason; return r }

// Header adds a header to a refusal.
func (r Reply) Header(key, value string) Reply {
	if r.fault != nil {
		f := *r.fault
		f.header = f.header.Clone()
		f.header.Set(key, value)
		r.fault = &f
	}
	return r
}

func (r Reply) text(k stepKind) string {
	var b strings.Builder
	for _, s := range r.steps {
		if s.kind == k {
			b.WriteString(s.text)
		}
	}
	return b.String()
}

func (r Reply) has(k stepKind) bool {
	return slices.ContainsFunc(r.steps, func(s step) bool { return s.kind == k })
}

func errorType(status int) string {
	switch {
	case status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case status >= 500:
		return "server_error"
	}
	return "invalid_request_error"
}
