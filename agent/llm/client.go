package llm

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options configure a Client. Zero durations and counts mean the default.
type Options struct {
	Models    []Model           // in order of preference; at least one
	Transport http.RoundTripper // nil: a new one with limits for dialling and TLS
	Log       *slog.Logger      // nil: no log
	Idle      time.Duration     // longest silence of a service, before and within an answer; 120 s
	MaxWait   time.Duration     // longest Retry-After that is waited for; 60 s
	Tries     int               // of one model for one answer; 4
}

// Client asks models for answers. It is safe for concurrent use and starts no goroutines that outlive a call.
type Client struct {
	models []*entry
	http   *http.Client
	log    *slog.Logger
	idle   time.Duration
	wait   time.Duration
	tries  int
}

// entry is a model with what was learned about it.
type entry struct {
	Model

	mu      sync.Mutex
	quirks  quirk
	window  int // as told by the service; 0 if it never did
	meter   meter
	benched time.Time // until then other models go first
}

// New checks the models, fills in their defaults and reports everything that is wrong with them at once.
func New(o Options) (*Client, error) {
	c := &Client{
		log: o.Log, idle: orDefault(o.Idle, 120*time.Second), wait: orDefault(o.MaxWait, time.Minute), tries: orDefault(o.Tries, 4),
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if o.Transport == nil {
		o.Transport = newTransport()
	}
	c.http = &http.Client{
		Transport:     o.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	var errs []error
	for _, m := range o.Models {
		if err := m.check(); err != nil {
			errs = append(errs, err)
			continue
		}
		if c.entry(m.Name) != nil {
			errs = append(errs, fmt.Errorf("checking model %s: the name is used twice; give one a name and an id", m.Name))
		}
		c.models = append(c.models, &entry{Model: m, quirks: m.known()})
	}
	if len(o.Models) == 0 {
		errs = append(errs, errors.New("checking models: none is configured"))
	}
	return c, errors.Join(errs...)
}

func orDefault[T int | time.Duration](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}

func newTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	t.TLSHandshakeTimeout = 10 * time.Second
	t.MaxIdleConnsPerHost = 8
	return t
}

func (c *Client) entry(name string) *entry {
	i := slices.IndexFunc(c.models, func(e *entry) bool { return strings.EqualFold(e.Name, name) })
	if i < 0 {
		return nil
	}
	return c.models[i]
}

// Models gives the configured models in order, each as Describe does.
func (c *Client) Models() []Model {
	out := make([]Model, len(c.models))
	for i, e := range c.models {
		out[i] = e.describe()
	}
	return out
}

// Describe gives a model with its defaults filled in, and with the context window that its service told in an overflow
// error, if it did. "" and names that are not configured give the first model.
func (c *Client) Describe(name string) Model { return c.first(name).describe() }

func (e *entry) describe() Model {
	e.mu.Lock()
	defer e.mu.Unlock()
	m := e.Model
	if e.window > 0 {
		m.ContextWindow = e.window
	}
	return m
}

// first gives the named model, or the first one for a name that is not known.
func (c *Client) first(name string) *entry {
	if e := c.entry(name); e != nil {
		return e
	}
	return c.models[0]
}

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
		t := newTry(&e.Model, q, c.http, prepare(&e.Model, req))
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

// prepare makes the request legal and fit for the model.
func prepare(m *Model, req Request) Request {
	h := req.Messages
	if req.System != "" {
		h = append([]Message{{Role: RoleSystem, Text: req.System}}, h...)
	}
	if !m.Vision {
		h = withoutImages(h)
	}
	req.Messages = Sanitize(h)
	return req
}

const imageNote = "(an image stood here, which this model cannot see)"

// withoutImages replaces images by a note, in a copy.
func withoutImages(h []Message) []Message {
	h = slices.Clone(h)
	for i, m := range h {
		if len(m.Images) > 0 {
			h[i].Images = nil
			h[i].Text = joinText(m.Text, imageNote)
		}
	}
	return h
}

// legalTools sorts a copy by name, for the sake of services' prompt caches, and leaves out tools whose name would make
// the service refuse the whole request.
func (c *Client) legalTools(tools []ToolDef) []ToolDef {
	tools = slices.DeleteFunc(slices.Clone(tools), func(t ToolDef) bool {
		if ValidToolName(t.Name) {
			return false
		}
		c.log.Warn("leaving out a tool that has a name no service accepts", "tool", t.Name)
		return true
	})
	slices.SortFunc(tools, func(a, b ToolDef) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(tools, func(a, b ToolDef) bool { return a.Name == b.Name })
}
