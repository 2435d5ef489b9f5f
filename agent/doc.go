// Package agent is the model's side of the house: sessions, turns and what a turn may do.
//
// It owns the records of sessions, turns, transcripts and mailboxes. It leaves to others how calls run (tools), whether
// they may (approvals), how a service is spoken to (agent/llm), what a prompt says (agent/prompt), and what people see
// (a View, implemented by bot).
//
// Promises. A message given to Submit is in a transcript or a mailbox when the caller's commit succeeds, once, in the
// order of the commits. A session runs at most one turn at a time, in one goroutine; sessions don't wait for each
// other. A turn's progress is its transcript: after a restart the same loop goes on from what is on disk.
package agent
