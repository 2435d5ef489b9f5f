package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"nod/tools"
)

// Bounds of what is heard from a server.
const (
	maxPages        = 50
	maxTools        = 200
	maxInstructions = 4000 // bytes
	// restTime is how long a connection may have been silent before a call makes sure that somebody is there.
	restTime = 30 * time.Second
	pingTime = 3 * time.Second
	// calmTime gathers announcements of changed tools, of which servers send several in a row.
	calmTime = 300 * time.Millisecond
	// noticeTime is for the library to tell the server that a call was ended, before the connection is.
	noticeTime = 50 * time.Millisecond
)

// The version that a program is addressed with first. Some programs end, or never answer, when they are asked for a
// version by a request that they don't know (go-sdk #1177), so the newest is tried with a process of its own.
const steadyVersion = "2025-11-25"

// conn is one live connection to a server.
type conn struct {
	server  string
	log     *slog.Logger
	session *sdk.ClientSession
	program *program           // nil for one that is remote
	idle    func()             // lets idle connections of a remote go
	cancel  context.CancelFunc // ends what the connection needs
	gone    chan struct{}      // closed when it is over
	changed chan struct{}      // holds one announcement of changed tools

	mu      sync.Mutex
	running map[string]*running // by progress token
	used    time.Time           // when the last call ended
	heard   time.Time           // when the server was last known to be there
	closing sync.Once
}

// info is what we call ourselves.
var info = &sdk.Implementation{Name: "nod", Version: "1"}

// connect makes a connection that lives until close, or until ctx ends. within bounds the making.
func (d *dialling) connect(ctx context.Context, version string, within time.Duration) (*conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	c := &conn{
		server: d.server.Name, log: d.log, cancel: cancel, gone: make(chan struct{}), changed: make(chan struct{}, 1),
		running: map[string]*running{}, heard: time.Now(), used: time.Now(),
	}
	transport, err := d.transport(ctx, c)
	if err != nil {
		cancel()
		return nil, err
	}
	client := sdk.NewClient(info, &sdk.ClientOptions{
		// Nothing is inferred: no roots and no sampling, but both kinds of elicitation, without which some tools are not listed.
		Capabilities: &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{
			Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{},
		}},
		Logger:                      slog.New(slog.DiscardHandler),
		MultiRoundTrip:              &sdk.MultiRoundTripOptions{Disabled: true}, // we know which call is asking
		ElicitationHandler:          c.elicited,
		ProgressNotificationHandler: c.progressed,
		ToolListChangedHandler:      func(context.Context, *sdk.ToolListChangedRequest) { c.announce() },
	})
	// The streams of a remote live as long as the context that they were opened with, so it has no deadline of its own.
	late := time.AfterFunc(within, cancel)
	c.session, err = client.Connect(ctx, transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if !late.Stop() && err == nil {
		err = errors.Join(errLate, c.session.Close())
	}
	if err != nil {
		cause := c.failure(err, ctx.Err() != nil, within)
		c.release()
		return nil, cause
	}
	go c.watch()
	return c, nil
}

var errLate = errors.New("it took too long")

// failure says why no connection came about, with a program's last words.
func (c *conn) failure(err error, late bool, within time.Duration) error {
	if late {
		err = fmt.Errorf("it did not answer within %v", within)
	}
	if c.program == nil {
		return fmt.Errorf("connecting: %w", err)
	}
	if !late { // it has mostly ended
		wait(c.program.served.Done())
	}
	select {
	case <-c.program.served.Done():
		err = errors.New(c.program.served.End())
		wait(c.program.drained)
	default:
	}
	if words := c.program.last.get(); words != "" {
		err = fmt.Errorf("%w; its last words: %s", err, plain(words, maxRemark))
	}
	return fmt.Errorf("connecting: %w", err)
}

