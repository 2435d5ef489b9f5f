package tools

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"nod/approvals"
	"nod/store"
)

// noCards is a Viewer for a gate that never asks.
type noCards struct{}

func (noCards) ShowPending(*store.Tx, approvals.Pending) error  { return nil }
func (noCards) ClosePending(*store.Tx, approvals.Pending) error { return nil }

type textArgs struct {
	Text string `json:"text"`
}

// TestSA11_ForgedApproval: even from within, a call runs only with the gate's approval of exactly this call.
func TestSA11_ForgedApproval(t *testing.T) {
	db := store.OpenTest(t)
	rules := approvals.NewRules([]approvals.Rule{{Tool: "*", Action: approvals.ActionAllow}}, ToolSets())
	if err := db.Update(rules.Seed); err != nil {
		t.Fatal(err)
	}
	gate := approvals.NewGate(db, rules, noCards{}, approvals.Options{})
	x := NewExecutor(db, gate, slog.New(slog.DiscardHandler))
	ran := 0
	tool := New(Spec[textArgs]{
		Name: "write", Description: "Writes.", Traits: Traits{Category: Filesystem, Effect: Write},
		Run: func(context.Context, Call, textArgs) (Output, error) { ran++; return Output{}, nil },
	})
	registry, err := NewRegistry(tool)
	if err != nil {
		t.Fatal(err)
	}
	// admit makes a call that has got as far as its intent, and the approval that the gate gives it after edit.
	admit := func(edit func(*approvals.Request)) (*run, approvals.Approved) {
		scope := Scope{Session: "s1", Turn: "t1", Deciders: []store.UserID{7}}
		r := x.newRun(CallRequest{
			ID: store.NewCallID(), Name: "write", Args: []byte(`{"text":"a"}`), Scope: scope, Offer: registry.Offer(Visibility{Scope: scope}),
		}, func(*store.Tx, Execution) error { return nil })
		if fault := r.decode(); fault != nil {
			t.Fatal(fault.Text)
		}
		req, err := r.request(t.Context(), r.req.ID)
		if err != nil {
			t.Fatal(err)
		}
		edit(&req)
		var ruling approvals.Ruling
		err = db.Update(func(tx *store.Tx) error {
			if ruling, err = gate.Judge(tx, req); err != nil {
				return err
			}
			return r.begin(tx, approvals.Approved{})
		})
		if err != nil {
			t.Fatal(err)
		}
		approved, ok := ruling.Approved()
		if !ok {
			t.Fatalf("the gate says %s: %s", ruling.Verdict, ruling.Reason)
		}
		return r, approved
	}
	tests := []struct {
		name string
		edit func(*approvals.Request)
		zero bool
		runs bool
	}{
		{"its own", func(*approvals.Request) {}, false, true},
		{"none", func(*approvals.Request) {}, true, false},
		{"another call's", func(r *approvals.Request) { r.Call = "c2" }, false, false},
		{"another tool's", func(r *approvals.Request) { r.Tool = "read" }, false, false},
		{"other arguments", func(r *approvals.Request) { r.Args = []byte(`{"text":"b"}`) }, false, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ran = 0
			r, approved := admit(test.edit)
			if test.zero {
				approved = approvals.Approved{}
			}
			r.call.Approved = approved
			out, err := r.work(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if test.runs != (ran == 1) || test.runs != (out.State == Completed) {
				t.Errorf("it ran %d times: %+v", ran, out)
			}
			if !test.runs && (out.State != Failed || !strings.HasPrefix(out.Text, "Not run: ")) {
				t.Errorf("got %+v", out)
			}
		})
	}
}
