package llm

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Stream asks for one answer and hands its signs of life to sink, in order and from the calling goroutine.
//
// Before the first visible text it waits and asks again when the service is busy or broken, and changes to the next
// model when that does not help; sink gets a Notice each time. After it, an error is final and the Answer holds what
// had come. Calls of an Answer that comes with an error must not be run. Each error is an *Error.
func (c *Client) Stream(ctx context.Context, req Request, sink func(Delta)) (Answer, error) {
	if sink == nil {
		sink = func(Delta) {}
	}
	req.Tools = c.legalTools(req.Tools)
	order := c.order(req.Model)
	for i := 0; ; i++ {
		e := order[i]
		a, spoke, err := c.ask(ctx, e, req, sink)
		if err == nil {
			return a, nil
		}
		if spoke || !err.elsewhere() {
			return a, err
		}
		e.bench(err)
		if i == len(order)-1 {
			return a, err
		}
		c.log.Warn("model failed, taking the next", "model", e.Name, "next", order[i+1].Name, "err", err)
		sink(Delta{Notice: &Notice{Model: e.Name, Next: order[i+1].Name, Err: err}})
	}
}

// order gives the models to ask: the wished one, then the others as configured; those that failed lately last.
func (c *Client) order(wish string) []*entry {
	first := c.first(wish)
	out := []*entry{first}
	for _, e := range c.models {
		if e != first {
			out = append(out, e)
		}
	}
	now := time.Now()
	slices.SortStableFunc(out, func(a, b *entry) int { return boolToInt(a.isBenched(now)) - boolToInt(b.isBenched(now)) })
	return out
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Times for which a model that failed goes behind the others.
const (
	benchBroken = time.Minute
	benchClosed = 10 * time.Minute // no key, no credit, no such model: a person must act
)

func (e *entry) bench(err *Error) {
	d := benchClosed
	if err.retryable() {
		d = max(benchBroken, min(err.After, time.Hour))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.benched = time.Now().Add(d)
}

func (e *entry) isBenched(now time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return now.Before(e.benched)
}

// ask gets one answer from one model, with retries. spoke says that visible text was handed out.
func (c *Client) ask(ctx context.Context, e *entry, req Request, sink func(Delta)) (a Answer, spoke bool, err *Error) {
	asked := Usage{} // by answers that were thrown away
	empty := false
	for n := 1; ; n++ {
		a, spoke, err = c.once(ctx, e, req, sink)
		a.Usage = a.Usage.Plus(asked)
		if err == nil {
			again := a.Empty && !empty && a.Finish == FinishStop
			if !again {
				return a, spoke, nil
			}
			empty, asked = true, a.Usage
			continue
		}
		if spoke || !err.retryable() || n >= c.tries || err.After > c.wait {
			return a, spoke, err
		}
		asked = a.Usage
		wait := max(backoff(n), err.After)
		c.log.Info("model failed, asking again", "model", e.Name, "wait", wait, "err", err)
		sink(Delta{Notice: &Notice{Model: e.Name, Wait: wait, Err: err}})
		if e := sleep(ctx, wait, &e.Model); e != nil {
			return a, false, e
		}
	}
}

// backoff is 1, 2, 4 … s, each up to a quarter more or less, so that many clients do not come back at once.
func backoff(n int) time.Duration {
	d := time.Second << min(n-1, 5)
	return d*3/4 + rand.N(d/2)
}

func sleep(ctx context.Context, d time.Duration, m *Model) *Error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ended(ctx, m)
	}
}

// once is one try, repeated at once as long as a refusal says what to write differently.
func (c *Client) once(ctx context.Context, e *entry, req Request, sink func(Delta)) (Answer, bool, *Error) {
	for {
		q := e.known()
		t, err := newTry(e, q, c.http, prepare(&e.Model, req))
		if err != nil {
			return Answer{Model: e.Name}, false, &Error{Kind: KindBadRequest, Model: e.Name, Message: err.Error()}
		}
		a, err := t.run(ctx, c.idle, sink)
		if err == nil {
			a.Empty = a.Text == "" && len(a.Calls) == 0
			e.observe(t.req, a.Usage)
			return a, t.spoke, nil
		}
		fault, _ := errors.AsType[*Error](err)
		if fix := e.learn(fault, q); fix != 0 && !t.spoke {
			c.log.Info("model refused the request's form, writing it differently", "model", e.Name, "err", err)
			continue
		}
		return a, t.spoke, fault
	}
}

// known gives the quirks as of now.
func (e *entry) known() quirk {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.quirks
}

// learn remembers what an error tells about the model, and gives the quirk that the failed request, written with the
// used ones, did not yet know of; 0 if there is none.
func (e *entry) learn(err *Error, used quirk) quirk {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err.Kind == KindOverflow && err.Window > 0 {
		e.window = err.Window
	}
	fix := err.fix
	// A proxy in front of a model that go-openai takes for Responses-only may have no such endpoint.
	if err.Kind == KindNotFound && e.Wire == WireAuto && used.wire(e.Wire) == WireResponses && !strings.Contains(strings.ToLower(err.Message), "model") {
		fix = quirkChatOnly
	}
	if fix == quirkResponses && e.Wire != WireAuto || used.has(fix) {
		return 0
	}
	e.quirks |= fix
	return fix
}
