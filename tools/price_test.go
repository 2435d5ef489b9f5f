package tools_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/approvals"
	"nod/store"
	"nod/tools"
)

// purse is a till that notes what is paid in the commits that stay.
type purse struct {
	why  string // it refuses, if not ""
	paid []float64
}

func (p *purse) Refuses(*store.Tx) (string, error) { return p.why, nil }

func (p *purse) Pay(tx *store.Tx, tool string, usd float64) error {
	tx.OnCommit(func() { p.paid = append(p.paid, usd) })
	return nil
}

// priced makes a tool whose calls cost something.
func (p *pen) priced(name string, usd *float64) tools.Tool {
	return p.tool(name, func(s *tools.Spec[penArgs]) {
		s.Judge = func(context.Context, tools.Scope, penArgs) (tools.Judged, error) {
			return tools.Judged{Price: *usd}, nil
		}
	})
}

// costly is a rig with priced tools: free_note runs unasked, write_note asks, never_note is denied.
func costly(t *testing.T, p *pen, usd *float64) *rig {
	return newRig(t, p.priced("free_note", usd), p.priced("write_note", usd), p.priced("never_note", usd))
}

func (r *rig) paidCall(tool string, till *purse) tools.CallRequest {
	req := r.call(tool, `{"text":"a"}`)
	req.Till = till
	return req
}

var oneNote = 0.04

