package tools

import (
	"context"
	"io"
	"slices"
	"strings"

	"nod/store"
)

// Ports are what a tool can reach above this floor. They are asked for anew in each round and again when a call begins.
// One that is nil is not there, and its tools are not offered.
type Ports struct {
	Files    FilePort
	Agents   AgentPort
	Speech   SpeechPort
	Images   ImagePort
	Messages MessagePort
	Restart  func() // ends the program so that it comes up anew; called after the commit of the outcome
}

// Port names a field of Ports, or several: see And.
type Port string

const (
	FilesPort    Port = "files"
	AgentsPort   Port = "agents"
	VoicePort    Port = "speech"
	ImagesPort   Port = "images"
	MessagesPort Port = "messages"
	RestartPort  Port = "restart"
)

// And is the need for both.
func (p Port) And(q Port) Port { return p + "+" + q }

// each are the ports that p names.
func (p Port) each() []string {
	return strings.FieldsFunc(string(p), func(r rune) bool { return r == '+' })
}

// mounted says whether one of the ports is there for some conversations and not for others.
func (p Port) mounted() bool { return slices.Contains(p.each(), string(FilesPort)) }

func (p Ports) has(need Port) bool {
	for _, name := range need.each() {
		if !p.mounts(Port(name)) {
			return false
		}
	}
	return true
}

func (p Ports) mounts(one Port) bool {
	switch one {
	case FilesPort:
		return p.Files != nil
	case AgentsPort:
		return p.Agents != nil
	case VoicePort:
		return p.Speech != nil
	case ImagesPort:
		return p.Images != nil
	case MessagesPort:
		return p.Messages != nil
	case RestartPort:
		return p.Restart != nil
	}
	return false
}

// AgentPort lets one agent use others. Implemented by agent.Driver.
type AgentPort interface {
	// Agents are those that may be given a task, in the order of their ids.
	Agents() ([]AgentInfo, error)
	// Delegate has a sub-agent do a task and waits for its answer. It is told the call, and finds the sub-agent that an
	// earlier process began for it. When ctx ends, the sub-agent is stopped or left, as the caller is.
	Delegate(ctx context.Context, call Call, t Task) (Output, error)
	// Dispatch begins a task in a session of its own, within the caller's commit, once for each call. Its result comes back
	// into the session of the call by itself.
	Dispatch(tx *store.Tx, call Call, t Task) (id string, err error)
	// Notify queues a notification for the home conversation, within the caller's commit.
	Notify(tx *store.Tx, call Call, n Notification) error
}

// AgentInfo is what others are told of an agent.
type AgentInfo struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	Description  string `json:"description"`
	Instructions string `json:"instructions,omitempty"` // how to call it well
	Client       string `json:"client,omitempty"`
	Kind         string `json:"kind"` // chat or task
}

// Task is what one agent asks of another.
type Task struct {
	Agent       string
	Title       string
	Description string
	Prompt      string
}

// Notification is what a background run has to tell.
type Notification struct {
	Source    string   `json:"source"`
	Summary   string   `json:"summary"`
	EventType string   `json:"event_type,omitempty"`
	EventTime string   `json:"event_time,omitempty"`
	Refs      []string `json:"refs,omitempty"`
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
