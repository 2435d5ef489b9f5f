package llm

import "encoding/json"

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
		d.usage = Usage{
			In: tokens(u.In), Out: tokens(u.Out), Cached: tokens(u.Det.Cached), Reasoning: tokens(u.OutDet.Reasoning),
		}
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
