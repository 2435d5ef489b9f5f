// Package approvals decides what may happen: rules, grants and bypasses, and everything that waits for a person.
//
// It owns the records of rules, grants and pending requests, who decided what and when, and the one value that lets a
// call run (Approved). It leaves to others what a call is (tools) and how a question looks (a Viewer, implemented by
// bot). Every change is made in the caller's transaction, so that a decision and what it makes visible are one commit;
// only Decide and Run, which nobody calls on another's behalf, commit by themselves.
//
// A request lives like this; whatever is not drawn is refused:
//
//	          ┌→ rejected · answered · skipped
//	waiting ──┼→ approved · again ──(Redeem)──→ used
//	          │        └───────┐
//	          └────────────────┴→ expired · withdrawn
//
// Updates of the store are serial, so of a press, a stop, an expiry and a redemption that race exactly one takes effect.
// Nothing is kept in memory but the channel by which Wait and Run hear of commits, hence a restart changes nothing.
// Every error means that the call does not run.
package approvals
