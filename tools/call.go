package tools

import (
	"log/slog"
	"os"

	"nod/approvals"
	"nod/store"
)

// Scope says for whom and where a call runs, and what it can reach above the tools. It is made anew for each turn.
type Scope struct {
	Address store.Address // the conversation that sees the turn; files and answers go there
	Session store.SessionID
	Root    store.SessionID // whose scratchpad the agents share: Session itself at depth 0
	Turn    store.TurnID
	Agent   string
	Depth   int // 0 for the root agent
	Source  approvals.Source
	// Background is set in sessions that nobody's message began; Source says so too when a job did.
	Background bool
	Origin     approvals.Origin
	Job        string // the job's title, in a job's run
	By         store.UserID
	// Deciders are who may nod, and Cards is where they are asked.
	Deciders []store.UserID
	Cards    store.Address
	Context  approvals.Context
	// RunContext is the run context's name, which jobs inherit.
	RunContext string

	Workspace *Workspace // relative paths begin at Dir
	Dir       string     // the run context's working folder, within the workspace; "" is its root
	Ports     Ports
}

// Call is one call that may run: what was asked for, for whom, and the nod that lets it.
type Call struct {
	ID       store.CallID
	Scope    Scope
	Approved approvals.Approved
	Log      *slog.Logger
	output   *outputFile
	live     *live
}

// OutputFile makes the file for the whole of a long output and says where read_file finds it. The executor removes it
// when the call's text names it not.
func (c Call) OutputFile() (f *os.File, shown string, err error) { return c.output.create(c) }
