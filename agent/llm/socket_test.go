package llm_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nod/agent/llm"
	"nod/agent/llm/scripted"
)

// listen serves h on a real socket and makes a client for it.
func listen(t *testing.T, h http.Handler, tries int) (*llm.Client, *atomic.Int32) {
	t.Helper()
	var connections atomic.Int32
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	srv.Start()
	tr := srv.Client().Transport.(*http.Transport)
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		srv.Close()
	})
	c, err := llm.New(llm.Options{Models: []llm.Model{{Name: "m", BaseURL: srv.URL + "/v1"}}, Transport: tr, Tries: tries})
	if err != nil {
		t.Fatal(err)
	}
	return c, &connections
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	for _, reply := range []scripted.Reply{scripted.Say("ok"), scripted.Fail(400, "", "no")} {
		c, connections := listen(t, scripted.New(func(scripted.Request) scripted.Reply { return reply }), 1)
		for range 5 {
			ask(t, t.Context(), c, llm.Request{})
		}
		if n := connections.Load(); n != 1 {
			t.Errorf("%d connections for 5 requests", n)
		}
	}
}

// A service that says [DONE] and keeps the connection open does not hold up the answer.
func TestAnswerDoesNotWaitForTheConnection(t *testing.T) {
	release := make(chan struct{})
	c, _ := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, frame(`{"content":"hi"}`, "stop")+done)
		w.(http.Flusher).Flush()
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}), 1)
	defer close(release)
	if got := ask(t, t.Context(), c, llm.Request{}); got.Text != "hi" || got.took > 5*time.Second {
		t.Errorf("%+v after %s", got.Answer, got.took)
	}
}

func TestSTOP1_CancelClosesTheSocket(t *testing.T) {
	started, gone := make(chan struct{}), make(chan struct{})
	c, _ := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, frame(`{"content":"hi"}`, ""))
		w.(http.Flusher).Flush()
		close(started)
		<-r.Context().Done()
		close(gone)
	}), 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-started
		cancel()
	}()
	got := ask(t, ctx, c, llm.Request{})
	if got.err == nil || got.err.Kind != llm.KindCanceled {
		t.Errorf("error %v", got.err)
	}
	<-gone
}

func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := llm.New(llm.Options{Models: []llm.Model{{Name: "m", BaseURL: "http://" + address + "/v1"}}, Tries: 1})
	if err != nil {
		t.Fatal(err)
	}
	got := ask(t, t.Context(), c, llm.Request{})
	if got.err == nil || got.err.Kind != llm.KindUnavailable || !strings.Contains(got.err.Message, "no connection to 127.0.0.1: connection refused") {
		t.Errorf("error %v", got.err)
	}
}

// TestNoSuchHost: why there is no connection is said once, and not at which address.
func TestNoSuchHost(t *testing.T) {
	nowhere := roundTripper(func(*http.Request) (*http.Response, error) {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "nowhere.test", IsNotFound: true}}
	})
	c, err := llm.New(llm.Options{Models: []llm.Model{{Name: "m", BaseURL: "http://nowhere.test/v1"}}, Tries: 1, Transport: nowhere})
	if err != nil {
		t.Fatal(err)
	}
	got := ask(t, t.Context(), c, llm.Request{})
	if got.err == nil || got.err.Words() != "no connection to nowhere.test: no such host" {
		t.Errorf("error %v", got.err)
	}
}

func BenchmarkPlainAnswer(b *testing.B) {
	for _, wire := range []string{llm.WireChat, llm.WireResponses} {
		for _, messages := range []int{1, 1001} {
			b.Run(fmt.Sprintf("%s/%d messages", wire, messages), func(b *testing.B) {
				s := scripted.New(func(scripted.Request) scripted.Reply { return scripted.Say("All ", "is ", "well.") })
				c, err := llm.New(llm.Options{Models: []llm.Model{{Name: "m", Wire: wire}}, Transport: scripted.Transport(s)})
				if err != nil {
					b.Fatal(err)
				}
				req := llm.Request{System: "Be brief.", Tools: []llm.ToolDef{ping}}
				for i := range messages {
					role := llm.RoleUser
					if i%2 == 1 {
						role = llm.RoleAssistant
					}
					req.Messages = append(req.Messages, llm.Message{Role: role, Text: "How is the weather on the moon today?"})
				}
				b.ReportAllocs()
				for b.Loop() {
					if a, err := c.Stream(b.Context(), req, nil); err != nil || a.Text != "All is well." {
						b.Fatalf("%+v, %v", a, err)
					}
				}
			})
		}
	}
}
