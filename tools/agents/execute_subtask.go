package agents

import (
	"context"

	"github.com/google/jsonschema-go/jsonschema"

	"nod/tools"
)

type subtaskIn struct {
	AgentID     string `json:"agent_id" jsonschema:"the agent that does it, from list_items with type agents"`
	Prompt      string `json:"prompt" jsonschema:"what to do and what to answer. The agent knows nothing of this conversation, so say everything that it needs"`
	Title       string `json:"title,omitempty" jsonschema:"what it is called, in one short line"`
	Description string `json:"description,omitempty" jsonschema:"what it is for, in a few words, for people who watch"`
}

// Refine bounds the texts.
func (subtaskIn) Refine(p map[string]*jsonschema.Schema) {
	p["title"].MaxLength = jsonschema.Ptr(tools.MaxTaskTitle)
	p["description"].MaxLength = jsonschema.Ptr(tools.MaxTaskDescription)
}

func (in subtaskIn) task() tools.Task {
	return tools.Task{Agent: in.AgentID, Title: in.Title, Description: in.Description, Prompt: in.Prompt}
}

func executeSubtask() tools.Tool {
	return tools.New(tools.Spec[subtaskIn]{
		Name: tools.ExecuteSubtask,
		Description: "Has another agent do a part of the work, and gives you its answer. Several calls at once are worked on side by side. " +
			"list_items with type agents shows the agents and how to use them.",
		// A read: the call changes nothing itself, finds what it began by its id, and may run beside others.
		Traits: tools.Traits{Category: tools.Subagent, Effect: tools.Read, Background: true, OrNested: true, Needs: tools.AgentsPort},
		Check: func(in *subtaskIn) error {
			t := in.task()
			err := t.Check()
			in.AgentID, in.Title, in.Description = t.Agent, t.Title, t.Description
			return err
		},
		Label: func(in subtaskIn, _ bool) string { return in.task().Label("") },
		Judge: func(_ context.Context, _ tools.Scope, in subtaskIn) (tools.Judged, error) {
			return tools.Judged{Subject: in.task().Subject()}, nil
		},
		Run: func(ctx context.Context, call tools.Call, in subtaskIn) (tools.Output, error) {
			if err := in.task().CheckAgent(call.Scope.Ports.Agents); err != nil {
				return tools.Output{}, err
			}
			return call.Scope.Ports.Agents.Delegate(ctx, call, in.task())
		},
	})
}
