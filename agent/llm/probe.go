package llm

import (
	"context"
	"encoding/json"
	"time"
)

// Probed is what a tiny question to a model showed.
type Probed struct {
	Wire     string        // the wire that worked: WireChat or WireResponses
	Tool     bool          // it called the tool that it was told to call, with usable arguments
	Usage    bool          // it reports usage, so that costs and context are known rather than guessed
	FirstIn  time.Duration // until the first sign of an answer
	Finished time.Duration // until its end
}

// Probe asks the named model ("" is the first) to call a tool, once: no waiting, no retries, no other model. The error
// is an *Error.
func (c *Client) Probe(ctx context.Context, model string) (Probed, error) {
	e := c.first(model)
	req := Request{
		Messages: []Message{{Role: RoleUser, Text: "This is a connection test. Call the tool ping with the word pong, and do nothing else."}},
		Tools: []ToolDef{{
			Name: "ping", Description: "Shows that tool calls work.",
			Schema: json.RawMessage(`{"type":"object","properties":{"word":{"type":"string"}},"required":["word"]}`),
		}},
	}
	var p Probed
	start := time.Now()
	a, _, err := c.once(ctx, e, req, func(Delta) {
		if p.FirstIn == 0 {
			p.FirstIn = time.Since(start)
		}
	})
	if err != nil {
		return p, err
	}
	p.Finished = time.Since(start)
	p.Wire = e.known().wire(e.Wire)
	p.Usage = a.Usage.In > 0
	p.Tool = len(a.Calls) == 1 && a.Calls[0].Name == "ping" && a.Calls[0].Problem == ""
	return p, nil
}
