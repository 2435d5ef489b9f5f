package llm

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/url"
	"strings"
)

// Secret is a string that prints as "[redacted]" wherever it ends up by accident.
type Secret string

const redacted = "[redacted]"

func (Secret) String() string               { return redacted }
func (Secret) GoString() string             { return redacted }
func (Secret) LogValue() slog.Value         { return slog.StringValue(redacted) }
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// The wires a model service can be spoken to with.
const (
	WireAuto      = "auto" // chat until the service or go-openai says that this model needs Responses; the default
	WireChat      = "chat" // POST /chat/completions
	WireResponses = "responses"
)

// Model is one configured model of one service.
type Model struct {
	Name          string // how people and Request.Model call it; unique
	ID            string // how the service calls it; "" means Name
	BaseURL       string // "" means https://api.openai.com/v1
	APIKey        Secret // "" sends no Authorization header, as local servers want
	ContextWindow int    // tokens; 0 if unknown
	PriceIn       float64
	PriceOut      float64 // USD per million tokens
	Vision        bool    // images are sent; else they are replaced by a note
	Wire          string  // WireAuto, WireChat, WireResponses; "" means auto
	Headers       map[string]Secret
	Body          map[string]any // extra top-level fields of each request, such as reasoning_effort
}

// ownFields are those that Model.Body must not set.
var ownFields = []string{"model", "messages", "input", "instructions", "tools", "stream", "store"}

const defaultBaseURL = "https://api.openai.com/v1"

// check fills in defaults and names everything that is wrong with m.
func (m *Model) check() error {
	if m.Name == "" {
		m.Name = m.ID
	}
	if m.ID == "" {
		m.ID = m.Name
	}
	if m.BaseURL == "" {
		m.BaseURL = defaultBaseURL
	}
	if m.Wire == "" {
		m.Wire = WireAuto
	}
	if m.Name == "" {
		return errors.New("checking a model: it has no name")
	}
	var all []error
	wrong := func(format string, args ...any) {
		all = append(all, fmt.Errorf("checking model %s: %w", m.Name, fmt.Errorf(format, args...)))
	}
	u, err := url.Parse(m.BaseURL)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		wrong("base_url must be an http or https address such as %s", defaultBaseURL)
	case u.RawQuery != "" || u.User != nil || u.Fragment != "":
		wrong("base_url must hold no password or query; put keys into api_key")
	}
	if m.Wire != WireAuto && m.Wire != WireChat && m.Wire != WireResponses {
		wrong("wire is %q, want auto, chat or responses", m.Wire)
	}
	switch {
	case m.ContextWindow < 0 || m.PriceIn < 0 || m.PriceOut < 0:
		wrong("context_window and prices must not be negative")
	case math.IsNaN(m.PriceIn+m.PriceOut) || math.IsInf(m.PriceIn+m.PriceOut, 0): // no cap on spending would ever be reached
		wrong("price_in and price_out must be sums in USD")
	}
	for _, f := range ownFields {
		if _, ok := m.Body[f]; ok {
			wrong("body must not set %s, which nod sets itself", f)
		}
	}
	return errors.Join(all...)
}

// origin names the service and model for which an echoed Message.Wire is meant.
func (m *Model) origin() string { return strings.TrimRight(m.BaseURL, "/") + " " + m.ID }

func (m *Model) host() string {
	u, err := url.Parse(m.BaseURL)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

func (m *Model) secrets() []string {
	s := []string{string(m.APIKey)}
	for _, v := range m.Headers {
		s = append(s, string(v))
	}
	return s
}

// quirk is a set of peculiarities of a service that change how a request is written. Some are known by name, the others
// are learned from the service's refusals and kept for the life of the process.
type quirk uint16

const (
	quirkResponses     quirk = 1 << iota // chat/completions refuses tools for this model
	quirkChatOnly                        // there is no /responses here, whatever go-openai thinks of the model
	quirkNoStreamOpts                    // stream_options is refused
	quirkMaxCompletion                   // max_tokens is called max_completion_tokens
	quirkShortIDs                        // call ids must be nine alphanumerics (Mistral)
	quirkGemini                          // schemas must keep to Gemini's subset
	quirkNoReasoning                     // echoed reasoning is refused
	quirkNeedReasoning                   // assistant messages with calls must carry reasoning_content
)

func (q quirk) has(p quirk) bool { return q&p != 0 }

// wire is the wire to take for a model that is configured for one, or for WireAuto.
func (q quirk) wire(configured string) string {
	switch {
	case configured != WireAuto:
		return configured
	case q.has(quirkResponses) && !q.has(quirkChatOnly):
		return WireResponses
	}
	return WireChat
}

// known gives the quirks that a model's address and name tell.
func (m *Model) known() quirk {
	var q quirk
	host, id := m.host(), strings.ToLower(m.ID)
	if strings.HasSuffix(host, "mistral.ai") || strings.HasPrefix(id, "mistralai/") {
		q |= quirkShortIDs
	}
	if strings.HasSuffix(host, "googleapis.com") || strings.Contains(id, "gemini") {
		q |= quirkGemini
	}
	if host == "api.openai.com" || strings.HasSuffix(host, ".openai.azure.com") {
		q |= quirkMaxCompletion
	}
	return q
}
