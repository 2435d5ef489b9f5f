package approvals

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"nod/store"
)

var (
	pendingTable = store.NewTable[store.ApprovalID, Pending]("approvals", store.ParseApprovalID)
	// liveTable lists the requests that can still come to something, with their expiry, so that none of the others need
	// be read.
	liveTable = store.NewTable[store.ApprovalID, time.Time]("approvals_live", store.ParseApprovalID)
	// callsTable holds the newest request of each call.
	callsTable = store.NewTable[store.CallID, store.ApprovalID]("approvals_calls", store.ParseText[store.CallID])
)

// Kind is what a person is asked for.
type Kind string

const (
	Approval    Kind = "approval"    // may this call run?
	Asked       Kind = "question"    // what is the answer?
	Interrupted Kind = "interrupted" // a call whose outcome is unknown: run it again?
)

// State is where a request stands.
type State string

const (
	Waiting   State = "waiting"
	Nodded    State = "approved" // and not yet redeemed
	Rejected  State = "rejected"
	Answered  State = "answered"
	RunAgain  State = "again" // and not yet redeemed
	Skipped   State = "skipped"
	Expired   State = "expired"   // nobody decided, or nobody redeemed the nod, in time
	Withdrawn State = "withdrawn" // by /stop, or because the call was asked about anew
	Used      State = "used"      // the nod was redeemed: its call may have run
)

// Stopped begins the reason of a request that is withdrawn, and what the model is told of its call, where a person stopped
// the turn.
const Stopped = "Cancelled: stopped by the user"

// alive says whether the request waits for a person, or holds a nod that was not redeemed.
func (s State) alive() bool { return s == Waiting || s == Nodded || s == RunAgain }

// Verb is what a person can decide.
type Verb string

const (
	VerbApprove      Verb = "approve"
	VerbReject       Verb = "reject"
	VerbGrant15      Verb = "grant15"       // approve, and let the category through for 15 minutes
	VerbGrantSession Verb = "grant_session" // approve, and let the category through in this session
	VerbAlways       Verb = "always"        // approve, and never ask again about exactly this
	VerbAnswer       Verb = "answer"
	VerbAgain        Verb = "again"
	VerbSkip         Verb = "skip"
)

// Decision is what a person said.
type Decision struct {
	Verb   Verb   `json:"verb,omitempty"`
	Reason string `json:"reason,omitempty"` // of a rejection or a withdrawal
	Answer string `json:"answer,omitempty"` // to a question
	Hidden string `json:"-"`                // to a Hidden question, instead
}

// Pending is one request to a person, from the asking to its end. It is kept as the record of who decided what.
type Pending struct {
	ID       store.ApprovalID `json:"id"` // the nonce that buttons carry
	Kind     Kind             `json:"kind"`
	Request  Request          `json:"request"`
	Question *Question        `json:"question,omitempty"`
	Note     string           `json:"note,omitempty"` // nod's own line on the card, such as that a file has changed
	Digest   string           `json:"digest"`         // of Request, as it was shown
	State    State            `json:"state"`
	Created  time.Time        `json:"created"`
	Expires  time.Time        `json:"expires,omitzero"` // zero for an interrupted call, which waits for ever
	Decided  time.Time        `json:"decided,omitzero"` // when it ceased to wait
	Ended    time.Time        `json:"ended,omitzero"`   // when it ceased to be alive
	By       store.UserID     `json:"by,omitempty"`     // who decided; 0 when nobody did
	Decision
	Gave string `json:"gave,omitempty"` // the id of the rule or grant that came of the decision
}

// Open says whether the request still waits for a person.
func (p Pending) Open() bool { return p.State == Waiting }

// Approved says whether the request holds a nod that was not yet redeemed.
func (p Pending) Approved() bool { return p.State == Nodded }

// wallNow is the time by the wall clock alone: that is what is stored, and what counts after a suspend.
func wallNow() time.Time { return time.Now().UTC().Round(0) }

func (p Pending) overdue(now time.Time) bool {
	return p.State.alive() && !p.Expires.IsZero() && !now.Before(p.Expires)
}

