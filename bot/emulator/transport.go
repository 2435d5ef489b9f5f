package emulator

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// Transport returns a RoundTripper that answers requests by calling h, with no socket in between. It streams both ways,
// ends the handler's context when the request's context ends or the response body is closed, and turns
// http.ErrAbortHandler into a dropped connection (io.EOF). It suits testing/synctest: it waits on channels only.
func Transport(h http.Handler) http.RoundTripper { return memory{h} }

type memory struct{ handler http.Handler }

func (m memory) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		closeBody(r)
		return nil, err
	}
	ctx, cancel := context.WithCancel(r.Context())
	in := r.Clone(ctx)
	in.RequestURI = r.URL.RequestURI()
	in.RemoteAddr = "127.0.0.1:1"
	if in.Host == "" {
		in.Host = r.URL.Host
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	pr, pw := io.Pipe()
	w := &pipeWriter{header: http.Header{}, body: pw, started: make(chan struct{})}
	stop := context.AfterFunc(ctx, func() { pw.CloseWithError(ctx.Err()) })
	go func() {
		defer cancel()
		defer stop()
		defer closeBody(r)
		err := serve(m.handler, w, in)
		w.WriteHeader(http.StatusOK)
		pw.CloseWithError(err)
	}()
	select {
	case <-ctx.Done():
		select {
		case <-w.started: // the handler's end cancels ctx too
		default:
			pw.CloseWithError(ctx.Err())
			closeBody(r) // at once: a sender that still writes must not meet the error that we return
			return nil, ctx.Err()
		}
	case <-w.started:
	}
	if w.aborted {
		if err := r.Context().Err(); err != nil {
			return nil, err
		}
		return nil, io.EOF
	}
	return &http.Response{
		Status:        strconv.Itoa(w.code) + " " + http.StatusText(w.code),
		StatusCode:    w.code,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        w.sent,
		Body:          &pipeBody{PipeReader: pr, cancel: cancel},
		ContentLength: -1,
		Request:       r,
	}, nil
}

// serve runs the handler; an abort before the first byte marks the writer, a later one is the error.
func serve(h http.Handler, w *pipeWriter, r *http.Request) (err error) {
	defer func() {
		switch v := recover(); {
		case v == nil:
		case v == http.ErrAbortHandler:
			w.abort()
			err = io.ErrUnexpectedEOF
		default:
			panic(v)
		}
	}()
	h.ServeHTTP(w, r)
	return nil
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close() // the sender's own reader; nothing follows from its error
	}
}

// pipeWriter is the handler's side of a response.
type pipeWriter struct {
	header, sent http.Header
	body         *io.PipeWriter
	once         sync.Once
	started      chan struct{} // closed when the status is known
	code         int
	aborted      bool
}

func (w *pipeWriter) Header() http.Header { return w.header }

func (w *pipeWriter) WriteHeader(code int) {
	w.once.Do(func() {
		w.code, w.sent = code, w.header.Clone()
		close(w.started)
	})
}

func (w *pipeWriter) abort() {
	w.once.Do(func() {
		w.aborted = true
		close(w.started)
	})
}

func (w *pipeWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// Flush sends the header; bodies are never held back.
func (w *pipeWriter) Flush() { w.WriteHeader(http.StatusOK) }

// pipeBody ends the handler's context when the client closes the body.
type pipeBody struct {
	*io.PipeReader
	cancel context.CancelFunc
}

func (b *pipeBody) Read(p []byte) (int, error) {
	n, err := b.PipeReader.Read(p)
	if errors.Is(err, io.ErrClosedPipe) {
		err = http.ErrBodyReadAfterClose
	}
	return n, err
}

func (b *pipeBody) Close() error {
	b.cancel()
	return b.PipeReader.Close()
}
