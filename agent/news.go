package agent

import (
	"encoding/json"
	"fmt"
	"time"

	"nod/agent/llm"
	"nod/approvals"
	"nod/store"
	"nod/tools"
	"nod/tools/gallery"
)

// News is something that happened beside the conversation, such as the end of a task. It enters the transcript as a call
// that the assistant has made, with its result.
type News struct {
	Tool   string           `json:"tool"`
	Args   json.RawMessage  `json:"args"`   // an object
	Result string           `json:"result"` // what others wrote: data
	Lead   string           `json:"lead"`   // nod's own line before it
	Origin approvals.Origin `json:"origin"` // of a turn that it begins
}

const (
	taskLead = "A task that ran in the background is over, and its result follows. Tell the user what matters of it, in your own words."
	noteLead = "What ran in the background has something to tell, which follows. Tell the user what matters of it, in your own words."
)

// entries are the transcript's lines for an input.
func (d *Driver) entries(in Input, turn store.TurnID) []Entry {
	if in.News == nil {
		return []Entry{d.entry(in, turn)}
	}
	news := in.News
	id := store.NewCallID()
	call := llm.Call{ID: wireID(id), Name: news.Tool, Args: string(news.Args)}
	result := tools.Clip(tools.Sanitise(d.Mask(news.Result)), tools.OutcomeLimit, "")
	return []Entry{
		{Turn: turn, At: in.At, Message: llm.Message{Role: llm.RoleUser, Text: "[" + news.Lead + "]"}},
		{Turn: turn, At: in.At, Message: llm.Message{Role: llm.RoleAssistant, Calls: []llm.Call{call}}, Calls: []store.CallID{id}},
		{Turn: turn, At: in.At, Message: llm.Message{Role: llm.RoleTool, CallID: call.ID, Text: result}, Call: id},
	}
}

// wireID is a call's id as every service takes it: Mistral's wants nine letters and digits.
func wireID(id store.CallID) string { return string(id[len(id)-9:]) }

// file appends what came in to a session's transcript.
func (d *Driver) file(tx *store.Tx, to store.SessionID, in Input, turn store.TurnID) error {
	for _, e := range d.entries(in, turn) {
		if _, err := store.Append(tx, transcripts, to, e); err != nil {
			return fmt.Errorf("filing what came in: %w", err)
		}
	}
	if in.News != nil {
		return nil
	}
	var files []string
	for _, f := range in.Files {
		files = append(files, f.Path)
	}
	return gallery.Received(tx, in.Address, in.From, in.Message, files, in.direct())
}

// taskNews is what the parent of a task is told of its end.
func taskNews(turn Turn) Input {
	args, err := json.Marshal(struct {
		ID    store.CallID `json:"task_id"`
		Agent string       `json:"agent_id"`
		Title string       `json:"title"`
	}{turn.Call, turn.Agent, turn.Task})
	if err != nil {
		args = []byte("{}") // plain strings: it can't happen
	}
	result := turn.Answer
	switch turn.State {
	case Failed:
		result = "The task failed: " + result
	case Stopped:
		result = "The user stopped the task before it was done."
	}
	return Input{
		Address: turn.Address, From: turn.By, At: time.Now(), Deciders: turn.Deciders, Cards: turn.Cards,
		News: &News{
			Tool: tools.TaskCompleted, Args: args, Result: result, Lead: taskLead,
			Origin: approvals.Origin{Kind: approvals.FromTask, Name: turn.Task},
		},
	}
}

// tellParent files the end of a task with its parent, whose agent then speaks. Of one that a person stopped it learns with the
// next message.
func (d *Driver) tellParent(tx *store.Tx, turn Turn) error {
	parent, ok, err := sessions.Get(tx, turn.Parent)
	if err != nil || !ok {
		return err
	}
	in := taskNews(turn)
	if turn.State == Stopped {
		_, err := store.Append(tx, mailboxes, parent.ID, mail{Input: in, Held: true})
		return err
	}
	_, err = d.enter(tx, parent, in)
	return err
}
