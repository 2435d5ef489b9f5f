package tools_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/approvals"
	"nod/store"
	"nod/tools"
)

// leave begins a call, waits until the moment that until tells, and ends the program there. It gives back what the next
// start of the program has.
func leave(r *rig, req tools.CallRequest, until func(*rig)) *rig {
	r.Helper()
	ctx, end := context.WithCancelCause(r.Context())
	f := r.start(ctx, req)
	until(r)
	end(errShutdown)
	if err := r.fails(f); !errors.Is(err, tools.ErrLeft) {
		r.Fatal(err)
	}
	return r.restart()
}

// leaveRunning ends the program while the tool of the pen works, which from then on works as given.
func leaveRunning(r *rig, p *pen, req tools.CallRequest) *rig {
	r.Helper()
	began := make(chan struct{}, 1)
	p.do = untilStopped(began)
	next := leave(r, req, func(r *rig) { await(r.T, "the tool", began) })
	p.do = nil
	return next
}

// leaveWaiting ends the program while a card waits; d is what a person pressed in its last moment.
func leaveWaiting(r *rig, req tools.CallRequest, d approvals.Decision) (*rig, approvals.Pending) {
	r.Helper()
	ctx, end := context.WithCancelCause(r.Context())
	f := r.start(ctx, req)
	card := r.card()
	end(errShutdown)
	if err := r.fails(f); !errors.Is(err, tools.ErrLeft) {
		r.Fatal(err)
	}
	if d.Verb != "" {
		r.press(card, d)
	}
	return r.restart(), card
}

func TestResume_Unknown(t *testing.T) {
	p := &pen{}
	r := newRig(t, kit(p)...).restart()
	req := r.call("free_note", `{"text":"a"}`)
	if out := r.lands(r.resume(t.Context(), req)); out.Text != "wrote a" || len(p.runs()) != 1 {
		t.Errorf("got %+v, %d runs", out, len(p.runs()))
	}
}

func TestResume_Over(t *testing.T) {
	for _, tool := range []string{"free_note", "read_note", "never_note", "hidden_note"} {
		p := &pen{}
		r := newRig(t, kit(p)...)
		req := r.call(tool, `{"text":"a"}`)
		want, runs := r.run(req), len(p.runs())
		r = r.restart()
		if diff := cmp.Diff(want, r.lands(r.resume(t.Context(), req))); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tool, diff)
		}
		if len(p.runs()) != runs || len(r.observed()) != 0 {
			t.Errorf("%s: %d runs, then %d; observed %v", tool, runs, len(p.runs()), r.observed())
		}
	}
}

// NOD-1: what a person decides on an old card holds, and the call runs exactly once. Nobody is asked twice.
func TestNOD1_ResumeAwaiting(t *testing.T) {
	approve := approvals.Decision{Verb: approvals.VerbApprove}
	reject := approvals.Decision{Verb: approvals.VerbReject, Reason: "no"}
	always := approvals.Decision{Verb: approvals.VerbAlways}
	wrote := tools.Outcome{State: tools.Completed, Text: "wrote a"}
	rejected := tools.Outcome{State: tools.Rejected, Text: "User rejected this tool call. Reason: no"}
	tests := []struct {
		name         string
		before, then approvals.Decision // the press before the end of the program, or after the next start
		want         tools.Outcome
	}{
		{"open, then approved", approvals.Decision{}, approve, wrote},
		{"open, then rejected", approvals.Decision{}, reject, rejected},
		{"approved, not begun", approve, approvals.Decision{}, wrote},
		{"always, not begun", always, approvals.Decision{}, wrote},
		{"rejected, not recorded", reject, approvals.Decision{}, rejected},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := &pen{}
			r := newRig(t, kit(p)...)
			req := r.call("write_note", `{"text":"a"}`)
			r, card := leaveWaiting(r, req, test.before)
			f := r.resume(t.Context(), req)
			if test.then.Verb != "" {
				r.press(card, test.then)
			}
			if diff := cmp.Diff(test.want, r.lands(f)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			r.noCard()
			want := 0
			if test.want.State == tools.Completed {
				want = 1
				if got := r.pending(card.ID).State; got != approvals.Used {
					t.Errorf("the nod is %s", got)
				}
			}
			if len(p.runs()) != want {
				t.Errorf("it ran %d times, want %d", len(p.runs()), want)
			}
			if r = r.restart(); r.lands(r.resume(t.Context(), req)).Text != test.want.Text || len(p.runs()) != want {
				t.Errorf("after one more restart it has run %d times", len(p.runs()))
			}
		})
	}
}

