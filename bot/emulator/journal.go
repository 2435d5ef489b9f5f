package emulator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Call is one request of the bot, recorded in the order of arrival.
type Call struct {
	N           int    // 1 for the first
	Method      string // as the documentation spells it
	At          time.Time
	Params      map[string]string // nested values as JSON text; do not change it
	Files       []CallFile        // sorted by field
	Done        bool              // answered, or cut off by a fault
	Code        int               // HTTP status; 0 while not Done, and when the connection was cut before the call took effect
	Description string            // of the error
	Result      json.RawMessage   // of a success; not kept for getUpdates
}

// CallFile is a file that came with a call.
type CallFile struct {
	Field, Name string
	Size        int64
	SHA256      string // hexadecimal
}

// String shows the call in one line, parameters sorted.
func (c Call) String() string {
	var b strings.Builder
	b.WriteString(c.Method)
	for _, name := range slices.Sorted(maps.Keys(c.Params)) {
		fmt.Fprintf(&b, " %s=%q", name, c.Params[name])
	}
	for _, f := range c.Files {
		fmt.Fprintf(&b, " %s=<%s, %d bytes>", f.Field, f.Name, f.Size)
	}
	switch {
	case c.Description != "":
		fmt.Fprintf(&b, " -> %d %s", c.Code, c.Description)
	case c.Done && c.Code == 0:
		b.WriteString(" -> cut off")
	}
	return b.String()
}

// journal is the list of calls; the oldest finished ones are forgotten beyond keep.
type journal struct {
	calls []*entry
	n     int
	keep  int
}

// entry is a Call that still changes; Server.mu guards it.
type entry struct {
	s    *Server
	call Call
}

func (e *entry) snapshot() Call {
	e.s.mu.Lock()
	defer e.s.mu.Unlock()
	return e.call
}

func (s *Server) begin(q *request) *entry {
	var files []CallFile
	for _, field := range slices.Sorted(maps.Keys(q.files)) {
		f := q.files[field]
		sum := sha256.Sum256(f.data)
		files = append(files, CallFile{field, f.name, int64(len(f.data)), hex.EncodeToString(sum[:])})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	j := &s.journal
	j.n++
	e := &entry{s, Call{N: j.n, Method: q.method, At: time.Now(), Params: q.params, Files: files}}
	if len(j.calls) >= 2*j.keep {
		j.calls = slices.Clone(j.calls[len(j.calls)-j.keep:])
	}
	j.calls = append(j.calls, e)
	s.note()
	return e
}

// end records the outcome and returns the body of a success.
func (s *Server) end(e *entry, result any, err *apiError) []byte {
	var raw, body []byte
	if err == nil {
		raw, _ = json.Marshal(result) // the package's own types always encode
		body = fmt.Appendf(nil, `{"ok":true,"result":%s}`, raw)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e.call.Done = true
	if err != nil {
		e.call.Code, e.call.Description = err.code, err.description
	} else {
		e.call.Code = http.StatusOK
		if e.call.Method != "getUpdates" {
			e.call.Result = raw
		}
	}
	s.note()
	return body
}

// cutOff records that the client got no answer to a call that a fault ended.
func (s *Server) cutOff(e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.call.Done = true
	s.note()
}

// Calls returns the recorded calls of the named methods, or all but getUpdates when none is named.
func (s *Server) Calls(methods ...string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []Call
	for _, e := range s.journal.calls {
		if named(e.call.Method, methods) {
			found = append(found, e.call)
		}
	}
	return found
}

func named(method string, methods []string) bool {
	if len(methods) == 0 {
		return method != "getUpdates"
	}
	return slices.ContainsFunc(methods, func(m string) bool { return strings.EqualFold(m, method) })
}

// WaitCall waits for a call that is Done and matches, and returns the first such call that is remembered.
func (s *Server) WaitCall(ctx context.Context, match func(Call) bool) (Call, error) {
	return s.WaitCallAfter(ctx, 0, match)
}

// WaitCallAfter is WaitCall among the calls with N > n.
func (s *Server) WaitCallAfter(ctx context.Context, n int, match func(Call) bool) (found Call, err error) {
	err = s.wait(ctx, func() bool {
		for _, e := range s.journal.calls {
			if e.call.N > n && e.call.Done && match(e.call) {
				found = e.call
				return true
			}
		}
		return false
	})
	if err != nil {
		return Call{}, fmt.Errorf("waiting for a call: %w; last calls:\n%s", err, s.lastCalls(10))
	}
	return found, nil
}

// Method returns a match for WaitCall: any successful call of the method.
func Method(name string) func(Call) bool {
	return func(c Call) bool { return strings.EqualFold(c.Method, name) && c.Code == http.StatusOK }
}

func (s *Server) lastCalls(n int) string {
	calls := s.Calls()
	var b strings.Builder
	for _, c := range calls[max(0, len(calls)-n):] {
		fmt.Fprintln(&b, c)
	}
	return b.String()
}
