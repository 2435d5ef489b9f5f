package llm

import "encoding/json"

// wireBlob is the content of Message.Wire.
type wireBlob struct {
	Origin    string                     `json:"origin"` // Model.origin of its maker
	Field     string                     `json:"field,omitempty"`
	Reasoning string                     `json:"reasoning,omitempty"` // came in Field; "think" means in tags within the text
	Details   []json.RawMessage          `json:"details,omitempty"`   // reasoning_details (OpenRouter)
	Extra     map[string]json.RawMessage `json:"extra,omitempty"`     // extra_content by call id (Gemini's thought signatures)
	Output    []json.RawMessage          `json:"output,omitempty"`    // output items of the Responses wire
}

func (w *wireBlob) extra(id string, raw json.RawMessage) {
	if w.Extra == nil {
		w.Extra = map[string]json.RawMessage{}
	}
	w.Extra[id] = raw
}

// encode gives nil when there is nothing that a service would want back.
func (w *wireBlob) encode() json.RawMessage {
	if w.Reasoning == "" && len(w.Details) == 0 && len(w.Extra) == 0 && len(w.Output) == 0 {
		return nil
	}
	b, err := json.Marshal(w)
	if err != nil {
		return nil // a service's own fragment is no JSON: nothing to echo
	}
	return b
}

// wireFor decodes what an assistant message has kept for m; empty if it was made by another model.
func wireFor(m *Model, raw json.RawMessage) wireBlob {
	var w wireBlob
	if len(raw) == 0 || json.Unmarshal(raw, &w) != nil || w.Origin != m.origin() {
		return wireBlob{}
	}
	return w
}

// mergeDetails joins the fragments in which reasoning_details are streamed: neighbours of one type and index are one
// item whose strings are concatenated and whose other fields are the last that came.
func mergeDetails(items []json.RawMessage) []json.RawMessage {
	var out []json.RawMessage
	var last map[string]any
	for _, raw := range items {
		var item map[string]any
		if json.Unmarshal(raw, &item) != nil {
			continue
		}
		if last != nil && last["type"] == item["type"] && last["index"] == item["index"] && item["index"] != nil {
			for k, v := range item {
				s, isText := v.(string)
				before, _ := last[k].(string)
				switch {
				case isText && (k == "text" || k == "summary" || k == "data"):
					last[k] = before + s
				case v != nil:
					last[k] = v
				}
			}
			out = out[:len(out)-1]
		} else {
			last = item
		}
		b, err := json.Marshal(last)
		if err != nil {
			continue
		}
		out = append(out, b)
	}
	return out
}
