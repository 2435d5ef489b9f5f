package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"nod/agent/llm"
	"nod/agent/roster"
	"nod/approvals"
	"nod/store"
	"nod/tools"
)

// openCall is a call of the transcript that has no result yet.
type openCall struct {
	id   store.CallID
	call llm.Call
}

// openCalls finds the calls of a turn without a result: they can only be those of its last answer. What a broken turn
// left open stays so: a later one must not run it.
func openCalls(entries []Entry, turn store.TurnID) []openCall {
	done := map[store.CallID]bool{}
	for i := len(entries) - 1; i >= 0 && entries[i].Turn == turn; i-- {
		e := entries[i]
		switch e.Message.Role {
		case llm.RoleTool:
			done[e.Call] = true
		case llm.RoleAssistant:
			var open []openCall
			for n, call := range e.Message.Calls {
				if id := e.Calls[n]; !done[id] {
					open = append(open, openCall{id: id, call: call})
				}
			}
			return open
		}
	}
	return nil
}

// scope is what the calls of a turn act for.
func (d *Driver) scope(turn Turn) tools.Scope {
	scope := tools.Scope{
		Address: turn.Address, Session: turn.Session, Root: turn.root(), Turn: turn.ID, Agent: turn.Agent, Depth: turn.Depth, Source: turn.Source,
		Background: turn.Background, Origin: turn.Origin, Job: cmp.Or(turn.JobTitle, turn.Task), By: turn.By, Deciders: turn.Deciders, Cards: turn.Cards,
		Workspace: d.Workspace.In(turn.Context.Dir), Dir: turn.Context.Dir, RunContext: turn.Context.Name,
		Context: approvals.Context{Group: turn.Context.Group, Reads: turn.Context.Reads, Writes: turn.Context.Writes},
	}
	scope.Ports = d.Ports(scope)
	scope.Ports.Agents = d
	return scope
}

// offer picks the tools of a round.
func (s *session) offer(turn Turn, agent roster.Agent) (offer *tools.Offer, err error) {
	err = s.DB.View(func(tx *store.Tx) error {
		offer, err = s.offerIn(tx, s.scope(turn), agent)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("choosing the tools of a round: %w", err)
	}
	if s.Discovery != nil {
		s.Discovery.Observe(offer)
	}
	return offer, nil
}

// runCalls takes the open calls to their results. They are begun in order, and those that only read run side by side. A
// call that does more is begun when those before it are over or wait for a person, and holds up those after it likewise.
// Each result enters the transcript in the commit of its outcome.
func (s *session) runCalls(ctx context.Context, turn Turn, open []openCall) error {
	agent, err := s.Roster.Find(turn.Agent)
	if err != nil {
		return err
	}
	offer, err := s.offer(turn, agent)
	if err != nil {
		return err
	}
	var group sync.WaitGroup
	failures := make([]error, len(open))
	var reads []chan struct{}
	for i, c := range open {
		onlyReads := offer.Effect(c.call.Name, []byte(c.call.Args)) == tools.Read
		if !onlyReads {
			await(reads)
			reads = nil
		}
		passed := make(chan struct{})
		pass := sync.OnceFunc(func() { close(passed) })
		group.Go(func() {
			defer pass()
			failures[i] = s.guardedCall(ctx, turn, offer, c, pass)
		})
		if onlyReads {
			reads = append(reads, passed)
		} else {
			<-passed
		}
	}
	group.Wait()
	return errors.Join(failures...)
}

// await returns when all of them are closed.
func await(all []chan struct{}) {
	for _, c := range all {
		<-c
	}
}

// guardedCall turns a panic into an error: a goroutine of its own has nobody above it who could.
func (s *session) guardedCall(ctx context.Context, turn Turn, offer *tools.Offer, c openCall, pass func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("a call panicked", "turn", turn.ID, "call", c.id, "err", fmt.Sprint(p), "stack", stack())
			err = errPanicked
		}
	}()
	return s.runCall(ctx, turn, offer, c, pass)
}

func (s *session) runCall(ctx context.Context, turn Turn, offer *tools.Offer, c openCall, pass func()) error {
	req := tools.CallRequest{
		ID: c.id, Name: c.call.Name, Args: json.RawMessage(c.call.Args), Fault: c.call.Problem, Scope: s.scope(turn), Offer: offer,
		Ports: func() tools.Ports { return s.scope(turn).Ports }, Till: s,
	}
	counted := s.begun(pass)
	defer counted.over()
	req.Progress = func(p tools.Progress) {
		if p.Text == "" {
			counted.asks(p.Asking)
		}
		s.View.Show(Progressed{Turn: turn, Progress: p})
	}
	_, err := s.Executor.Resume(ctx, req, func(tx *store.Tx, e tools.Execution) error {
		tx.OnCommit(func() { counted.asks(e.State == tools.AwaitingApproval) })
		if e.State.Over() {
			if err := s.keepResult(tx, turn, c, e); err != nil {
				return err
			}
		}
		return s.View.Emit(tx, CallChanged{Turn: turn, Call: e})
	})
	return err
}

