package llm

import (
	"cmp"
	"encoding/json"
	"slices"
)

// event is a frame of the Responses wire.
type event struct {
	Type        string          `json:"type"`
	Delta       string          `json:"delta"`
	ItemID      string          `json:"item_id"`
	OutputIndex *int            `json:"output_index"`
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
		d.addItem(e.Item, e.OutputIndex, e.Type == "response.output_item.done")
	case "response.function_call_arguments.delta":
		if c := d.callOf(e.ItemID, e.OutputIndex); c != nil {
			d.kept += len(e.Delta)
			c.grow(e.Delta)
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

// callOf finds the call that a piece of arguments belongs to: by its item's id, by its place in the output, or, with
// neither, the one that began last.
func (d *draft) callOf(itemID string, at *int) *callDraft {
	for _, c := range slices.Backward(d.calls) {
		if itemID != "" && c.key == itemID || itemID == "" && (at == nil || c.index == *at) {
			return c
		}
	}
	return nil
}

// addItem takes the output item at a place, if the service names it; a done one replaces what its deltas told.
func (d *draft) addItem(raw json.RawMessage, at *int, done bool) {
	var it outputItem
	if !isSet(raw) || decodeLenient(raw, &it) != nil {
		return
	}
	if done {
		d.kept += len(raw)
		d.wire.Output = append(d.wire.Output, raw)
	}
	switch it.Type {
	case "function_call":
		c := d.itemCall(it, at)
		c.id, c.name = cmp.Or(it.CallID, c.id, it.ID), cmp.Or(it.Name, c.name)
		c.done = c.done || done
		if done && it.Arguments != "" {
			c.whole(it.Arguments)
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

// itemCall finds the call that an item goes on with, or begins one. Items have ids of their own, which some services
// make anew for each event; the calls' ids may come twice. So a call id alone goes on only with a call that is not
// complete, and not with one at another place.
func (d *draft) itemCall(it outputItem, at *int) *callDraft {
	for _, c := range d.calls {
		elsewhere := at != nil && c.index >= 0 && c.index != *at
		switch {
		case it.ID != "" && c.key == it.ID && !elsewhere:
			return c
		case it.CallID != "" && c.id == it.CallID && !c.done && !elsewhere:
			return c
		}
	}
	c := &callDraft{key: it.ID, index: -1}
	if at != nil {
		c.index = *at
	}
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
		d.replace(e.Response.Output)
	}
	d.finish = "completed"
	if e.Type == "response.incomplete" {
		d.finish = cmp.Or(e.Response.Incomplete.Reason, "length")
		d.wire.Output = nil // a cut item is refused when it is sent back
	}
	return nil
}

// replace takes the whole output in place of what was told of it so far. The sink hears of no call a second time.
func (d *draft) replace(output []json.RawMessage) {
	told := len(d.calls)
	d.calls, d.wire.Output, d.kept = nil, nil, d.text.Len()+d.thought.Len()
	for i, raw := range output {
		var it outputItem
		if isSet(raw) && decodeLenient(raw, &it) == nil && it.Type == "function_call" {
			d.calls = append(d.calls, &callDraft{key: it.ID, id: it.CallID, index: i, told: len(d.calls) < told})
		}
		d.addItem(raw, &i, true)
	}
}