// TestPrice_WhatACallHasCost: a call that had begun is paid for, once, unless nothing was delivered.
func TestPrice_WhatACallHasCost(t *testing.T) {
	fails := func(err error) func(context.Context, tools.Call, penArgs) (tools.Output, error) {
		return func(context.Context, tools.Call, penArgs) (tools.Output, error) { return tools.Output{}, err }
	}
	for name, c := range map[string]struct {
		tool string
		do   func(context.Context, tools.Call, penArgs) (tools.Output, error)
		want []float64
	}{
		"done":                     {"free_note", nil, []float64{0.04}},
		"of no use":                {"free_note", fails(errors.New("no picture")), []float64{0.04}},
		"refused by the service":   {"free_note", fails(tools.Unpaid(errors.New("no"))), nil},
		"denied":                   {"never_note", nil, nil},
		"broken inside":            {"free_note", func(context.Context, tools.Call, penArgs) (tools.Output, error) { panic("oh") }, []float64{0.04}},
		"not kept":                 {"free_note", says(tools.Output{Commit: func(*store.Tx) error { return errors.New("full") }}), []float64{0.04}},
		"refused and wrapped well": {"free_note", fails(errors.Join(tools.Unpaid(errors.New("no")))), nil},
	} {
		t.Run(name, func(t *testing.T) {
			p, till := &pen{do: c.do}, &purse{}
			r := costly(t, p, &oneNote)
			r.run(r.paidCall(c.tool, till))
			if diff := cmp.Diff(c.want, till.paid); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPrice_StoppedCalls(t *testing.T) {
	p, till, began := &pen{}, &purse{}, make(chan struct{}, 1)
	p.do = untilStopped(began)
	r := costly(t, p, &oneNote)
	ctx, stop := context.WithCancelCause(t.Context())
	f := r.start(ctx, r.paidCall("free_note", till))
	await(t, "the tool", began)
	stop(tools.ErrStopped)
	if out := r.lands(f); out.State != tools.Cancelled || !cmp.Equal(till.paid, []float64{0.04}) {
		t.Errorf("cut off while it was made: %s, paid %v", out.State, till.paid)
	}
	till.paid = nil
	ctx, stop = context.WithCancelCause(t.Context())
	store.OnFailpoint(func(name string) {
		if name == "tools.intent" {
			stop(tools.ErrStopped)
		}
	})
	defer store.OnFailpoint(func(string) {})
	if out := r.lands(r.start(ctx, r.paidCall("free_note", till))); out.State != tools.Cancelled || till.paid != nil {
		t.Errorf("stopped before it began: %s, paid %v", out.State, till.paid)
	}
}

// TestPrice_ACapRefuses: before anybody is asked, and again when a person has approved; nothing runs, and nothing is paid.
func TestPrice_ACapRefuses(t *testing.T) {
	want := tools.Outcome{State: tools.Rejected, Text: "Not run: today has cost too much."}
	p, till := &pen{}, &purse{why: "today has cost too much"}
	r := costly(t, p, &oneNote)
	for _, tool := range []string{"free_note", "write_note"} {
		if diff := cmp.Diff(want, r.run(r.paidCall(tool, till))); diff != "" {
			t.Errorf("%s: %s", tool, diff)
		}
	}
	r.noCard()
	till.why = ""
	f := r.start(t.Context(), r.paidCall("write_note", till))
	card := r.card()
	till.why = "today has cost too much"
	r.verb(card, approvals.VerbApprove)
	if diff := cmp.Diff(want, r.lands(f)); diff != "" {
		t.Error(diff)
	}
	if len(p.runs()) > 0 || till.paid != nil {
		t.Errorf("%d ran, and %v was paid", len(p.runs()), till.paid)
	}
	var nothing float64
	r = costly(t, p, &nothing)
	if out := r.run(r.paidCall("free_note", till)); out.State != tools.Completed || till.paid != nil {
		t.Errorf("what costs nothing: %+v, paid %v", out, till.paid)
	}
}

// TestPrice_AcrossRestarts: an interrupted call may have been made, so it is paid for when it is over, once; one that
// repeats it is a call of its own.
func TestPrice_AcrossRestarts(t *testing.T) {
	for name, c := range map[string]struct {
		verb approvals.Verb
		why  string
		want []float64
		text string
	}{
		"skipped":             {approvals.VerbSkip, "", []float64{0.04}, notRunAgain},
		"run again":           {approvals.VerbAgain, "", []float64{0.04, 0.04}, "wrote a"},
		"run again, too dear": {approvals.VerbAgain, "it is too dear", []float64{0.04}, "Interrupted, and not run again: it is too dear"},
	} {
		t.Run(name, func(t *testing.T) {
			p, till := &pen{}, &purse{}
			r := costly(t, p, &oneNote)
			req := r.paidCall("free_note", till)
			r = leaveRunning(r, p, req)
			if till.paid != nil {
				t.Errorf("paid before it was over: %v", till.paid)
			}
			f := r.resume(t.Context(), req)
			card := r.card()
			if diff := cmp.Diff([]string{"Costs about $0.04."}, card.Request.Subject.Notes); diff != "" {
				t.Error(diff)
			}
			till.why = c.why
			r.verb(card, c.verb)
			if out := r.lands(f); out.Text != c.text {
				t.Errorf("the call is %+v", out)
			}
			r = r.restart()
			r.lands(r.resume(t.Context(), req))
			if diff := cmp.Diff(c.want, till.paid); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPrice_IsOnTheCard, and what was approved at one price is asked again at another.
func TestPrice_IsOnTheCard(t *testing.T) {
	for usd, want := range map[float64][]string{
		0: nil, 0.04: {"Costs about $0.04."}, 0.0065: {"Costs about $0.0065."}, 0.5: {"Costs about $0.50."}, 3: {"Costs about $3.00."},
	} {
		p, till, price := &pen{}, &purse{}, usd
		r := costly(t, p, &price)
		f := r.start(t.Context(), r.paidCall("write_note", till))
		card := r.card()
		if diff := cmp.Diff(want, card.Request.Subject.Notes); diff != "" {
			t.Error(diff)
		}
		price++
		r.verb(card, approvals.VerbApprove)
		r.verb(r.card(), approvals.VerbApprove)
		if r.lands(f); !cmp.Equal(till.paid, []float64{price}) {
			t.Errorf("paid %v, want %v", till.paid, price)
		}
	}
}
