package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"nod/agent/llm/scripted"
	"nod/store"
	"nod/tools"
	"nod/tools/mcp"
	"nod/tools/secrets"
)

// growingServer is a server that announces each tool that it gets, and counts how often it is asked for all of them.
type growingServer struct {
	*sdk.Server
	listed, announced atomic.Int32
}

func newGrowingServer() *growingServer {
	g := &growingServer{Server: sdk.NewServer(&sdk.Implementation{Name: "growing", Version: "1"}, nil)}
	g.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			if method == "tools/list" {
				g.listed.Add(1)
			}
			return next(ctx, method, r)
		}
	})
	g.AddSendingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			if method == "notifications/tools/list_changed" {
				g.announced.Add(1)
			}
			return next(ctx, method, r)
		}
	})
	g.grow("first")
	return g
}

func (g *growingServer) grow(name string) {
	sdk.AddTool(g.Server, &sdk.Tool{Name: name, Description: "Does it."}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return plainResult("done"), nil, nil
	})
}

// newGrowing runs a manager of the server and reaches it.
func newGrowing(t *testing.T, g *growingServer) *mcp.Manager {
	t.Helper()
	db := store.OpenTest(t)
	workspace, err := tools.OpenWorkspace(filepath.Join(t.TempDir(), "work"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = workspace.Close() })
	vault, err := openVault(db, Config{Home: t.TempDir()}, &secrets.Redactor{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := mcp.New(mcp.Options{
		DB: db, Vault: vault, Workspace: workspace, Log: slog.New(slog.DiscardHandler), Quiet: time.Hour,
		Servers: []mcp.Server{{Name: "growing", Transport: mcp.HTTP, URL: helperAddress}},
		Round:   scripted.Transport(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return g.Server }, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	if err := m.Groups()[0].Wake(t.Context()); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return m
}

// TestAStormOfChangesIsListedOnce: a server that announces one change after the other is asked for its tools when it was
// reached, and once more when it has become calm. One that never does is asked a few times a second, whatever it announces.
func TestAStormOfChangesIsListedOnce(t *testing.T) {
	for name, tt := range map[string]struct{ changes, atMost int }{"a storm": {12, 2}, "no end": {200, 2 + 4_000/300}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGrowingServer()
				m := newGrowing(t, g)
				if n := g.listed.Load(); n != 1 {
					t.Fatalf("to begin with it was asked %d times", n)
				}
				for i := range tt.changes {
					g.grow(fmt.Sprint("more", i%100))
					time.Sleep(20 * time.Millisecond)
				}
				time.Sleep(time.Minute)
				if said := int(g.announced.Load()); said < tt.changes/2 {
					t.Fatalf("it announced only %d changes", said)
				}
				if n := int(g.listed.Load()); n > tt.atMost {
					t.Errorf("it was asked %d times after %d announcements", n, g.announced.Load())
				}
				if got, want := len(m.Tools()), 1+min(tt.changes, 100); got != want {
					t.Errorf("%d tools are known, want %d", got, want)
				}
			})
		})
	}
}
