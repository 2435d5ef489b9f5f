package outbox_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	tg "github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"nod/bot/emulator"
	"nod/bot/outbox"
)

const secret = "EMULATOR-emulator-EMULATOR-emulato0"

// TestSD5_NoErrorHoldsTheToken meets every kind of failure on real sockets.
func TestSD5_NoErrorHoldsTheToken(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the redirect was followed, Referer %q", r.Referer())
	}))
	t.Cleanup(other.Close)
	echo := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(code)
			fmt.Fprintf(w, body, r.URL.Path)
		}
	}
	servers := map[string]http.HandlerFunc{
		"302 to another host": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+r.URL.Path, http.StatusFound)
		},
		"307 to another host": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
		},
		"400 that echoes": echo(400, `{"ok":false,"error_code":400,"description":"Bad Request: %s"}`),
		"404 HTML":        echo(404, `<html>no %s here</html>`),
		"502 HTML":        echo(502, `<html>no %s here</html>`),
		"500 JSON":        echo(500, `{"ok":false,"error_code":500,"description":"%s"}`),
		"200 HTML":        echo(200, `<html>welcome to the hotel, %s</html>`),
		"dropped":         func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"cut short": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = w.Write([]byte(`{"ok":true`))
			panic(http.ErrAbortHandler)
		},
		"timeout": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		},
	}
	for name, handler := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(handler)
			server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
			defer server.Close()
			refusesToTell(t, server.URL, nil)
		})
	}
	t.Run("refused", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		refusesToTell(t, "http://"+l.Addr().String(), nil)
	})
	t.Run("TLS", func(t *testing.T) {
		server := httptest.NewTLSServer(http.NotFoundHandler())
		server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
		defer server.Close()
		refusesToTell(t, server.URL, nil)
	})
	t.Run("an error that holds the URL", func(t *testing.T) {
		refusesToTell(t, "https://api.test", roundTripper(func(r *http.Request) (*http.Response, error) {
			return nil, errors.Join(r.Body.Close(), &url.Error{Op: "Post", URL: r.URL.String(), Err: io.EOF})
		}))
	})
}

// refusesToTell makes three calls that fail and searches all that their errors say.
func refusesToTell(t *testing.T, api string, base http.RoundTripper) {
	t.Helper()
	log := &logBuffer{}
	client, wire, err := outbox.NewClient(emulator.Token, api, base, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer wire.Reset()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, send := client.SendMessage(ctx, &tg.SendMessageParams{ChatID: 1, Text: "x"})
	_, upload := client.SendDocument(ctx, &tg.SendDocumentParams{ChatID: 1, Document: &models.InputFileUpload{Filename: "f", Data: strings.NewReader(strings.Repeat("x", 1<<20))}})
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, api+"/file/bot"+emulator.Token+"/f", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, get := wire.Get(r)
	if get == nil {
		get = errors.New("a 200 that holds a page is a download like any other")
		resp.Body.Close()
	}
	for what, err := range map[string]error{"send": send, "upload": upload, "download": get} {
		if err == nil {
			t.Errorf("%s: no error", what)
			continue
		}
		for err := err; err != nil; err = errors.Unwrap(err) {
			if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(text, secret) {
				t.Errorf("%s tells the token: %s", what, text)
			}
		}
		if u, ok := errors.AsType[*url.Error](err); ok {
			t.Errorf("%s: a *url.Error is reachable: %v", what, u)
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%s tells the token: %v", what, err)
		}
	}
	if strings.Contains(log.String(), secret) {
		t.Errorf("the log tells the token: %s", log)
	}
}

func TestSD5_BadTokensAndAddressesAreNotShown(t *testing.T) {
	for _, tc := range [][2]string{
		{"123:secret\nwith newline", "https://api.test"},
		{"secret without colon", "https://api.test"},
		{"", "https://api.test"},
		{emulator.Token, "not a url"},
		{emulator.Token, "https://"},
		{emulator.Token, "ftp://x"},
		{emulator.Token, "://"},
	} {
		_, _, err := outbox.NewClient(tc[0], tc[1], nil, slog.Default())
		if err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), secret) {
			t.Errorf("%q %q: %v", tc[0], tc[1], err)
		}
	}
}

func TestFates(t *testing.T) {
	dial := &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	for name, tc := range map[string]struct {
		err  error
		want outbox.Fate
	}{
		"refused":       {dial, outbox.Unserved},
		"DNS":           {&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host"}}, outbox.Unserved},
		"bad TLS":       {tls.RecordHeaderError{Msg: "not TLS"}, outbox.Unserved},
		"certificate":   {&tls.CertificateVerificationError{Err: errors.New("expired")}, outbox.Unserved},
		"reset":         {&net.OpError{Op: "read", Err: errors.New("connection reset by peer")}, outbox.Unknown},
		"broken pipe":   {&net.OpError{Op: "write", Err: errors.New("broken pipe")}, outbox.Unknown},
		"EOF":           {io.EOF, outbox.Unknown},
		"deadline":      {context.DeadlineExceeded, outbox.Unknown},
		"wrapped reset": {fmt.Errorf("x: %w", io.ErrUnexpectedEOF), outbox.Unknown},
	} {
		wire := outbox.NewWire(emulator.Token, roundTripper(func(*http.Request) (*http.Response, error) { return nil, tc.err }))
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://api.test/bot1:x/sendMessage", http.NoBody)
		_, err := wire.Do(r)
		call, ok := errors.AsType[*outbox.CallError](err)
		if !ok || call.Fate != tc.want || call.Method != "sendMessage" {
			t.Errorf("%s: %#v, want fate %v", name, err, tc.want)
		}
	}
}

func TestAFileThatCannotBeReadIsUnsent(t *testing.T) {
	server := httptest.NewServer(emulator.New(emulator.Options{}))
	defer server.Close()
	client, wire, err := outbox.NewClient(emulator.Token, server.URL, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer wire.Reset()
	for name, before := range map[string]int{"at once": 0, "on the way": 2 << 20} {
		source := io.MultiReader(strings.NewReader(strings.Repeat("x", before)), broken{})
		_, err = client.SendDocument(t.Context(), &tg.SendDocumentParams{ChatID: 1, Document: &models.InputFileUpload{Filename: "f", Data: source}})
		if call, ok := errors.AsType[*outbox.CallError](err); !ok || call.Fate != outbox.Unsent {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAConnectionThatTheServerIsClosingIsNoFailure(t *testing.T) {
	api := emulator.New(emulator.Options{})
	person := api.Private(ann)
	var served atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served.Add(1)
		api.ServeHTTP(w, r)
	}))
	server.Start()
	defer server.Close()
	client, wire, err := outbox.NewClient(emulator.Token, server.URL, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer wire.Reset()
	for range 50 {
		if _, err := client.SendChatAction(t.Context(), &tg.SendChatActionParams{ChatID: person.ChatID(), Action: models.ChatActionTyping}); err != nil {
			t.Fatalf("after %d calls: %v", served.Load(), err)
		}
		server.CloseClientConnections() // also those that the client holds ready
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
