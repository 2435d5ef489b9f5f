package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"nod/approvals"
	"nod/store"
)

// ErrStopped is the cause of a context that a person ended: calls become cancelled. With any other cause, such as the
// end of the program, calls are left as they are for the next start to resume.
var ErrStopped = errors.New("stopped by a person")

// ErrLeft says that a call was left as it stands because the program is ending.
var ErrLeft = errors.New("left for the next start")

// Observer is told of each change of a call, within the commit that makes it.
type Observer func(tx *store.Tx, e Execution) error

// Executor is the only way to run a tool: find → decode → judge → intent on disk → run → outcome on disk.
type Executor struct {
	db   *store.DB
	gate *approvals.Gate
	log  *slog.Logger
}

// NewExecutor wires an executor.
func NewExecutor(db *store.DB, gate *approvals.Gate, log *slog.Logger) *Executor {
	return &Executor{db: db, gate: gate, log: log}
}

// CallRequest is what a model asked for, and what it had been offered.
type CallRequest struct {
	ID    store.CallID
	Name  string
	Args  json.RawMessage
	Fault string // what is wrong with the arguments as they arrived, such as "cut off"; then nothing runs
	Scope Scope
	Offer *Offer
}

// run is one call on its way through the executor.
type run struct {
	*Executor
	req     CallRequest
	observe Observer
	inv     Invocation
	exec    Execution
	call    Call
}

// Run takes a new call from the model's words to its outcome. It returns ErrLeft when ctx ended for another cause than
// ErrStopped, and an error of the store when its records can't be written; anything else is an outcome.
func (x *Executor) Run(ctx context.Context, req CallRequest, observe Observer) (Outcome, error) {
	r := x.newRun(req, observe)
	if fault := r.decode(); fault != nil {
		return r.finish(*fault, nil)
	}
	return r.admitAndRun(ctx)
}

// Resume takes a call that an earlier process knew of to its outcome: see the package's doc.
func (x *Executor) Resume(ctx context.Context, req CallRequest, observe Observer) (Outcome, error) {
	found, known, err := x.latest(req.ID)
	if err != nil {
		return Outcome{}, fmt.Errorf("reading a call to resume: %w", err)
	}
	if !known {
		return x.Run(ctx, req, observe)
	}
	r := x.newRun(req, observe)
	fault := r.decode()
	r.exec = found
	switch {
	case found.State.Over():
		return found.Outcome, nil
	case fault != nil && found.Effect != Write:
		return r.finish(*fault, nil)
	case found.State == AwaitingApproval && fault == nil:
		return r.admitAndRun(ctx)
	case found.State == AwaitingApproval:
		return r.finish(*fault, nil)
	case found.Effect == Read:
		r.exec.State = Pending
		return r.admitAndRun(ctx)
	}
	return r.interrupted(ctx)
}

// latest is the record of a call, or of the last call that repeats it.
func (x *Executor) latest(id store.CallID) (e Execution, known bool, err error) {
	err = x.db.View(func(tx *store.Tx) error {
		for id != "" {
			if e, known, err = executions.Get(tx, id); err != nil {
				return err
			}
			id = e.RepeatedBy
		}
		return nil
	})
	return e, known, err
}

func (x *Executor) newRun(req CallRequest, observe Observer) *run {
	s := req.Scope
	return &run{Executor: x, req: req, observe: observe, exec: Execution{
		Call: req.ID, Session: s.Session, Turn: s.Turn, Agent: s.Agent, Tool: req.Name, Args: keepable(req.Args),
		Effect: Write, Short: clipLabel(oneLine(req.Name), LabelShort), Full: clipLabel(oneLine(req.Name), LabelFull),
		State: Pending, Created: time.Now(),
	}, call: Call{
		ID: req.ID, Scope: s, output: &outputFile{},
		Log: x.log.With("chat", s.Address.String(), "session", s.Session, "turn", s.Turn, "call", req.ID, "tool", req.Name),
	}}
}

