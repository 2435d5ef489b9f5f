package agent

import (
	"time"

	"nod/agent/llm"
	"nod/approvals"
	"nod/store"
	"nod/tools"
)

// Session is one transcript and what belongs to it.
type Session struct {
	ID      store.SessionID  `json:"id"`
	Address store.Address    `json:"address"`
	Source  approvals.Source `json:"source"`
	Agent   string           `json:"agent"`
	Created time.Time        `json:"created"`
	Turn    store.TurnID     `json:"turn,omitempty"`  // the turn under way
	Model   string           `json:"model,omitempty"` // chosen by /model; "" is the first configured
	// Summary stands for the entries before Keep, after a compaction.
	Summary string `json:"summary,omitempty"`
	Keep    uint64 `json:"keep,omitempty"`
	Compact bool   `json:"compact,omitempty"` // a person asked for a compaction, which is still to come
	// Usage adds up every answer, by model, also of those who work for the session; LastIn and LastOut are the tokens of the last one, Window its model's.
	Usage   map[string]llm.Usage `json:"usage,omitempty"`
	LastIn  int                  `json:"last_in,omitempty"`
	LastOut int                  `json:"last_out,omitempty"`
	// Paid adds up the calls that cost something beside the model, by tool, likewise.
	Paid map[string]Paid `json:"paid,omitempty"`
	Lineage
}

// Paid is what calls of a tool have cost.
type Paid struct {
	Calls int     `json:"calls"`
	USD   float64 `json:"usd"`
}

// TurnState is where a turn stands.
type TurnState string

const (
	Active   TurnState = "active"
	Stopping TurnState = "stopping" // a person said stop; what runs is being ended
	Answered TurnState = "answered"
	Failed   TurnState = "failed"
	Stopped  TurnState = "stopped"
)

// Turn is one answer to a person or a job, with all its rounds.
type Turn struct {
	ID      store.TurnID     `json:"id"`
	Session store.SessionID  `json:"session"`
	Address store.Address    `json:"address"`
	Agent   string           `json:"agent"`
	Source  approvals.Source `json:"source"`
	State   TurnState        `json:"state"`
	Round   int              `json:"round"`             // answers of the model so far
	Process string           `json:"process,omitempty"` // which began it
	Began   time.Time        `json:"began"`
	Ended   time.Time        `json:"ended,omitzero"`
	// Origin is what opened it, or the owner's words that took it over since.
	Origin approvals.Origin `json:"origin,omitzero"`
	// By is whose message began it or took it over (0 for a job), ReplyTo the message that began it.
	By      store.UserID    `json:"by,omitempty"`
	ReplyTo store.MessageID `json:"reply_to,omitempty"`
	// Deciders may nod to its calls, and are asked at Cards.
	Deciders []store.UserID `json:"deciders"`
	Cards    store.Address  `json:"cards"`
	// Job and Run are set when a job fell due.
	Job      store.JobID `json:"job,omitempty"`
	JobTitle string      `json:"job_title,omitempty"`
	JobNote  string      `json:"job_note,omitempty"` // why the run is late, or ""
	Run      store.RunID `json:"run,omitempty"`
	Payer    store.RunID `json:"payer,omitempty"`  // the run under whose cap on spending this falls; also of turns that it began
	Faults   int         `json:"faults,omitempty"` // rounds in a row in which no call could be read
	// Context is the run context as it was when the turn began.
	Context RunContext `json:"context,omitzero"`
	// Answer is what the caller of a sub-agent, or the parent of a task, is told of its end.
	Answer string `json:"answer,omitempty"`
	Lineage
}

// Entry is one line of a transcript.
type Entry struct {
	Turn    store.TurnID `json:"turn"`
	At      time.Time    `json:"at"`
	Message llm.Message  `json:"message"` // its Images stay empty: see Images
	// Calls are our ids of Message.Calls, in their order; Call is ours of the call that a tool message answers.
	Calls  []store.CallID `json:"calls,omitempty"`
	Call   store.CallID   `json:"call,omitempty"`
	Images []tools.Image  `json:"images,omitempty"`
	Model  string         `json:"model,omitempty"` // who answered

	seq    uint64
	tokens int // estimated, without pictures
}

// mail is a message that waits in a session's mailbox.
type mail struct {
	Input
	// Late says that it came after a person had stopped the turn under way: it does not wait for yet another message.
	Late bool `json:"late,omitempty"`
	// Held says that it does: a stop kept it back.
	Held bool `json:"held,omitempty"`
}

const (
	sessionsBucket   = "sessions"
	turnsBucket      = "turns"
	transcriptBucket = "transcripts"
	mailboxBucket    = "mailboxes"
	addressesBucket  = "addresses"
)

var (
	sessions    = store.NewTable[store.SessionID, Session](sessionsBucket, store.ParseSessionID)
	turns       = store.NewTable[store.TurnID, Turn](turnsBucket, store.ParseTurnID)
	transcripts = store.NewTable[store.Seq[store.SessionID], Entry](transcriptBucket, store.ParseSeq(store.ParseSessionID))
	mailboxes   = store.NewTable[store.Seq[store.SessionID], mail](mailboxBucket, store.ParseSeq(store.ParseSessionID))
	addresses   = store.NewTable[store.Address, store.SessionID](addressesBucket, store.ParseAddress)
)
