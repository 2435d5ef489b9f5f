package llm

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
)

// maxErrorBody and maxPlainBody bound what is read of an error and of an answer that is no event stream.
const (
	maxErrorBody = 256 << 10
	maxPlainBody = 8 << 20
)

// exchange is the HTTPDoer of one try of one request. go-openai encodes the request, speaks HTTP through it and reads
// frames; exchange adds the fields that go-openai has no name for, and turns every way of failing into an *Error
// before go-openai can lose it.
type exchange struct {
	model  *Model
	http   *http.Client
	fields map[string]any // top-level members to set in the request's body
	beat   func()         // tells the watchdog that bytes arrived
}

// Do sends the request. Each non-nil error is an *Error.
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	if err := x.rewrite(req); err != nil {
		return nil, &Error{Kind: KindBadRequest, Model: x.model.Name, Message: err.Error()}
	}
	resp, err := x.http.Do(req)
	if err != nil {
		return nil, x.unreachable(req.Context(), err)
	}
	x.beat()
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		resp.Body.Close()
		return nil, &Error{
			Kind: KindNotFound, Model: x.model.Name, Status: resp.StatusCode,
			Message: "the service redirects to another address, which is not followed; set base_url to the final one",
		}
	case resp.StatusCode < 200 || resp.StatusCode >= 400:
		defer resp.Body.Close()
		body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
		return nil, classify(x.model, resp.StatusCode, resp.Header, body)
	}
	return x.stream(resp)
}

// rewrite sets x.fields in the JSON body and the model's headers.
func (x *exchange) rewrite(req *http.Request) error {
	for k, v := range x.model.Headers {
		req.Header.Set(k, string(v))
	}
	raw, err := io.ReadAll(req.Body)
	if err != nil {
		return fmt.Errorf("reading the request: %w", err)
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(raw, &body); err != nil {
		return fmt.Errorf("decoding the request: %w", err)
	}
	for k, v := range x.fields {
		encoded, ok := v.(json.RawMessage)
		if !ok {
			if encoded, err = json.Marshal(v); err != nil {
				return fmt.Errorf("encoding the request's %s: %w", k, err)
			}
		}
		body[k] = encoded
	}
	if raw, err = object(body); err != nil {
		return fmt.Errorf("encoding the request: %w", err)
	}
	req.Body = io.NopCloser(bytes.NewReader(raw))
	req.ContentLength = int64(len(raw))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil }
	return nil
}

// object writes a JSON object of members that are encoded already; json.Marshal would read them all again.
func object(members map[string]json.RawMessage) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, name := range slices.Sorted(maps.Keys(members)) {
		key, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(members[name])
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// stream gives resp a body that go-openai reads rightly, also where the service sent no stream at all.
func (x *exchange) stream(resp *http.Response) (*http.Response, error) {
	r := bufio.NewReaderSize(&beating{resp.Body, x.beat}, 16<<10)
	ct, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if ct != "text/event-stream" {
		first, _ := r.Peek(1)
		if strings.Contains(ct, "json") || strings.Contains(ct, "html") || len(first) == 1 && strings.ContainsRune("{[<", rune(first[0])) {
			return x.plain(resp, r, ct)
		}
	}
	resp.Body = &sse{r: r, body: resp.Body, refuse: x.refuse}
	return resp, nil
}

// plain turns a JSON completion into a stream of one frame, and anything else into an error.
func (x *exchange) plain(resp *http.Response, r io.Reader, ct string) (*http.Response, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(r, maxPlainBody+1))
	if err != nil {
		return nil, x.unreachable(resp.Request.Context(), err)
	}
	if len(body) > maxPlainBody {
		return nil, tooMuch(x.model, fmt.Sprintf("it is larger than %d MiB", maxPlainBody>>20))
	}
	if _, ok := parseComplaint(body); ok {
		return nil, classify(x.model, 0, resp.Header, body)
	}
	frame, ok := frameOf(body)
	if !ok {
		return nil, &Error{
			Kind: KindUnavailable, Model: x.model.Name, Status: resp.StatusCode,
			Message: redact(fmt.Sprintf("got %s instead of an event stream: %s", cmp.Or(ct, "text"), plainText(body)), x.model.secrets(), 200),
		}
	}
	out := *resp
	out.Body = io.NopCloser(strings.NewReader("data: " + frame + "\n\ndata: [DONE]\n\n"))
	return &out, nil
}

// frameOf makes a stream frame of a completion (of either wire) that was not streamed.
func frameOf(body []byte) (string, bool) {
	var full struct {
		Object  string
		Choices []struct {
			Message      json.RawMessage
			FinishReason json.RawMessage `json:"finish_reason"`
		}
		Usage  json.RawMessage
		Output json.RawMessage
		Status string
	}
	if json.Unmarshal(body, &full) != nil {
		return "", false
	}
	var frame any
	switch {
	case full.Object == "response" && isSet(full.Output):
		frame = map[string]any{"type": "response." + cmp.Or(full.Status, "completed"), "response": json.RawMessage(body)}
	case len(full.Choices) > 0 && isSet(full.Choices[0].Message):
		c := full.Choices[0]
		if !isSet(c.FinishReason) {
			c.FinishReason = json.RawMessage(`"stop"`) // whole JSON was not cut
		}
		frame = map[string]any{
			"choices": []any{map[string]any{"index": 0, "delta": c.Message, "finish_reason": c.FinishReason}},
			"usage":   full.Usage,
		}
	default:
		return "", false
	}
	b, err := json.Marshal(frame)
	return string(b), err == nil
}

// refuse makes the error of a frame that is one.
func (x *exchange) refuse(frame []byte) error {
	if _, ok := parseComplaint(frame); !ok {
		return nil
	}
	return classify(x.model, 0, nil, frame)
}

// unreachable describes a network error in words that hold no address.
func (x *exchange) unreachable(ctx context.Context, err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if e := ended(ctx, x.model); e != nil {
		return e
	}
	var what string
	dns, isDNS := errors.AsType[*net.DNSError](err)
	op, isOp := errors.AsType[*net.OpError](err)
	u, isURL := errors.AsType[*url.Error](err)
	switch {
	case isDNS:
		what = dns.Err // such as "no such host"
	case isOp:
		what = op.Err.Error()
		if call, ok := errors.AsType[*os.SyscallError](op.Err); ok {
			what = call.Err.Error()
		}
	case isURL:
		what = u.Err.Error()
	default:
		what = err.Error()
	}
	return &Error{
		Kind: KindUnavailable, Model: x.model.Name,
		Message: redact(fmt.Sprintf("no connection to %s: %s", x.model.host(), what), x.model.secrets(), 200),
	}
}

// errSilent is the cause with which the watchdog ends a try.
type errSilent struct{ after time.Duration }

func (e errSilent) Error() string { return fmt.Sprintf("nothing was heard for %s", e.after) }

// ended is the error for a context that is over: the caller's wish or the watchdog's. nil while it is not.
func ended(ctx context.Context, m *Model) *Error {
	cause := context.Cause(ctx)
	if cause == nil {
		return nil
	}
	if silent, ok := errors.AsType[errSilent](cause); ok {
		return &Error{Kind: KindUnavailable, Model: m.Name, Message: silent.Error()}
	}
	return &Error{Kind: KindCanceled, Model: m.Name, cause: ctx.Err()}
}

// beating tells the watchdog about every read that brings bytes.
type beating struct {
	io.Reader
	beat func()
}

func (b *beating) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if n > 0 {
		b.beat()
	}
	return n, err
}
