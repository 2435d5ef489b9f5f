package mcp

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"nod/tools"
)

// serversVariable names the folder into which .ci/run installs the real servers. Without it the place where a person may
// have installed them is looked at.
const serversVariable = "NOD_MCP_SERVERS"

// realServer finds the program of a real server.
func realServer(t *testing.T, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("real servers are tried in the long run")
	}
	dir := os.Getenv(serversVariable)
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Skipf("NOT TESTED: %v", err)
		}
		dir = filepath.Join(cache, "nod-mcp")
	}
	path := filepath.Join(dir, "node_modules", ".bin", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("NOT TESTED, %s is not installed (set %s): %v", name, serversVariable, err)
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	return path
}

// everything tries what server-everything offers, whatever the transport.
func everything(t *testing.T, s Server) {
	r := newRig(t, s)
	r.wake(s.Name)
	tool := func(name string) string { return toolName(s.Name, name) }
	call := func(name, args string) tools.Outcome {
		t.Helper()
		return r.ask(t.Context(), tool(name), args)
	}
	wantText(t, call("echo", `{"message":"hello"}`), tools.Completed, "Echo: hello")
	wantText(t, call("get-sum", `{"a":2,"b":40}`), tools.Completed, "42")
	wantText(t, call("get-sum", `{"a":2}`), tools.Failed, "The call was not run") // by the server's own schema
	wantText(t, call("get-structured-content", `{"location":"New York"}`), tools.Completed, `"temperature":`)
	picture := call("get-tiny-image", `{}`)
	wantText(t, picture, tools.Completed, "a picture, image/png")
	if len(picture.Images) != 1 || !strings.HasPrefix(r.Read(picture.Images[0].Path), "\x89PNG") {
		t.Errorf("the picture is %+v", picture.Images)
	}
	wantText(t, call("get-resource-links", `{"count":2}`), tools.Completed, "a link to the resource")
	wantText(t, call("get-resource-reference", `{"resourceType":"Text","resourceId":1}`), tools.Completed, "[the resource demo://")
	wantText(t, call("get-resource-reference", `{"resourceType":"Blob","resourceId":2}`), tools.Completed, "kept as "+filesDir)
	wantText(t, call("trigger-long-running-operation", `{"duration":1,"steps":4}`), tools.Completed, "completed")
	if told := r.told(); !slices.Contains(told, "1/4") {
		t.Errorf("its progress was %q", told)
	}
	r.OnCard = answering(leaveOut, leaveOut, leaveOut, leaveOut, leaveOut, leaveOut, leaveOut, leaveOut, leaveOut, leaveOut, leaveOut, leaveOut, leaveOut, leaveOut)
	out := call("trigger-elicitation-request", `{}`)
	wantText(t, out, tools.Completed, "")
	if asked := r.asked(); len(asked) == 0 || !strings.Contains(asked[0].Title, "The MCP server "+s.Name+" asks") {
		t.Errorf("asked %+v", asked)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(300*time.Millisecond, func() { cancel(tools.ErrStopped) })
	wantText(t, r.ask(ctx, tool("trigger-long-running-operation"), `{"duration":30,"steps":300}`), tools.Cancelled, "stopped by the user")
	wantText(t, call("echo", `{"message":"still there"}`), tools.Completed, "Echo: still there")
	began := time.Now()
	r.stop()
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("closing took %v", took)
	}
}

func TestRealEverythingOverStdio(t *testing.T) {
	t.Parallel()
	program := realServer(t, "mcp-server-everything")
	everything(t, Server{Name: "everything", Transport: Stdio, Command: "node", Args: []string{program, "stdio"}})
}

func TestRealEverythingOverHTTP(t *testing.T) {
	t.Parallel()
	s := serve(t, "streamableHttp", "/mcp", HTTP)
	everything(t, s)
}

