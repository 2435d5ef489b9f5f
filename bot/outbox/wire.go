package outbox

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path"
	"strings"
	"sync"
)

// Wire carries calls to the Bot API; it is the HTTP client of go-telegram/bot and of the poller. It talks to a
// RoundTripper directly, so there are no redirects, no Referer and no *url.Error, and no error of it holds the token,
// which is part of every URL. It sets no time limit: the caller's context does.
type Wire struct {
	base   http.RoundTripper
	secret string
}

// NewWire returns a Wire for one token. A nil base means a transport of its own.
func NewWire(token string, base http.RoundTripper) *Wire {
	if base == nil {
		base = newTransport()
	}
	_, secret, _ := strings.Cut(token, ":")
	return &Wire{base: base, secret: secret}
}

// newTransport speaks HTTP/1.1 only. With HTTP/2 all calls share one connection, and cancelling a poll that hangs on
// a dead connection would leave that connection in use.
func newTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	t.MaxIdleConnsPerHost = 16
	return t
}

// Fate is what is known about a call that got no answer from the Bot API.
type Fate int

const (
	Unsent   Fate = iota // the request could not be built: repeating it won't help
	Unserved             // it surely had no effect: the server was not reached, or said that it failed
	Unknown              // it may have had its effect
)

// CallError is a call that got no answer from the Bot API. Its text is free of the URL and the token; of its causes
// only context errors can be unwrapped.
type CallError struct {
	Method string // the API method
	Fate   Fate
	text   string
	cause  error
}

func (e *CallError) Error() string { return fmt.Sprintf("calling %s: %s", e.Method, e.text) }

func (e *CallError) Unwrap() error { return e.cause }

// maxAnswer bounds an answer in memory. The largest that Telegram sends, to getUpdates, is about 4 MiB.
const maxAnswer = 32 << 20

// Do makes one call and reads its whole answer. Its only error is *CallError, also for what is not the Bot API's JSON
// and for codes of 500 and above.
func (w *Wire) Do(r *http.Request) (*http.Response, error) {
	method := path.Base(r.URL.Path)
	body := &sentBody{}
	if err := body.attach(r, repeatable(method)); err != nil {
		return nil, w.fail(r.Context(), method, Unsent, err)
	}
	resp, err := w.base.RoundTrip(r)
	if err != nil {
		if err := body.failure(); err != nil {
			return nil, w.fail(r.Context(), method, Unsent, err)
		}
		return nil, w.fail(r.Context(), method, fate(err), err)
	}
	raw, err := readAnswer(resp)
	if err != nil {
		return nil, w.fail(r.Context(), method, Unknown, err)
	}
	if resp.StatusCode >= http.StatusInternalServerError {
		return nil, w.fail(r.Context(), method, Unserved, fmt.Errorf("the server failed with %d %s", resp.StatusCode, http.StatusText(resp.StatusCode)))
	}
	if !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		return nil, w.fail(r.Context(), method, Unserved, fmt.Errorf("%d and something that is not the Bot API's JSON", resp.StatusCode))
	}
	if resp.StatusCode != http.StatusOK { // a proxy's refusal may repeat the URL
		raw = []byte(w.redact(string(raw)))
	}
	resp.Body = io.NopCloser(bytes.NewReader(raw))
	resp.ContentLength = int64(len(raw))
	return resp, nil
}

// Get opens a download. The answer's body must be closed; the error, if any, is *CallError.
func (w *Wire) Get(r *http.Request) (*http.Response, error) {
	resp, err := w.base.RoundTrip(r)
	if err != nil {
		return nil, w.fail(r.Context(), "a file", fate(err), err)
	}
	if resp.StatusCode != http.StatusOK {
		err := fmt.Errorf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
		return nil, w.fail(r.Context(), "a file", Unserved, errors.Join(err, resp.Body.Close()))
	}
	return resp, nil
}

// Reset drops connections that are not in use, so that the next call opens a new one.
func (w *Wire) Reset() {
	if t, ok := w.base.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

func (w *Wire) fail(ctx context.Context, method string, f Fate, err error) *CallError {
	return &CallError{Method: method, Fate: f, text: w.redact(err.Error()), cause: context.Cause(ctx)}
}

// redact removes the token's secret part, however the URL around it was escaped: the part needs no escaping.
func (w *Wire) redact(text string) string {
	if w.secret == "" {
		return text
	}
	return strings.ReplaceAll(text, w.secret, "***")
}

// fate tells errors that stand before the request's first byte from those that may stand after its last.
func fate(err error) Fate {
	if op, ok := errors.AsType[*net.OpError](err); ok && (op.Op == "dial" || op.Op == "proxyconnect") {
		return Unserved
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return Unserved
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return Unserved
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return Unserved
	}
	return Unknown
}

func readAnswer(resp *http.Response) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return nil, err
	}
	if len(raw) > maxAnswer {
		return nil, fmt.Errorf("an answer of more than %d bytes", maxAnswer)
	}
	return raw, nil
}

// repeatable says whether a second identical call has no further effect.
func repeatable(method string) bool {
	return !strings.HasPrefix(method, "send") || method == "sendChatAction"
}

// smallBody is how much of a request is held in memory; uploads are longer and are streamed.
const smallBody = 256 << 10

// sentBody is a request's body. go-telegram/bot writes every request through a pipe, which can't be sent twice, so a
// call that meets a connection which the server is just closing would fail. Read into memory, the
// transport may send it again as long as nothing of it was written, and always if it is repeatable.
type sentBody struct {
	src io.ReadCloser
	mu  sync.Mutex // the transport reads on a goroutine of its own
	err error
}

func (b *sentBody) attach(r *http.Request, again bool) error {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	b.src = r.Body
	head, err := io.ReadAll(io.LimitReader(b.src, smallBody+1))
	if err != nil {
		return errors.Join(err, b.src.Close())
	}
	if len(head) > smallBody {
		r.Body = &streamed{Reader: io.MultiReader(bytes.NewReader(head), b), Closer: b.src}
		return nil
	}
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(head)), nil }
	r.Body, _ = r.GetBody()
	r.ContentLength = int64(len(head))
	if again {
		r.Header["X-Idempotency-Key"] = nil // net/http's mark of a request that may be repeated; it is not sent
	}
	return b.src.Close()
}

// Read notes an error of the source, such as a file that can't be read, which the transport would report as its own.
func (b *sentBody) Read(p []byte) (int, error) {
	n, err := b.src.Read(p)
	if err != nil && err != io.EOF && err != io.ErrClosedPipe {
		b.mu.Lock()
		b.err = err
		b.mu.Unlock()
	}
	return n, err
}

func (b *sentBody) failure() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

type streamed struct {
	io.Reader
	io.Closer
}
