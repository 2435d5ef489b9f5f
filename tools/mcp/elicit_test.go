package mcp

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/approvals"
	"nod/store"
	"nod/tools"
	"nod/tools/tooltest"
)

// asked are the questions that a person was asked.
func (r *rig) asked() (questions []approvals.Question) {
	for _, p := range r.Cards() {
		if p.Kind == approvals.Asked {
			questions = append(questions, *p.Question)
		}
	}
	return questions
}

func TestFormIsAskedFieldByField(t *testing.T) {
	t.Parallel()
	r := newRig(t, role(t, "form"))
	r.OnCard = answering("A", "Ann", "yes", "purple", "Green", "correct horse battery", leaveOut)
	r.redactor.Add("correct horse battery") // as the router does
	r.wake("form")
	out := r.ask(t.Context(), "mcp__form__form", `{}`)
	wantText(t, out, tools.Completed, `"colour":"g","happy":true,"name":"Ann","password":"[secret]"`)
	if strings.Contains(out.Text, "count") {
		t.Errorf("a field that was left out was given: %s", out.Text)
	}
	var got [][]string
	for _, q := range r.asked() {
		head, _, _ := strings.Cut(strings.TrimPrefix(q.Text, "Who are you?\n\n"), "\n")
		got = append(got, append([]string{q.Title, head}, q.Options...))
	}
	title := func(n string) string { return "The MCP server form asks (" + n + " of 5)" }
	want := [][]string{
		{title("1"), "Your name", decline},
		{title("1"), "Your name", decline},
		{title("2"), "happy", "Yes", "No", decline},
		{title("3"), "colour", "Red", "Green", decline},
		{title("3"), "colour", "Red", "Green", decline},
		{title("4"), "Password", decline},
		{title("5"), "count", leaveOut, decline},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("questions (-want +got):\n%s", diff)
	}
	for _, q := range r.asked() {
		if q.Hidden != strings.Contains(q.Text, "Password") {
			t.Errorf("hidden is %v for %q", q.Hidden, q.Text)
		}
	}
}

// TestHiddenAnswerIsKeptNowhere looks for a typed secret in everything that is stored.
func TestHiddenAnswerIsKeptNowhere(t *testing.T) {
	t.Parallel()
	r := newRig(t, role(t, "hidden"))
	r.OnCard = answering("hunter2-hunter2")
	r.wake("hidden")
	r.redactor.Add("hunter2-hunter2") // as the router does
	wantText(t, r.ask(t.Context(), "mcp__hidden__form", `{"only":"password"}`), tools.Completed, "[secret]")
	path := t.TempDir() + "/copy"
	if err := r.DB.Backup(path); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(readFile(t, path), "hunter2-hunter2") {
		t.Error("the database holds the secret")
	}
	if strings.Contains(r.logs.String(), "hunter2-hunter2") {
		t.Error("the log holds the secret")
	}
}

func TestDeclinedAndUnansweredForms(t *testing.T) {
	t.Parallel()
	r := newRig(t, role(t, "form"))
	r.wake("form")
	r.OnCard = answering(decline)
	wantText(t, r.ask(t.Context(), "mcp__form__form", `{}`), tools.Completed, `"action":"decline"`)
	r.OnCard = answering("x", "y", "z")
	wantText(t, r.ask(t.Context(), "mcp__form__form", `{}`), tools.Completed, `"action":"cancel"`)
	r.OnCard = answering(decline)
	wantText(t, r.ask(t.Context(), "mcp__form__form", `{"only":"nothing"}`), tools.Completed, `"action":"decline"`)
}

