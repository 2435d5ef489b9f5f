package llm

import (
	"context"
	"encoding/json"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

// item is an input item of the Responses wire.
type item struct {
	Type      string `json:"type,omitempty"`
	Role      string `json:"role,omitempty"`
	Content   any    `json:"content,omitempty"` // a string or []itemPart
	CallID    string `json:"call_id,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	Output    string `json:"output,omitempty"`
}

type itemPart struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
}

// inputItems encodes a sanitized history; system text is returned apart, for "instructions".
func inputItems(m *Model, q quirk, h []Message) (instructions string, items []any) {
	for _, msg := range h {
		switch msg.Role {
		case RoleSystem:
			instructions = msg.Text
		case RoleTool:
			items = append(items, item{Type: "function_call_output", CallID: q.callID(msg.CallID), Output: msg.Text})
		case RoleAssistant:
			items = append(items, assistantItems(m, q, msg)...)
		default:
			items = append(items, item{Role: "user", Content: itemContent(msg)})
		}
	}
	return instructions, items
}

func itemContent(m Message) any {
	if len(m.Images) == 0 {
		return m.Text
	}
	var parts []itemPart
	if m.Text != "" {
		parts = append(parts, itemPart{Type: "input_text", Text: m.Text})
	}
	for _, img := range m.Images {
		parts = append(parts, itemPart{Type: "input_image", ImageURL: dataURL(img)})
	}
	return parts
}

// assistantItems gives back the model's own output items where they still say what the message says; a message that
// was changed, or made by another model, is told anew.
func assistantItems(m *Model, q quirk, msg Message) []any {
	if w := wireFor(m, msg.Wire); len(w.Output) > 0 && sameAs(w.Output, msg) {
		out := make([]any, len(w.Output))
		for i, raw := range w.Output {
			out[i] = q.echoed(raw)
		}
		return out
	}
	var out []any
	if msg.Text != "" {
		out = append(out, item{Role: "assistant", Content: msg.Text})
	}
	for _, c := range msg.Calls {
		out = append(out, item{Type: "function_call", CallID: q.callID(c.ID), Name: c.Name, Arguments: c.Args})
	}
	return out
}

// echoed is an item of the model's own as it goes back: word for word, but for a call id that would be refused.
func (q quirk) echoed(raw json.RawMessage) any {
	var it map[string]json.RawMessage
	if !q.has(quirkShortIDs) || json.Unmarshal(raw, &it) != nil || rawString(it["call_id"]) == "" {
		return raw
	}
	it["call_id"] = json.RawMessage(`"` + shortID(rawString(it["call_id"])) + `"`)
	return it
}

func sameAs(output []json.RawMessage, msg Message) bool {
	var text strings.Builder
	k := 0
	for _, raw := range output {
		var it outputItem
		if decodeLenient(raw, &it) != nil {
			return false
		}
		text.WriteString(it.text())
		if it.Type != "function_call" {
			continue
		}
		if k >= len(msg.Calls) || msg.Calls[k].ID != it.CallID || msg.Calls[k].Name != it.Name || msg.Calls[k].Args != it.Arguments {
			return false
		}
		k++
	}
	return k == len(msg.Calls) && strings.TrimSpace(text.String()) == strings.TrimSpace(msg.Text)
}

// outputItem is an item that the model put out, as far as it is understood here.
type outputItem struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Content   []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	} `json:"content"`
}

func (it outputItem) text() string {
	var b strings.Builder
	if it.Type == "message" {
		for _, c := range it.Content {
			b.WriteString(c.Text + c.Refusal)
		}
	}
	return b.String()
}

// openResponses starts a stream on the Responses wire. Nothing is stored at the service.
func (t *try) openResponses(ctx context.Context) (frames, error) {
	m := t.model
	store := false
	instructions, input := inputItems(m, t.quirks, t.req.Messages)
	req := openai.CreateResponseRequest{
		Model: m.ID, Instructions: instructions, Input: input, MaxOutputTokens: t.req.MaxOutput,
		Store: &store, Include: []openai.ResponseInclude{openai.ResponseIncludeReasoningEncryptedContent},
	}
	stream, err := t.client.CreateResponseStream(ctx, req)
	if err != nil {
		return nil, t.refused(err)
	}
	return stream, nil
}
