package tools

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"nod/approvals"
)

// Task is what one agent asks of another.
type Task struct {
	Agent       string
	Title       string // one line
	Description string // what it is for, in a few words
	Prompt      string
}

// Limits of a task, as the book of jobs has them.
const (
	MaxTaskTitle       = 120    // characters
	MaxTaskDescription = 500    // characters
	MaxTaskPrompt      = 20_000 // bytes
)

// Check tidies a task, and says what is wrong with it.
func (t *Task) Check() error {
	t.Agent, t.Title, t.Description = strings.TrimSpace(t.Agent), strings.TrimSpace(t.Title), strings.Join(strings.Fields(t.Description), " ")
	switch {
	case strings.ContainsAny(t.Title, "\r\n") || utf8.RuneCountInString(t.Title) > MaxTaskTitle:
		return fmt.Errorf("title must be one line of at most %d characters", MaxTaskTitle)
	case utf8.RuneCountInString(t.Description) > MaxTaskDescription:
		return fmt.Errorf("description has at most %d characters", MaxTaskDescription)
	case strings.TrimSpace(t.Prompt) == "":
		return errors.New("prompt is empty; say what to do")
	case len(t.Prompt) > MaxTaskPrompt:
		return fmt.Errorf("prompt has %d bytes; it takes %d. Put the rest into a file and name it", len(t.Prompt), MaxTaskPrompt)
	}
	return nil
}

// Label is a task in a few words: a mark, the agent, and what the task is for, or else its title.
func (t Task) Label(mark string) string {
	about := t.Description
	if about == "" {
		about = t.Title
	}
	switch {
	case t.Agent == "" && about == "":
		return mark
	case t.Agent == "":
		return mark + " " + about
	case about == "":
		return mark + " → " + t.Agent
	}
	return mark + " → " + t.Agent + ": " + about
}

// Subject is what a card shows of a task.
func (t Task) Subject() approvals.Subject {
	var b strings.Builder
	fmt.Fprintf(&b, "Agent: %s\n", t.Agent)
	for _, line := range []string{t.Title, t.Description} {
		if line != "" {
			b.WriteString(line + "\n")
		}
	}
	b.WriteString("\n" + t.Prompt)
	return approvals.Subject{Kind: approvals.Words, Text: b.String()}
}

// TaskAgent is the Kind of agents that may be given tasks.
const TaskAgent = "task"

// CheckAgent says whether an agent may be given a task. Its error names those that may.
func (t Task) CheckAgent(port AgentPort) error {
	if port == nil {
		return errors.New("there are no other agents here")
	}
	all, err := port.Agents()
	if err != nil {
		return err
	}
	var ids []string
	for _, a := range all {
		if a.Kind == TaskAgent {
			ids = append(ids, a.ID)
		}
		if a.Kind == TaskAgent && a.ID == t.Agent {
			return nil
		}
	}
	return fmt.Errorf("there is no agent %q that does tasks; these do: %s", t.Agent, strings.Join(ids, ", "))
}
