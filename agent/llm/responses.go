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
func inputItems(m *Model, h []Message) (instructions string, items []any) {
	for _, msg := range h {
		switch msg.Role {
		case RoleSystem:
			instructions = msg.Text
		case RoleTool:
			items = append(items, item{Type: "function_call_output", CallID: msg.CallID, Output: msg.Text})
		case RoleAssistant:
			items = append(items, assistantItems(m, msg)...)
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
func assistantItems(m *Model, msg Message) []any {
	if w := wireFor(m, msg.Wire); len(w.Output) > 0 && sameAs(w.Output, msg) {
		out := make([]any, len(w.Output))
		for i, raw := range w.Output {
			out[i] = raw
		}
		return out
	}
	var out []any
	if msg.Text != "" {
		out = append(out, item{Role: "assistant", Content: msg.Text})
	}
	for _, c := range msg.Calls {
		out = append(out, item{Type: "function_call", CallID: c.ID, Name: c.Name, Arguments: c.Args})
	}
	return out
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
		if k >= len(msg.Calls) || msg.Calls[k].ID != it.CallID || msg.Calls[k].Name != it.Name || !isObject(it.Arguments) {
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

// event is a frame of the Responses wire.
type event struct {
	Type        string          `json:"type"`
	Delta       string          `json:"delta"`
	ItemID      string          `json:"item_id"`
	OutputIndex int             `json:"output_index"`
	Item        json.RawMessage `json:"item"`
	Response    struct {
		Error      json.RawMessage   `json:"error"`
		Output     []json.RawMessage `json:"output"`
		Usage      *responseUsage    `json:"usage"`
		Incomplete struct {
			Reason string `json:"reason"`
		} `json:"incomplete_details"`
	} `json:"response"`
}

type responseUsage struct {
	In  float64 `json:"input_tokens"`
	Out float64 `json:"output_tokens"`
	Det struct {
		Cached float64 `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	OutDet struct {
		Reasoning float64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// addEvent folds one frame of the Responses wire into the draft.
func (d *draft) addEvent(m *Model, raw []byte) error {
	var e event
	if err := decodeLenient(raw, &e); err != nil {
		return err
	}
	switch e.Type {
	case "response.output_text.delta", "response.refusal.delta":
		d.say(e.Delta)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		d.sink(Delta{Reasoning: true}) // the output item holds what must be sent back
	case "response.output_item.added", "response.output_item.done":
		d.addItem(e.Item, e.Type == "response.output_item.done")
	case "response.function_call_arguments.delta":
		if c := d.callOf(e.ItemID, e.OutputIndex); c != nil {
			c.args = append(c.args, e.Delta...)
		}
	case "response.completed", "response.incomplete":
		return d.close(e)
	case "response.failed":
		if !isSet(e.Response.Error) {
			return &Error{Kind: KindUnavailable, Model: m.Name, Message: "the service gave up on the answer and did not say why"}
		}
		return classify(m, 0, nil, []byte(`{"error":`+string(e.Response.Error)+`}`))
	}
	return nil
}

func (d *draft) callOf(itemID string, index int) *callDraft {
	for _, c := range d.calls {
		if itemID != "" && c.key == itemID || itemID == "" && c.index == index {
			return c
		}
	}
	return nil
}

// addItem takes an output item; a done one replaces what its deltas told.
func (d *draft) addItem(raw json.RawMessage, done bool) {
	var it outputItem
	if !isSet(raw) || decodeLenient(raw, &it) != nil {
		return
	}
	if done {
		d.wire.Output = append(d.wire.Output, raw)
	}
	switch it.Type {
	case "function_call":
		c := d.itemCall(it)
		c.id, c.name = firstOf(it.CallID, c.id, it.ID), firstOf(it.Name, c.name)
		if done && it.Arguments != "" {
			c.args = []byte(it.Arguments)
		}
		if !c.told && c.name != "" {
			c.told = true
			d.sink(Delta{Call: c.name})
		}
	case "message":
		if whole := it.text(); done && d.text.Len() == 0 && whole != "" {
			d.say(whole) // a service that sends no text deltas
		}
	}
}

func (d *draft) itemCall(it outputItem) *callDraft {
	for _, c := range d.calls {
		if it.ID != "" && c.key == it.ID || it.CallID != "" && c.id == it.CallID {
			return c
		}
	}
	c := &callDraft{key: it.ID, index: len(d.calls)}
	d.calls = append(d.calls, c)
	return c
}

// close takes the final response, whose output is the whole truth where the service sends it.
func (d *draft) close(e event) error {
	if u := e.Response.Usage; u != nil {
		d.usage = Usage{In: int(u.In), Out: int(u.Out), Cached: int(u.Det.Cached), Reasoning: int(u.OutDet.Reasoning)}
	}
	if len(e.Response.Output) > 0 {
		d.wire.Output = nil
		for _, raw := range e.Response.Output {
			d.addItem(raw, true)
		}
	}
	d.finish = "completed"
	if e.Type == "response.incomplete" {
		d.finish = firstOf(e.Response.Incomplete.Reason, "length")
		d.wire.Output = nil // a cut item is refused when it is sent back
	}
	return nil
}

// openResponses starts a stream on the Responses wire. Nothing is stored at the service.
func (t *try) openResponses(ctx context.Context) (frames, error) {
	m := t.model
	store := false
	instructions, input := inputItems(m, t.req.Messages)
	req := openai.CreateResponseRequest{
		Model: m.ID, Instructions: instructions, Input: input, MaxOutputTokens: t.req.MaxOutput,
		Store: &store, Include: []openai.ResponseInclude{openai.ResponseIncludeReasoningEncryptedContent},
	}
	for _, tool := range t.req.Tools {
		def := openai.NewResponseFunctionTool(openai.FunctionDefinition{
			Name: tool.Name, Description: tool.Description, Parameters: schemaFor(tool.Schema, false),
		})
		def.Parameters["strict"] = false // this wire's default is true, which few schemas fit
		req.Tools = append(req.Tools, def)
	}
	stream, err := t.client.CreateResponseStream(ctx, req)
	if err != nil {
		return nil, t.refused(err)
	}
	return stream, nil
}