// TestQuestionOfNoSingleCall has two calls run when the server asks: nobody is asked, since it may be the wrong person.
func TestQuestionOfNoSingleCall(t *testing.T) {
	t.Parallel()
	r := newRig(t, role(t, "two"))
	r.wake("two")
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan tools.Outcome, 1)
	go func() { done <- r.ask(ctx, "mcp__two__slow", `{}`) }()
	until(t, "the first call runs", func() bool { return len(r.told()) > 0 })
	wantText(t, r.ask(t.Context(), "mcp__two__form", `{}`), tools.Completed, `"action":"cancel"`)
	if len(r.asked()) != 0 {
		t.Error("somebody was asked")
	}
	cancel(tools.ErrStopped)
	wantText(t, <-done, tools.Cancelled, "stopped")
}

// TestAServerAsksForEver is cut short.
func TestAServerAsksForEver(t *testing.T) {
	t.Parallel()
	r := newRig(t, role(t, "nosy"))
	r.OnCard = answering(slices.Repeat([]string{decline}, maxQuestions)...)
	r.wake("nosy")
	wantText(t, r.ask(t.Context(), "mcp__nosy__nosy", `{}`), tools.Completed, "asked 11 times")
	if n := len(r.asked()); n != maxQuestions {
		t.Errorf("%d questions were asked", n)
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	r := newRig(t, role(t, "link"))
	r.wake("link")
	r.OnCard = answering(opened)
	wantText(t, r.ask(t.Context(), "mcp__link__link", `{"url":"https://example.com/login?x=1"}`), tools.Completed, `"action":"accept"`)
	asked := r.asked()
	if len(asked) != 1 || asked[0].Link != "https://example.com/login?x=1" || !strings.Contains(asked[0].Text, asked[0].Link) {
		t.Errorf("asked %+v", asked)
	}
	for _, bad := range []string{"javascript:alert(1)", "https://user:pw@example.com/", "file:///etc/passwd", "tg://resolve?domain=x"} {
		wantText(t, r.ask(t.Context(), "mcp__link__link", `{"url":"`+bad+`"}`), tools.Completed, `"action":"cancel"`)
	}
	if len(r.asked()) != 1 {
		t.Error("a bad link was shown")
	}
}

// TestStopWithdrawsAQuestion stops a call whose server waits for a person.
func TestStopWithdrawsAQuestion(t *testing.T) {
	t.Parallel()
	r := newRig(t, role(t, "form"))
	r.wake("form")
	ctx, cancel := context.WithCancelCause(t.Context())
	r.OnCard = nil
	asked := make(chan approvals.Pending, 2)
	go func() {
		until(t, "the call is approved", func() bool { return r.decideAll(asked) })
		cancel(tools.ErrStopped)
	}()
	wantText(t, r.ask(ctx, "mcp__form__form", `{}`), tools.Cancelled, "stopped by the user")
	p := <-asked
	until(t, "the question is withdrawn", func() bool { return r.state(p.ID) == approvals.Withdrawn })
	if _, err := r.Gate.Decide(p.ID, tooltest.Owner, approvals.Decision{Verb: approvals.VerbAnswer, Answer: "Ann"}); err == nil {
		t.Error("a withdrawn question takes an answer")
	}
	r.OnCard = answering(decline)
	wantText(t, r.ask(t.Context(), "mcp__form__form", `{}`), tools.Completed, `"action":"decline"`)
}

// decideAll approves what waits, and says when a question does.
func (r *rig) decideAll(asked chan<- approvals.Pending) (found bool) {
	err := r.DB.View(func(tx *store.Tx) error {
		waiting, err := r.Gate.Waiting(tx)
		for _, p := range waiting {
			if p.Kind == approvals.Asked {
				asked <- p
				found = true
				continue
			}
			go r.Gate.Decide(p.ID, tooltest.Owner, tooltest.Approve(p))
		}
		return err
	})
	if err != nil {
		r.T.Error(err)
	}
	return found
}

func (r *rig) state(id store.ApprovalID) (state approvals.State) {
	err := r.DB.View(func(tx *store.Tx) error {
		p, _, err := r.Gate.Get(tx, id)
		state = p.State
		return err
	})
	if err != nil {
		r.T.Error(err)
	}
	return state
}