// watch notes the end of the connection, whoever brought it about.
func (c *conn) watch() {
	if err := c.session.Wait(); err != nil {
		c.log.Debug("an MCP connection ended", "err", err)
	}
	for _, r := range c.calls() { // unless close has ended them
		r.cancel(errBroken)
	}
	close(c.gone)
	c.close()
}

// alive says whether the connection is not known to be over.
func (c *conn) alive() bool {
	select {
	case <-c.gone:
		return false
	default:
		return true
	}
}

// close ends the connection within moments. It may be called more than once; all calls return when it is over.
func (c *conn) close() {
	c.closing.Do(func() {
		for _, r := range c.calls() {
			r.cancel(errClosed) // the library waits for calls and for open questions
		}
		if !c.unused(noticeTime) {
			time.Sleep(noticeTime)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.session.Close() // its error says how the connection ended, which nobody asked
		}()
		if c.program != nil {
			c.program.close()
		}
		wait(done)
		c.release()
		wait(done)
	})
}

// wait waits for done, but not for long.
func wait(done <-chan struct{}) {
	timer := time.NewTimer(closeTime)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// release frees what the connection held.
func (c *conn) release() {
	c.cancel()
	if c.program != nil {
		c.program.close()
	}
	if c.idle != nil {
		c.idle()
	}
}

// calls are those that run now.
func (c *conn) calls() (all []*running) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.running {
		all = append(all, r)
	}
	return all
}

// announce notes that the server's tools have changed.
func (c *conn) announce() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// there makes sure that a server which has long been silent is still there, before a call is made that would not be made
// twice.
func (c *conn) there(ctx context.Context) bool {
	c.mu.Lock()
	silent := time.Since(c.heard) > restTime
	c.mu.Unlock()
	return c.alive() && (!silent || c.answers(ctx))
}

// answers asks the server whether it is there.
func (c *conn) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, pingTime)
	defer cancel()
	err := c.session.Ping(ctx, nil)
	var answer *jsonrpc.Error
	if err != nil && !errors.As(err, &answer) { // an error of the server's is an answer too
		return false
	}
	c.touch()
	return true
}

// unused says whether no call has used the connection for so long.
func (c *conn) unused(limit time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.running) == 0 && time.Since(c.used) >= limit
}

func (c *conn) touch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = time.Now()
}

// list asks for the server's tools, within bounds: also from one that gives the same page for ever.
func (c *conn) list(ctx context.Context) (known, error) {
	k := known{At: time.Now()}
	if init := c.session.InitializeResult(); init != nil {
		k.Instructions = plain(init.Instructions, maxInstructions)
	}
	var all []Definition
	seen := map[string]bool{}
	cursor := ""
	for range maxPages {
		page, err := c.session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		if err != nil {
			return known{}, fmt.Errorf("listing its tools: %w", err)
		}
		for _, t := range page.Tools {
			if t == nil || len(all) == maxTools {
				k.Left++
				continue
			}
			all = append(all, definitionOf(t))
		}
		if cursor = page.NextCursor; cursor == "" || seen[cursor] {
			break
		}
		seen[cursor] = true
	}
	var refused []string
	k.Tools, refused = unambiguous(c.server, all)
	k.Left += len(refused)
	if k.Left > 0 {
		c.log.Warn("tools of an MCP server were left out", "left", k.Left, "names", refused)
	}
	c.touch()
	return k, nil
}

// definitionOf takes over what a server says of a tool. Its annotations are not: nobody vouches for them.
func definitionOf(t *sdk.Tool) Definition {
	description := t.Description
	if description == "" {
		description = t.Title
	}
	return Definition{Name: tools.Sanitise(t.Name), Description: plain(description, maxDescription), Schema: repairSchema(t.InputSchema)}
}

// progressed passes progress on to its call. What comes for a call that is over is dropped.
func (c *conn) progressed(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
	token, ok := r.Params.ProgressToken.(string)
	if !ok {
		return
	}
	c.mu.Lock()
	call := c.running[token]
	c.heard = time.Now()
	c.mu.Unlock()
	if call != nil {
		call.progress(r.Params)
	}
}
