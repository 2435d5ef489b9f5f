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
//
// # What is free of a card
//
// Three things can spare a call its card: a rule, a bypass (⏱, 🔄), and the run context. For a write, which needs the grant
// explicit-user-write, they do so only in a turn that an owner opened or took over in typed words of his or her own, and who
// may decide on its calls. A forward, a file or a recording without typed words, a guest's message, a job, a task's result
// and a notification are not that. The card then names what opened the turn, and offers neither ⏱, 🔄 nor ♾, since none of
// them would hold there: ♾ given in a chat does not let a job do the same. There are three exceptions, none of which a button
// or a model can make:
//
//   - nod's own defaults (Seeded): notes in memory/ and data/, and what changes nothing outside of the conversation. Without
//     them a job could do nothing. One that a person changes is a default no more;
//   - rules marked as Unattended, which only nod.yaml can say: its owner wrote that very rule into a file. A copy of such a
//     rule, or of a default, in another group keeps the mark until it is changed;
//   - in a job's turn, the folders that the job's own run context opens to file tools.
//
// A command is let through by a rule only if it is one program with literal words (Program), and the rule lists them: exactly
// the call that ♾ saw, with the scripts that it runs as they were, in the same folder; or a program with the words that may
// follow (CommandRule). It then runs without a shell, in the sandbox, and without the network unless the rule says so. Any
// other line is asked about, whatever a rule says. There is no rule that denies some commands: a list of bad ones is got
// around.
package approvals
