package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"nod/tools"
)

const (
	todoPending    = "pending"
	todoInProgress = "in_progress"
	todoCompleted  = "completed"

	maxTodos = 100
)

var todoMarks = map[string]string{todoPending: "☐", todoInProgress: "▶", todoCompleted: "☑"}

type todo struct {
	Content string `json:"content" jsonschema:"one step, in a few words"`
	Status  string `json:"status" jsonschema:"pending, in_progress or completed"`
}

type todosIn struct {
	Todos []todo `json:"todos" jsonschema:"the whole list, in order"`
}

// Refine lists the states.
func (todosIn) Refine(p map[string]*jsonschema.Schema) {
	p["todos"].MaxItems = jsonschema.Ptr(maxTodos)
	p["todos"].Items.Properties["status"].Enum = []any{todoPending, todoInProgress, todoCompleted}
}

func writeTodos() tools.Tool {
	return tools.New(tools.Spec[todosIn]{
		Name: tools.WriteTodos,
		Description: "Keeps your own list of steps for a task that has several: give the whole list each time, with what is completed, what is " +
			"in progress (one at a time) and what is pending. Nobody else sees it.",
		Traits: plumbing,
		Check: func(in *todosIn) error {
			if slices.ContainsFunc(in.Todos, func(t todo) bool { return strings.TrimSpace(t.Content) == "" }) {
				return errors.New("a todo has no content")
			}
			return nil
		},
		Label: func(in todosIn, _ bool) string { return fmt.Sprintf("%d/%d", in.completed(), len(in.Todos)) },
		Run: func(_ context.Context, _ tools.Call, in todosIn) (tools.Output, error) {
			return tools.Output{Text: in.text()}, nil
		},
	})
}

func (in todosIn) completed() (n int) {
	for _, t := range in.Todos {
		if t.Status == todoCompleted {
			n++
		}
	}
	return n
}

func (in todosIn) text() string {
	if len(in.Todos) == 0 {
		return "The list is empty."
	}
	var b strings.Builder
	for _, t := range in.Todos {
		fmt.Fprintf(&b, "%s %s\n", todoMarks[t.Status], strings.Join(strings.Fields(t.Content), " "))
	}
	return b.String()
}
