package tools

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

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
	Groups   GroupPort
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
	GroupsPort   Port = "groups"
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
	case GroupsPort:
		return p.Groups != nil
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
	// Dispatch begins a task in a session of its own, within the caller's commit, once for each call, whose id it has. Its
	// result comes back into the session of the call by itself.
	Dispatch(tx *store.Tx, call Call, t Task) error
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
	// SendAlbum puts up to 10 kept photos in the outbox as one; the first one's caption is the album's.
	SendAlbum(tx *store.Tx, to store.Address, photos []File) error
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

// GroupPort is what nod knows of groups and of the people who use it. Implemented by bot.
type GroupPort interface {
	// Groups are those that the bot is in and that a person may see, by title.
	Groups(tx *store.Tx, by store.UserID) ([]GroupInfo, error)
	// People are those whom a person may name: who has a private chat with the bot and is no stranger, by name.
	People(tx *store.Tx, by store.UserID) ([]PersonInfo, error)
	// IsMember asks Telegram whether a person is in a group.
	IsMember(ctx context.Context, group store.ChatID, person store.UserID) (bool, error)
	// Link asks Telegram for a link by which one person can come into a group. Its error says what keeps it from that.
	Link(ctx context.Context, group store.ChatID, person store.UserID) (JoinLink, error)
	// Send puts a link in the outbox, to the person's private chat, within the caller's commit. Whoever else asks to join by
	// it is turned away from then on.
	Send(tx *store.Tx, link JoinLink) error
}

// GroupInfo is a group that the bot is in.
type GroupInfo struct {
	ID    store.ChatID
	Title string
}

// PersonInfo is somebody who has a private chat with the bot.
type PersonInfo struct {
	ID   store.UserID
	Name string
}

// JoinLink lets one person into a group.
type JoinLink struct {
	Group  store.ChatID
	Person store.UserID
	URL    string
	// ByRequest says that the link leads to a request to join, which nod answers; otherwise it works once.
	ByRequest bool
	Expires   time.Time
}
