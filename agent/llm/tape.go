package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// tape records what a service answers, below everything that repairs it.
type tape struct {
	base http.RoundTripper

	mu       sync.Mutex
	requests int
	typ      string // of the newest answer
	body     bytes.Buffer
}

// maxTape bounds what is recorded of an answer, in bytes.
const maxTape = 256 << 10

// client is an HTTP client like the given one whose answers are recorded.
func (t *tape) client(like *http.Client) *http.Client {
	recorded := *like
	recorded.Transport = t
	return &recorded
}

// rewind forgets what was recorded.
func (t *tape) rewind() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests = 0
	t.body.Reset()
}

// RoundTrip implements http.RoundTripper.
func (t *tape) RoundTrip(r *http.Request) (*http.Response, error) {
	t.mu.Lock()
	t.requests++
	t.body.Reset()
	t.mu.Unlock()
	resp, err := t.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	t.typ = resp.Header.Get("Content-Type")
	t.mu.Unlock()
	resp.Body = &taped{ReadCloser: resp.Body, to: t}
	return resp, nil
}

type taped struct {
	io.ReadCloser
	to *tape
}

func (b *taped) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.to.mu.Lock()
	defer b.to.mu.Unlock()
	b.to.body.Write(p[:min(n, max(0, maxTape-b.to.body.Len()))])
	return n, err
}

// observe says what is peculiar about the newest answer, whatever the client made of it.
func (t *tape) observe() []Remark {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := &observer{seen: map[string]bool{}}
	raw := t.body.String()
	if strings.HasPrefix(strings.TrimSpace(raw), "{") {
		o.note("streaming", Lacking, "it sends the answer whole instead of streaming it; it is shown once it is complete")
		return o.remarks
	}
	if strings.Contains(raw, `"type":"response.`) || strings.Contains(raw, "event: response.") {
		return nil // the other wire has fewer imitators, and no peculiarities that are known
	}
	o.lines(raw)
	o.verdict()
	return o.remarks
}

// observer reads a stream of the chat wire as it came.
type observer struct {
	remarks []Remark
	seen    map[string]bool

	done    bool
	finish  string
	calls   int // fragments that name a function
	indexes []float64
	ids     []string
}

// note remarks something once.
func (o *observer) note(aspect string, g Grade, text string) {
	if !o.seen[text] {
		o.seen[text] = true
		o.remarks = append(o.remarks, Remark{aspect, g, text})
	}
}

func (o *observer) lines(raw string) {
	for line := range strings.Lines(raw) {
		ended := strings.HasSuffix(line, "\n")
		line = strings.TrimRight(line, "\r\n")
		data, ok := strings.CutPrefix(line, "data:")
		switch data = strings.TrimSpace(data); {
		case line == "":
			continue
		case !ok:
			o.note("stream", Repaired, "lines that are no data stand between the frames; nod skips them")
		case data == "[DONE]":
			o.done = true
		default:
			o.frame(data)
		}
		if !ended {
			o.note("stream", Repaired, "its last line has no end; nod reads it all the same")
		}
	}
}

// frame looks at one frame without the leniency that is meant to hide what it looks for.
func (o *observer) frame(data string) {
	var f struct {
		Created any
		Choices []struct {
			Delta struct {
				Content   json.RawMessage
				ToolCalls []struct {
					Index    *float64
					ID       string
					Function struct {
						Name      string
						Arguments json.RawMessage
					}
				} `json:"tool_calls"`
			}
			FinishReason string `json:"finish_reason"`
		}
	}
	if json.Unmarshal([]byte(data), &f) != nil {
		o.note("frames", Repaired, "some fields are of other types than OpenAI's; nod reads what can be read")
		return
	}
	if n, ok := f.Created.(float64); ok && n != math.Trunc(n) {
		o.note("frames", Repaired, "some fields are of other types than OpenAI's; nod reads what can be read")
	}
	if f.Choices == nil {
		o.note("frames", Repaired, "some have no choices; nod passes over them")
	}
	for _, word := range []string{"reasoning", "reasoning_content", "reasoning_details", "extra_content"} {
		if strings.Contains(data, `"`+word+`":`) && !strings.Contains(data, `"`+word+`":null`) {
			o.note("reasoning", Repaired, "it comes in the field "+word+"; nod sends it back with the next request")
		}
	}
	for _, c := range f.Choices {
		if len(c.Delta.Content) > 0 && c.Delta.Content[0] == '[' {
			o.note("frames", Repaired, "content is a list of parts; nod joins them")
		}
		if strings.Contains(rawString(c.Delta.Content), "think>") {
			o.note("reasoning", Repaired, "it stands in the text between think tags; nod hides it")
		}
		if c.FinishReason != "" {
			o.finish = c.FinishReason
		}
		for _, call := range c.Delta.ToolCalls {
			o.fragment(call.Index, call.ID, call.Function.Name, call.Function.Arguments)
		}
	}
}

