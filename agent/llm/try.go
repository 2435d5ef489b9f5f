package llm

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"
)

// frames is what both of go-openai's streams have.
type frames interface {
	RecvRaw() ([]byte, error)
	Close() error
}

// try is one HTTP request for one answer.
type try struct {
	model    *Model
	quirks   quirk
	req      Request // sanitized
	client   *openai.Client
	exchange *exchange
	spoke    bool // visible text was handed to the sink
}

func newTry(e *entry, q quirk, hc *http.Client, req Request) (*try, error) {
	m := &e.Model
	t := &try{model: m, quirks: q, req: req}
	t.exchange = &exchange{model: m, http: hc, fields: map[string]any{}}
	for k, v := range m.Body {
		t.exchange.fields[k] = v
	}
	if len(req.Tools) > 0 {
		tools, err := e.encodeTools(req.Tools, q)
		if err != nil {
			return nil, err
		}
		t.exchange.fields["tools"] = tools
	}
	cfg := openai.DefaultConfig(string(m.APIKey))
	cfg.BaseURL = m.BaseURL
	cfg.HTTPClient = t.exchange
	t.client = openai.NewClientWithConfig(cfg)
	return t, nil
}

// run sends the request and reads the answer, for as long as no silence lasts longer than idle. Each error is an
// *Error; the Answer then holds what had come, of which no call may be run.
func (t *try) run(ctx context.Context, idle time.Duration, sink func(Delta)) (Answer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	dog := time.AfterFunc(idle, func() { cancel(errSilent{idle}) })
	defer dog.Stop()
	t.exchange.beat = func() { dog.Reset(idle) }

	d := draft{sink: func(x Delta) {
		t.spoke = (t.spoke || strings.TrimSpace(x.Text) != "") && !x.Retract
		sink(x)
	}}
	open, add := t.openChat, d.addChunk
	if t.quirks.wire(t.model.Wire) == WireResponses {
		open, add = t.openResponses, func(raw []byte) error { return d.addEvent(t.model, raw) }
	}
	stream, err := open(ctx)
	if err != nil {
		return Answer{Model: t.model.Name}, t.errorOf(ctx, err)
	}
	defer stream.Close()
	for {
		raw, err := stream.RecvRaw()
		if err == nil {
			err = add(raw)
			if _, ok := errors.AsType[*json.SyntaxError](err); ok {
				err = &Error{Kind: KindUnavailable, Model: t.model.Name, Message: "the service sent a frame that is not JSON"}
			}
			if err == nil {
				err = d.excess(t.model)
			}
		}
		if errors.Is(err, io.EOF) {
			a, err := d.answer(t.model)
			if err != nil {
				return a, t.errorOf(ctx, err)
			}
			return a, nil
		}
		if err != nil {
			a, _ := d.answer(t.model)
			a.Truncated = true
			return a, t.errorOf(ctx, err)
		}
	}
}

// refused makes an *Error of what go-openai says against a request that it did not even send.
func (t *try) refused(err error) error {
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	return &Error{Kind: KindBadRequest, Model: t.model.Name, Message: redact(err.Error(), t.model.secrets(), 400)}
}

// errorOf makes any error of a try an *Error. An end of the context goes first, as it shows up as many other things.
func (t *try) errorOf(ctx context.Context, err error) *Error {
	if e := ended(ctx, t.model); e != nil {
		return e
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return &Error{Kind: KindTruncated, Model: t.model.Name, Message: "the connection broke off"}
	}
	if errors.Is(err, bufio.ErrTooLong) {
		return tooMuch(t.model, fmt.Sprintf("one frame of it is larger than %d MiB", maxFrame>>20))
	}
	return t.exchange.unreachable(ctx, err)
}
