package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"nod/agent/llm"
	"nod/agent/roster"
	"nod/store"
	"nod/tools"
)

const (
	// maxDepth is how deep sub-agents may have sub-agents.
	maxDepth = 3
	// sideBySide is how many sub-agents of one turn work at a time; more wait for their place.
	sideBySide = 4
	// maxTasks is how many tasks of one session may be in the background at a time.
	maxTasks = 8
)

// Agents lists those that people and other agents may be told of. It implements tools.AgentPort.
func (d *Driver) Agents() ([]tools.AgentInfo, error) {
	all, _ := d.Roster.All() // which logs what is wrong with a file
	var listed []tools.AgentInfo
	for _, a := range all {
		if a.Kind != roster.System {
			listed = append(listed, tools.AgentInfo{
				ID: a.ID, Name: a.Name, Description: a.Description, Instructions: a.Instructions, Client: a.Client, Kind: string(a.Kind),
			})
		}
	}
	return listed, nil
}

// Delegate implements tools.AgentPort: it has a sub-agent do a task, and waits for its answer.
func (d *Driver) Delegate(ctx context.Context, call tools.Call, t tools.Task) (tools.Output, error) {
	if call.Scope.Depth >= maxDepth {
		return tools.Output{}, fmt.Errorf("sub-agents go at most %d deep, and you are one of the deepest: do it yourself", maxDepth)
	}
	leave, err := d.takePlace(ctx, call.Scope.Turn)
	if err != nil {
		return tools.Output{}, err
	}
	defer leave()
	var turn Turn
	err = d.DB.Update(func(tx *store.Tx) (err error) {
		turn, err = d.beget(tx, call, t, Lineage{Depth: call.Scope.Depth + 1})
		return err
	})
	if err != nil {
		return tools.Output{}, err
	}
	store.Failpoint("agent.delegated")
	if turn.Ended.IsZero() {
		d.wake(turn.Session)
		d.helped(call.Scope.Session, turn.Session, true)
		defer d.helped(call.Scope.Session, turn.Session, false)
		// Whoever ends our context has stopped the sub-agent too, or leaves it as it leaves us.
		if turn, err = d.awaitEnd(ctx, turn.ID); err != nil {
			return tools.Output{}, err
		}
	}
	switch turn.State {
	case Answered:
		return tools.Output{Text: turn.Answer}, nil
	case Stopped:
		return tools.Output{}, tools.ErrStopped
	}
	return tools.Output{}, fmt.Errorf("the agent %s could not finish: %s", turn.Agent, turn.Answer)
}

// Dispatch implements tools.AgentPort: it begins a task in the background.
func (d *Driver) Dispatch(tx *store.Tx, call tools.Call, t tools.Task) error {
	children, err := childrenOf(tx, call.Scope.Session)
	if err != nil {
		return err
	}
	children = slices.DeleteFunc(children, func(s Session) bool { return !s.isTask() })
	if len(children) >= maxTasks {
		return fmt.Errorf("%d tasks work in the background already; wait until one of them is over", maxTasks)
	}
	turn, err := d.beget(tx, call, t, Lineage{Task: d.Mask(t.Title), Background: true})
	if err == nil {
		tx.OnCommit(func() { d.wake(turn.Session) })
	}
	return err
}

// beget finds the session that a call began, or begins it with its turn. That has what its caller's turn has: who decides,
// where, and on whose words it rests.
func (d *Driver) beget(tx *store.Tx, call tools.Call, t tools.Task, l Lineage) (Turn, error) {
	if turn, ok, err := turns.Get(tx, store.TurnID(call.ID)); err != nil || ok {
		return turn, err
	}
	caller, _, err := turns.Get(tx, call.Scope.Turn)
	if err != nil {
		return Turn{}, err
	}
	if caller.State == Stopping {
		return Turn{}, tools.ErrStopped
	}
	parent, _, err := sessions.Get(tx, caller.Session)
	if err != nil {
		return Turn{}, err
	}
	l.Parent, l.Call = caller.Session, call.ID
	l.Background = l.Background || caller.Background
	if l.Nested() {
		l.Root, l.Top, l.Task = caller.root(), caller.top(), caller.Task
	}
	s := Session{
		ID: store.SessionID(call.ID), Address: caller.Address, Source: caller.Source, Agent: t.Agent, Created: time.Now(),
		Model: parent.Model, Lineage: l,
	}
	turn := Turn{
		ID: store.TurnID(call.ID), Session: s.ID, Address: s.Address, Agent: s.Agent, Source: s.Source, State: Active, Process: d.process,
		Began: time.Now(), Origin: caller.Origin, By: caller.By, ReplyTo: caller.ReplyTo, Deciders: caller.Deciders, Cards: caller.Cards,
		JobTitle: caller.JobTitle, Payer: caller.Payer, Context: caller.Context, Lineage: l,
	}
	if err := offspring.Put(tx, l.key(s.ID), s.ID); err != nil {
		return Turn{}, err
	}
	entry := Entry{Turn: turn.ID, At: turn.Began, Message: llm.Message{Role: llm.RoleUser, Text: d.Mask(taskWords(caller.Agent, t, l))}}
	if _, err := store.Append(tx, transcripts, s.ID, entry); err != nil {
		return Turn{}, fmt.Errorf("beginning the work of an agent: %w", err)
	}
	return turn, d.open(tx, &s, turn)
}

// top is the turn that shows what a turn does.
func (t Turn) top() store.TurnID {
	if t.Top != "" {
		return t.Top
	}
	return t.ID
}

// taskWords is the first message of another agent's work.
func taskWords(from string, t tools.Task, l Lineage) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[The agent %s asks you", from)
	if t.Title != "" {
		fmt.Fprintf(&b, ": %s", label(t.Title))
	}
	b.WriteString(". Your answer goes back to it")
	if l.isTask() {
		b.WriteString("; nobody watches meanwhile")
	}
	b.WriteString(".]\n")
	b.WriteString(t.Prompt)
	return b.String()
}

// takePlace waits until one of the few sub-agents that a turn has at a time may begin. The caller leaves its place.
func (d *Driver) takePlace(ctx context.Context, of store.TurnID) (leave func(), err error) {
	d.mu.Lock()
	places := d.places[of]
	if places == nil {
		places = make(chan struct{}, sideBySide)
		d.places[of] = places
	}
	d.mu.Unlock()
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// awaitEnd waits until a turn is over.
func (d *Driver) awaitEnd(ctx context.Context, id store.TurnID) (turn Turn, err error) {
	for {
		changed := d.listen()
		err := d.DB.View(func(tx *store.Tx) (err error) {
			turn, _, err = turns.Get(tx, id)
			return err
		})
		if err != nil || !turn.Ended.IsZero() {
			return turn, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return turn, context.Cause(ctx)
		}
	}
}

// listen gives a channel that is closed when a turn ends. It must be called before looking at what a turn is up to.
func (d *Driver) listen() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ends
}

// ended tells whoever listens, once the end of a turn is committed.
func (d *Driver) ended(id store.TurnID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.places, id)
	close(d.ends)
	d.ends = make(chan struct{})
}
