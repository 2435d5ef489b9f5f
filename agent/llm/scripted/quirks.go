package scripted

import (
	"encoding/json"
	"fmt"
	"regexp"
)

// Quirks are peculiarities of services in the field. The zero value is a service that has none. The Responses wire has those
// that mean something there: Whole, Comments, NoUsage, ShortIDs, NoImages, AnyToolName and Window.
type Quirks struct {
	// How the stream is framed.
	Whole      bool   // a completion in JSON instead of a stream
	NoDone     bool   // it ends without [DONE]
	NoLineEnd  bool   // and its last frame without a line end
	Comments   bool   // comment lines stand between the frames (OpenRouter)
	ErrorFrame string // an error comes in its middle, after a comment
	NoFinish   bool   // calls come without a finish reason (NVIDIA NIM)
	FinishStop bool   // calls come with the finish reason "stop" (Ollama, Gemini)
	NoUsage    bool

	// What is in the frames.
	NullChoices  bool   // some have choices that are null
	OddTypes     bool   // numbers are written with a fraction
	ListContent  bool   // content is a list of parts (Mistral)
	Thinks       string // the field that reasoning comes in, such as "reasoning" (vLLM)
	SameIndex    bool   // every call has the index 0 (Ollama, Gemini)
	NoIndex      bool
	IndexFromOne bool // (SGLang)
	NoIDs        bool
	FreshIDs     bool // another id in every fragment of a call (GLM-4)
	ObjectArgs   bool // arguments are an object instead of a text

	// What is refused.
	NoStreamOptions bool
	NoMaxTokens     bool // it is called max_completion_tokens
	ShortIDs        bool // call ids must be nine alphanumerics (Mistral)
	WantsReasoning  bool // calls must come back with their reasoning_content (DeepSeek, Kimi)
	NoImages        bool
	AnyToolName     bool // names may be of any form; else they keep to the strictest service's
	Window          int  // tokens; more, with what the answer may have, are refused. /models tells it too
}

// WithQuirks makes the server one that has some.
func (s *Server) WithQuirks(q Quirks) *Server {
	s.quirks = q
	return s
}

var shortID = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)

// judge refuses what a service with these quirks refuses.
func (q Quirks) judge(r Request) *refusal {
	var body struct {
		StreamOptions json.RawMessage `json:"stream_options"`
		MaxTokens     int             `json:"max_tokens"`
		MaxCompletion int             `json:"max_completion_tokens"`
		MaxOutput     int             `json:"max_output_tokens"` // of the Responses wire
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return refusef("", "We could not parse the JSON body of your request: %v", err)
	}
	most := max(body.MaxTokens, body.MaxCompletion, body.MaxOutput)
	switch {
	case q.NoStreamOptions && body.StreamOptions != nil:
		return refusef("stream_options", "Extra inputs are not permitted: stream_options")
	case q.NoMaxTokens && body.MaxTokens > 0:
		return refusef("max_tokens", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")
	case q.Window > 0 && most > q.Window:
		return refusef("max_tokens", "This model's maximum context length is %d tokens. However, you requested %d tokens.", q.Window, most)
	}
	for i, m := range r.Messages {
		at := fmt.Sprintf("messages[%d]", i)
		switch {
		case q.NoImages && len(m.Images) > 0:
			return refusef(at+".content", "This model does not support image input.")
		case q.WantsReasoning && r.Wire == Chat && len(m.Calls) > 0 && m.Reasoning == "":
			return refusef(at, "thinking is enabled but reasoning_content is missing in assistant tool call message at index %d", i)
		}
		for _, c := range m.Calls {
			if q.ShortIDs && !shortID.MatchString(c.ID) {
				return refusef(at+".tool_calls", "Tool call id was %s but must be a-z, A-Z, 0-9, with a length of 9.", c.ID)
			}
		}
	}
	return nil
}

// about is what /models says of the model.
func (q Quirks) about() map[string]any {
	about := map[string]any{"id": "scripted", "object": "model", "created": 1, "owned_by": "nod"}
	if q.Window > 0 {
		about["context_length"] = q.Window
	}
	return about
}