// keepable makes a model's arguments storable, whatever they are.
func keepable(args json.RawMessage) json.RawMessage {
	if json.Valid(args) {
		return args
	}
	quoted, err := json.Marshal(Sanitise(string(args)))
	if err != nil {
		return json.RawMessage(`""`)
	}
	return quoted
}

// decode finds the tool among those offered and reads the arguments; a fault is the call's outcome.
func (r *run) decode() *Outcome {
	tool, ok := r.req.Offer.Find(r.req.Name)
	if !ok {
		return failed(fmt.Sprintf("The tool %q is not available here.", oneLine(r.req.Name)))
	}
	r.exec.Effect = tool.Traits().Effect
	if r.req.Fault != "" {
		return failed("The call was not run: " + r.req.Fault)
	}
	inv, err := tool.Decode(r.req.Args)
	if err != nil {
		return failed("The call was not run: " + err.Error())
	}
	r.inv = inv
	r.exec.Args = inv.Args()
	r.exec.Short, r.exec.Full, r.exec.Target = inv.Label(LabelShort), inv.Label(LabelFull), inv.TargetPath()
	return nil
}

func failed(text string) *Outcome { return &Outcome{State: Failed, Text: text} }

// request is the call as the gate sees it now; files may have changed since it was last made.
func (r *run) request(ctx context.Context, id store.CallID) (approvals.Request, error) {
	judged, err := r.inv.Subject(ctx, r.req.Scope)
	if err != nil {
		return approvals.Request{}, err
	}
	s := r.req.Scope
	return approvals.Request{
		Call: id, Session: s.Session, Turn: s.Turn, Agent: s.Agent, Source: s.Source, Job: s.Job, Cards: s.Cards, By: s.By,
		Deciders: s.Deciders, Tool: r.req.Name, Category: judged.Category, Args: r.inv.Args(), Paths: judged.Paths,
		Subject: judged.Subject, NoBypass: judged.NoBypass, Context: s.Context,
	}, nil
}

// admitAndRun asks the gate, and a person where it says so, until the call may run or may not.
func (r *run) admitAndRun(ctx context.Context) (Outcome, error) {
	for {
		req, err := r.request(ctx, r.req.ID)
		if ctx.Err() != nil {
			return r.cut(ctx)
		}
		if err != nil {
			return r.finish(*failed(err.Error()), nil)
		}
		if q := r.inv.Question(); q != nil {
			return r.ask(ctx, req, q)
		}
		verdict, waiting, err := r.judge(req)
		switch {
		case err != nil:
			return Outcome{}, err
		case verdict.Verdict == approvals.Deny:
			return r.exec.Outcome, nil
		case verdict.Verdict == approvals.Allow:
			return r.work(ctx)
		}
		outcome, again, err := r.await(ctx, waiting)
		if err != nil || !again {
			return outcome, err
		}
	}
}

// judge applies the rules and records what follows from them, in one commit: the intent, the refusal or the question.
func (r *run) judge(req approvals.Request) (ruling approvals.Ruling, waiting approvals.Pending, err error) {
	err = r.db.Update(func(tx *store.Tx) error {
		if found, ok, err := r.gate.Find(tx, r.req.ID); err != nil {
			return err
		} else if ok && found.Open() {
			waiting = found
			ruling = approvals.Ruling{Verdict: approvals.Ask}
			return nil
		}
		var err error
		if ruling, err = r.gate.Judge(tx, req); err != nil {
			return err
		}
		switch ruling.Verdict {
		case approvals.Allow:
			approved, ok := ruling.Approved()
			if !ok {
				return errors.New("the gate allowed a call without its approval")
			}
			return r.begin(tx, approved)
		case approvals.Deny:
			return r.end(tx, Outcome{State: Rejected, Text: "Not allowed: " + ruling.Reason})
		}
		if r.exec.State == Pending {
			if err := r.exec.move(AwaitingApproval, time.Now()); err != nil {
				return err
			}
		}
		if waiting, err = r.gate.Ask(tx, approvals.Approval, req, nil, ""); err != nil {
			return err
		}
		return r.save(tx)
	})
	if err != nil {
		return ruling, waiting, fmt.Errorf("judging call %s: %w", r.req.ID, err)
	}
	return ruling, waiting, nil
}

