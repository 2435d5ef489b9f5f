package agents

import (
	"context"

	"nod/tools"
)

type resultIn struct {
	TaskID string `json:"task_id" jsonschema:"the task's id, as execute_task gave it"`
}

// notReady is the only answer: a result comes by itself, so there is nothing to wait for with a call.
const notReady = "not_ready: the result comes into this conversation by itself as soon as the task is over; if it has come already, it stands above. Don't call this again: answer the user, or do something else."

func readAgentResult() tools.Tool {
	return tools.New(tools.Spec[resultIn]{
		Name:        tools.ReadAgentResult,
		Description: "Says whether a task in the background is over. There is no need to: its result comes into this conversation by itself.",
		Traits:      tools.Traits{Category: tools.Introspection, Effect: tools.Read, Interactive: true, RootOnly: true},
		Label:       func(in resultIn, _ bool) string { return tools.Quote(in.TaskID) },
		Run: func(context.Context, tools.Call, resultIn) (tools.Output, error) {
			return tools.Output{Text: notReady}, nil
		},
	})
}
