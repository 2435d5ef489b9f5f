package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"nod/bot"
	"nod/store"
	"nod/tools/mcp"
)

const (
	databaseName = "nod.db"
	socketName   = "nod.sock"
	// maxSocketPath is what a Unix socket's address holds on every system, in bytes.
	maxSocketPath = 100
)

// errNotRunning says that no bot runs on this home.
var errNotRunning = errors.New("nod is not running on this home")

// control serves the other commands while the bot holds the database: HTTP on a socket that only its owner can open.
type control struct {
	db       *store.DB
	servers  *mcp.Manager
	able     capabilities
	username string
	log      *slog.Logger
	home     string
}

// Run serves until ctx ends.
func (c *control) Run(ctx context.Context) error {
	path := socketPath(c.home)
	if dir := filepath.Dir(path); dir != c.home {
		if err := errors.Join(os.MkdirAll(dir, 0o700), checkPrivate(dir)); err != nil {
			return fmt.Errorf("making the folder of the control socket: %w", err)
		}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing an old control socket: %w", err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return fmt.Errorf("opening the control socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return errors.Join(fmt.Errorf("closing the control socket to others: %w", err), listener.Close())
	}
	server := &http.Server{Handler: c.routes(), ReadHeaderTimeout: 5 * time.Second, ErrorLog: slog.NewLogLogger(c.log.Handler(), slog.LevelDebug)}
	stop := context.AfterFunc(ctx, func() {
		if err := server.Close(); err != nil {
			c.log.Debug("closing the control socket", "err", err)
		}
	})
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving the control socket: %w", err)
	}
	return nil
}

// socketPath is the socket's place. A home whose path is too long for one has it in a folder of its own beneath the
// system's for temporary files.
func socketPath(home string) string {
	path := filepath.Join(home, socketName)
	if len(path) <= maxSocketPath {
		return path
	}
	return filepath.Join(os.TempDir(), fmt.Sprintf("nod-%d-%x", os.Getuid(), hashOf(home)), socketName)
}

// checkPrivate refuses a folder that another user made or may change: what listens there need not be nod.
func checkPrivate(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !info.IsDir() || info.Mode().Perm() != 0o700 || ok && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%s is not yours alone; remove it, or use a NOD_HOME whose path is shorter", dir)
	}
	return nil
}

func (c *control) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /invite/{role}", c.serve(func(r *http.Request) (string, error) {
		role := bot.Role(r.PathValue("role"))
		if role != bot.Owner && role != bot.Guest {
			return "", fmt.Errorf("there is no role %q to invite for", role)
		}
		return invite(c.db, c.username, role)
	}))
	mux.HandleFunc("POST /jobs", c.serve(func(*http.Request) (string, error) { return listJobs(c.db) }))
	mux.HandleFunc("POST /database", c.serve(func(*http.Request) (string, error) { return sizeOf(c.db), nil }))
	mux.HandleFunc("POST /mcp", c.serve(func(r *http.Request) (string, error) {
		found, err := json.Marshal(lookAtServers(r.Context(), c.servers))
		return string(found), err
	}))
	mux.HandleFunc("POST /plugins", c.serve(func(*http.Request) (string, error) {
		looked, err := lookAtPlugins(c.able)
		found, bad := json.Marshal(looked)
		return string(found), errors.Join(err, bad)
	}))
	mux.HandleFunc("POST /backup", func(w http.ResponseWriter, r *http.Request) {
		if _, err := c.db.WriteTo(w); err != nil {
			c.log.Warn("sending a backup", "err", err)
			panic(http.ErrAbortHandler) // breaks the connection, so that a part is not taken for the whole
		}
	})
	return mux
}

func (c *control) serve(answer func(*http.Request) (string, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		text, err := answer(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		if _, err := io.WriteString(w, text); err != nil {
			c.log.Debug("answering a command", "err", err)
		}
	}
}

// call asks the running bot. Its error is errNotRunning when there is none.
func call(ctx context.Context, home, path string) (*http.Response, error) {
	if dir := filepath.Dir(socketPath(home)); dir != home {
		if err := checkPrivate(dir); errors.Is(err, fs.ErrNotExist) {
			return nil, errNotRunning
		} else if err != nil {
			return nil, fmt.Errorf("asking the running nod: %w", err)
		}
	}
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socketPath(home))
		},
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://nod"+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil, errNotRunning
	}
	if err != nil {
		return nil, fmt.Errorf("asking the running nod: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		text, err := io.ReadAll(io.LimitReader(resp.Body, 4096))
		return nil, errors.Join(fmt.Errorf("asking the running nod: %s", strings.TrimSpace(string(text))), err, resp.Body.Close())
	}
	return resp, nil
}

// ask reads the running bot's answer.
func ask(ctx context.Context, home, path string) (string, error) {
	resp, err := call(ctx, home, path)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", fmt.Errorf("reading the running nod's answer: %w", err)
	}
	return string(text), nil
}

// fetchBackup copies the running bot's database into a new file.
func fetchBackup(ctx context.Context, home, target string, seal sealing) error {
	resp, err := call(ctx, home, "/backup")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return store.WriteNew(target, func(w io.Writer) error {
		return seal(w, func(w io.Writer) error {
			_, err := io.Copy(w, resp.Body)
			return err
		})
	})
}
