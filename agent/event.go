package agent

import (
	"nod/agent/llm"
	"nod/store"
	"nod/tools"
)

// View is told what happens in turns. Emit takes what stays: it is called within the commit of the fact, must do no
// I/O and must write what it shows through tx. Show takes what passes: it must not block, and may drop events.
type View interface {
	Emit(tx *store.Tx, e Event) error
	Show(e Event)
}

// Event is something that people may see of a turn. These are all of them.
type Event interface{ event() }

type (
	// TurnBegan: a turn has begun, or goes on after a restart with the calls made so far.
	TurnBegan struct {
		Turn  Turn
		Calls []tools.Execution
	}
	// Steered: these messages have entered a turn that was under way.
	Steered struct {
		Turn     Turn
		Messages []store.MessageID
	}
	// Commented: the model made these calls, and said Text before them; often nothing.
	Commented struct {
		Turn  Turn
		Text  string
		Calls []store.CallID
	}
	// CallChanged: a call has come to another state.
	CallChanged struct {
		Turn Turn
		Call tools.Execution
	}
	// TurnAnswered: the turn is over with this answer; Text is empty when a job has nothing to report.
	TurnAnswered struct {
		Turn Turn
		Text string
	}
	// TurnFailed: the turn is over without an answer, or with the beginning of one.
	TurnFailed struct {
		Turn    Turn
		Err     error
		Partial string
	}
	// TurnStopped: a person stopped the turn. Calls are those it had made, Partial is the beginning of an answer where
	// there was one, Queued are the messages that wait.
	TurnStopped struct {
		Turn    Turn
		Calls   []tools.Execution
		Partial string
		Queued  []string
	}
	// Compacted: earlier messages were replaced by a summary; ByHand says that a person asked for it.
	Compacted struct {
		Session Session
		ByHand  bool
		Err     error
	}
	// JobReported: something happened to a job beside its runs.
	JobReported struct {
		Address store.Address
		Title   string
		Text    string
	}

	// Ending (passing): the turn is about to be over; what only shows that it works ends before. Show may wait for a
	// call that is on its way.
	Ending struct{ Turn Turn }
	// Streaming (passing): the answer's text so far.
	Streaming struct {
		Turn Turn
		Text string
	}
	// Progressed (passing): a call that runs says how far it is, or that it waits for a person's answer.
	Progressed struct {
		Turn     Turn
		Progress tools.Progress
	}
	// Delayed (passing): the model's service makes us wait.
	Delayed struct {
		Turn   Turn
		Notice llm.Notice
	}
)

func (TurnBegan) event()    {}
func (Steered) event()      {}
func (Commented) event()    {}
func (CallChanged) event()  {}
func (TurnAnswered) event() {}
func (TurnFailed) event()   {}
func (TurnStopped) event()  {}
func (Compacted) event()    {}
func (JobReported) event()  {}
func (Ending) event()       {}
func (Streaming) event()    {}
func (Progressed) event()   {}
func (Delayed) event()      {}
