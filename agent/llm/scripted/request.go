package scripted

import (
	"encoding/json"
	"net/http"
	"strings"
)

// The wires.
const (
	Chat      = "chat"
	Responses = "responses"
)

// Request is what a client asked, the same for both wires.
type Request struct {
	N        int // 0 for the server's first request, and so on
	Wire     string
	Model    string
	System   string
	Messages []Message // without the system message
	Tools    []Tool
	Stream   bool
	Header   http.Header
	Body     json.RawMessage // as it was sent
	Gone     <-chan struct{} // closed when the client no longer waits for the answer
}

// Message is an entry of the conversation. On the Responses wire, calls that stand next to each other and the text
// before them are one.
type Message struct {
	Role      string // user, assistant, tool
	Text      string
	Calls     []ToolCall
	CallID    string   // of a tool message
	Images    []string // addresses, mostly data:
	Reasoning string   // as it was echoed
}

// ToolCall is a tool call in the history.
type ToolCall struct{ ID, Name, Args string }

// Tool is an offered tool.
type Tool struct {
	Name, Description string
	Schema            json.RawMessage
}

// LastUser is the newest text of the user, "" if there is none.
func (r Request) LastUser() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == "user" {
			return r.Messages[i].Text
		}
	}
	return ""
}

// Results are the tool results at the end of the conversation, in order; none when the user spoke last.
func (r Request) Results() []string {
	i := len(r.Messages)
	for i > 0 && r.Messages[i-1].Role == "tool" {
		i--
	}
	var out []string
	for _, m := range r.Messages[i:] {
		out = append(out, m.Text)
	}
	return out
}

// Offers says whether the tool was offered.
func (r Request) Offers(tool string) bool {
	for _, t := range r.Tools {
		if t.Name == tool {
			return true
		}
	}
	return false
}

// chatBody is the JSON of a chat completion request.
type chatBody struct {
	Model    string
	Stream   bool
	Messages []struct {
		Role             string
		Content          json.RawMessage
		ReasoningContent string `json:"reasoning_content"`
		Reasoning        string
		ToolCalls        []struct {
			ID, Type string
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
		ToolCallID string `json:"tool_call_id"`
	}
	Tools []struct {
		Type     string
		Function struct {
			Name, Description string
			Parameters        json.RawMessage
		}
	}
	StreamOptions json.RawMessage `json:"stream_options"`
}

// part is a piece of a message's content on either wire.
type part struct {
	Type, Text, Refusal string
	ImageURL            json.RawMessage `json:"image_url"`
}

// content reads a string or a list of parts. ok is false for anything else, missing content too.
func content(raw json.RawMessage) (text string, images []string, ok bool) {
	if json.Unmarshal(raw, &text) == nil && len(raw) > 0 && raw[0] == '"' {
		return text, nil, true
	}
	var parts []part
	if json.Unmarshal(raw, &parts) != nil || parts == nil {
		return "", nil, false
	}
	var b strings.Builder
	for _, p := range parts {
		switch p.Type {
		case "text", "input_text", "output_text", "refusal":
			b.WriteString(p.Text + p.Refusal)
		case "image_url", "input_image":
			images = append(images, imageURL(p.ImageURL))
		default:
			return "", nil, false
		}
	}
	return b.String(), images, true
}

func imageURL(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var o struct{ URL string }
	if json.Unmarshal(raw, &o) != nil {
		return ""
	}
	return o.URL
}

// responsesBody is the JSON of a Responses request.
type responsesBody struct {
	Model        string
	Stream       bool
	Store        *bool
	Instructions string
	Input        json.RawMessage
	Tools        []struct {
		Type, Name, Description string
		Parameters              json.RawMessage
	}
}

// inputItem is an item of Input.
type inputItem struct {
	Type, Role, ID          string
	Content                 json.RawMessage
	CallID                  string `json:"call_id"`
	Name, Arguments, Output string
	Encrypted               string `json:"encrypted_content"`
}
