package llm

import (
	"errors"
	"fmt"
	"log/slog"
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
	offer   offer
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

// sharedTransport keeps the connections of services that are made anew for each call.
var sharedTransport = sync.OnceValue(newTransport)

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
