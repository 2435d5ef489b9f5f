// Package tools is the hands: what can be done, and the only way to do it.
//
// It owns tool definitions (Spec, Registry), the record of every call (Execution) and the Executor, which alone runs
// calls. It leaves to others whether a call may run (approvals), what a model is (agent) and how things look (bot).
//
// The life of a call; the words in brackets are those on disk:
//
//	                 ┌──────────────────────────────────────────────► failed   [failed]     not offered, bad arguments
//	                 │
//	pending ─────────┼──► awaiting approval ──► running ──┬─────────► completed [done]
//	[running]        │    [pending]             [running] ├─────────► failed    [failed]
//	                 │        │                     ▲     └─────────► cancelled [cancelled] stopped by a person
//	                 ├────────┼── allowed by a rule ┘
//	                 └────────┴─────────────────────────────────────► rejected  [rejected]  denied by a rule or a person, or too dear
//
// Each arrow is one commit, which holds everything that it makes visible. The intent (running) is on disk before a call
// begins. After a crash a call that reads is run again from its intent; one that may have changed something stays
// running until a person decides: Skip makes it cancelled, Run again starts a new call that is linked to it.
//
// A call that costs something beside the model has its price on the record from its intent on. It is looked whether it may
// be paid for (Till) before anybody is asked and before it begins; it is paid for in the commit of its outcome.
//
// Not drawn: a question is completed by its answer without running, a stop makes whatever is not over cancelled, and a
// subject that can't be shown any more makes an awaiting call failed. When the program ends, calls stay as they stand.
//
// An Executor may be used from many goroutines. Calls of one turn may run side by side when their effect is Read.
package tools
