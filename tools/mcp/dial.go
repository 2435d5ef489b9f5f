package mcp

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"nod/tools/shell"
)

// defaultPatience is how long a server may take from its start to its first answer: npx may have to fetch it.
const defaultPatience = 30 * time.Second

// dialling is what it takes to reach a server whose secrets are resolved.
type dialling struct {
	server Server
	runner *shell.Runner
	dir    string            // where programs start
	round  http.RoundTripper // of remotes; nil: the network
	log    *slog.Logger
	// patience bounds each try.
	patience time.Duration
}

// dial reaches the server. A program that does not take the version it is addressed with gets a new process for the next
// try, since what it made of the first request is not known.
func (d *dialling) dial(ctx context.Context) (*conn, error) {
	if d.server.Transport != Stdio {
		return d.connect(ctx, "", d.patience)
	}
	c, err := d.connect(ctx, steadyVersion, d.patience)
	if err == nil || ctx.Err() != nil || errors.Is(err, errNoStart) {
		return c, err
	}
	d.log.Debug("trying another version of MCP", "err", err)
	if c, again := d.connect(ctx, "", d.patience); again == nil {
		return c, nil
	}
	return nil, err
}

// errNoStart says that a program could not even be started.
var errNoStart = errors.New("it can't be started")

// transport makes the way to the server, and notes on c what belongs to it.
func (d *dialling) transport(ctx context.Context, c *conn) (sdk.Transport, error) {
	if d.server.Transport != Stdio {
		transport, idle, err := remoteTransport(d.server, d.round)
		c.idle = idle
		return transport, err
	}
	p, err := startProgram(ctx, d.runner, d.server, d.dir, d.log)
	if err != nil {
		return nil, errors.Join(errNoStart, err)
	}
	c.program = p
	return p.transport(d.log), nil
}
