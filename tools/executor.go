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
	mask func(string) string
	zone *time.Location
}

// NewExecutor wires an executor.
func NewExecutor(db *store.DB, gate *approvals.Gate, log *slog.Logger) *Executor {
	return &Executor{db: db, gate: gate, log: log, mask: func(text string) string { return text }, zone: time.UTC}
}

// In makes the executor tell times of day in a zone, UTC otherwise. It is called before the first run.
func (x *Executor) In(zone *time.Location) *Executor {
	x.zone = zone
	return x
}

// Mask makes the executor pass every outcome and label through mask before it is kept, so that secrets don't reach a
// transcript. It is called before the first run.
func (x *Executor) Mask(mask func(string) string) *Executor {
	x.mask = mask
	return x
}

// CallRequest is what a model asked for, and what it had been offered.
type CallRequest struct {
	ID    store.CallID
	Name  string
	Args  json.RawMessage
	Fault string // what is wrong with the arguments as they arrived, such as "cut off"; then nothing runs
	Scope Scope
	Offer *Offer
	// Ports asks for the scope's ports anew when the call begins, which may be long after it was offered; nil keeps those of
	// Scope.
	Ports func() Ports
	// Progress is told how far the call is while it runs, from any goroutine, also a moment after its end; nil is told
	// nothing.
	Progress func(Progress)
	// Till pays for a call that has a price; with nil nothing is capped and nothing counted.
	Till Till
}

// run is one call on its way through the executor.
type run struct {
	*Executor
	req     CallRequest
	observe Observer
	inv     Invocation
	// question is set for a call that only asks a person.
	question *approvals.Question
	needs    Port
	price    float64 // as it was judged last, in USD
	exec     Execution
	call     Call
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
	return r.interrupted(ctx, fault)
}

func (x *Executor) latest(id store.CallID) (e Execution, known bool, err error) {
	err = x.db.View(func(tx *store.Tx) error {
		e, known, err = LatestExecution(tx, id)
		return err
	})
	return e, known, err
}

func (x *Executor) newRun(req CallRequest, observe Observer) *run {
	s := req.Scope
	r := &run{Executor: x, req: req, observe: observe, exec: Execution{
		Call: req.ID, Session: s.Session, Turn: s.Turn, Agent: s.Agent, Tool: req.Name, Args: keepable(req.Args),
		Effect: Write, Short: clipLabel(oneLine(req.Name), LabelShort), Full: clipLabel(oneLine(req.Name), LabelFull),
		State: Pending, Created: time.Now(),
	}, call: Call{
		ID: req.ID, Scope: s, output: &outputFile{},
		Log: x.log.With("chat", s.Address.String(), "session", s.Session, "turn", s.Turn, "call", req.ID, "tool", req.Name),
	}}
	r.call.live = &live{run: r, tell: req.Progress}
	return r
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
	r.exec.Effect, r.needs = tool.Traits().Effect, tool.Traits().Needs
	if r.req.Fault != "" {
		return failed("The call was not run: " + r.req.Fault)
	}
	if err := r.guarded(func() error { return r.read(tool) }); err != nil {
		return failed("The call was not run: " + err.Error())
	}
	return nil
}

func (r *run) read(tool Tool) error {
	inv, err := tool.Decode(r.req.Args)
	if err != nil {
		return err
	}
	r.exec.Args, r.exec.Effect = inv.Args(), inv.Effect()
	r.exec.Short, r.exec.Full, r.exec.Target = inv.Label(LabelShort), inv.Label(LabelFull), inv.TargetPath()
	r.question = inv.Question()
	r.inv = inv
	return nil
}

// failed is an outcome whose text may hold what a model wrote, of any length.
func failed(text string) *Outcome {
	return &Outcome{State: Failed, Text: Clip(Sanitise(text), OutcomeLimit, "")}
}

// guarded calls into a tool; its panic, which is logged, becomes an error.
func (r *run) guarded(fn func() error) error {
	err := guarded(fn)
	if p, ok := errors.AsType[*panicError](err); ok {
		r.call.Log.Error("a tool panicked", "err", p.logged())
	}
	return err
}

