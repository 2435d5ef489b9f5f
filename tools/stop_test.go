package tools_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/approvals"
	"nod/store"
	"nod/tools"
)

var errShutdown = errors.New("the program ends")

const (
	stoppedBefore = "Cancelled: stopped by the user before it ran."
	stoppedWhile  = "Cancelled: stopped by the user while it ran; it may have had some effect."
)

func TestSTOP1_WhileACardWaits(t *testing.T) {
	p := &pen{}
	r := newRig(t, kit(p)...)
	ctx, stop := context.WithCancelCause(t.Context())
	req := r.call("write_note", `{"text":"a"}`)
	f := r.start(ctx, req)
	card := r.card()
	stop(tools.ErrStopped)
	if diff := cmp.Diff(tools.Outcome{State: tools.Cancelled, Text: stoppedBefore}, r.lands(f)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := r.pending(card.ID); got.State != approvals.Withdrawn || r.waiting() != 0 {
		t.Errorf("the card is %s", got.State)
	}
	// NOD-2: Approve after /stop.
	_, err := r.gate.Decide(card.ID, owner, approvals.Decision{Verb: approvals.VerbApprove})
	if late, ok := errors.AsType[*approvals.DecidedError](err); !ok || late.Pending.State != approvals.Withdrawn {
		t.Errorf("pressing then: %v", err)
	}
	if got := r.record(req.ID); got.State != tools.Cancelled || len(p.runs()) != 0 {
		t.Errorf("it is %s, and ran %d times", got.State, len(p.runs()))
	}
}

func TestSTOP1_BeforeItBegan(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	stop(tools.ErrStopped)
	for _, tool := range []string{"free_note", "read_note", "write_note"} {
		p := &pen{}
		r := newRig(t, kit(p)...)
		out, err := r.executor.Run(ctx, r.call(tool, `{"text":"a"}`), r.observe)
		if err != nil || out.Text != stoppedBefore || len(p.runs()) != 0 {
			t.Errorf("%s: %+v, %v, %d runs", tool, out, err, len(p.runs()))
		}
		r.noCard()
	}
}

func TestSTOP1_WhileItRuns(t *testing.T) {
	over := func(out tools.Output, err error) func(context.Context, tools.Call, penArgs) (tools.Output, error) {
		return func(ctx context.Context, _ tools.Call, _ penArgs) (tools.Output, error) {
			<-ctx.Done()
			return out, err
		}
	}
	tests := []struct {
		name, tool string
		do         func(context.Context, tools.Call, penArgs) (tools.Output, error)
		want       tools.Outcome
	}{
		{
			"a write that broke off", "free_note", over(tools.Output{Text: "half\x00 of it"}, context.Canceled),
			tools.Outcome{State: tools.Cancelled, Text: stoppedWhile + "\nOutput so far:\nhalf of it"},
		},
		{
			"a write with nothing to tell", "free_note", over(tools.Output{}, context.Canceled),
			tools.Outcome{State: tools.Cancelled, Text: stoppedWhile},
		},
		{
			"a write that was done all the same", "free_note", over(tools.Output{Text: "all of it"}, nil),
			tools.Outcome{State: tools.Completed, Text: "all of it"},
		},
		{
			"a write that only its commit would bring about", "free_note",
			over(tools.Output{Text: "sent", Commit: func(*store.Tx) error { return errors.New("it was committed") }}, nil),
			tools.Outcome{State: tools.Cancelled, Text: stoppedWhile},
		},
		{
			"a read", "read_note", over(tools.Output{Text: "a line"}, nil),
			tools.Outcome{State: tools.Cancelled, Text: stoppedWhile + "\nOutput so far:\na line"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &pen{do: test.do}
				r := newRig(t, kit(p)...)
				ctx, stop := context.WithCancelCause(t.Context())
				f := r.start(ctx, r.call(test.tool, `{"text":"a"}`))
				synctest.Wait()
				began := time.Now()
				stop(tools.ErrStopped)
				if diff := cmp.Diff(test.want, r.lands(f)); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
				if took := time.Since(began); took != 0 {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// A tool that ignores its context is left behind, and so is one whose Halt hangs: a stop is never held up.
func TestSTOP1_DeafTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, halted := make(chan struct{}), make(chan struct{})
		p := &pen{do: func(context.Context, tools.Call, penArgs) (tools.Output, error) {
			<-release
			return tools.Output{Text: "too late"}, nil
		}}
		r := newRig(t, p.tool("free_note", func(s *tools.Spec[penArgs]) {
			s.Halt = func(call tools.Call, in penArgs) {
				close(halted)
				<-release
			}
		}))
		ctx, stop := context.WithCancelCause(t.Context())
		req := r.call("free_note", `{"text":"a"}`)
		f := r.start(ctx, req)
		synctest.Wait()
		began := time.Now()
		stop(tools.ErrStopped)
		if diff := cmp.Diff(tools.Outcome{State: tools.Cancelled, Text: stoppedWhile}, r.lands(f)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if took := time.Since(began); took != 500*time.Millisecond {
			t.Errorf("it took %s", took)
		}
		await(t, "Halt", halted)
		close(release)
		synctest.Wait() // what it gives back now changes nothing
		if got := r.record(req.ID); got.State != tools.Cancelled || got.Outcome.Text != stoppedWhile {
			t.Errorf("the record is %+v", got)
		}
	})
}

// The end of the program is no stop: what waits and what runs stays as it is for the next start.
func TestEndOfTheProgramLeavesCalls(t *testing.T) {
	began := make(chan struct{}, 1)
	tests := []struct {
		name, tool string
		until      func(*rig)
		want       tools.State
	}{
		{"waiting", "write_note", func(r *rig) { r.card() }, tools.AwaitingApproval},
		{"running", "free_note", func(r *rig) { await(r.T, "the tool", began) }, tools.Running},
		{"reading", "read_note", func(r *rig) { await(r.T, "the tool", began) }, tools.Running},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := &pen{do: untilStopped(began)}
			r := newRig(t, kit(p)...)
			ctx, end := context.WithCancelCause(t.Context())
			req := r.call(test.tool, `{"text":"a"}`)
			f := r.start(ctx, req)
			test.until(r)
			before := r.record(req.ID)
			end(errShutdown)
			if err := r.fails(f); !errors.Is(err, tools.ErrLeft) {
				t.Errorf("got %v", err)
			}
			got := r.record(req.ID)
			if diff := cmp.Diff(before, got); diff != "" || got.State != test.want {
				t.Errorf("it is %s; (-before +after)\n%s", got.State, diff)
			}
			if want := map[tools.State]int{tools.AwaitingApproval: 1}[test.want]; r.waiting() != want {
				t.Errorf("%d cards wait, want %d", r.waiting(), want)
			}
		})
	}
}

// The end of the program does not throw away the outcome of a call that ends by itself just then.
func TestEndOfTheProgramKeepsWhatIsDone(t *testing.T) {
	began := make(chan struct{}, 1)
	p := &pen{do: func(ctx context.Context, _ tools.Call, _ penArgs) (tools.Output, error) {
		began <- struct{}{}
		<-ctx.Done()
		return tools.Output{Text: "all of it"}, nil
	}}
	r := newRig(t, kit(p)...)
	ctx, end := context.WithCancelCause(t.Context())
	f := r.start(ctx, r.call("free_note", `{"text":"a"}`))
	await(t, "the tool", began)
	end(errShutdown)
	if diff := cmp.Diff(tools.Outcome{State: tools.Completed, Text: "all of it"}, r.lands(f)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pen{}
		r := newRig(t, kit(p)...)
		endClock := r.tick()
		f := r.start(t.Context(), r.call("write_note", `{"text":"a"}`))
		card := r.card()
		time.Sleep(24*time.Hour - time.Minute)
		if r.waiting() != 1 {
			t.Error("it expired early")
		}
		time.Sleep(2 * time.Minute)
		await(t, "the outcome", f.done)
		want := tools.Outcome{State: tools.Rejected, Text: "Nobody decided in time, so this call was rejected."}
		if diff := cmp.Diff(want, f.outcome); diff != "" || f.err != nil || len(p.runs()) != 0 {
			t.Errorf("%v (-want +got)\n%s", f.err, diff)
		}
		_, err := r.gate.Decide(card.ID, owner, approvals.Decision{Verb: approvals.VerbApprove})
		if late, ok := errors.AsType[*approvals.DecidedError](err); !ok || late.Pending.State != approvals.Expired {
			t.Errorf("pressing then: %v", err)
		}
		endClock()
	})
}