// keepResult appends a call's outcome to the transcript.
func (s *session) keepResult(tx *store.Tx, turn Turn, c openCall, e tools.Execution) error {
	_, err := store.Append(tx, transcripts, s.id, Entry{
		Turn: turn.ID, At: time.Now(), Call: c.id, Images: e.Outcome.Images,
		Message: llm.Message{Role: llm.RoleTool, CallID: c.call.ID, Text: e.Outcome.Text},
	})
	return err
}

// stopped ends a turn that a person stopped: what it had done is told, and waiting messages are kept.
func (s *session) stopped(turn Turn, partial llm.Answer) error {
	s.View.Show(Ending{Turn: turn})
	s.awaitChildren(turn)
	err := s.DB.Update(func(tx *store.Tx) error {
		if err := turn.end(tx, Stopped); err != nil {
			return err
		}
		if _, err := s.Gate.Withdraw(tx, turn.ID, approvals.Stopped+"."); err != nil {
			return err
		}
		record, err := s.keepPartial(tx, turn, partial, "the user stopped the answer here")
		if err != nil {
			return err
		}
		calls, err := allCallsOf(tx, s.entries, turn.ID)
		if err != nil {
			return err
		}
		waiting, err := mailboxes.All(tx, store.Prefix(s.id))
		if err != nil {
			return err
		}
		event := TurnStopped{Turn: turn, Calls: calls, Partial: partial.Text}
		for _, m := range waiting {
			if !m.Late && !m.Held && m.News == nil { // what was kept before was named then
				event.Queued = append(event.Queued, m.words())
			}
		}
		if err := s.View.Emit(tx, event); err != nil {
			return err
		}
		return s.close(tx, turn, record, "stopped", nil)
	})
	if err != nil {
		return fmt.Errorf("ending a stopped turn: %w", err)
	}
	store.Failpoint("agent.stopped")
	return nil
}

// callsOf reads the records of the calls that a turn has made.
func callsOf(tx *store.Tx, entries []Entry, turn store.TurnID) (calls []tools.Execution, err error) {
	for _, e := range entries {
		if e.Turn != turn {
			continue
		}
		for _, id := range e.Calls {
			call, ok, err := tools.LatestExecution(tx, id)
			if err != nil {
				return nil, err
			}
			if ok {
				calls = append(calls, call)
			}
		}
	}
	return calls, nil
}

// allCallsOf is callsOf with the calls of sub-agents, each batch after the call that began it.
func allCallsOf(tx *store.Tx, entries []Entry, turn store.TurnID) (calls []tools.Execution, err error) {
	own, err := callsOf(tx, entries, turn)
	for _, call := range own {
		if err != nil {
			break
		}
		calls = append(calls, call)
		var nested []Entry
		if nested, err = transcripts.All(tx, store.Prefix(store.SessionID(call.Call))); err == nil && len(nested) > 0 {
			var below []tools.Execution
			below, err = allCallsOf(tx, nested, store.TurnID(call.Call))
			calls = append(calls, below...)
		}
	}
	return calls, err
}

// lastWait bounds how long the end of a stopped turn waits for that of its sub-agents.
const lastWait = 3 * time.Second

// awaitChildren waits until the sub-agents of a stopped turn have ended too: what they did is told with it.
func (s *session) awaitChildren(turn Turn) {
	ctx, cancel := context.WithTimeout(s.ctx, lastWait)
	defer cancel()
	var children []Session
	err := s.DB.View(func(tx *store.Tx) (err error) {
		children, err = childrenOf(tx, s.id)
		return err
	})
	for _, child := range children {
		if err == nil && child.Nested() {
			_, err = s.awaitEnd(ctx, store.TurnID(child.ID))
		}
	}
	if err != nil && s.ctx.Err() == nil {
		s.log.Warn("a sub-agent is slow to stop", "turn", turn.ID, "err", err)
	}
}

// announceResumed tells the view what a turn from before the restart has done so far.
func (s *session) announceResumed(turn Turn) error {
	return s.DB.Update(func(tx *store.Tx) error {
		calls, err := callsOf(tx, s.entries, turn.ID)
		if err != nil {
			return err
		}
		return s.View.Emit(tx, TurnBegan{Turn: turn, Calls: calls})
	})
}
