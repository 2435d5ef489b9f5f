package approvals

import (
	"errors"
	"fmt"

	"nod/store"
)

// Approved lets one call run. Only a gate makes one that covers anything; the zero value covers nothing.
type Approved struct {
	digest  string
	request Request
	how     string
	byRule  bool
	network bool
}

// Covers returns nil only for the call that was approved, with the digest under which it was.
func (a Approved) Covers(call store.CallID, digest string) error {
	if a.digest == "" || a.request.Call == "" {
		return errors.New("the call was not approved")
	}
	if a.request.Call != call || a.digest != digest {
		return ErrChanged
	}
	return nil
}

// Request is the call as it was let through.
func (a Approved) Request() Request { return a.request }

// Subject is what was judged, with the facts that the call must still meet.
func (a Approved) Subject() Subject { return a.request.Subject }

// How says who or what let the call run, for the audit.
func (a Approved) How() string { return a.how }

// ByRule says whether a rule let the call through, rather than a person or a bypass: a command then runs as the words of
// its Program, without a shell.
func (a Approved) ByRule() bool { return a.byRule }

// Network says whether the call may reach the network: a person nodded to this very call, or the rule that lets it run
// says so.
func (a Approved) Network() bool { return a.network }

var (
	// ErrChanged says that the call is not what was nodded to: a file, a folder or an argument has changed since.
	ErrChanged = errors.New("the call has changed since it was approved")
	// ErrNotApproved says that a request holds no nod to redeem: it waits, or was rejected, used, withdrawn or expired.
	ErrNotApproved = errors.New("the call has no approval that can be used")
	// ErrDenied says that a denial came up after the nod.
	ErrDenied = errors.New("the call is denied")
)

// Redeem spends a nod: once, in time, and only for exactly what was shown. fresh is the call as it is now, made anew from
// its stored arguments. A nod to run an interrupted call again lets a new call run that is the same but for its id.
// Errors: ErrChanged, ErrNotApproved, ErrDenied, ErrUnknown; none of them spends anything.
func (g *Gate) Redeem(tx *store.Tx, id store.ApprovalID, fresh Request) (Approved, error) {
	p, err := mustGet(tx, id)
	if err != nil {
		return Approved{}, err
	}
	now := wallNow()
	if p.State != Nodded && p.State != RunAgain {
		return Approved{}, fmt.Errorf("%w: it is %s", ErrNotApproved, p.State)
	}
	if p.overdue(now) {
		return Approved{}, fmt.Errorf("%w: it expired before the call could run", ErrNotApproved)
	}
	digest, err := fresh.Digest()
	if err != nil {
		return Approved{}, err
	}
	shown := fresh
	if p.State == RunAgain {
		shown.Call = p.Request.Call
	}
	if was, err := shown.Digest(); err != nil || was != p.Digest {
		return Approved{}, errors.Join(ErrChanged, err)
	}
	if reason, denied := g.Denies(tx, fresh); denied {
		return Approved{}, fmt.Errorf("%w: %s", ErrDenied, reason)
	}
	p.State, p.Ended = Used, now
	if err := g.record(tx, p); err != nil {
		return Approved{}, err
	}
	return Approved{digest: digest, request: fresh, how: p.how(), network: true}, nil
}

// Denies says whether a rule, or nod itself, denies the call whatever a person says or has said: a deny may have been added
// while the request waited.
func (g *Gate) Denies(tx *store.Tx, r Request) (reason string, denied bool) {
	if reason, denied := g.builtIn(r); denied {
		return reason, true
	}
	rule, found, err := g.rules.first(tx, r)
	if err != nil {
		// Rules that can't be loaded mean that a person must be asked, and one was.
		g.options.Log.Error("the rules can't be loaded", "err", err, "call", r.Call, "tool", r.Tool)
		return "", false
	}
	return rule.reason(), found && rule.Action == ActionDeny
}

func (p Pending) how() string {
	how := fmt.Sprintf("approval %s: %s by user %d", p.ID, p.Verb, p.By)
	if p.Gave != "" {
		how += ", which gave " + p.Gave
	}
	return how
}
