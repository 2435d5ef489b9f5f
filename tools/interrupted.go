package tools

import (
	"context"
	"fmt"
	"time"

	"nod/approvals"
	"nod/store"
)

// interrupted asks what should become of a call that was running when an earlier process ended and that may have had
// effects. It is never run again unasked.
func (r *run) interrupted(ctx context.Context) (Outcome, error) {
	p, err := r.askInterrupted(ctx)
	if err != nil {
		return Outcome{}, err
	}
	p, err = r.gate.Wait(ctx, p.ID)
	if err != nil || ctx.Err() != nil {
		return r.cutInterrupted(ctx)
	}
	if p.State == approvals.RunAgain && r.inv != nil {
		return r.runAgain(ctx, p)
	}
	return r.finish(Outcome{State: Cancelled, Text: unknownOutcome}, nil)
}

const unknownOutcome = "Interrupted: nod was restarted while this call ran. Whether it had an effect is unknown. The user chose not to run it again; do not repeat it unless asked."

func (r *run) cutInterrupted(ctx context.Context) (Outcome, error) {
	if ctx.Err() == nil || context.Cause(ctx) != ErrStopped {
		return Outcome{}, ErrLeft
	}
	return r.finish(Outcome{State: Cancelled, Text: unknownOutcome}, nil)
}

// askInterrupted puts the question once; after another restart the same one still waits.
func (r *run) askInterrupted(ctx context.Context) (p approvals.Pending, err error) {
	fresh := approvals.Request{
		Session: r.exec.Session, Turn: r.exec.Turn, Agent: r.exec.Agent, Source: r.req.Scope.Source, Job: r.req.Scope.Job,
		Cards: r.req.Scope.Cards, By: r.req.Scope.By, Deciders: r.req.Scope.Deciders, Tool: r.exec.Tool, Args: r.exec.Args,
		Subject: approvals.Subject{Kind: approvals.Arguments, Text: indent(r.exec.Args)},
	}
	if r.inv != nil {
		if req, err := r.request(ctx, ""); err == nil {
			fresh = req
		}
	}
	fresh.Call = r.exec.Call
	note := fmt.Sprintf("It had begun at %s and its outcome is unknown.", r.exec.Began.Format("15:04:05"))
	err = r.db.Update(func(tx *store.Tx) error {
		found, ok, err := r.gate.Find(tx, r.exec.Call)
		if err != nil {
			return err
		}
		if ok && found.Kind == approvals.Interrupted {
			p = found
			return nil
		}
		p, err = r.gate.Ask(tx, approvals.Interrupted, fresh, nil, note)
		return err
	})
	if err != nil {
		return p, fmt.Errorf("asking about interrupted call %s: %w", r.exec.Call, err)
	}
	return p, nil
}

// runAgain starts a new call in place of the interrupted one, whose record it ends in the same commit. The press is its
// nod, if what it would do is still what was shown; otherwise the gate asks anew.
func (r *run) runAgain(ctx context.Context, p approvals.Pending) (Outcome, error) {
	old := r.exec
	again := store.NewCallID()
	fresh, err := r.request(ctx, again)
	if err != nil {
		return r.finish(Outcome{State: Cancelled, Text: "Interrupted, and it can't be run again: " + err.Error()}, nil)
	}
	r.exec = old
	r.exec.Call, r.exec.Repeats, r.exec.State = again, old.Call, Pending
	r.exec.Created, r.exec.Began = time.Now(), time.Time{}
	old.RepeatedBy = again
	err = r.db.Update(func(tx *store.Tx) error {
		approved, err := r.gate.Redeem(tx, p.ID, fresh)
		if err != nil {
			return err
		}
		if err := old.end(Outcome{State: Cancelled, Text: "Interrupted, and run again."}, time.Now()); err != nil {
			return err
		}
		if err := executions.Put(tx, old.Call, old); err != nil {
			return err
		}
		return r.begin(tx, approved)
	})
	if err != nil {
		r.exec = old
		return r.finish(Outcome{State: Cancelled, Text: "Interrupted, and not run again: " + err.Error()}, nil)
	}
	return r.work(ctx)
}
