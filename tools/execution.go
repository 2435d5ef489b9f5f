package tools

import (
	"encoding/json"
	"fmt"
	"time"

	"nod/store"
)

// State is where a call stands. See doc.go for the diagram.
type State string

const (
	Pending          State = "pending"           // named by the model, not begun
	AwaitingApproval State = "awaiting approval" // a person is asked
	Running          State = "running"           // begun, as far as anyone knows
	Completed        State = "completed"
	Failed           State = "failed"
	Cancelled        State = "cancelled" // stopped by a person; not an error
	Rejected         State = "rejected"  // denied by a rule, a person or a cap on spending; not an error
)

// Over says whether the state is final.
func (s State) Over() bool {
	return s == Completed || s == Failed || s == Cancelled || s == Rejected
}

// persisted are the words on disk, which are fewer: a call that was begun and one about to begin look the same to
// whoever finds them after a crash.
var persisted = map[State]string{
	Pending: "running", AwaitingApproval: "pending", Running: "running",
	Completed: "done", Failed: "failed", Cancelled: "cancelled", Rejected: "rejected",
}

// MarshalText writes the word on disk.
func (s State) MarshalText() ([]byte, error) {
	word, ok := persisted[s]
	if !ok {
		return nil, fmt.Errorf("%q is no state of a call", string(s))
	}
	return []byte(word), nil
}

// UnmarshalText reads the word on disk.
func (s *State) UnmarshalText(word []byte) error {
	switch string(word) {
	case "running":
		*s = Running
	case "pending":
		*s = AwaitingApproval
	case "done":
		*s = Completed
	case "failed", "cancelled", "rejected":
		*s = State(word)
	default:
		return fmt.Errorf("%q is no state of a call", word)
	}
	return nil
}

// next lists what may follow each state that is not final.
var next = map[State][]State{
	Pending:          {AwaitingApproval, Running, Failed, Cancelled, Rejected},
	AwaitingApproval: {Running, Completed, Failed, Cancelled, Rejected},
	Running:          {Completed, Failed, Cancelled},
}

// Execution is the record of one call: its intent before it runs, its outcome after.
type Execution struct {
	Call    store.CallID    `json:"call"`
	Session store.SessionID `json:"session"`
	Turn    store.TurnID    `json:"turn"`
	Agent   string          `json:"agent"`
	Tool    string          `json:"tool"`
	Args    json.RawMessage `json:"args"` // canonical, or as the model wrote them when they did not decode
	Effect  Effect          `json:"effect"`
	Short   string          `json:"short"` // labels
	Full    string          `json:"full"`
	Target  string          `json:"target,omitempty"`
	State   State           `json:"state"`
	// How says what let it run: a rule, a grant or a person's press.
	How     string    `json:"how,omitempty"`
	Created time.Time `json:"created"`
	Began   time.Time `json:"began,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	Outcome Outcome   `json:"outcome,omitzero"`
	// Cost is in USD, beside the model: what it will have cost once it has begun, unless nothing is delivered.
	Cost float64 `json:"cost,omitempty"`
	// Repeats is the interrupted call that this one repeats, RepeatedBy the call that repeats this one.
	Repeats    store.CallID `json:"repeats,omitempty"`
	RepeatedBy store.CallID `json:"repeated_by,omitempty"`
}

// Outcome is how a call ended.
type Outcome struct {
	State  State   `json:"state"`
	Text   string  `json:"text"` // for the model, never empty
	Images []Image `json:"images,omitempty"`
}

// move is the one place where a call's state changes.
func (e *Execution) move(to State, now time.Time) error {
	for _, allowed := range next[e.State] {
		if allowed == to {
			e.State = to
			switch {
			case to == Running:
				e.Began = now
			case to.Over():
				e.Ended = now
			}
			return nil
		}
	}
	return fmt.Errorf("call %s can't go from %s to %s", e.Call, e.State, to)
}

// end moves to a final state with its outcome.
func (e *Execution) end(o Outcome, now time.Time) error {
	if o.Text == "" {
		o.Text = noOutput
	}
	e.Outcome = o
	return e.move(o.State, now)
}

const executionsBucket = "executions"

var executions = store.NewTable[store.CallID, Execution](executionsBucket, store.ParseCallID)

// FindExecution reads the record of a call.
func FindExecution(tx *store.Tx, call store.CallID) (Execution, bool, error) {
	return executions.Get(tx, call)
}

// LatestExecution reads the record of a call, or of the last call that repeats it.
func LatestExecution(tx *store.Tx, call store.CallID) (e Execution, ok bool, err error) {
	for call != "" {
		if e, ok, err = executions.Get(tx, call); err != nil {
			return Execution{}, false, err
		}
		call = e.RepeatedBy
	}
	return e, ok, nil
}
