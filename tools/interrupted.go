package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"nod/approvals"
	"nod/store"
)

const (
	unknownOutcome = "Interrupted: nod was restarted while this call ran. Whether it had an effect is unknown."
	choseNot       = " The user chose not to run it again; do not repeat it unless asked."
	nobodyChose    = " There is nobody who could decide to run it again."
)

// interrupted asks what should become of a call that was running when an earlier process ended and that may have had
// effects. It is never run again unasked. fault says why it could not be run again.
func (r *run) interrupted(ctx context.Context, fault *Outcome) (Outcome, error) {
	var stale store.ApprovalID // the question whose answer was about something else than what would run now
	for {
		p, err := r.askInterrupted(ctx, stale)
		switch {
		case errors.Is(err, approvals.ErrNobody):
			return r.finish(Outcome{State: Cancelled, Text: unknownOutcome + nobodyChose}, nil)
		case err != nil:
			return Outcome{}, err
		}
		r.asking(true)
		p, err = r.gate.Wait(ctx, p.ID)
		r.asking(false)
		switch {
		case ctx.Err() != nil:
			return r.cutInterrupted(ctx)
		case err != nil:
			return Outcome{}, fmt.Errorf("waiting for a decision on interrupted call %s: %w", r.exec.Call, err)
		case p.State != approvals.RunAgain:
			return r.finish(Outcome{State: Cancelled, Text: unknownOutcome + choseNot}, nil)
		case fault != nil:
			return r.finish(Outcome{State: Cancelled, Text: "Interrupted, and it can't be run again: " + fault.Text}, nil)
		}
		outcome, err := r.runAgain(ctx, p)
		if !errors.Is(err, approvals.ErrChanged) {
			return outcome, err
		}
		stale = p.ID
	}
}

// asking tells that the call waits for a person, which its state does not: as far as anyone knows, it runs.
func (r *run) asking(is bool) {
	if r.req.Progress != nil {
		r.req.Progress(Progress{Call: r.exec.Call, Asking: is})
	}
}

func (r *run) cutInterrupted(ctx context.Context) (Outcome, error) {
	if !errors.Is(context.Cause(ctx), ErrStopped) {
		return Outcome{}, ErrLeft
	}
	return r.finish(Outcome{State: Cancelled, Text: unknownOutcome + " The turn was stopped, so it was not run again."}, nil)
}

// askInterrupted puts the question once; after another restart the same one still waits.
func (r *run) askInterrupted(ctx context.Context, stale store.ApprovalID) (p approvals.Pending, err error) {
	fresh := r.asRecorded()
	if r.inv != nil {
		if req, err := r.request(ctx, r.exec.Call); err == nil {
			fresh = req
		}
	}
	note := fmt.Sprintf("It had begun at %s and its outcome is unknown.", r.exec.Began.In(r.zone).Format("15:04:05"))
	if stale != "" {
		note += " " + changedNote
	}
	err = r.db.Update(func(tx *store.Tx) error {
		found, ok, err := r.gate.Find(tx, r.exec.Call)
		if err != nil {
			return err
		}
		if ok && found.Kind == approvals.Interrupted && found.ID != stale {
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

// asRecorded is the call as far as its record tells, for when its tool can't say more.
func (r *run) asRecorded() approvals.Request {
	s := r.req.Scope
	return approvals.Request{
		Call: r.exec.Call, Session: cmp.Or(s.Root, r.exec.Session), Turn: r.exec.Turn, Agent: r.exec.Agent, Source: s.Source, Job: s.Job,
		Cards: s.Cards, By: s.By, Deciders: s.Deciders, Tool: r.exec.Tool, Args: r.exec.Args,
		Subject: approvals.Subject{Kind: approvals.Arguments, Text: indent(r.exec.Args)},
	}
}

// runAgain starts a new call in place of the interrupted one, whose record it ends in the same commit. The press is its
// nod, if what it would do is still what was shown; otherwise it gives back approvals.ErrChanged.
func (r *run) runAgain(ctx context.Context, p approvals.Pending) (Outcome, error) {
	again := store.NewCallID()
	fresh, err := r.request(ctx, again)
	switch {
	case ctx.Err() != nil:
		return r.cutInterrupted(ctx)
	case err != nil:
		return r.finish(Outcome{State: Cancelled, Text: "Interrupted, and it can't be run again: " + err.Error()}, nil)
	}
	before := r.exec
	err = r.db.Update(func(tx *store.Tx) error {
		if err := r.afford(tx); err != nil {
			return err
		}
		approved, err := r.gate.Redeem(tx, p.ID, fresh)
		if err != nil {
			return err
		}
		return r.replace(tx, again, approved)
	})
	if err == nil {
		return r.work(ctx)
	}
	r.exec = before
	_, tooDear := capped(err)
	switch {
	case ctx.Err() != nil:
		return r.cutInterrupted(ctx)
	case tooDear, errors.Is(err, approvals.ErrDenied), errors.Is(err, approvals.ErrNotApproved):
		return r.finish(Outcome{State: Cancelled, Text: "Interrupted, and not run again: " + err.Error()}, nil)
	}
	return Outcome{}, fmt.Errorf("running call %s again: %w", before.Call, err)
}

// replace ends the record of the interrupted call and begins that of the call which repeats it.
func (r *run) replace(tx *store.Tx, again store.CallID, approved approvals.Approved) error {
	old, now := r.exec, time.Now()
	old.RepeatedBy = again
	if err := old.end(Outcome{State: Cancelled, Text: "Interrupted, and run again."}, now); err != nil {
		return err
	}
	if err := errors.Join(r.pay(tx, old), executions.Put(tx, old.Call, old)); err != nil {
		return err
	}
	r.exec.Repeats, r.exec.Call, r.exec.State, r.exec.Created = old.Call, again, Pending, now
	return r.begin(tx, approved)
}
