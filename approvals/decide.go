package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"nod/store"
)

var (
	// ErrUnknown says that there is no such request.
	ErrUnknown = errors.New("there is no such request")
	// ErrNotYours says that this person may not decide the request, which stays as it is.
	ErrNotYours = errors.New("this request is for somebody else to decide")
	// ErrUnfit says that the decision does not fit the request, which stays as it is.
	ErrUnfit = errors.New("this request can't be decided that way")
	// ErrNobody says that a request names nobody who may decide it.
	ErrNobody = errors.New("nobody may decide this request")
)

// DecidedError says that a decision came too late, and what holds instead.
type DecidedError struct{ Pending Pending }

func (e *DecidedError) Error() string { return "the request is already " + string(e.Pending.State) }

// outcomes are the verbs that each kind of request knows, with the state that they lead to.
var outcomes = map[Kind]map[Verb]State{
	Approval: {
		VerbApprove: Nodded, VerbReject: Rejected,
		VerbGrant15: Nodded, VerbGrantSession: Nodded, VerbAlways: Nodded,
	},
	Asked:       {VerbAnswer: Answered, VerbSkip: Skipped},
	Interrupted: {VerbAgain: RunAgain, VerbSkip: Skipped},
}

// Decide is a person's press, reply or answer, in a commit of its own. The first decision wins. Later ones get a
// *DecidedError that holds what was decided; a request that was overdue expires instead. A person who is not among the
// deciders gets ErrNotYours, and a verb that does not fit ErrUnfit, and the request goes on waiting. with is done in the
// commit of the decision, and only then: it ends what the decision came with, so that it can't be taken for something
// else after a crash.
func (g *Gate) Decide(id store.ApprovalID, by store.UserID, d Decision, with ...func(*store.Tx) error) (Pending, error) {
	var p Pending
	var late error
	err := g.db.Update(func(tx *store.Tx) (err error) {
		if p, err = mustGet(tx, id); err != nil {
			return err
		}
		if by == 0 || !slices.Contains(p.Request.Deciders, by) {
			return ErrNotYours
		}
		if p.State != Waiting {
			return &DecidedError{Pending: p}
		}
		now := wallNow()
		if p.overdue(now) {
			err = g.settle(tx, &p, Expired, now)
			late = &DecidedError{Pending: p}
			return err
		}
		if err := g.decide(tx, &p, by, d, now); err != nil {
			return err
		}
		for _, fn := range with {
			if err := fn(tx); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, ErrNotYours) {
		g.options.Log.Warn("somebody else pressed", "approval", id, "user", by, "verb", d.Verb)
	}
	if err != nil {
		return Pending{}, err
	}
	store.Failpoint("approvals.decided")
	return p, late
}

func (g *Gate) decide(tx *store.Tx, p *Pending, by store.UserID, d Decision, now time.Time) error {
	state, ok := outcomes[p.Kind][d.Verb]
	if !ok || (d.Verb == VerbAnswer && d.Answer == "" && d.Hidden == "") {
		return fmt.Errorf("%w: %q for a request of kind %s", ErrUnfit, d.Verb, p.Kind)
	}
	if typed := d.Hidden; typed != "" {
		d.Answer, d.Hidden = hiddenAnswer, ""
		tx.OnCommit(func() { g.hidden.put(p.ID, typed) }) // before whoever waits hears of it
	}
	p.By, p.Decision = by, d
	if err := g.give(tx, p, now); err != nil {
		return err
	}
	return g.settle(tx, p, state, now)
}

// give writes the bypass or rule that comes with ⏱, 🔄 and ♾.
func (g *Gate) give(tx *store.Tx, p *Pending, now time.Time) error {
	switch p.Verb {
	case VerbGrant15, VerbGrantSession:
		grant, err := newGrant(*p, now)
		if err != nil {
			return err
		}
		p.Gave = grant.ID
		return putGrant(tx, grant)
	case VerbAlways:
		rule, err := exactly(p.Request, p.By)
		if err != nil {
			return err
		}
		rule, err = g.rules.Add(tx, rule)
		p.Gave = rule.ID
		return err
	}
	return nil
}

// Withdraw takes back what waits for a person in the turn, and the nods of it that were not yet redeemed. It gives back
// what it closed, the oldest first.
func (g *Gate) Withdraw(tx *store.Tx, turn store.TurnID, why string) ([]Pending, error) {
	open, err := g.alive(tx, func(p Pending) bool { return p.Request.Turn == turn })
	if err != nil {
		return nil, err
	}
	now := wallNow()
	for i := range open {
		if err := g.withdraw(tx, &open[i], why, now); err != nil {
			return nil, err
		}
	}
	return open, nil
}

// Drop takes back what is still alive of the call's newest request, because nothing can come of it any more.
func (g *Gate) Drop(tx *store.Tx, call store.CallID, why string) error {
	p, ok, err := g.Find(tx, call)
	if err != nil || !ok || !p.State.alive() {
		return err
	}
	return g.withdraw(tx, &p, why, wallNow())
}

// Wait blocks until the request no longer waits, or ctx ends. It may be called at any time, also after a restart and by
// several at once.
func (g *Gate) Wait(ctx context.Context, id store.ApprovalID) (Pending, error) {
	for {
		changed := g.changes.listen()
		p, err := g.look(id)
		if err != nil || p.State != Waiting {
			return p, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return p, context.Cause(ctx)
		}
	}
}

func (g *Gate) look(id store.ApprovalID) (p Pending, err error) {
	err = g.db.View(func(tx *store.Tx) error {
		p, err = mustGet(tx, id)
		return err
	})
	return p, err
}
