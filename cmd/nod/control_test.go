package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nod/bot"
	"nod/store"
)

// shortDir is a folder whose path leaves room for a socket's name.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "nod")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// serveControl runs a control socket for a home until the test ends.
func serveControl(t *testing.T, home string) {
	t.Helper()
	c := &control{db: store.OpenTest(t), username: "nod_bot", log: slog.New(slog.DiscardHandler), home: home}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(socketPath(home)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the socket is still there: %v", err)
		}
	})
	for {
		if _, err := ask(ctx, home, "/jobs"); err == nil {
			return
		} else if !errors.Is(err, errNotRunning) {
			t.Fatal(err)
		}
	}
}

func TestControlAnswersCommands(t *testing.T) {
	home := shortDir(t)
	serveControl(t, home)
	for path, want := range map[string]string{
		"/jobs": noJobs, "/invite/" + string(bot.Owner): "https://t.me/nod_bot?start=", "/invite/" + string(bot.Guest): "new guest",
	} {
		if got, err := ask(t.Context(), home, path); err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	for path, want := range map[string]string{
		"/invite/stranger": `there is no role "stranger"`, "/nothing": "404", "/invite/": "404",
	} {
		if got, err := ask(t.Context(), home, path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	target := filepath.Join(home, "copy.db")
	if err := fetchBackup(t.Context(), home, target, asItIs); err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(target)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// TestABackupThatBreaksOffLeavesNoFile closes the database under it.
func TestABackupThatBreaksOffLeavesNoFile(t *testing.T) {
	home := shortDir(t)
	db, err := store.Open(filepath.Join(home, "x", databaseName))
	if err != nil {
		t.Fatal(err)
	}
	c := &control{db: db, log: slog.New(slog.DiscardHandler), home: home}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	target := filepath.Join(home, "copy.db")
	for {
		if err = fetchBackup(ctx, home, target, asItIs); !errors.Is(err, errNotRunning) {
			break
		}
	}
	if err == nil {
		t.Error("it seems to have worked")
	}
	if left, err := filepath.Glob(filepath.Join(home, "*.db")); err != nil || len(left) != 0 {
		t.Errorf("it left %v, %v", left, err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestNobodyAnswersOnAHomeAtRest(t *testing.T) {
	home := shortDir(t)
	if _, err := ask(t.Context(), home, "/jobs"); !errors.Is(err, errNotRunning) {
		t.Errorf("without a socket: %v", err)
	}
	if _, err := ask(t.Context(), filepath.Join(home, "missing"), "/jobs"); !errors.Is(err, errNotRunning) {
		t.Errorf("without a home: %v", err)
	}
	if err := os.WriteFile(socketPath(home), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t.Context(), home, "/jobs"); !errors.Is(err, errNotRunning) {
		t.Errorf("with a file in its place: %v", err)
	}
}

// TestALongHomeHasItsSocketElsewhere: a socket's address holds about a hundred bytes.
func TestALongHomeHasItsSocketElsewhere(t *testing.T) {
	t.Setenv("TMPDIR", shortDir(t))
	home := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	path := socketPath(home)
	if len(path) > maxSocketPath || path == socketPath(home+"er") || filepath.Base(path) != socketName {
		t.Errorf("the socket is at %s", path)
	}
	if _, err := ask(t.Context(), home, "/jobs"); !errors.Is(err, errNotRunning) {
		t.Errorf("at rest: %v", err)
	}
	t.Run("in a folder of its own", func(t *testing.T) {
		serveControl(t, home)
		for name, want := range map[string]os.FileMode{filepath.Dir(path): 0o700, path: 0o600} {
			if info, err := os.Lstat(name); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s is %v: %v", name, info.Mode(), err)
			}
		}
	})
	t.Run("not in one that others may change", func(t *testing.T) {
		dir := filepath.Dir(path)
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		c := &control{db: store.OpenTest(t), log: slog.New(slog.DiscardHandler), home: home}
		if err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "is not yours alone") {
			t.Errorf("it serves: %v", err)
		}
		if _, err := ask(t.Context(), home, "/jobs"); err == nil || errors.Is(err, errNotRunning) {
			t.Errorf("it is asked: %v", err)
		}
	})
	t.Run("not through a link", func(t *testing.T) {
		dir := filepath.Dir(path)
		if err := errors.Join(os.Remove(dir), os.Symlink(t.TempDir(), dir)); err != nil {
			t.Fatal(err)
		}
		c := &control{db: store.OpenTest(t), log: slog.New(slog.DiscardHandler), home: home}
		if err := c.Run(t.Context()); err == nil {
			t.Error("it serves")
		}
	})
}

// TestControlWantsPosts: a command is no page to look at.
func TestControlWantsPosts(t *testing.T) {
	c := &control{db: store.OpenTest(t), log: slog.New(slog.DiscardHandler)}
	for _, path := range []string{"/jobs", "/backup", "/invite/owner"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, pattern := c.routes().(*http.ServeMux).Handler(req); pattern != "" {
			t.Errorf("GET %s is served by %s", path, pattern)
		}
	}
}

// asItIs is the sealing of a backup that is not encrypted.
func asItIs(w io.Writer, write func(io.Writer) error) error { return write(w) }
