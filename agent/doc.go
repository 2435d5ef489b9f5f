// Package agent is the model's side of the house: sessions, turns and what a turn may do.
//
// It owns the records of sessions, turns, transcripts and mailboxes, the run contexts, and who works for whom. It leaves to
// others how calls run (tools), whether they may (approvals), how a service is spoken to (agent/llm), who the agents are
// (agent/roster), what a prompt says (agent/prompt), and what people see (a View, implemented by bot).
//
// An agent that works for another has a session and a turn of its own, which bear the id of the call that began them; see
// Lineage. So a call that is resumed after a restart finds what it began: an answer that is there is delivered, work that
// is not done goes on. A task in the background is resumed as a person's turn is, not reported as cut off like a job's run:
// somebody waits for it, and what it may have done already is asked about.
//
// Promises. A message given to Submit is in a transcript or a mailbox when the caller's commit succeeds, once, in the
// order of the commits. A session runs at most one turn at a time, in one goroutine; sessions don't wait for each
// other, but for the callers of sub-agents. A turn's progress is its transcript: after a restart the same loop goes on from
// what is on disk. The end of a task and its result in the session that is told of it are one commit, and so are the end of
// a notification's waiting and its entry into the home chat.
package agent