// await waits for the person's decision. again asks for another round, because what was shown is no longer so.
func (r *run) await(ctx context.Context, p approvals.Pending) (outcome Outcome, again bool, err error) {
	p, err = r.gate.Wait(ctx, p.ID)
	if err != nil || ctx.Err() != nil {
		outcome, err = r.cut(ctx)
		return outcome, false, err
	}
	if !p.Approved() {
		outcome, err = r.finish(refusal(p), nil)
		return outcome, false, err
	}
	fresh, err := r.request(ctx, p.Request.Call)
	if err != nil {
		outcome, err = r.finish(*failed("Not run, though approved: " + err.Error()), nil)
		return outcome, false, err
	}
	err = r.db.Update(func(tx *store.Tx) error {
		approved, err := r.gate.Redeem(tx, p.ID, fresh)
		if err != nil {
			return err
		}
		return r.begin(tx, approved)
	})
	switch {
	case errors.Is(err, approvals.ErrChanged):
		return Outcome{}, true, nil
	case err != nil:
		return Outcome{}, false, fmt.Errorf("beginning approved call %s: %w", r.req.ID, err)
	}
	outcome, err = r.work(ctx)
	return outcome, false, err
}

// refusal is what the model is told of a request that was not approved.
func refusal(p approvals.Pending) Outcome {
	switch p.State {
	case approvals.Expired:
		return Outcome{State: Rejected, Text: "Nobody decided in time, so this call was rejected."}
	case approvals.Withdrawn:
		return Outcome{State: Cancelled, Text: "Cancelled: stopped by the user."}
	}
	text := "User rejected this tool call."
	if p.Reason != "" {
		text += " Reason: " + p.Reason
	}
	return Outcome{State: Rejected, Text: text}
}

// ask is the whole work of a tool that only asks: the answer is its outcome.
func (r *run) ask(ctx context.Context, req approvals.Request, q *approvals.Question) (Outcome, error) {
	var p approvals.Pending
	err := r.db.Update(func(tx *store.Tx) error {
		found, ok, err := r.gate.Find(tx, r.req.ID)
		if err != nil {
			return err
		}
		if ok {
			p = found
			return nil
		}
		if err := r.exec.move(AwaitingApproval, time.Now()); err != nil {
			return err
		}
		if p, err = r.gate.Ask(tx, approvals.Asked, req, q, ""); err != nil {
			return err
		}
		return r.save(tx)
	})
	if err != nil {
		return Outcome{}, fmt.Errorf("asking for call %s: %w", r.req.ID, err)
	}
	p, err = r.gate.Wait(ctx, p.ID)
	if err != nil || ctx.Err() != nil {
		return r.cut(ctx)
	}
	switch p.State {
	case approvals.Answered:
		return r.finish(Outcome{State: Completed, Text: "The user answered: " + p.Answer}, nil)
	case approvals.Expired:
		return r.finish(Outcome{State: Rejected, Text: "Nobody answered in time. Go on with your best judgement, or say what is missing."}, nil)
	}
	return r.finish(refusal(p), nil)
}

// begin writes the intent: from here on the call counts as run.
func (r *run) begin(tx *store.Tx, approved approvals.Approved) error {
	if err := r.exec.move(Running, time.Now()); err != nil {
		return err
	}
	r.exec.How = approved.How()
	r.call.Approved = approved
	return r.save(tx)
}

// work runs the call that was let through.
func (r *run) work(ctx context.Context) (Outcome, error) {
	store.Failpoint("call.intent")
	if ctx.Err() != nil {
		return r.cut(ctx)
	}
	req := r.call.Approved.Request()
	digest, err := req.Digest()
	if err != nil {
		return r.finish(*failed("Not run: " + err.Error()), nil)
	}
	if err := r.call.Approved.Covers(r.exec.Call, digest); err != nil {
		return r.finish(*failed("Not run: " + err.Error()), nil)
	}
	r.call.ID = r.exec.Call
	r.call.Log.Info("running a call", "label", r.exec.Full, "how", r.exec.How)
	work := r.inv.Start(ctx, r.call)
	out, err := waitFor(ctx, work)
	store.Failpoint("call.done")
	if ctx.Err() != nil && (err != nil || r.exec.Effect == Read) {
		return r.cutRunning(ctx, out)
	}
	if err != nil {
		return r.finish(r.failure(err), nil)
	}
	text, err := outcomeText(r.call, out.Text)
	if err != nil {
		r.call.Log.Warn("keeping a long output", "err", err)
	}
	return r.finish(Outcome{State: Completed, Text: text, Images: out.Images}, out.Commit)
}