// Ask puts a request before the people who may decide it: the record and what the view makes of it are in the caller's
// commit. A call has at most one live request: the same question asked again gives back the one there is, with the nod it
// may already hold, and another question about the call ends the earlier one.
func (g *Gate) Ask(tx *store.Tx, kind Kind, r Request, q *Question, note string) (Pending, error) {
	digest, err := r.Digest()
	switch {
	case err != nil:
		return Pending{}, err
	case r.Call == "" || r.Session == "":
		return Pending{}, errors.New("asking a person: the call has no id or no session")
	case !hasDecider(r):
		return Pending{}, ErrNobody
	case outcomes[kind] == nil || (kind == Asked) != (q != nil):
		return Pending{}, fmt.Errorf("asking a person: a request of kind %q with the wrong question", kind)
	}
	now := wallNow()
	earlier, found, err := g.Find(tx, r.Call)
	switch {
	case err != nil:
		return Pending{}, err
	case !found || !earlier.State.alive():
	case earlier.overdue(now):
		err = g.settle(tx, &earlier, Expired, now)
	case earlier.Kind == kind && earlier.Digest == digest:
		return earlier, nil
	default:
		err = g.withdraw(tx, &earlier, "asked anew", now)
	}
	if err != nil {
		return Pending{}, err
	}
	return g.open(tx, Pending{
		ID: store.NewApprovalID(), Kind: kind, Request: r, Question: q, Note: note, Digest: digest,
		State: Waiting, Created: now,
	})
}

func (g *Gate) open(tx *store.Tx, p Pending) (Pending, error) {
	if p.Kind != Interrupted {
		p.Expires = p.Created.Add(g.options.TTL)
	}
	if p.Question != nil && p.Question.Hidden {
		tx.OnCommit(func() { g.hidden.expect(p.ID) }) // before the card can be answered
	}
	if err := callsTable.Put(tx, p.Request.Call, p.ID); err != nil {
		return Pending{}, err
	}
	if err := g.record(tx, p); err != nil {
		return Pending{}, err
	}
	if err := g.view.ShowPending(tx, p); err != nil {
		return Pending{}, fmt.Errorf("showing a request: %w", err)
	}
	tx.OnCommit(func() { store.Failpoint("approvals.asked") })
	return p, nil
}

// record writes the request and keeps the list of live ones true. Whoever waits hears of it after the commit.
func (g *Gate) record(tx *store.Tx, p Pending) error {
	if err := pendingTable.Put(tx, p.ID, p); err != nil {
		return err
	}
	tx.OnCommit(g.changes.ring)
	if p.State.alive() {
		return liveTable.Put(tx, p.ID, p.Expires)
	}
	return liveTable.Delete(tx, p.ID)
}

// settle records a request that ceased to wait, or whose nod was taken back, and tells the view.
func (g *Gate) settle(tx *store.Tx, p *Pending, state State, now time.Time) error {
	if p.State == Waiting {
		p.Decided = now
	}
	if p.State = state; !state.alive() {
		p.Ended = now
	}
	if err := g.record(tx, *p); err != nil {
		return err
	}
	if err := g.view.ClosePending(tx, *p); err != nil {
		return fmt.Errorf("closing a request: %w", err)
	}
	return nil
}

func (g *Gate) withdraw(tx *store.Tx, p *Pending, why string, now time.Time) error {
	p.Reason = why
	return g.settle(tx, p, Withdrawn, now)
}

// Get reads one request.
func (g *Gate) Get(tx *store.Tx, id store.ApprovalID) (Pending, bool, error) {
	return pendingTable.Get(tx, id)
}

// Find is the newest request of the call.
func (g *Gate) Find(tx *store.Tx, call store.CallID) (Pending, bool, error) {
	id, ok, err := callsTable.Get(tx, call)
	if err != nil || !ok {
		return Pending{}, false, err
	}
	return g.Get(tx, id)
}

// Waiting lists what waits for a person, the oldest first.
func (g *Gate) Waiting(tx *store.Tx) ([]Pending, error) {
	return g.alive(tx, func(p Pending) bool { return p.State == Waiting })
}

// alive lists the live requests that keep wants, the oldest first.
func (g *Gate) alive(tx *store.Tx, keep func(Pending) bool) (all []Pending, err error) {
	err = liveTable.Scan(tx, nil, func(id store.ApprovalID, _ time.Time) (bool, error) {
		p, ok, err := pendingTable.Get(tx, id)
		if err == nil && ok && keep(p) {
			all = append(all, p)
		}
		return true, err
	})
	slices.SortFunc(all, func(a, b Pending) int { return a.Created.Compare(b.Created) })
	return all, err
}

func mustGet(tx *store.Tx, id store.ApprovalID) (Pending, error) {
	p, ok, err := pendingTable.Get(tx, id)
	if err == nil && !ok {
		err = ErrUnknown
	}
	return p, err
}