func TestNOD7_ChangedWhileDown(t *testing.T) {
	content := "old"
	p := &pen{}
	r := newRig(t, page(p, func() (string, error) { return content, nil }))
	req := r.call("write_page", `{"text":"a"}`)
	r, first := leaveWaiting(r, req, approvals.Decision{Verb: approvals.VerbApprove})
	content = "new"
	f := r.resume(t.Context(), req)
	card := r.card()
	if card.Request.Subject.Text != "new" || len(p.runs()) != 0 || r.pending(first.ID).State != approvals.Withdrawn {
		t.Errorf("the card shows %q, %d runs, the first card is %s", card.Request.Subject.Text, len(p.runs()), r.pending(first.ID).State)
	}
	r.verb(card, approvals.VerbApprove)
	if out := r.lands(f); out.State != tools.Completed || len(p.runs()) != 1 {
		t.Errorf("got %+v, %d runs", out, len(p.runs()))
	}
}

func TestResume_ExpiredWhileDown(t *testing.T) {
	for _, verb := range []approvals.Verb{"", approvals.VerbApprove} {
		synctest.Test(t, func(t *testing.T) {
			p := &pen{}
			r := newRig(t, kit(p)...)
			req := r.call("write_note", `{"text":"a"}`)
			r, _ = leaveWaiting(r, req, approvals.Decision{Verb: verb})
			time.Sleep(25 * time.Hour)
			endClock := r.tick()
			want := tools.Outcome{State: tools.Rejected, Text: "Nobody decided in time, so this call was rejected."}
			if diff := cmp.Diff(want, r.lands(r.resume(t.Context(), req))); diff != "" || len(p.runs()) != 0 {
				t.Errorf("pressed %q: (-want +got)\n%s", verb, diff)
			}
			r.noCard()
			endClock()
		})
	}
}

// A call that reads is run again from its intent, past the output file that its first run left.
func TestResume_RunningRead(t *testing.T) {
	p := &pen{}
	r := newRig(t, kit(p)...)
	req := r.call("read_note", `{"text":"a"}`)
	began := make(chan struct{}, 1)
	p.do = func(ctx context.Context, call tools.Call, _ penArgs) (tools.Output, error) {
		f, _, err := call.OutputFile()
		if err != nil {
			return tools.Output{}, err
		}
		if _, err := f.WriteString("from the first run"); err != nil {
			return tools.Output{}, err
		}
		began <- struct{}{}
		<-ctx.Done()
		return tools.Output{}, errors.Join(ctx.Err(), f.Close())
	}
	r = leave(r, req, func(r *rig) { await(r.T, "the tool", began) })
	text := strings.Repeat("x", 2*tools.OutcomeLimit)
	p.do = says(tools.Output{Text: text})
	out := r.lands(r.resume(t.Context(), req))
	if out.State != tools.Completed || !strings.Contains(out.Text, "read_file can page") || len(p.runs()) != 2 {
		t.Errorf("got %s, %d runs", out.State, len(p.runs()))
	}
	if r.output(req.ID) != text {
		t.Error("the file holds something else")
	}
	if got := r.record(req.ID); got.State != tools.Completed || got.RepeatedBy != "" {
		t.Errorf("the record is %+v", got)
	}
	r.noCard()
}

// What the rules say at the time of the second run counts for it too.
func TestResume_RunningReadIsJudgedAnew(t *testing.T) {
	p := &pen{}
	r := newRig(t, kit(p)...)
	req := r.call("read_note", `{"text":"a"}`)
	r = leaveRunning(r, p, req)
	r.update(func(tx *store.Tx) error {
		_, err := r.rules.Add(tx, approvals.Rule{Priority: approvals.PriorityGuard, Tool: "read_note", Action: approvals.ActionRequire})
		return err
	})
	f := r.resume(t.Context(), req)
	r.press(r.card(), approvals.Decision{Verb: approvals.VerbReject})
	if out := r.lands(f); out.State != tools.Rejected || len(p.runs()) != 1 {
		t.Errorf("got %+v, %d runs", out, len(p.runs()))
	}
}

// A tool that is not there any more, or takes other arguments now, ends a call that has changed nothing.
func TestResume_ToolIsGone(t *testing.T) {
	tests := []struct {
		name, tool string
		until      func(r *rig, began <-chan struct{})
	}{
		{"awaiting", "write_note", func(r *rig, _ <-chan struct{}) { r.card() }},
		{"reading", "read_note", func(r *rig, began <-chan struct{}) { await(r.T, "the tool", began) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			began := make(chan struct{}, 1)
			p := &pen{do: untilStopped(began)}
			r := newRig(t, kit(p)...)
			req := r.call(test.tool, `{"text":"a"}`)
			r = leave(r, req, func(r *rig) { test.until(r, began) })
			others := slices.DeleteFunc(r.registry.All(), func(t tools.Tool) bool { return t.Name() == test.tool })
			r = r.restartWith(others...)
			want := tools.Outcome{State: tools.Failed, Text: `The tool "` + test.tool + `" is not available here.`}
			if diff := cmp.Diff(want, r.lands(r.resume(t.Context(), req))); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if r.waiting() != 0 {
				t.Error("its card still waits")
			}
		})
	}
}
