package tools_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/approvals"
	"nod/store"
	"nod/tools"
)

// kit is tools of each standing, all held by one pen.
func kit(p *pen) []tools.Tool {
	return []tools.Tool{
		p.tool("read_note"), p.tool("free_note"), p.tool("write_note"), p.tool("never_note"),
		p.tool("hidden_note", func(s *tools.Spec[penArgs]) { s.Traits.SubAgentsOnly = true }),
	}
}

func TestCallsThatAskNobody(t *testing.T) {
	type want struct {
		Outcome tools.Outcome
		States  []tools.State
		Runs    []string
	}
	failed := func(text string) want {
		return want{Outcome: tools.Outcome{State: tools.Failed, Text: text}, States: []tools.State{tools.Failed}}
	}
	tests := []struct {
		name, tool, args, fault string
		do                      func(context.Context, tools.Call, penArgs) (tools.Output, error)
		want                    want
	}{
		{
			name: "allowed by a rule", tool: "free_note", args: `{"text":"a"}`,
			want: want{tools.Outcome{State: tools.Completed, Text: "wrote a"}, []tools.State{tools.Running, tools.Completed}, []string{"a"}},
		},
		{
			name: "says nothing", tool: "free_note", args: `{"text":"a"}`,
			do: func(context.Context, tools.Call, penArgs) (tools.Output, error) {
				return tools.Output{Text: " \n"}, nil
			},
			want: want{tools.Outcome{State: tools.Completed, Text: "(no output)"}, []tools.State{tools.Running, tools.Completed}, []string{"a"}},
		},
		{
			name: "finds a picture", tool: "read_note", args: `{"text":"a"}`,
			do: func(context.Context, tools.Call, penArgs) (tools.Output, error) {
				return tools.Output{Text: "look", Images: []tools.Image{{MIME: "image/png", Path: "a.png"}}}, nil
			},
			want: want{
				tools.Outcome{State: tools.Completed, Text: "look", Images: []tools.Image{{MIME: "image/png", Path: "a.png"}}},
				[]tools.State{tools.Running, tools.Completed},
				[]string{"a"},
			},
		},
		{
			name: "fails", tool: "free_note", args: `{"text":"a"}`,
			do: func(context.Context, tools.Call, penArgs) (tools.Output, error) {
				return tools.Output{}, errors.New("the disk is full\x00")
			},
			want: want{tools.Outcome{State: tools.Failed, Text: "the disk is full"}, []tools.State{tools.Running, tools.Failed}, []string{"a"}},
		},
		{name: "there, but not offered", tool: "hidden_note", args: `{"text":"a"}`, want: failed(`The tool "hidden_note" is not available here.`)},
		{name: "unknown", tool: "format_disk", args: `{}`, want: failed(`The tool "format_disk" is not available here.`)},
		{name: "a hostile name", tool: "x\u202e\n\"y", args: `{}`, want: failed(`The tool "x \"y" is not available here.`)},
		{name: "in other case", tool: "Free_Note", args: `{"text":"a"}`, want: failed(`The tool "Free_Note" is not available here.`)},
		{
			name: "MODEL-2 cut off on the wire", tool: "free_note", args: `{"text":"a"}`, fault: "its arguments were cut off",
			want: failed("The call was not run: its arguments were cut off"),
		},
		{
			name: "MODEL-2 cut off", tool: "free_note", args: `{"text":"a`,
			want: failed("The call was not run: the arguments are not usable: the JSON is broken or cut off: unexpected EOF"),
		},
		{
			name: "S-A8 twice", tool: "free_note", args: `{"text":"a","text":"b"}`,
			want: failed(`The call was not run: the arguments are not usable: the key "text" stands twice`),
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := &pen{do: test.do}
			r := newRig(t, kit(p)...)
			req := r.call(test.tool, test.args)
			req.Fault = test.fault
			got := want{Outcome: r.run(req), States: r.observed(), Runs: p.runs()}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(test.want.Outcome, r.record(req.ID).Outcome); diff != "" {
				t.Errorf("on disk (-want +got)\n%s", diff)
			}
			r.noCard()
		})
	}
}

func TestDeniedByARule(t *testing.T) {
	p := &pen{}
	r := newRig(t, kit(p)...)
	out := r.run(r.call("never_note", `{"text":"a"}`))
	if out.State != tools.Rejected || !strings.HasPrefix(out.Text, "Not allowed: rule ") || !strings.Contains(out.Text, "it is closed") {
		t.Errorf("got %+v", out)
	}
	if runs := p.runs(); len(runs) > 0 {
		t.Errorf("it ran: %q", runs)
	}
	r.noCard()
}

