package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"nod/tools"
)

const (
	// silentTime is how long a call may run without a word of progress.
	silentTime = 10 * time.Minute
	// tellTime bounds how often progress is told.
	tellTime = 500 * time.Millisecond
	// maxQuestions is how many forms and links one call may put before a person.
	maxQuestions = 10
	// maxRounds is how often a server may ask for input before it gives a result.
	maxRounds = 10
)

var (
	errClosed = errors.New("the connection to the server was closed")
	errSilent = fmt.Errorf("the server gave no sign of life for %v", silentTime)
)

// running is one call under way on a connection.
type running struct {
	conn   *conn
	call   tools.Call
	token  string
	ctx    context.Context
	cancel context.CancelCauseFunc
	silent *time.Timer

	mu     sync.Mutex
	asking int // questions that a person has before them
	asked  int // in all
	told   time.Time
}

// begin notes a call on its connection, so that what the server says of it finds it.
func (c *conn) begin(ctx context.Context, call tools.Call) *running {
	r := &running{conn: c, call: call, token: string(call.ID)}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	r.silent = time.AfterFunc(silentTime, func() { r.cancel(errSilent) })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running[r.token] = r
	return r
}

func (r *running) end() {
	r.silent.Stop()
	r.cancel(nil)
	r.conn.mu.Lock()
	defer r.conn.mu.Unlock()
	delete(r.conn.running, r.token)
	r.conn.heard, r.conn.used = time.Now(), time.Now()
}

// progress shows how far the call is.
func (r *running) progress(p *sdk.ProgressNotificationParams) {
	r.mu.Lock()
	if r.asking == 0 {
		r.silent.Reset(silentTime)
	}
	soon := time.Since(r.told) < tellTime
	if !soon {
		r.told = time.Now()
	}
	r.mu.Unlock()
	if !soon {
		r.call.Progress(progressText(p))
	}
}

// progressText is a part of a whole, then the server's words.
func progressText(p *sdk.ProgressNotificationParams) string {
	number := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	text := number(p.Progress)
	if p.Total > 0 {
		text += "/" + number(p.Total)
	}
	if words := plain(p.Message, maxRemark); words != "" {
		text += " " + words
	}
	return text
}

// ask notes that a person is asked, during which the server's silence does not count. It says false when that has been
// done often enough.
func (r *running) ask() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asking++
	r.asked++
	r.silent.Stop()
	return r.asked <= maxQuestions
}

// answered ends what ask began.
func (r *running) answered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asking--; r.asking == 0 {
		r.silent.Reset(silentTime)
	}
}

// callTool makes a call on this connection. When the server asks for input first, the person is asked and the same call
// goes on, as the protocol has it; a call that broke off is never made again.
func (c *conn) callTool(ctx context.Context, call tools.Call, tool string, args json.RawMessage) (*sdk.CallToolResult, error) {
	r := c.begin(ctx, call)
	defer r.end()
	params := &sdk.CallToolParams{Name: tool, Arguments: args}
	for range maxRounds {
		params.SetProgressToken(r.token)
		res, err := c.session.CallTool(r.ctx, params)
		switch {
		case err != nil:
			return nil, r.failure(err)
		case !res.NeedsInput():
			return res, nil
		}
		params = &sdk.CallToolParams{Name: tool, Arguments: args, RequestState: res.RequestState}
		if params.InputResponses, err = r.fulfil(res.InputRequests); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("the server asked for input %d times and gave no result", maxRounds)
}

// errBroken says that a connection broke while a call ran.
var errBroken = errors.New("the connection to the server broke; the call may have had an effect")

// failure is why a call has no result.
func (r *running) failure(err error) error {
	var refused *jsonrpc.Error
	switch {
	case r.ctx.Err() != nil:
		return context.Cause(r.ctx)
	case errors.As(err, &refused) && refused.Code == sdk.CodeURLElicitationRequired:
		return r.openLinks(refused)
	case errors.As(err, &refused):
		return fmt.Errorf("the server refused the call: %s", plain(refused.Message, maxRemark))
	case errors.Is(err, sdk.ErrSessionMissing):
		return err
	case r.conn.answers(r.ctx):
		return fmt.Errorf("the call ran, but its result can't be read: %s", plain(err.Error(), maxRemark))
	}
	r.conn.log.Warn("an MCP connection broke", "err", err)
	return errBroken
}

// fulfil asks the person for what the server wants before it goes on.
func (r *running) fulfil(wanted sdk.InputRequestMap) (sdk.InputResponseMap, error) {
	given := sdk.InputResponseMap{}
	for id, request := range wanted {
		elicit, ok := request.(*sdk.ElicitParams)
		if !ok {
			return nil, errors.New("the server asks for something that nod does not give: only questions to the user are answered")
		}
		answer, err := r.elicit(r.ctx, elicit)
		if err != nil {
			return nil, err
		}
		given[id] = answer
	}
	if len(wanted) == 0 { // it is busy
		select {
		case <-time.After(time.Second):
		case <-r.ctx.Done():
			return nil, context.Cause(r.ctx)
		}
	}
	return given, nil
}
