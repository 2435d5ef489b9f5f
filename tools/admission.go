package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"nod/approvals"
	"nod/store"
)

// request is the call as the gate sees it now; files may have changed since it was last made.
func (r *run) request(ctx context.Context, id store.CallID) (approvals.Request, error) {
	var judged Judged
	err := r.guarded(func() (err error) {
		judged, err = r.inv.Subject(ctx, r.req.Scope)
		return err
	})
	if err != nil {
		return approvals.Request{}, err
	}
	r.locate(judged.Paths)
	if r.price = judged.Price; r.price > 0 {
		judged.Subject.Notes = append(judged.Subject.Notes, priceNote(r.price))
	}
	s := r.req.Scope
	return approvals.Request{
		Call: id, Session: cmp.Or(s.Root, s.Session), Turn: s.Turn, Agent: s.Agent, Source: s.Source, Job: s.Job, Cards: s.Cards, By: s.By,
		Deciders: s.Deciders, Tool: r.req.Name, Category: judged.Category, Args: r.inv.Args(), Paths: judged.Paths,
		Subject: judged.Subject, NoBypass: judged.NoBypass, MustAsk: judged.MustAsk, Context: s.Context,
		UserWrite: needsGrant(r.req.Name, r.exec.Effect), Origin: s.Origin, Program: judged.Program,
	}, nil
}

// locate has label and target name a file as people see it: relative to the workspace, also where the call's own paths
// begin at a folder of it.
func (r *run) locate(paths []approvals.Path) {
	if r.req.Scope.Dir == "" || r.exec.Target == "" || len(paths) != 1 {
		return
	}
	shown := paths[0].Shown
	named := func(label string, limit int) string {
		return joinLabel(strings.Replace(label, Quote(r.exec.Target), Quote(shown), 1), "", limit)
	}
	r.exec.Short, r.exec.Full, r.exec.Target = named(r.exec.Short, LabelShort), named(r.exec.Full, LabelFull), shown
}

// needsGrant says whether a call needs the grant explicit-user-write. What is in no catalogue, such as an MCP server's tool,
// needs it unless it only reads.
func needsGrant(tool string, effect Effect) bool {
	if e, known := EntryOf(tool); known {
		return e.Grant == ExplicitUserWrite
	}
	return effect != Read
}

// admitAndRun asks the gate, and a person where it says so, until the call may run or may not.
func (r *run) admitAndRun(ctx context.Context) (Outcome, error) {
	var stale store.ApprovalID // the request whose nod was for something else than what would run now
	for {
		req, err := r.request(ctx, r.req.ID)
		if ctx.Err() != nil {
			return r.cut(ctx)
		}
		if err != nil {
			return r.finish(*failed(err.Error()), nil)
		}
		if r.question != nil {
			return r.ask(ctx, req)
		}
		verdict, waiting, err := r.judge(req, stale)
		if e, is := capped(err); is {
			return r.tooDear(e)
		}
		switch {
		case err != nil:
			return Outcome{}, err
		case verdict == approvals.Deny:
			return r.exec.Outcome, nil
		case verdict == approvals.Allow:
			return r.work(ctx)
		}
		outcome, err := r.await(ctx, waiting)
		if !errors.Is(err, approvals.ErrChanged) {
			return outcome, err
		}
		stale = waiting.ID
	}
}

const changedNote = "What it would do has changed since it was approved, so it is asked again."

// judge applies the rules and records what follows from them, in one commit: the intent, the refusal or the question.
func (r *run) judge(req approvals.Request, stale store.ApprovalID) (verdict approvals.Verdict, waiting approvals.Pending, err error) {
	err = r.db.Update(func(tx *store.Tx) error {
		found, ok, err := r.gate.Find(tx, r.req.ID)
		if err != nil {
			return err
		}
		note := ""
		switch {
		case ok && found.ID == stale:
			note = changedNote
			if err := r.gate.Drop(tx, r.req.ID, "what it would do has changed; a new card follows"); err != nil {
				return err
			}
		case ok && r.exec.State == AwaitingApproval: // from before a restart: it waits on, or what was decided holds
			verdict, waiting = approvals.Ask, found
			return nil
		}
		if err := r.afford(tx); err != nil {
			return err
		}
		ruling, err := r.gate.Judge(tx, req)
		if err != nil {
			return err
		}
		verdict = ruling.Verdict
		switch verdict {
		case approvals.Allow:
			approved, _ := ruling.Approved() // what is not approved does not cover the call, so it won't run
			return r.begin(tx, approved)
		case approvals.Deny:
			return r.end(tx, Outcome{State: Rejected, Text: "Not allowed: " + ruling.Reason})
		}
		waiting, err = r.put(tx, approvals.Approval, req, note)
		return err
	})
	if err != nil {
		return "", approvals.Pending{}, fmt.Errorf("judging call %s: %w", r.req.ID, err)
	}
	return verdict, waiting, nil
}

// put puts a question before a person.
func (r *run) put(tx *store.Tx, kind approvals.Kind, req approvals.Request, note string) (approvals.Pending, error) {
	p, err := r.gate.Ask(tx, kind, req, r.question, note)
	if err != nil {
		return approvals.Pending{}, err
	}
	if r.exec.State == Pending {
		if err := r.exec.move(AwaitingApproval, time.Now()); err != nil {
			return approvals.Pending{}, err
		}
	}
	return p, r.save(tx)
}

