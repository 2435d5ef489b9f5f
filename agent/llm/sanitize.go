package llm

import (
	"fmt"
	"regexp"
	"strings"
)

// What Sanitize puts in where a service insists on something and there is nothing. The model reads it.
const (
	noResult   = "Interrupted: this call has no recorded result. Check its effect before calling again."
	noOutput   = "(no output)"
	goOn       = "(continue)"
	earlierOn  = "(the beginning of the conversation was left out)"
	namelessFn = "unknown_tool"
)

var toolName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,62}$`)

// ValidToolName says whether every service accepts name for a tool: a letter or underscore, then letters, digits, _
// and -, at most 63 in all. One other name makes services refuse the whole request.
func ValidToolName(name string) bool { return toolName.MatchString(name) }

// Sanitize makes a legal conversation out of any history, without changing h:
//
//   - at most one system message, which comes first; then a user message; the last one is a user's or a result;
//   - user and assistant messages alternate, but for results;
//   - each call has one result, right after its message, in the calls' order; there are no other results;
//   - call ids are unique and not empty, arguments are JSON objects, names are ValidToolName;
//   - nothing is empty; images stand in user messages only; text is valid UTF-8 without NUL.
//
// A legal history comes back unchanged. Run it after anything that shortens a history.
func Sanitize(h []Message) []Message {
	s := sanitizer{results: resultsByCall(h), used: map[string]int{}}
	for i, m := range h {
		switch m.Role {
		case RoleSystem:
			s.system = joinText(s.system, clean(m.Text))
		case RoleAssistant:
			s.assistant(i, m)
		case RoleTool: // taken along by its call, or an orphan
		default:
			s.user(clean(m.Text), m.Images)
		}
	}
	if n := len(s.out); n == 0 || s.out[n-1].Role == RoleAssistant {
		s.user(goOn, nil)
	}
	if s.system != "" {
		return append([]Message{{Role: RoleSystem, Text: s.system}}, s.out...)
	}
	return s.out
}

type sanitizer struct {
	out     []Message
	system  string
	results map[owned][]Message
	used    map[string]int // call ids given out, with the number to try next for one that comes again
}

// owned names a call by its id and the position of its message, as some services use their ids again.
type owned struct {
	id string
	at int
}

// resultsByCall files each tool message under the nearest call of that id before it; orphans are left out.
func resultsByCall(h []Message) map[owned][]Message {
	results := map[owned][]Message{}
	owner := map[string]int{}
	for i, m := range h {
		switch m.Role {
		case RoleAssistant:
			for _, c := range m.Calls {
				owner[c.ID] = i
			}
		case RoleTool:
			if at, ok := owner[m.CallID]; ok {
				results[owned{m.CallID, at}] = append(results[owned{m.CallID, at}], m)
			}
		}
	}
	return results
}

// take gives the next result of a call.
func (s *sanitizer) take(c owned) (Message, bool) {
	r := s.results[c]
	if len(r) == 0 {
		return Message{}, false
	}
	s.results[c] = r[1:]
	return r[0], true
}

func (s *sanitizer) last() *Message {
	if len(s.out) == 0 {
		return nil
	}
	return &s.out[len(s.out)-1]
}

func (s *sanitizer) user(text string, images []Image) {
	if text == "" && len(images) == 0 {
		return
	}
	if m := s.last(); m != nil && m.Role == RoleUser {
		m.Text = joinText(m.Text, text)
		m.Images = append(m.Images[:len(m.Images):len(m.Images)], images...)
		return
	}
	s.out = append(s.out, Message{Role: RoleUser, Text: text, Images: images})
}

func (s *sanitizer) assistant(i int, m Message) {
	m = Message{Role: RoleAssistant, Text: clean(m.Text), Calls: m.Calls, Wire: m.Wire}
	if m.Text == "" && len(m.Calls) == 0 {
		return
	}
	if s.last() == nil {
		s.user(earlierOn, nil)
	}
	if before := s.last(); before.Role == RoleAssistant { // has no calls, else results would follow it
		m.Text = joinText(before.Text, m.Text)
		if len(m.Wire) == 0 {
			m.Wire = before.Wire
		}
		s.out = s.out[:len(s.out)-1]
	}
	if len(m.Calls) == 0 {
		s.out = append(s.out, m)
		return
	}
	s.batch(i, m)
}

// batch puts out a message with calls and their results.
func (s *sanitizer) batch(i int, m Message) {
	calls := make([]Call, len(m.Calls))
	results := make([]Message, len(m.Calls))
	var images []Image
	for k, c := range m.Calls {
		r, ok := s.take(owned{c.ID, i})
		if !ok {
			r.Text = noResult
		}
		calls[k] = s.call(c)
		text := clean(r.Text)
		if text == "" {
			text = noOutput
		}
		results[k] = Message{Role: RoleTool, CallID: calls[k].ID, Text: text}
		images = append(images, r.Images...)
	}
	m.Calls = calls
	s.out = append(append(s.out, m), results...)
	if len(images) > 0 {
		s.user("(images from the tool results above)", images)
	}
}

func (s *sanitizer) call(c Call) Call {
	out := Call{ID: clean(c.ID), Name: c.Name, Args: "{}"}
	if out.ID == "" {
		out.ID = "call"
	}
	for id := out.ID; s.used[out.ID] > 0; {
		s.used[id]++
		out.ID = fmt.Sprintf("%s_%d", id, s.used[id])
	}
	s.used[out.ID] = 1
	if c.Problem == "" && isObject(c.Args) {
		out.Args = c.Args
	}
	if !ValidToolName(out.Name) {
		out.Name = legalName(out.Name)
	}
	return out
}

func legalName(name string) string {
	b := []byte(name)
	for i, c := range b {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && c != '-' && (c < '0' || c > '9') || i == 0 && !letter {
			b[i] = '_'
		}
	}
	if len(b) == 0 {
		return namelessFn
	}
	return string(b[:min(len(b), 63)])
}

func joinText(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

// clean drops what breaks JSON readers and databases behind services. Text that is only white space becomes none.
func clean(s string) string {
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "")
	}
	if s = strings.ToValidUTF8(s, "\uFFFD"); strings.TrimSpace(s) == "" {
		return ""
	}
	return s
}