func TestRealEverythingOverSSE(t *testing.T) {
	t.Parallel()
	s := serve(t, "sse", "/sse", SSE)
	r := newRig(t, s)
	r.wake(s.Name)
	wantText(t, r.ask(t.Context(), toolName(s.Name, "echo"), `{"message":"hello"}`), tools.Completed, "Echo: hello")
}

// TestRealServerRestarts has a server over HTTP end and come back between two calls: the second finds it.
func TestRealServerRestarts(t *testing.T) {
	t.Parallel()
	program := realServer(t, "mcp-server-everything")
	port := freePort(t)
	stop := serveOn(t, program, "streamableHttp", port)
	s := Server{Name: "again", Transport: HTTP, URL: fmt.Sprintf("http://127.0.0.1:%d/mcp", port)}
	r := newRig(t, s)
	r.wake(s.Name)
	wantText(t, r.ask(t.Context(), toolName(s.Name, "echo"), `{"message":"one"}`), tools.Completed, "Echo: one")
	stop()
	serveOn(t, program, "streamableHttp", port)
	r.m.servers[s.Name].link.conn.rest()
	r.m.servers[s.Name].link.hurry()
	wantText(t, r.ask(t.Context(), toolName(s.Name, "echo"), `{"message":"two"}`), tools.Completed, "Echo: two")
}

// rest lets a connection seem to have been silent for long.
func (c *conn) rest() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = time.Now().Add(-time.Hour)
}

func TestRealFilesystem(t *testing.T) {
	t.Parallel()
	program := realServer(t, "mcp-server-filesystem")
	dir := t.TempDir()
	r := newRig(t, Server{Name: "files", Transport: Stdio, Command: "node", Args: []string{program, dir}})
	r.wake("files")
	path := filepath.Join(dir, "note.txt")
	wantText(t, r.ask(t.Context(), "mcp__files__write_file", `{"path":"`+path+`","content":"from MCP"}`), tools.Completed, "Successfully wrote")
	if got := readFile(t, path); got != "from MCP" {
		t.Errorf("the file holds %q", got)
	}
	wantText(t, r.ask(t.Context(), "mcp__files__read_text_file", `{"path":"`+path+`"}`), tools.Completed, "from MCP")
	wantText(t, r.ask(t.Context(), "mcp__files__read_text_file", `{"path":"/etc/passwd"}`), tools.Failed, "the MCP server files reports an error")
}

func TestRealMemory(t *testing.T) {
	t.Parallel()
	program := realServer(t, "mcp-server-memory")
	r := newRig(t, Server{
		Name: "memory", Transport: Stdio, Command: "node", Args: []string{program},
		Env: map[string]string{"MEMORY_FILE_PATH": filepath.Join(t.TempDir(), "memory.jsonl")},
	})
	r.wake("memory")
	wantText(t, r.ask(t.Context(), "mcp__memory__create_entities", `{"entities":[{"name":"Ann","entityType":"person","observations":["likes tea"]}]}`), tools.Completed, "Ann")
	wantText(t, r.ask(t.Context(), "mcp__memory__search_nodes", `{"query":"tea"}`), tools.Completed, "likes tea")
}

// serve starts server-everything on a port of its own.
func serve(t *testing.T, mode, path string, transport Transport) Server {
	t.Helper()
	program := realServer(t, "mcp-server-everything")
	port := freePort(t)
	serveOn(t, program, mode, port)
	return Server{Name: "remote", Transport: transport, URL: fmt.Sprintf("http://127.0.0.1:%d%s", port, path)}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// serveOn starts the server and waits until it listens.
func serveOn(t *testing.T, program, mode string, port int) (stop func()) {
	t.Helper()
	cmd := exec.Command("node", program, mode)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), fmt.Sprint("PORT=", port)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = func() {
		if cmd.ProcessState == nil {
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			cmd.Wait()
		}
	}
	t.Cleanup(stop)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Second}
	until(t, "the server listens", func() bool {
		resp, err := client.Head(fmt.Sprintf("http://127.0.0.1:%d/", port))
		if err != nil {
			return false
		}
		resp.Body.Close()
		return true
	})
	return stop
}