// await waits for the person's decision and acts on it. approvals.ErrChanged says that what was shown is no longer so.
func (r *run) await(ctx context.Context, p approvals.Pending) (Outcome, error) {
	p, err := r.gate.Wait(ctx, p.ID)
	switch {
	case ctx.Err() != nil:
		return r.cut(ctx)
	case err != nil:
		return Outcome{}, fmt.Errorf("waiting for the approval of call %s: %w", r.req.ID, err)
	case !p.Approved():
		return r.finish(refusal(p), nil)
	}
	fresh, err := r.request(ctx, p.Request.Call)
	switch {
	case ctx.Err() != nil:
		return r.cut(ctx)
	case err != nil:
		return r.finish(*failed("Not run, though approved: " + err.Error()), nil)
	}
	err = r.db.Update(func(tx *store.Tx) error {
		if err := r.afford(tx); err != nil {
			return err
		}
		approved, err := r.gate.Redeem(tx, p.ID, fresh)
		if err != nil {
			return err
		}
		return r.begin(tx, approved)
	})
	if e, is := capped(err); is && ctx.Err() == nil {
		return r.tooDear(e)
	}
	switch {
	case err == nil:
		return r.work(ctx)
	case ctx.Err() != nil:
		return r.cut(ctx)
	case errors.Is(err, approvals.ErrNotApproved):
		return r.unapproved(p.ID)
	case errors.Is(err, approvals.ErrDenied):
		return r.finish(Outcome{State: Rejected, Text: "Not allowed any more: " + err.Error()}, nil)
	}
	return Outcome{}, fmt.Errorf("beginning approved call %s: %w", r.req.ID, err)
}

// unapproved ends a call whose nod was taken back, or whose time was up, in the moment before it could be used.
func (r *run) unapproved(id store.ApprovalID) (Outcome, error) {
	var now approvals.Pending
	err := r.db.View(func(tx *store.Tx) (err error) {
		now, _, err = r.gate.Get(tx, id)
		return err
	})
	if err != nil {
		return Outcome{}, fmt.Errorf("reading why call %s may not run: %w", r.req.ID, err)
	}
	return r.finish(refusal(now), nil)
}

// refusal is what the model is told of a request that was not approved.
func refusal(p approvals.Pending) Outcome {
	switch p.State {
	case approvals.Rejected:
		text := "User rejected this tool call."
		if p.Reason != "" {
			text += " Reason: " + p.Reason
		}
		return Outcome{State: Rejected, Text: text}
	case approvals.Withdrawn:
		return Outcome{State: Cancelled, Text: approvals.Stopped + "."}
	}
	return Outcome{State: Rejected, Text: "Nobody decided in time, so this call was rejected."}
}

// ask is the whole work of a tool that only asks: the answer is its outcome.
func (r *run) ask(ctx context.Context, req approvals.Request) (Outcome, error) {
	q := r.veiled(*r.question)
	for i, o := range q.Options {
		q.Options[i] = r.mask(o)
	}
	r.question = &q
	req = r.addressed(req, q)
	var p approvals.Pending
	err := r.db.Update(func(tx *store.Tx) error {
		found, ok, err := r.gate.Find(tx, r.req.ID)
		if err != nil || ok {
			p = found
			return err
		}
		if reason, denied := r.gate.Denies(tx, req); denied {
			return r.end(tx, Outcome{State: Rejected, Text: "Not allowed: " + reason})
		}
		p, err = r.put(tx, approvals.Asked, req, "")
		return err
	})
	switch {
	case err == nil && r.exec.State.Over():
		return r.exec.Outcome, nil
	case errors.Is(err, approvals.ErrNobody):
		return r.finish(Outcome{State: Rejected, Text: "Not asked: there is nobody who could answer."}, nil)
	case err != nil:
		return Outcome{}, fmt.Errorf("asking for call %s: %w", r.req.ID, err)
	}
	p, err = r.gate.Wait(ctx, p.ID)
	switch {
	case ctx.Err() != nil:
		return r.cut(ctx)
	case err != nil:
		return Outcome{}, fmt.Errorf("waiting for the answer to call %s: %w", r.req.ID, err)
	}
	switch p.State {
	case approvals.Answered:
		return r.finish(Outcome{State: Completed, Text: answerText(p)}, nil)
	case approvals.Skipped:
		return r.finish(Outcome{State: Completed, Text: "The user skipped the question. Go on with your best judgement."}, nil)
	case approvals.Expired:
		return r.finish(Outcome{State: Rejected, Text: "Nobody answered in time. Go on with your best judgement, or say what is missing."}, nil)
	}
	return r.finish(refusal(p), nil)
}

// answerText is what the model is told of an answer; of a secret only that it is kept.
func answerText(p approvals.Pending) string {
	if p.Question != nil && p.Question.Secret != "" {
		return fmt.Sprintf("The user has given the secret. It is kept as %s; configuration refers to it as ${secret:%s}.", p.Question.Secret, p.Question.Secret)
	}
	return "The user answered: " + p.Answer
}

// begin writes the intent: from here on the call counts as run.
func (r *run) begin(tx *store.Tx, approved approvals.Approved) error {
	if err := r.exec.move(Running, time.Now()); err != nil {
		return err
	}
	r.exec.How, r.exec.Cost = approved.How(), r.price
	r.call.Approved = approved
	return r.save(tx)
}
