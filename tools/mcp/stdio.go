package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"nod/tools"
	"nod/tools/shell"
)

const (
	// maxFrame is the longest message of a server, in bytes. What it holds in base64 is shorter still.
	maxFrame = 16 << 20
	// closeTime is how long each step of a server's end may take, such as to end by itself once its input is closed.
	closeTime = 700 * time.Millisecond
	// maxLogLine and maxLogged bound what a server's stderr adds to the log, in bytes: of a line, and in all for one process, where each line counts for some more.
	maxLogLine = 500
	maxLogged  = 16 << 10
	lineCost   = 100
)

// program is the process of a stdio server with our ends of its pipes.
type program struct {
	served  *shell.Served
	stdin   *os.File
	stdout  *os.File
	stderr  *os.File
	drained chan struct{} // closed once stderr has ended
	last    lastLine      // of stderr: mostly what is wrong when a server does not come up
}

// startProgram starts a stdio server. It ends with ctx, and can't outlive nod.
func startProgram(ctx context.Context, runner *shell.Runner, s Server, dir string, log *slog.Logger) (*program, error) {
	folder, err := shell.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	var theirs [3]*os.File // stdin, stdout, stderr
	p := &program{drained: make(chan struct{})}
	ours := []**os.File{&p.stdin, &p.stdout, &p.stderr}
	for i := range theirs {
		r, w, pipeErr := os.Pipe()
		if err = errors.Join(err, pipeErr); pipeErr != nil {
			continue
		}
		if *ours[i], theirs[i] = r, w; i == 0 {
			*ours[i], theirs[i] = w, r
		}
	}
	if err == nil {
		service := shell.Service{Args: append([]string{s.Command}, s.Args...), Dir: folder, Stdin: theirs[0], Stdout: theirs[1], Stderr: theirs[2]}
		for name, value := range s.Env {
			service.Env = append(service.Env, name+"="+value)
		}
		p.served, err = runner.Serve(ctx, service)
	}
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		p.closePipes()
		return nil, fmt.Errorf("starting %s: %w", s.Command, err)
	}
	go p.drain(log)
	return p, nil
}

// transport is the connection to the program for the client library, which never sees what is no message.
func (p *program) transport(log *slog.Logger) sdk.Transport {
	return &sdk.IOTransport{Reader: &messages{from: bufio.NewReaderSize(p.stdout, 64<<10), file: p.stdout, log: log}, Writer: p.stdin, MaxLineLength: maxFrame}
}

// close ends the program: first by the end of its input, as the protocol has it, then by force.
func (p *program) close() {
	p.stdin.Close()
	wait(p.served.Done())
	p.served.Stop()
	p.stdout.Close()
	p.stderr.Close()
	<-p.drained
}

func (p *program) closePipes() {
	for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
		f.Close()
	}
}

// drain reads stderr for as long as it is open, so that the server never waits for us, and logs its beginning.
func (p *program) drain(log *slog.Logger) {
	defer close(p.drained)
	lines := bufio.NewReaderSize(p.stderr, maxLogLine)
	for logged := 0; ; {
		line, more, err := lines.ReadLine()
		if err != nil {
			return
		}
		text := strings.TrimSpace(tools.Sanitise(string(line)))
		if text == "" {
			continue
		}
		if p.last.set(text); logged < maxLogged {
			logged += len(text) + lineCost
			log.Debug("an MCP server says", "text", text)
		}
		for more && err == nil { // the rest of a long line
			_, more, err = lines.ReadLine()
		}
	}
}

// lastLine is the newest of some lines, for any goroutine.
type lastLine struct {
	mu   sync.Mutex
	text string
}

func (l *lastLine) set(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = text
}

func (l *lastLine) get() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text
}

// messages reads a server's output and leaves out the lines that can be no message: banners and stray prints, on which the
// client library would give the connection up.
type messages struct {
	from   *bufio.Reader
	file   io.Closer
	log    *slog.Logger
	rest   []byte // of what was kept last; lies in the buffer of from
	within bool   // of a line that began before
	keep   bool   // that line is kept
	stray  int
}

// maxStray is how many stray lines are logged.
const maxStray = 20

func (m *messages) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		part, err := m.from.ReadSlice('\n')
		whole := err == nil
		if errors.Is(err, bufio.ErrBufferFull) {
			err = nil
		}
		if len(part) > 0 {
			if !m.within {
				m.keep = isMessage(part, whole)
				m.note(part)
			}
			m.within = !whole
		}
		if len(part) > 0 && m.keep {
			m.rest = part
		} else if err != nil {
			return 0, err
		}
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// Close closes the pipe.
func (m *messages) Close() error { return m.file.Close() }

// isMessage says whether a line may be a message, by what is there of it.
func isMessage(part []byte, whole bool) bool {
	part = bytes.TrimLeft(part, " \t")
	if whole {
		return len(part) > 0 && (part[0] == '{' || part[0] == '[') && json.Valid(part)
	}
	return bytes.HasPrefix(part, []byte("{")) || bytes.HasPrefix(part, []byte("[{"))
}

// note logs a line that was left out.
func (m *messages) note(part []byte) {
	text := strings.TrimSpace(tools.Sanitise(string(part[:min(len(part), maxLogLine)])))
	if m.keep || text == "" {
		return
	}
	if m.stray++; m.stray <= maxStray {
		m.log.Debug("an MCP server printed what is no message", "text", text)
	}
}