func TestRecordOfACall(t *testing.T) {
	p := &pen{}
	r := newRig(t, p.tool("free_note", func(s *tools.Spec[penArgs]) {
		s.Target = func(in penArgs) string { return in.Text + ".md" }
	}))
	before := time.Now()
	req := r.call("free_note", ` {"times": 2, "text": "a"} `)
	r.run(req)
	got := r.record(req.ID)
	for _, at := range []time.Time{got.Created, got.Began, got.Ended} {
		if at.Before(before) || at.After(time.Now()) {
			t.Errorf("a time is %s", at)
		}
	}
	if !strings.Contains(got.How, "free") {
		t.Errorf("what let it run is told as %q", got.How)
	}
	got.Created, got.Began, got.Ended, got.How = time.Time{}, time.Time{}, time.Time{}, ""
	want := tools.Execution{
		Call: req.ID, Session: r.scope.Session, Turn: r.scope.Turn, Agent: "main", Tool: "free_note",
		Args: []byte(`{"text":"a","times":2}`), Effect: tools.Write, Short: "free_note `a`", Full: "free_note `a`", Target: "a.md",
		State: tools.Completed, Outcome: tools.Outcome{State: tools.Completed, Text: "wrote a"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// What a model wrote is kept also where it is no JSON, and a fault is told in bounded length.
func TestUnusableArguments(t *testing.T) {
	p := &pen{}
	r := newRig(t, kit(p)...)
	req := r.call("free_note", "{\"text\":\x00\xff"+strings.Repeat("x", 200))
	r.run(req)
	if got, want := string(r.record(req.ID).Args), `"{\"text\":�`+strings.Repeat("x", 200)+`"`; got != want {
		t.Errorf("kept as %s", got)
	}

	req = r.call("free_note", `{"text":"a","`+strings.Repeat("k", 5*tools.OutcomeLimit)+`":1}`)
	out := r.run(req)
	if len(out.Text) > 2*tools.OutcomeLimit || !strings.Contains(out.Text, "left out") || !strings.Contains(out.Text, "The schema is") {
		t.Errorf("the fault has %d bytes", len(out.Text))
	}
}

func TestApprovedRunsOnceWithTheApprovedBytes(t *testing.T) {
	p := &pen{}
	r := newRig(t, kit(p)...)
	req := r.call("write_note", ` { "text" : "a\u003cb \u202e" , "times":null} `)
	f := r.start(t.Context(), req)
	card := r.card()
	if len(p.runs()) != 0 {
		t.Fatal("it ran before the press")
	}
	if got := r.record(req.ID); got.State != tools.AwaitingApproval {
		t.Errorf("it is %s", got.State)
	}
	const canonical = `{"text":"a<b ` + "\u202e" + `"}`
	shown := approvals.Subject{Kind: approvals.Arguments, Text: "{\n  \"text\": \"a<b \u202e\"\n}"}
	if diff := cmp.Diff(shown, card.Request.Subject); diff != "" {
		t.Errorf("the card (-want +got)\n%s", diff)
	}
	if got := string(card.Request.Args); got != canonical {
		t.Errorf("the gate was asked about %s", got)
	}
	r.verb(card, approvals.VerbApprove)
	if diff := cmp.Diff(tools.Outcome{State: tools.Completed, Text: "wrote a<b \u202e"}, r.lands(f)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a<b \u202e"}, p.runs()); diff != "" {
		t.Errorf("runs (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]tools.State{tools.AwaitingApproval, tools.Running, tools.Completed}, r.observed()); diff != "" {
		t.Errorf("states (-want +got)\n%s", diff)
	}
	if how := r.record(req.ID).How; !strings.Contains(how, string(card.ID)) || !strings.Contains(how, "user 7") {
		t.Errorf("what let it run is told as %q", how)
	}

	// NOD-2: the press on the card of a call that is over.
	_, err := r.gate.Decide(card.ID, owner, approvals.Decision{Verb: approvals.VerbApprove})
	if late, ok := errors.AsType[*approvals.DecidedError](err); !ok || late.Pending.State != approvals.Used {
		t.Errorf("a second press: %v", err)
	}
	if len(p.runs()) != 1 {
		t.Errorf("it ran %d times", len(p.runs()))
	}
}

func TestRejected(t *testing.T) {
	tests := []struct{ name, reason, want string }{
		{"without a reason", "", "User rejected this tool call."},
		{"with a reason", "not on a Friday", "User rejected this tool call. Reason: not on a Friday"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := &pen{}
			r := newRig(t, kit(p)...)
			f := r.start(t.Context(), r.call("write_note", `{"text":"a"}`))
			r.press(r.card(), approvals.Decision{Verb: approvals.VerbReject, Reason: test.reason})
			if diff := cmp.Diff(tools.Outcome{State: tools.Rejected, Text: test.want}, r.lands(f)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if diff := cmp.Diff([]tools.State{tools.AwaitingApproval, tools.Rejected}, r.observed()); diff != "" {
				t.Errorf("states (-want +got)\n%s", diff)
			}
			if len(p.runs()) != 0 {
				t.Error("it ran")
			}
		})
	}
}

// A deny that came up while the card was out stands above the nod.
func TestDeniedSinceTheCard(t *testing.T) {
	p := &pen{}
	r := newRig(t, kit(p)...)
	f := r.start(t.Context(), r.call("write_note", `{"text":"a"}`))
	card := r.card()
	r.update(func(tx *store.Tx) error {
		_, err := r.rules.Add(tx, approvals.Rule{Priority: approvals.PriorityGuard, Tool: "write_note", Action: approvals.ActionDeny})
		return err
	})
	r.verb(card, approvals.VerbApprove)
	out := r.lands(f)
	if out.State != tools.Rejected || !strings.HasPrefix(out.Text, "Not allowed any more: ") || len(p.runs()) != 0 {
		t.Errorf("got %+v, runs %q", out, p.runs())
	}
	if got := r.pending(card.ID).State; got != approvals.Withdrawn {
		t.Errorf("its card is %s", got)
	}
}

// page is a tool whose subject is the content of a file that changes under the card.
func page(p *pen, content func() (string, error)) tools.Tool {
	return p.tool("write_page", func(s *tools.Spec[penArgs]) {
		s.Judge = func(context.Context, tools.Scope, penArgs) (tools.Judged, error) {
			text, err := content()
			return tools.Judged{Subject: approvals.Subject{Kind: approvals.Diff, Text: text}}, err
		}
	})
}

func TestNOD7_ChangedUnderTheCard(t *testing.T) {
	content := "old"
	p := &pen{}
	r := newRig(t, page(p, func() (string, error) { return content, nil }))
	f := r.start(t.Context(), r.call("write_page", `{"text":"a"}`))
	first := r.card()
	content = "new" // the call waits for the press, which comes after
	r.verb(first, approvals.VerbApprove)
	second := r.card()
	if len(p.runs()) != 0 {
		t.Fatal("it ran though what was shown had changed")
	}
	if got := second.Request.Subject.Text; got != "new" || !strings.Contains(second.Note, "has changed") {
		t.Errorf("the second card shows %q with the note %q", got, second.Note)
	}
	if got := r.pending(first.ID); got.State != approvals.Withdrawn {
		t.Errorf("the first card is %s", got.State)
	}
	r.verb(second, approvals.VerbApprove)
	if out := r.lands(f); out.State != tools.Completed || len(p.runs()) != 1 {
		t.Errorf("got %+v, %d runs", out, len(p.runs()))
	}
	if diff := cmp.Diff([]tools.State{tools.AwaitingApproval, tools.AwaitingApproval, tools.Running, tools.Completed}, r.observed()); diff != "" {
		t.Errorf("states (-want +got)\n%s", diff)
	}
}

// ♾ on a subject that has changed by then: the rule lets the call run, and the nod that was not used is taken back.
func TestNOD7_ChangedAndAlways(t *testing.T) {
	content := "old"
	p := &pen{}
	r := newRig(t, page(p, func() (string, error) { return content, nil }))
	f := r.start(t.Context(), r.call("write_page", `{"text":"a"}`))
	card := r.card()
	content = "new"
	r.verb(card, approvals.VerbAlways)
	if out := r.lands(f); out.State != tools.Completed || len(p.runs()) != 1 {
		t.Errorf("got %+v, %d runs", out, len(p.runs()))
	}
	if got := r.pending(card.ID); got.State != approvals.Withdrawn || got.Reason != "what it would do has changed; a new card follows" {
		t.Errorf("the card is %s: %s", got.State, got.Reason)
	}
	r.noCard()
}

func TestSubjectThatCannotBeShown(t *testing.T) {
	t.Run("before the card", func(t *testing.T) {
		p := &pen{}
		r := newRig(t, page(p, func() (string, error) { return "", errors.New("there is no such file") }))
		out := r.run(r.call("write_page", `{"text":"a"}`))
		if diff := cmp.Diff(tools.Outcome{State: tools.Failed, Text: "there is no such file"}, out); diff != "" || len(p.runs()) != 0 {
			t.Error(diff)
		}
		r.noCard()
	})
	t.Run("after the press", func(t *testing.T) {
		var gone error
		p := &pen{}
		r := newRig(t, page(p, func() (string, error) { return "text", gone }))
		f := r.start(t.Context(), r.call("write_page", `{"text":"a"}`))
		card := r.card()
		gone = errors.New("the file is gone")
		r.verb(card, approvals.VerbApprove)
		want := tools.Outcome{State: tools.Failed, Text: "Not run, though approved: the file is gone"}
		if diff := cmp.Diff(want, r.lands(f)); diff != "" || len(p.runs()) != 0 {
			t.Error(diff)
		}
		if got := r.pending(card.ID); got.State != approvals.Withdrawn || got.Reason != want.Text {
			t.Errorf("its card is %s: %s", got.State, got.Reason)
		}
	})
}
