// Package approvals decides what may happen: rules, grants and bypasses, and everything that waits for a person.
//
// It owns the records of rules, grants and pending requests, who decided what and when, and the one value that lets a
// call run (Approved). It leaves to others what a call is (tools) and how a question looks (a Viewer, implemented by
// bot). Every change is made in the caller's transaction, so that a decision and what it makes visible are one commit.
package approvals
