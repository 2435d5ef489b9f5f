package agents_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/approvals"
	"nod/store"
	"nod/tools"
	"nod/tools/agents"
	"nod/tools/jobs"
	"nod/tools/tooltest"
)

// office stands in for the agents: what is behind the port is package agent's, and tested there.
type office struct {
	asked []tools.Task
	notes []tools.Notification
}

func (o *office) Agents() ([]tools.AgentInfo, error) {
	return []tools.AgentInfo{
		{ID: "cook", Name: "Cook", Description: "Cooks.", Instructions: "Say for how many.", Client: "web", Kind: "task"},
		{ID: "main", Name: "nod", Description: "Talks.", Kind: "chat"},
	}, nil
}

func (o *office) Delegate(_ context.Context, _ tools.Call, t tools.Task) (tools.Output, error) {
	o.asked = append(o.asked, t)
	if t.Title == "fail" {
		return tools.Output{}, errors.New("the agent cook could not finish: no salt")
	}
	return tools.Output{Text: "soup"}, nil
}

func (o *office) Dispatch(_ *store.Tx, _ tools.Call, t tools.Task) error {
	o.asked = append(o.asked, t)
	return nil
}

func (o *office) Notify(_ *store.Tx, _ tools.Call, n tools.Notification) error {
	o.notes = append(o.notes, n)
	return nil
}

func newOffice(t *testing.T) (*tooltest.Rig, *office) {
	t.Helper()
	o := &office{}
	db := store.OpenTest(t)
	rig := tooltest.NewOn(t, db, func(*tools.Workspace) []tools.Tool {
		return append(agents.Tools(), jobs.ItemTools(db, agents.Items())...)
	})
	rig.Scope.Ports.Agents = o
	rig.Scope.Background = true
	return rig, o
}

type args = map[string]any

func TestExecuteSubtask(t *testing.T) {
	rig, o := newOffice(t)
	e := rig.Record(tools.ExecuteSubtask, args{"agent_id": " cook ", "prompt": "Cook for two.", "title": "Dinner", "description": "dinner\nfor two"})
	if e.State != tools.Completed || e.Outcome.Text != "soup" || e.Short != "execute_subtask → cook: dinner for two" || e.Effect != tools.Read {
		t.Errorf("%+v", e)
	}
	if diff := cmp.Diff([]tools.Task{{Agent: "cook", Title: "Dinner", Description: "dinner for two", Prompt: "Cook for two."}}, o.asked); diff != "" || len(rig.Cards()) > 0 {
		t.Error(diff, rig.Cards())
	}
	for name, tt := range map[string]struct {
		args args
		want string
	}{
		"not one for tasks": {args{"agent_id": "main", "prompt": "x"}, `there is no agent "main" that does tasks; these do: cook`},
		"unknown":           {args{"agent_id": "ghost", "prompt": "x"}, "these do: cook"},
		"no agent":          {args{"agent_id": " ", "prompt": "x"}, `no agent ""`},
		"no prompt":         {args{"agent_id": "cook", "prompt": " \n"}, "prompt is empty"},
		"long prompt":       {args{"agent_id": "cook", "prompt": strings.Repeat("x", tools.MaxTaskPrompt+1)}, "it takes 20000"},
		"title of lines":    {args{"agent_id": "cook", "prompt": "x", "title": "a\nb"}, "one line"},
		"long title":        {args{"agent_id": "cook", "prompt": "x", "title": strings.Repeat("x", tools.MaxTaskTitle+1)}, "title"},
		"a failure":         {args{"agent_id": "cook", "prompt": "x", "title": "fail"}, "no salt"},
	} {
		if out := rig.Call(tools.ExecuteSubtask, tt.args); out.State != tools.Failed || !strings.Contains(out.Text, tt.want) {
			t.Errorf("%s is %s: %s", name, out.State, out.Text)
		}
	}
}

func TestLabelsOfTasks(t *testing.T) {
	for _, tt := range []struct {
		task tools.Task
		want string
	}{
		{tools.Task{Agent: "cook", Title: "t", Description: "d"}, "⚡ → cook: d"},
		{tools.Task{Agent: "cook", Title: "t"}, "⚡ → cook: t"},
		{tools.Task{Agent: "cook"}, "⚡ → cook"},
		{tools.Task{Title: "t"}, "⚡ t"},
		{tools.Task{}, "⚡"},
	} {
		if got := tt.task.Label("⚡"); got != tt.want {
			t.Errorf("%+v is labelled %q", tt.task, got)
		}
	}
}

// TestARuleCanHaveATaskAsk: the card then shows all of it.
func TestARuleCanHaveATaskAsk(t *testing.T) {
	task := tools.Task{Agent: "cook", Title: "Dinner", Description: "for two", Prompt: "Cook."}
	if want := (approvals.Subject{Kind: approvals.Words, Text: "Agent: cook\nDinner\nfor two\n\nCook."}); !cmp.Equal(task.Subject(), want) {
		t.Error(cmp.Diff(want, task.Subject()))
	}
}

func TestNotify(t *testing.T) {
	rig, o := newOffice(t)
	full := args{"source": " mail ", "summary": "A letter.", "event_type": "letter", "event_time": "09:00", "refs": []string{"mail/1"}}
	if out := rig.Call(tools.Notify, full); out.State != tools.Completed {
		t.Error(out.Text)
	}
	if diff := cmp.Diff([]tools.Notification{{Source: "mail", Summary: "A letter.", EventType: "letter", EventTime: "09:00", Refs: []string{"mail/1"}}}, o.notes); diff != "" {
		t.Error(diff)
	}
	for name, a := range map[string]args{
		"no source":  {"source": " ", "summary": "x"},
		"no summary": {"source": "x", "summary": ""},
		"long":       {"source": "x", "summary": strings.Repeat("x", 4001)},
		"many refs":  {"source": "x", "summary": "x", "refs": make([]string, 21)},
		"a long ref": {"source": "x", "summary": "x", "refs": []string{strings.Repeat("x", 501)}},
	} {
		if out := rig.Call(tools.Notify, a); out.State != tools.Failed || len(o.notes) != 1 {
			t.Errorf("%s is %s: %s", name, out.State, out.Text)
		}
	}
}

func TestResultsAndNotificationsComeByThemselves(t *testing.T) {
	rig, _ := newOffice(t)
	rig.Scope.Background = false
	if out := rig.Call(tools.ReadAgentResult, args{"task_id": "x"}); !strings.HasPrefix(out.Text, "not_ready") {
		t.Error(out.Text)
	}
	if out := rig.Call(tools.ReadNotification, args{}); out.Text != "[]" {
		t.Error(out.Text)
	}
}

func TestAgentsAreListed(t *testing.T) {
	rig, _ := newOffice(t)
	want := `{"id":"cook","name":"Cook","description":"Cooks.","instructions":"Say for how many.","client":"web","kind":"task"}` + "\n" +
		`{"id":"main","name":"nod","description":"Talks.","kind":"chat"}` + "\n"
	if out := rig.Call(tools.ListItems, args{"type": "agents"}); out.Text != want {
		t.Error(cmp.Diff(want, out.Text))
	}
}
