package mcp

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// remoteTransport reaches a server over HTTP, through round where it is given. idle lets its idle connections go.
func remoteTransport(s Server, round http.RoundTripper) (_ sdk.Transport, idle func(), err error) {
	home, err := url.Parse(s.URL)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the server's address: %w", err)
	}
	if round == nil {
		round = dialer()
	}
	client := &http.Client{Transport: &guardedTransport{home: home, key: s.APIKey, next: round}}
	if s.Transport == SSE {
		return &sdk.SSEClientTransport{Endpoint: s.URL, HTTPClient: client, MaxEventSize: maxFrame}, client.CloseIdleConnections, nil
	}
	return &sdk.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client, MaxEventSize: maxFrame}, client.CloseIdleConnections, nil
}

// dialer is a transport of its own for each connection, whose idle connections end with it.
func dialer() *http.Transport {
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 2,
		IdleConnTimeout: 30 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
	}
}

// guardedTransport sends requests to the server's own origin only, which alone gets the key, and bounds what comes back.
type guardedTransport struct {
	home *url.URL
	key  string
	next http.RoundTripper
}

func (g *guardedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != g.home.Scheme || r.URL.Host != g.home.Host {
		return nil, fmt.Errorf("the server at %s wants to be reached at another address, %s: give that as its url if it is right", g.home.Host, r.URL.Host)
	}
	if g.key != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+g.key)
	}
	resp, err := g.next.RoundTrip(r)
	// A stream's events have their own bound; a body that is read as a whole needs one.
	if err == nil && !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		resp.Body = &boundedBody{ReadCloser: resp.Body, left: maxFrame}
	}
	return resp, err
}

// CloseIdleConnections lets http.Client.CloseIdleConnections through.
func (g *guardedTransport) CloseIdleConnections() {
	if c, ok := g.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

var errTooLong = errors.New("the server's answer is longer than 16 MiB")

// boundedBody fails when more is read of it than it may hold.
type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
