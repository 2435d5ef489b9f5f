package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"nod/approvals"
	"nod/tools/secrets"
)

// Transport is how a server is reached.
type Transport string

const (
	Stdio Transport = "stdio" // a program on pipes
	HTTP  Transport = "http"  // streamable HTTP
	SSE   Transport = "sse"   // its predecessor, HTTP with server-sent events
)

// Transports are those that there are.
var Transports = []Transport{Stdio, HTTP, SSE}

// Server says how a server is started or reached. Values of APIKey and Env may be ${secret:NAME}.
type Server struct {
	Name         string            `json:"name"`
	Transport    Transport         `json:"transport"`
	Command      string            `json:"command,omitempty"`
	Args         []string          `json:"args,omitempty"`
	Env          map[string]string `json:"env,omitempty"`
	URL          string            `json:"url,omitempty"`
	APIKey       string            `json:"api_key,omitempty"` // goes out as "Authorization: Bearer …"
	Description  string            `json:"description,omitempty"`
	FriendlyName string            `json:"friendly_name,omitempty"`
	Off          bool              `json:"off,omitempty"`
}

// Bounds of a server's settings.
const (
	maxArgs  = 64
	maxText  = 4096 // bytes, of each text
	maxVars  = 64
	maxWords = 300 // bytes, of a description or a friendly name
)

var variableForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Check finds everything that is wrong with the settings.
func (s Server) Check() error {
	problems := []error{CheckName(s.Name)}
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	switch s.Transport {
	case Stdio:
		if s.Command == "" || strings.HasPrefix(s.Command, "-") {
			problem("command: a stdio server needs the program to run")
		}
		if s.URL != "" || s.APIKey != "" {
			problem("url and api_key are for http and sse; give a stdio server its key in env")
		}
	case HTTP, SSE:
		if err := checkURL(s.URL); err != nil {
			problem("url: %w", err)
		}
		if s.Command != "" || len(s.Args) > 0 || len(s.Env) > 0 {
			problem("command, args and env are for stdio")
		}
	default:
		problem("transport: it must be stdio, http or sse")
	}
	if len(s.Args) > maxArgs || len(s.Env) > maxVars {
		problem("args and env: at most %d and %d", maxArgs, maxVars)
	}
	for name := range s.Env {
		if !variableForm.MatchString(name) {
			problem("env: %q is no name of a variable", name)
		}
	}
	if len(s.Description) > maxWords || len(s.FriendlyName) > maxWords {
		problem("description and friendly_name: at most %d bytes each", maxWords)
	}
	texts := slices.Concat([]string{s.Command, s.URL, s.APIKey}, s.Args, slices.Collect(maps.Values(s.Env)))
	if slices.ContainsFunc(texts, func(t string) bool { return len(t) > maxText || strings.ContainsRune(t, 0) }) {
		problem("a text is longer than %d bytes, or holds a NUL byte", maxText)
	}
	return errors.Join(problems...)
}

// checkURL refuses what is no address of a server. A key in it would be shown.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("it must be an http or https address")
	case u.User != nil:
		return errors.New("leave the user and password out of the address; use api_key")
	}
	return nil
}

// secretWords make the name of a variable or of a field that of a secret.
var secretWords = regexp.MustCompile(`(?i)passw|passphrase|passcode|token|secret|credential|keys?$|key[_ -]|(^|[_ -])(pin|otp)([_ -]|$)`)

// IsSecret says whether what has this name is a secret.
func IsSecret(name string) bool { return secretWords.MatchString(name) }

func referenceTo(name string) string { return "${secret:" + name + "}" }

// masked is a secret as cards and records show it: a reference as it is, a value by a fingerprint that binds a nod to it.
func masked(value string) string {
	if _, ok := secrets.Reference(value); ok || value == "" {
		return value
	}
	sum := sha256.Sum256([]byte(value))
	return "[secret " + hex.EncodeToString(sum[:])[:12] + "]"
}

// Key is a text that is a secret wherever it is written.
type Key string

// MarshalJSON hides the value.
func (k Key) MarshalJSON() ([]byte, error) { return json.Marshal(masked(string(k))) }

// Variables are an environment. Values of those that are named like a secret are hidden wherever they are written.
type Variables map[string]string

// MarshalJSON hides what is secret.
func (v Variables) MarshalJSON() ([]byte, error) { return json.Marshal(v.masked()) }

func (v Variables) masked() map[string]string {
	shown := make(map[string]string, len(v))
	for name, value := range v {
		if shown[name] = value; IsSecret(name) {
			shown[name] = masked(value)
		}
	}
	return shown
}

const identityFact = "server"

// identity is what a nod to a call of the server is bound to.
func (s Server) identity() approvals.Fact {
	s = s.shown()
	s.Description, s.FriendlyName, s.Off = "", "", false
	raw, err := json.Marshal(s)
	if err != nil { // of plain texts there is none
		return approvals.Fact{}
	}
	sum := sha256.Sum256(raw)
	return approvals.Fact{Name: identityFact, Value: hex.EncodeToString(sum[:])}
}

// where says how the server is started or reached, for people. It holds no secret.
func (s Server) where() string {
	if s.Transport != Stdio {
		return s.URL
	}
	return strings.Join(append([]string{s.Command}, s.Args...), " ")
}
