package llm

import (
	"encoding/json"
	"errors"
	"strings"
)

// chunk is one frame of a chat completion, decoded leniently: a field that a service gets wrong must not cost the
// others.
type chunk struct {
	Choices []struct {
		Index int `json:"index"`
		Delta struct {
			Content          json.RawMessage   `json:"content"`
			Refusal          string            `json:"refusal"`
			Reasoning        string            `json:"reasoning"`
			ReasoningContent string            `json:"reasoning_content"`
			ReasoningDetails []json.RawMessage `json:"reasoning_details"`
			ToolCalls        []deltaCall       `json:"tool_calls"`
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *chatUsage `json:"usage"`
}

// deltaCall is a fragment of a tool call.
type deltaCall struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
	Extra json.RawMessage `json:"extra_content"`
}

func (d deltaCall) args() string {
	if !isSet(d.Function.Arguments) {
		return ""
	}
	if d.Function.Arguments[0] == '"' {
		return rawString(d.Function.Arguments)
	}
	return string(d.Function.Arguments) // an object where a string is due
}

// chatUsage counts in floats because some services do.
type chatUsage struct {
	In     float64 `json:"prompt_tokens"`
	Out    float64 `json:"completion_tokens"`
	Cost   float64 `json:"cost"`                    // OpenRouter, USD
	Hit    float64 `json:"prompt_cache_hit_tokens"` // DeepSeek
	Prompt struct {
		Cached float64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	Completion struct {
		Reasoning float64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func (u *chatUsage) usage() Usage {
	return Usage{
		In: tokens(u.In), Out: tokens(u.Out), Cached: tokens(max(u.Prompt.Cached, u.Hit)),
		Reasoning: tokens(u.Completion.Reasoning), USD: max(u.Cost, 0),
	}
}

// tokens keeps a count within reason: below zero stands for unknown, and no model writes a thousand million.
func tokens(n float64) int { return int(min(max(n, 0), 1e9)) }

// decodeLenient decodes JSON, passing over fields of an unexpected type.
func decodeLenient(raw []byte, v any) error {
	err := json.Unmarshal(raw, v)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil
	}
	return err
}

// addChunk folds one frame of a chat completion into the draft.
func (d *draft) addChunk(raw []byte) error {
	var c chunk
	if err := decodeLenient(raw, &c); err != nil {
		return err
	}
	if c.Usage != nil {
		d.usage = c.Usage.usage()
	}
	for _, ch := range c.Choices {
		if ch.Index != 0 {
			continue
		}
		delta := ch.Delta
		switch {
		case delta.ReasoningContent != "":
			d.reason("reasoning_content", delta.ReasoningContent)
		case delta.Reasoning != "":
			d.reason("reasoning", delta.Reasoning)
		}
		for _, detail := range delta.ReasoningDetails {
			d.kept += len(detail)
			d.wire.Details = append(d.wire.Details, detail)
		}
		d.addContent(delta.Content)
		if delta.Refusal != "" {
			d.say(delta.Refusal)
		}
		for _, call := range delta.ToolCalls {
			d.addCall(call)
		}
		if ch.FinishReason != "" {
			d.finish = ch.FinishReason
		}
	}
	return nil
}

// addContent takes content that is a string, null, or a list of parts (Mistral).
func (d *draft) addContent(raw json.RawMessage) {
	if !isSet(raw) {
		return
	}
	if raw[0] == '"' {
		d.say(rawString(raw))
		return
	}
	var parts []struct {
		Type     string
		Text     string
		Thinking []struct{ Text string }
	}
	if decodeLenient(raw, &parts) != nil {
		return
	}
	for _, p := range parts {
		if p.Type == "text" || p.Type == "" {
			d.say(p.Text)
		}
		for _, t := range p.Thinking {
			d.reason("content", t.Text)
		}
	}
}

// addCall decides whether a fragment begins a new call or goes on with one. The rules answer to faults of services in
// the field:
//   - the id of a known call goes on with it, unless it names a function at another index (the id was used twice);
//   - a name with another id than the call at this index has begins a new one (Ollama, Gemini: every index is 0);
//   - another id without a name goes on and the first id stays (GLM-4: a fresh id in every fragment);
//   - a name without an id, after complete arguments, begins a new one if it is another or brings arguments;
//   - no index means the last call.
func (d *draft) addCall(f deltaCall) {
	c := d.findCall(f)
	if c == nil {
		c = &callDraft{index: -1}
		if f.Index != nil {
			c.index = *f.Index
		}
		d.calls = append(d.calls, c)
	}
	if c.id == "" {
		c.id = f.ID
	}
	// Some services split the name, some repeat all of it in every fragment.
	if name := f.Function.Name; name != c.name && (c.name == "" || len(c.args) == 0) {
		c.name += name
	}
	if isSet(f.Extra) {
		c.extra = f.Extra
	}
	args := f.args()
	d.kept += len(args) + len(f.Extra)
	c.grow(args)
	d.tell(c)
}

func (d *draft) findCall(f deltaCall) *callDraft {
	name := f.Function.Name
	if f.ID != "" {
		for _, c := range d.calls {
			if c.id == f.ID && (f.Index == nil || *f.Index == c.index || name == "") {
				return c
			}
		}
	}
	for i := len(d.calls) - 1; i >= 0; i-- {
		c := d.calls[i]
		if f.Index != nil && *f.Index != c.index {
			continue
		}
		if name == "" {
			return c
		}
		otherID := f.ID != "" && c.id != "" && f.ID != c.id
		complete := c.name != "" && isObject(string(c.args)) && (name != c.name || strings.TrimSpace(f.args()) != "")
		if otherID || complete {
			return nil
		}
		return c
	}
	return nil
}
