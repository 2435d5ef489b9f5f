package tools

import (
	"io"
	"log/slog"
	"os"

	"nod/approvals"
	"nod/store"
)

// Scope says for whom and where a call runs, and what it can reach above the tools. It is made anew for each turn.
type Scope struct {
	Address store.Address // the conversation that sees the turn; files and answers go there
	Session store.SessionID
	Turn    store.TurnID
	Agent   string
	Depth   int // 0 for the root agent
	Source  approvals.Source
	Job     string // the job's title, in a job's run
	By      store.UserID
	// Deciders are who may nod, and Cards is where they are asked.
	Deciders []store.UserID
	Cards    store.Address
	Context  approvals.Context

	Workspace *Workspace
	Ports     Ports
}

// Ports are what a tool can reach above this floor. One that is nil is not there, and its tools are not offered.
type Ports struct {
	Files   FilePort
	Restart func() // ends the program so that it comes up anew; called after the commit of the outcome
}

// Port names a field of Ports.
type Port string

const (
	FilesPort   Port = "files"
	RestartPort Port = "restart"
)

func (p Ports) has(need Port) bool {
	switch need {
	case "":
		return true
	case FilesPort:
		return p.Files != nil
	case RestartPort:
		return p.Restart != nil
	}
	return false
}

// FilePort sends files into the chat of a scope.
type FilePort interface {
	// Keep copies r, which holds size bytes, to where the outbox will find it, and gives back its handle.
	Keep(name string, r io.Reader, size int64) (handle string, err error)
	// Send puts the kept file in the outbox, in the caller's commit.
	Send(tx *store.Tx, to store.Address, f File) error
	// Limit is the largest file that can be sent, in bytes.
	Limit() int64
}

// File is one attachment.
type File struct {
	Handle  string // from Keep
	Name    string
	Caption string
	Kind    FileKind
}

// FileKind is how Telegram shows a file.
type FileKind string

const (
	Document FileKind = "document"
	Photo    FileKind = "photo"
	Video    FileKind = "video"
	Audio    FileKind = "audio"
	Voice    FileKind = "voice"
)

// Call is one call that may run: what was asked for, for whom, and the nod that lets it.
type Call struct {
	ID       store.CallID
	Scope    Scope
	Approved approvals.Approved
	Log      *slog.Logger
	output   *outputFile
}

// OutputFile makes the file for the whole of a long output and says where read_file finds it. The executor removes it
// when the call's text names it not.
func (c Call) OutputFile() (f *os.File, shown string, err error) { return c.output.create(c) }
