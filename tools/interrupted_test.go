package tools_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/approvals"
	"nod/store"
	"nod/tools"
)

const notRunAgain = "Interrupted: nod was restarted while this call ran. Whether it had an effect is unknown. The user chose not to run it again; do not repeat it unless asked."

// interrupt makes a process that finds a call of free_note which ran when the one before it ended.
func interrupt(t *testing.T, p *pen, all ...tools.Tool) (*rig, tools.CallRequest) {
	t.Helper()
	r := newRig(t, all...)
	req := r.call("free_note", `{"text":"a"}`)
	return leaveRunning(r, p, req), req
}

func TestInterrupted_Asks(t *testing.T) {
	p := &pen{}
	r, req := interrupt(t, p, kit(p)...)
	began := r.record(req.ID).Began
	ctx, end := context.WithCancelCause(t.Context())
	f := r.resume(ctx, req)
	card := r.card()
	if card.Kind != approvals.Interrupted || card.Request.Call != req.ID || !card.Expires.IsZero() {
		t.Errorf("the card is %+v", card)
	}
	if want := "begun at " + began.UTC().Format("15:04:05"); !strings.Contains(card.Note, want) || !strings.Contains(card.Note, "unknown") {
		t.Errorf("its note is %q", card.Note)
	}
	if got := r.record(req.ID).State; got != tools.Running || len(p.runs()) != 1 {
		t.Errorf("meanwhile it is %s, %d runs", got, len(p.runs()))
	}

	// The same card waits on in the next process, and the press counts there.
	end(errShutdown)
	if err := r.fails(f); !errors.Is(err, tools.ErrLeft) {
		t.Errorf("got %v", err)
	}
	r = r.restart()
	f = r.resume(t.Context(), req)
	r.verb(card, approvals.VerbSkip)
	if diff := cmp.Diff(tools.Outcome{State: tools.Cancelled, Text: notRunAgain}, r.lands(f)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	r.noCard()

	r = r.restart()
	if out := r.lands(r.resume(t.Context(), req)); out.Text != notRunAgain || len(p.runs()) != 1 {
		t.Errorf("then: %+v, %d runs", out, len(p.runs()))
	}
}

func TestInterrupted_RunAgain(t *testing.T) {
	for _, when := range []string{"while it waits", "in the last moment of a process"} {
		t.Run(when, func(t *testing.T) {
			p := &pen{}
			r, req := interrupt(t, p, kit(p)...)
			ctx, end := context.WithCancelCause(t.Context())
			defer end(nil)
			f := r.resume(ctx, req)
			card := r.card()
			if when == "while it waits" {
				r.verb(card, approvals.VerbAgain)
			} else {
				end(errShutdown)
				<-f.done
				r.verb(card, approvals.VerbAgain)
				r = r.restart()
				f = r.resume(t.Context(), req)
			}
			if diff := cmp.Diff(tools.Outcome{State: tools.Completed, Text: "wrote a"}, r.lands(f)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if len(p.runs()) != 2 {
				t.Errorf("it ran %d times in all, want 2", len(p.runs()))
			}
			old := r.record(req.ID)
			again := r.record(old.RepeatedBy)
			if old.State != tools.Cancelled || again.State != tools.Completed || again.Repeats != old.Call || again.Call == old.Call {
				t.Errorf("the records are\n%+v\n%+v", old, again)
			}
			if diff := cmp.Diff([]string{string(old.Args), old.Full}, []string{string(again.Args), again.Full}); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(again.How, string(card.ID)) {
				t.Errorf("what let it run is told as %q", again.How)
			}
			r.noCard()

			r = r.restart()
			if out := r.lands(r.resume(t.Context(), req)); out.Text != "wrote a" || len(p.runs()) != 2 {
				t.Errorf("then: %+v, %d runs", out, len(p.runs()))
			}
		})
	}
}

// Each run that is interrupted is asked about by itself; none is repeated unasked.
func TestInterrupted_Twice(t *testing.T) {
	p := &pen{}
	r, req := interrupt(t, p, kit(p)...)
	began := make(chan struct{}, 1)
	p.do = untilStopped(began)
	ctx, end := context.WithCancelCause(t.Context())
	f := r.resume(ctx, req)
	first := r.card()
	r.verb(first, approvals.VerbAgain)
	await(t, "the second run", began)
	end(errShutdown)
	if err := r.fails(f); !errors.Is(err, tools.ErrLeft) {
		t.Fatal(err)
	}
	r, p.do = r.restart(), nil

	f = r.resume(t.Context(), req)
	second := r.card()
	if second.Kind != approvals.Interrupted || second.Request.Call == req.ID || len(p.runs()) != 2 {
		t.Errorf("the second card is %+v, %d runs", second, len(p.runs()))
	}
	r.verb(second, approvals.VerbAgain)
	if out := r.lands(f); out.State != tools.Completed || len(p.runs()) != 3 {
		t.Errorf("got %+v, %d runs", out, len(p.runs()))
	}
	var states []tools.State
	for id := req.ID; id != ""; {
		e := r.record(id)
		states = append(states, e.State)
		id = e.RepeatedBy
	}
	if diff := cmp.Diff([]tools.State{tools.Cancelled, tools.Cancelled, tools.Completed}, states); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// NOD-7: what would be repeated is not what was shown, so that it is asked again with the new content.
func TestNOD7_InterruptedAndChanged(t *testing.T) {
	content := "old"
	p := &pen{}
	r, req := interrupt(t, p, p.tool("free_note", func(s *tools.Spec[penArgs]) {
		s.Judge = func(context.Context, tools.Scope, penArgs) (tools.Judged, error) {
			return tools.Judged{Subject: approvals.Subject{Kind: approvals.Diff, Text: content}}, nil
		}
	}))
	f := r.resume(t.Context(), req)
	first := r.card()
	content = "new"
	r.verb(first, approvals.VerbAgain)
	second := r.card()
	if second.Request.Subject.Text != "new" || !strings.Contains(second.Note, "has changed") || len(p.runs()) != 1 {
		t.Errorf("the second card is %+v, %d runs", second, len(p.runs()))
	}
	if got := r.record(req.ID); got.State != tools.Running || got.RepeatedBy != "" {
		t.Errorf("meanwhile the record is %+v", got)
	}
	r.verb(second, approvals.VerbAgain)
	if out := r.lands(f); out.State != tools.Completed || len(p.runs()) != 2 {
		t.Errorf("got %+v, %d runs", out, len(p.runs()))
	}
}

func TestInterrupted_NotRunAgain(t *testing.T) {
	deny := func(r *rig) {
		r.update(func(tx *store.Tx) error {
			_, err := r.rules.Add(tx, approvals.Rule{Priority: approvals.PriorityGuard, Tool: "free_note", Action: approvals.ActionDeny})
			return err
		})
	}
	gone := func(r *rig) []tools.Tool {
		return slices.DeleteFunc(r.registry.All(), func(t tools.Tool) bool { return t.Name() == "free_note" })
	}
	tests := []struct {
		name   string
		before func(*rig) *rig
		then   func(r *rig, card approvals.Pending, stop func())
		want   string
	}{
		{
			"its tool is gone", func(r *rig) *rig { return r.restartWith(gone(r)...) },
			func(r *rig, card approvals.Pending, _ func()) { r.verb(card, approvals.VerbAgain) },
			`Interrupted, and it can't be run again: The tool "free_note" is not available here.`,
		},
		{
			"denied since", nil,
			func(r *rig, card approvals.Pending, _ func()) { deny(r); r.verb(card, approvals.VerbAgain) },
			"Interrupted, and not run again: the call is denied",
		},
		{
			"STOP-1 stopped while its card waits", nil,
			func(_ *rig, _ approvals.Pending, stop func()) { stop() },
			"Interrupted: nod was restarted while this call ran. Whether it had an effect is unknown. The turn was stopped",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := &pen{}
			r, req := interrupt(t, p, kit(p)...)
			if test.before != nil {
				r = test.before(r)
			}
			ctx, stop := context.WithCancelCause(t.Context())
			f := r.resume(ctx, req)
			card := r.card()
			if !strings.Contains(card.Request.Subject.Text, `"text": "a"`) {
				t.Errorf("the card shows %q", card.Request.Subject.Text)
			}
			test.then(r, card, func() { stop(tools.ErrStopped) })
			out := r.lands(f)
			if out.State != tools.Cancelled || !strings.HasPrefix(out.Text, test.want) || len(p.runs()) != 1 {
				t.Errorf("got %+v, %d runs", out, len(p.runs()))
			}
			if got := r.record(req.ID); got.State != tools.Cancelled || got.RepeatedBy != "" || r.waiting() != 0 {
				t.Errorf("the record is %+v, %d cards wait", got, r.waiting())
			}
		})
	}
}

// A record that can't be written ends nothing: the call stays interrupted, and its answer is still there to be used.
func TestInterrupted_ObserverError(t *testing.T) {
	p := &pen{}
	r, req := interrupt(t, p, kit(p)...)
	fault := errors.New("the transcript can't be written")
	f := r.fly(func() (tools.Outcome, error) {
		return r.executor.Resume(t.Context(), req, func(*store.Tx, tools.Execution) error { return fault })
	})
	card := r.card()
	r.verb(card, approvals.VerbAgain)
	if err := r.fails(f); !errors.Is(err, fault) {
		t.Errorf("got %v", err)
	}
	if got := r.record(req.ID); got.State != tools.Running || got.RepeatedBy != "" || len(p.runs()) != 1 {
		t.Errorf("the record is %+v, %d runs", got, len(p.runs()))
	}
	r = r.restart()
	if out := r.lands(r.resume(t.Context(), req)); out.State != tools.Completed || len(p.runs()) != 2 {
		t.Errorf("got %+v, %d runs", out, len(p.runs()))
	}
}
