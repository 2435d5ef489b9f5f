package llm

import "encoding/json"

// Role says who speaks in a Message.
type Role string

// The roles of a conversation. System text normally travels in Request.System; a system message inside the history is
// moved to the front.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one entry of a conversation in no service's dialect.
type Message struct {
	Role   Role    `json:"role"`
	Text   string  `json:"text,omitempty"`
	Calls  []Call  `json:"calls,omitempty"`   // of an assistant message
	CallID string  `json:"call_id,omitempty"` // of a tool message: the Call it answers
	Images []Image `json:"images,omitempty"`  // meant for the model's eyes; shown to it in the user's role

	// Wire is what the service wants back word for word with this assistant message (reasoning, signatures, output
	// items). It is opaque, comes from Answer.Message, and is only sent to the service and model that made it.
	Wire json.RawMessage `json:"wire,omitempty"`
}

// Image is a picture in a format that vision models read (JPEG, PNG, WebP, GIF).
type Image struct {
	MIME string `json:"mime"`
	Data []byte `json:"data"`
}

// Call is the model's wish to run a tool.
type Call struct {
	ID   string `json:"id"` // the service's own, verbatim; made up only when it gave none or the same twice
	Name string `json:"name"`
	Args string `json:"args"` // a JSON object, unless Problem is set

	// Problem, when not empty, tells the model why the call cannot be run: its arguments were cut off or are not a JSON
	// object. Args then holds what arrived, which is never a valid object.
	Problem string `json:"problem,omitempty"`
}

// ToolDef is a tool as it is offered to the model.
type ToolDef struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON schema of the arguments, an object; empty means no arguments
}

// Request asks for one answer.
type Request struct {
	Model     string // a configured Model.Name to start with; "" is the first one
	System    string
	Messages  []Message // any history: it is passed through Sanitize before it is sent
	Tools     []ToolDef
	MaxOutput int // tokens the answer may have; 0 leaves it to the service
}

// Delta is a sign of life of an answer under way. Exactly one field is set. After a Notice the answer begins anew, so
// that a Call may be told again; Text never is.
type Delta struct {
	Text      string  // visible text to append
	Reasoning bool    // the model thinks; nothing to show
	Call      string  // the model has begun to call this tool
	Retract   bool    // all Text so far was reasoning after all (its opening tag was never sent): drop it
	Notice    *Notice // the client waits or changes the model
}

// Finish says why the model stopped.
type Finish string

// The reasons that callers tell apart. What a service says beyond these is FinishStop.
const (
	FinishStop   Finish = "stop"
	FinishCalls  Finish = "calls"  // at least one call
	FinishLength Finish = "length" // output limit reached; a call may be cut, see Call.Problem
	FinishFilter Finish = "filter" // the service's content filter
)

// Usage counts tokens as reported by the service; all zero when it reports none.
type Usage struct {
	In        int     `json:"in"`     // prompt, with cached ones
	Cached    int     `json:"cached"` // of In
	Out       int     `json:"out"`    // answer, with reasoning
	Reasoning int     `json:"reasoning"`
	USD       float64 `json:"usd,omitempty"` // price, from services that state it
}

// Plus is the sum of both.
func (u Usage) Plus(v Usage) Usage {
	return Usage{
		In: u.In + v.In, Cached: u.Cached + v.Cached, Out: u.Out + v.Out,
		Reasoning: u.Reasoning + v.Reasoning, USD: u.USD + v.USD,
	}
}

// Answer is one finished answer of a model.
type Answer struct {
	Text   string // never holds reasoning
	Calls  []Call
	Finish Finish
	Usage  Usage
	Model  string // Model.Name of the model that answered
	Wire   json.RawMessage

	Truncated bool // the stream broke off: Text is only a beginning (comes with a KindTruncated error)
	Empty     bool // neither text nor calls, also when asked a second time
}

// Message is the answer as an entry of the history.
func (a Answer) Message() Message {
	return Message{Role: RoleAssistant, Text: a.Text, Calls: a.Calls, Wire: a.Wire}
}
