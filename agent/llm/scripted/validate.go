package scripted

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// validName is the strictest rule among services (Gemini's).
var validName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,62}$`)

const maxTools = 128

// validate judges a decoded request by the rules that any service may insist on.
func validate(r Request, anyName bool) *refusal {
	if r.Model == "" {
		return refusef("model", "you must provide a model parameter")
	}
	if ref := validateTools(r.Tools, anyName); ref != nil {
		return ref
	}
	if len(r.Messages) == 0 {
		return refusef("messages", "Invalid 'messages': empty array. Expected an array with minimum length 1.")
	}
	return validateOrder(r.Messages)
}

func validateTools(tools []Tool, anyName bool) *refusal {
	if len(tools) > maxTools {
		return refusef("tools", "Invalid 'tools': array too long. Expected at most %d, got %d.", maxTools, len(tools))
	}
	seen := map[string]bool{}
	for i, t := range tools {
		at := fmt.Sprintf("tools[%d].function", i)
		if !anyName && !validName.MatchString(t.Name) {
			return refusef(at+".name", "Invalid '%s.name': string does not match pattern '%s'.", at, validName)
		}
		if seen[t.Name] {
			return refusef(at+".name", "Tool names must be unique: '%s'.", t.Name)
		}
		seen[t.Name] = true
		var s struct {
			Type       any
			Properties map[string]json.RawMessage
			Required   []string
		}
		if err := json.Unmarshal(t.Schema, &s); err != nil || s.Type != "object" || s.Properties == nil {
			return refusef(at+".parameters", "Invalid schema for function '%s': schema must be a JSON Schema of 'type: \"object\"' with properties.", t.Name)
		}
		for _, name := range s.Required {
			if _, ok := s.Properties[name]; !ok {
				return refusef(at+".parameters", "Invalid schema for function '%s': required property '%s' is not defined.", t.Name, name)
			}
		}
	}
	return nil
}

// validateOrder walks over the conversation with the calls that still wait for their results.
func validateOrder(ms []Message) *refusal {
	var waiting []string
	used := map[string]bool{}
	for i, m := range ms {
		at := fmt.Sprintf("messages[%d]", i)
		if m.Role != "tool" && len(waiting) > 0 {
			return refusef(at, "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s", strings.Join(waiting, ", "))
		}
		if len(m.Images) > 0 && m.Role != "user" {
			return refusef(at+".content", "Image URLs are only allowed for messages with role 'user', but this message with role '%s' contains an image URL.", m.Role)
		}
		if strings.TrimSpace(m.Text) == "" && len(m.Calls) == 0 && len(m.Images) == 0 {
			return refusef(at+".content", "messages: text content blocks must be non-empty")
		}
		switch m.Role {
		case "tool":
			if len(waiting) == 0 || waiting[0] != m.CallID {
				return refusef(at, "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'; got '%s', want one of %v", m.CallID, waiting)
			}
			waiting = waiting[1:]
		case "user", "assistant":
			if i > 0 && ms[i-1].Role == m.Role || i == 0 && m.Role == "assistant" {
				return refusef(at, "Conversation roles must alternate user/assistant/user/assistant/...")
			}
			ids, ref := validateCalls(at, m.Calls, used)
			if ref != nil {
				return ref
			}
			waiting = ids
		default:
			return refusef(at+".role", "Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', and 'tool'.", m.Role)
		}
	}
	switch {
	case len(waiting) > 0:
		return refusef("messages", "The following tool_call_ids did not have response messages: %s", strings.Join(waiting, ", "))
	case ms[len(ms)-1].Role == "assistant":
		return refusef("messages", "This model does not support assistant message prefill. The conversation must end with a user message.")
	}
	return nil
}

func validateCalls(at string, calls []ToolCall, used map[string]bool) (ids []string, ref *refusal) {
	for _, c := range calls {
		switch {
		case c.ID == "" || used[c.ID]:
			return nil, refusef(at+".tool_calls", "`tool_use` ids must be unique and not empty: '%s'", c.ID)
		case !validName.MatchString(c.Name):
			return nil, refusef(at+".tool_calls", "Invalid function name: '%s'.", c.Name)
		}
		var args map[string]json.RawMessage
		if json.Unmarshal([]byte(c.Args), &args) != nil || args == nil {
			return nil, refusef(at+".tool_calls", "Invalid arguments of '%s': expected a JSON object.", c.Name)
		}
		used[c.ID] = true
		ids = append(ids, c.ID)
	}
	return ids, nil
}
