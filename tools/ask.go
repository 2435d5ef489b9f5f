package tools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"nod/approvals"
	"nod/store"
)

// Progress is what a running call tells those who watch it. It passes: nothing of it is kept.
type Progress struct {
	Call   store.CallID
	Text   string // how far it is, in a few words, for people; "" when there is nothing to say
	Asking bool   // it waits for a person's answer
}

// ErrUnanswered says that a question came to no answer: nobody answered in time, or it was withdrawn.
var ErrUnanswered = errors.New("the question was not answered")

// live is what a running call can do beside its work.
type live struct {
	run  *run
	tell func(Progress) // nil tells nobody
	mu   sync.Mutex     // one question at a time
}

// Progress tells how far a running call is.
func (c Call) Progress(text string) {
	if c.live != nil && c.live.tell != nil {
		c.live.tell(Progress{Call: c.ID, Text: clipLabel(oneLine(c.live.run.mask(text)), LabelFull)})
	}
}

// Ask puts a question before the person whom the call is for, while the call runs, and waits for the answer. A call's
// questions are asked one after the other. When ctx ends, or the call does, the question is withdrawn. Another error than
// that of ctx is approvals.ErrNobody, ErrUnanswered or one of the store.
func (c Call) Ask(ctx context.Context, q approvals.Question) (string, error) {
	if c.live == nil {
		return "", approvals.ErrNobody
	}
	c.live.mu.Lock()
	defer c.live.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return "", err
	}
	return c.live.ask(ctx, c, c.live.run.veiled(q))
}

// veiled takes secrets out of what a person reads of a question. Its options stay as they are: an answer is one of them.
func (r *run) veiled(q approvals.Question) approvals.Question {
	q.Title, q.Text, q.Options = r.mask(q.Title), r.mask(q.Text), slices.Clone(q.Options)
	return q
}

func (l *live) ask(ctx context.Context, c Call, q approvals.Question) (string, error) {
	req := l.run.addressed(c.Approved.Request(), q)
	req.Call, req.Subject = c.ID, approvals.Subject{} // what the call would do is decided on already
	var p approvals.Pending
	err := l.run.db.Update(func(tx *store.Tx) (err error) {
		p, err = l.run.gate.Ask(tx, approvals.Asked, req, &q, "")
		return err
	})
	if err != nil {
		return "", fmt.Errorf("asking a person: %w", err)
	}
	defer l.run.gate.TakeHidden(p.ID)
	if l.tell != nil {
		l.tell(Progress{Call: c.ID, Asking: true})
		defer l.tell(Progress{Call: c.ID})
	}
	ended, err := l.run.gate.Wait(ctx, p.ID)
	switch {
	case ctx.Err() != nil:
		return "", errors.Join(ctx.Err(), l.run.withdraw(c.ID))
	case err != nil:
		return "", fmt.Errorf("waiting for an answer: %w", err)
	case ended.State != approvals.Answered:
		return "", ErrUnanswered
	}
	if typed := l.run.gate.TakeHidden(p.ID); typed != "" {
		return typed, nil
	}
	return ended.Answer, nil
}

// withdraw takes back a question whose call goes on, or ends, without its answer.
func (r *run) withdraw(call store.CallID) error {
	return r.db.Update(func(tx *store.Tx) error { return r.gate.Drop(tx, call, "no longer needed") })
}

// addressed is a request put to whoever is being talked to, where they talk, also where somebody else decides on calls.
func (r *run) addressed(req approvals.Request, q approvals.Question) approvals.Request {
	if req.By != 0 {
		req.Deciders, req.Cards = []store.UserID{req.By}, r.req.Scope.Address
	}
	if q.TypedSecret() && len(req.Deciders) > 0 {
		// A person's private chat has the person's number: nobody else reads what is typed there.
		req.Cards = store.Address{Chat: store.ChatID(req.Deciders[0])}
	}
	return req
}
