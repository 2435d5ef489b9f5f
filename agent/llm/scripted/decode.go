package scripted

import (
	"encoding/json"
	"fmt"
)

// refusal is a fault of the request, in OpenAI's words where they are known.
type refusal struct{ param, message string }

func refusef(param, format string, args ...any) *refusal {
	return &refusal{param, fmt.Sprintf(format, args...)}
}

// decodeChat reads a chat completion request and checks what is peculiar to this wire.
func decodeChat(raw []byte) (Request, *refusal) {
	var b chatBody
	if err := json.Unmarshal(raw, &b); err != nil {
		return Request{}, refusef("", "We could not parse the JSON body of your request: %v", err)
	}
	r := Request{Wire: Chat, Model: b.Model, Stream: b.Stream, Body: raw}
	if len(b.StreamOptions) > 0 && !b.Stream {
		return r, refusef("stream_options", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	}
	for i, t := range b.Tools {
		if t.Type != "function" {
			return r, refusef(fmt.Sprintf("tools[%d].type", i), "Invalid value: '%s'. Supported values are: 'function'.", t.Type)
		}
		r.Tools = append(r.Tools, Tool{t.Function.Name, t.Function.Description, t.Function.Parameters})
	}
	for i, m := range b.Messages {
		at := fmt.Sprintf("messages[%d]", i)
		text, images, ok := content(m.Content)
		null := string(m.Content) == "null" && m.Role == "assistant" && len(m.ToolCalls) > 0
		if !ok && !null {
			return r, refusef(at+".content", "Invalid value for 'content': expected a string or a list of parts.")
		}
		if m.Role == "system" || m.Role == "developer" {
			if i > 0 {
				return r, refusef(at+".role", "System message must be at the beginning.")
			}
			r.System = text
			continue
		}
		msg := Message{Role: m.Role, Text: text, Images: images, CallID: m.ToolCallID, Reasoning: m.ReasoningContent + m.Reasoning}
		for _, c := range m.ToolCalls {
			if c.Type != "function" {
				return r, refusef(at+".tool_calls", "Invalid type of tool call: '%s'.", c.Type)
			}
			msg.Calls = append(msg.Calls, ToolCall{c.ID, c.Function.Name, c.Function.Arguments})
		}
		r.Messages = append(r.Messages, msg)
	}
	return r, nil
}

// decodeResponses reads a Responses request and folds its items into messages.
func decodeResponses(raw []byte) (Request, *refusal) {
	var b responsesBody
	if err := json.Unmarshal(raw, &b); err != nil {
		return Request{}, refusef("", "We could not parse the JSON body of your request: %v", err)
	}
	r := Request{Wire: Responses, Model: b.Model, System: b.Instructions, Stream: b.Stream, Body: raw}
	for i, t := range b.Tools {
		if t.Type != "function" {
			return r, refusef(fmt.Sprintf("tools[%d].type", i), "Invalid value: '%s'.", t.Type)
		}
		r.Tools = append(r.Tools, Tool{t.Name, t.Description, t.Parameters})
	}
	var text string
	if json.Unmarshal(b.Input, &text) == nil {
		r.Messages = []Message{{Role: "user", Text: text}}
		return r, nil
	}
	var items []inputItem
	if err := json.Unmarshal(b.Input, &items); err != nil {
		return r, refusef("input", "Invalid type for 'input': expected a string or a list of items.")
	}
	f := folder{r: &r, stored: b.Store == nil || *b.Store}
	for i, it := range items {
		if ref := f.add(fmt.Sprintf("input[%d]", i), it); ref != nil {
			return r, ref
		}
	}
	if f.reasoning != "" {
		return r, refusef("input", "Item '%s' of type 'reasoning' was provided without its required following item.", f.reasoning)
	}
	return r, nil
}

// folder makes messages of items.
type folder struct {
	r         *Request
	stored    bool
	reasoning string // id of a reasoning item that waits for the one it led to
	thought   string
}

func (f *folder) add(at string, it inputItem) *refusal {
	switch it.Type {
	case "reasoning":
		if !f.stored && it.Encrypted == "" {
			return refusef(at, "Item with id '%s' not found. Items are not persisted when `store` is set to false.", it.ID)
		}
		f.reasoning, f.thought = it.ID, it.Encrypted
		return nil
	case "function_call":
		m := f.assistant()
		m.Calls = append(m.Calls, ToolCall{it.CallID, it.Name, it.Arguments})
	case "function_call_output":
		f.r.Messages = append(f.r.Messages, Message{Role: "tool", Text: it.Output, CallID: it.CallID})
	case "", "message":
		text, images, ok := content(it.Content)
		if !ok {
			return refusef(at+".content", "Invalid value for 'content'.")
		}
		if it.Role == "assistant" {
			m := f.assistant()
			m.Text += text
			break
		}
		f.r.Messages = append(f.r.Messages, Message{Role: it.Role, Text: text, Images: images})
	default:
		return refusef(at+".type", "Invalid value: '%s'.", it.Type)
	}
	if f.reasoning != "" && (it.Type == "function_call_output" || it.Role == "user") {
		return refusef(at, "Item '%s' of type 'reasoning' was provided without its required following item.", f.reasoning)
	}
	f.reasoning, f.thought = "", ""
	return nil
}

// assistant gives the assistant message that the next item belongs to.
func (f *folder) assistant() *Message {
	ms := f.r.Messages
	if n := len(ms); n == 0 || ms[n-1].Role != "assistant" {
		f.r.Messages = append(ms, Message{Role: "assistant"})
	}
	m := &f.r.Messages[len(f.r.Messages)-1]
	m.Reasoning += f.thought
	return m
}
