package scripted

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// Transport carries requests to h without a network, so that conversations can run in a testing/synctest bubble. Each
// request is served in a goroutine of its own. The answer streams; it ends with an error when the request's context
// ends, and the handler's context ends when the client closes the body.
func Transport(h http.Handler) http.RoundTripper { return transport{h} }

type transport struct{ h http.Handler }

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	body, w := io.Pipe()
	res := &responseWriter{header: http.Header{}, body: w, began: make(chan struct{})}
	served := req.Clone(ctx)
	if served.Body == nil {
		served.Body = http.NoBody
	}
	served.RequestURI = req.URL.RequestURI()
	stop := context.AfterFunc(req.Context(), func() { _ = w.CloseWithError(req.Context().Err()) })
	go func() {
		defer cancel()
		defer stop()
		defer served.Body.Close()
		_ = w.CloseWithError(serve(t.h, res, served))
	}()
	select {
	case <-res.began:
	case <-req.Context().Done():
		cancel()
		_ = body.Close()
		return nil, req.Context().Err()
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", res.status, http.StatusText(res.status)), StatusCode: res.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: res.sent, Body: &clientBody{body, cancel}, ContentLength: -1, Request: req,
	}, nil
}

// serve runs the handler. The error is what the client sees at the end of the body.
func serve(h http.Handler, w *responseWriter, r *http.Request) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = io.ErrUnexpectedEOF
			if p != http.ErrAbortHandler {
				err = fmt.Errorf("handling the request: %v", p)
			}
		}
		w.WriteHeader(http.StatusOK)
	}()
	h.ServeHTTP(w, r)
	return r.Context().Err() // nil becomes io.EOF
}

type clientBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *clientBody) Close() error {
	b.cancel()
	return b.ReadCloser.Close()
}

// responseWriter hands the handler's answer to the waiting client.
type responseWriter struct {
	header, sent http.Header
	status       int
	body         *io.PipeWriter
	once         sync.Once
	began        chan struct{}
}

func (w *responseWriter) Header() http.Header { return w.header }

func (w *responseWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.began)
	})
}

func (w *responseWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// Flush sends the header; written bytes are never held back.
func (w *responseWriter) Flush() { w.WriteHeader(http.StatusOK) }