// stopGrace is how long a stopped call may take to end by itself before the turn goes on without it.
const stopGrace = 500 * time.Millisecond

// waitFor waits for the work, and when ctx ends stops it and waits a little longer.
func waitFor(ctx context.Context, w Work) (Output, error) {
	type result struct {
		out Output
		err error
	}
	done := make(chan result, 1)
	go func() {
		out, err := w.Wait()
		done <- result{out, err}
	}()
	select {
	case r := <-done:
		return r.out, r.err
	case <-ctx.Done():
	}
	w.Stop()
	grace := time.NewTimer(stopGrace)
	defer grace.Stop()
	select {
	case r := <-done:
		return r.out, r.err
	case <-grace.C:
		return Output{}, context.Cause(ctx)
	}
}

func (r *run) failure(err error) Outcome {
	var p *panicError
	if errors.As(err, &p) {
		r.call.Log.Error("a tool panicked", "err", p.logged())
	}
	text, clipErr := outcomeText(r.call, err.Error())
	if clipErr != nil {
		r.call.Log.Warn("keeping a long output", "err", clipErr)
	}
	return Outcome{State: Failed, Text: text}
}

// cut ends a call that never began because its context did.
func (r *run) cut(ctx context.Context) (Outcome, error) {
	if !errors.Is(context.Cause(ctx), ErrStopped) {
		return Outcome{}, ErrLeft
	}
	return r.finish(Outcome{State: Cancelled, Text: "Cancelled: stopped by the user before it ran."}, nil)
}

// cutRunning ends a call that was running when its context ended.
func (r *run) cutRunning(ctx context.Context, out Output) (Outcome, error) {
	if !errors.Is(context.Cause(ctx), ErrStopped) {
		return Outcome{}, ErrLeft
	}
	text := "Cancelled: stopped by the user while it ran; it may have had some effect."
	if out.Text != "" {
		text += "\nOutput so far:\n" + Clip(Sanitise(out.Text), OutcomeLimit, "")
	}
	return r.finish(Outcome{State: Cancelled, Text: text}, nil)
}

// finish writes the outcome and whatever else becomes true with it, in one commit.
func (r *run) finish(o Outcome, also func(*store.Tx) error) (Outcome, error) {
	err := r.db.Update(func(tx *store.Tx) error {
		if also != nil {
			if err := also(tx); err != nil {
				return &alsoError{err}
			}
		}
		return r.end(tx, o)
	})
	var rest *alsoError
	if errors.As(err, &rest) {
		return r.finish(*failed("It ran, but its result could not be kept: " + rest.err.Error()), nil)
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("recording call %s: %w", r.req.ID, err)
	}
	if err := r.call.output.settle(r.call, r.exec.Outcome.Text); err != nil {
		r.call.Log.Warn("closing an output file", "err", err)
	}
	return r.exec.Outcome, nil
}

// alsoError tells a fault of what a tool wanted to commit from one of the store.
type alsoError struct{ err error }

func (e *alsoError) Error() string { return e.err.Error() }

func (r *run) end(tx *store.Tx, o Outcome) error {
	before := r.exec
	if err := r.exec.end(o, time.Now()); err != nil {
		return err
	}
	if err := r.save(tx); err != nil {
		r.exec = before
		return err
	}
	return nil
}

func (r *run) save(tx *store.Tx) error {
	if err := executions.Put(tx, r.exec.Call, r.exec); err != nil {
		return err
	}
	return r.observe(tx, r.exec)
}