// work runs the call that was let through.
func (r *run) work(ctx context.Context) (Outcome, error) {
	store.Failpoint("tools.intent")
	if ctx.Err() != nil {
		return r.free().cut(ctx)
	}
	if err := r.covered(); err != nil {
		return r.free().finish(*failed("Not run: " + err.Error()), nil)
	}
	if r.req.Ports != nil {
		r.call.Scope.Ports = r.req.Ports()
	}
	if !r.call.Scope.Ports.has(r.needs) {
		return r.free().finish(*failed(fmt.Sprintf("Not run: %s can't be used in this chat any more.", r.req.Name)), nil)
	}
	r.call.ID = r.exec.Call
	r.call.Log.Info("running a call", "label", r.exec.Full, "how", r.exec.How)
	out, err := r.startAndWait(ctx)
	store.Failpoint("tools.ran")
	if ctx.Err() != nil && (err != nil || r.exec.Effect == Read || out.Commit != nil && errors.Is(context.Cause(ctx), ErrStopped)) {
		return r.cutRunning(ctx, out) // a person's stop also leaves undone what only the commit would bring about
	}
	if unpaid(err) {
		r.free()
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

// covered says whether what is about to run is what was let through, by the digest of the two.
func (r *run) covered() error {
	req := r.call.Approved.Request()
	req.Call, req.Tool, req.Args = r.exec.Call, r.req.Name, r.inv.Args()
	digest, err := req.Digest()
	if err != nil {
		return err
	}
	return r.call.Approved.Covers(r.exec.Call, digest)
}

// startAndWait runs the work to its end; when ctx ends it stops the work and waits a little longer.
func (r *run) startAndWait(ctx context.Context) (out Output, err error) {
	var w Work
	err = r.guarded(func() error {
		w = r.inv.Start(ctx, r.call)
		return nil
	})
	if err != nil {
		return Output{}, err
	}
	type result struct {
		out Output
		err error
	}
	done := make(chan result, 1)
	go func() {
		var res result
		res.err = r.guarded(func() (err error) {
			res.out, err = w.Wait()
			return err
		})
		done <- res
	}()
	select {
	case res := <-done:
		return res.out, res.err
	case <-ctx.Done():
	}
	// Tearing down the far side may take as long as it likes.
	go r.guarded(func() error { w.Stop(); return nil })
	grace := time.NewTimer(stopGrace)
	defer grace.Stop()
	select {
	case res := <-done:
		return res.out, res.err
	case <-grace.C:
		return Output{}, context.Cause(ctx)
	}
}

func (r *run) failure(err error) Outcome {
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
	return r.finish(Outcome{State: Cancelled, Text: approvals.Stopped + " before it ran."}, nil)
}

// cutRunning ends a call that was running when its context ended.
func (r *run) cutRunning(ctx context.Context, out Output) (Outcome, error) {
	if !errors.Is(context.Cause(ctx), ErrStopped) {
		return Outcome{}, ErrLeft
	}
	text := approvals.Stopped + " while it ran; it may have had some effect."
	if out.Text != "" && out.Commit == nil { // with a commit it speaks of what was not done
		text += "\nOutput so far:\n" + Clip(Sanitise(out.Text), OutcomeLimit, "")
	}
	return r.finish(Outcome{State: Cancelled, Text: text}, nil)
}

// finish writes the outcome and whatever else becomes true with it, in one commit.
func (r *run) finish(o Outcome, also func(*store.Tx) error) (Outcome, error) {
	err := r.db.Update(func(tx *store.Tx) error {
		if also != nil {
			if err := r.guarded(func() error { return also(tx) }); err != nil {
				return &alsoError{err}
			}
		}
		return r.end(tx, o)
	})
	if rest, ok := errors.AsType[*alsoError](err); ok {
		what := "It ran, but its result could not be kept: "
		if r.exec.Effect == Read { // then all that it does stands in the commit
			what = "Not done: "
		}
		return r.finish(*failed(what + rest.err.Error()), nil)
	}
	if err := r.call.output.settle(r.call, r.exec.Outcome.Text); err != nil {
		r.call.Log.Warn("closing an output file", "err", err)
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("recording call %s: %w", r.req.ID, err)
	}
	store.Failpoint("tools.recorded")
	return r.exec.Outcome, nil
}

// alsoError tells a fault of what a tool wanted to commit from one of the store.
type alsoError struct{ err error }

func (e *alsoError) Error() string { return e.err.Error() }

// end records the outcome with what the call has cost, and closes a card that it may still have, since nobody can decide
// on what is over.
func (r *run) end(tx *store.Tx, o Outcome) error {
	before := r.exec
	o.Text = r.mask(o.Text)
	if err := r.exec.end(o, time.Now()); err != nil {
		return err
	}
	err := r.gate.Drop(tx, r.exec.Call, clipLabel(oneLine(o.Text), LabelFull))
	if err == nil {
		err = errors.Join(r.pay(tx, r.exec), r.save(tx))
	}
	if err != nil {
		r.exec = before
		return err
	}
	return nil
}

func (r *run) save(tx *store.Tx) error {
	r.exec.Short, r.exec.Full = r.mask(r.exec.Short), r.mask(r.exec.Full)
	if err := executions.Put(tx, r.exec.Call, r.exec); err != nil {
		return err
	}
	return r.observe(tx, r.exec)
}