// fragment looks at a piece of a call.
func (o *observer) fragment(index *float64, id, name string, args json.RawMessage) {
	if len(args) > 0 && args[0] == '{' {
		o.note("arguments", Repaired, "they come as an object instead of a text; nod takes both")
	}
	if index == nil {
		o.note("parallel calls", Repaired, "they come without an index; nod tells them apart by their ids and names")
	}
	if name == "" {
		if id != "" && len(o.ids) > 0 && o.ids[len(o.ids)-1] != id {
			o.note("call ids", Repaired, "they change within a call; nod keeps the first")
		}
		return
	}
	o.calls++
	if id == "" {
		o.note("call ids", Repaired, "there are none; nod makes its own")
	}
	o.ids = append(o.ids, id)
	if index != nil {
		o.indexes = append(o.indexes, *index)
	}
}

// verdict looks at the stream as a whole.
func (o *observer) verdict() {
	if len(o.indexes) > 0 && o.indexes[0] != 0 {
		o.note("parallel calls", Repaired, "their indexes do not begin with 0; nod does not mind")
	}
	distinct := slices.Compact(slices.Sorted(slices.Values(o.indexes)))
	if len(distinct) < len(o.indexes) {
		o.note("parallel calls", Repaired, "several have the same index; nod tells them apart by their ids")
	}
	switch {
	case o.calls > 0 && o.finish == "":
		o.note("end of the answer", Repaired, "there is no finish reason; nod goes by whether the calls are whole")
	case o.calls > 0 && o.finish != "tool_calls":
		o.note("end of the answer", Repaired, "the finish reason of calls is "+o.finish+"; nod goes by the calls")
	}
	if !o.done {
		o.note("end of the answer", Repaired, "there is no [DONE]; nod goes by what came")
	}
}

// listed is the model's context window as the service's list of models tells it, or 0. Each service has its own name for
// it: OpenRouter, vLLM, Groq, Mistral and LM Studio, llama.cpp.
func (x *examination) listed(ctx context.Context) int {
	ctx, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()
	m := &x.entry.Model
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(m.BaseURL, "/")+"/models", nil)
	if err != nil {
		return 0
	}
	if m.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+string(m.APIKey))
	}
	for k, v := range m.Headers {
		req.Header.Set(k, string(v))
	}
	x.report.Requests++
	resp, err := x.client.http.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	var list struct {
		Data []struct {
			ID            string
			ContextLength float64 `json:"context_length"`
			MaxModelLen   float64 `json:"max_model_len"`
			ContextWindow float64 `json:"context_window"`
			MaxContext    float64 `json:"max_context_length"`
			Meta          struct {
				Train float64 `json:"n_ctx_train"`
			}
		}
	}
	if json.NewDecoder(io.LimitReader(resp.Body, maxPlainBody)).Decode(&list) != nil {
		return 0
	}
	for _, d := range list.Data {
		if d.ID == m.ID {
			return tokens(max(d.ContextLength, d.MaxModelLen, d.ContextWindow, d.MaxContext, d.Meta.Train))
		}
	}
	return 0
}

// redPicture is a small picture in PNG, all red.
func redPicture() []byte {
	picture := image.NewPaletted(image.Rect(0, 0, 64, 64), color.Palette{color.RGBA{R: 0xff, A: 0xff}})
	var b bytes.Buffer
	// Encoding into memory fails for no picture of this size.
	_ = png.Encode(&b, picture)
	return b.Bytes()
}
