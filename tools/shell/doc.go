// Package shell runs shell commands for the model: the tools execute_cmd and restart, and beneath them the
// Runner, which gives back what one command printed and how it ended.
//
// It owns the life of the command's processes: the environment and folder they start in, their
// limits, their output, and above all their end. Whatever way a command ends (its own exit, the
// deadline, a cancelled context, kill -9 of nod) no process that it started outlives it, as far as
// the machine's [Level] allows. Deciding whether a command may run belongs to the gate, recording
// that it ran to the executor.
//
// Between nod and /bin/sh stands a shim, a hidden re-exec of nod's own binary:
//
//	nod ──control pipe──▶ shim ──▶ /bin/sh -c LINE
//	    ◀──status pipe───
//	    ◀──────output pipe (stdout and stderr of the command)
//
// The shim holds the read end of the control pipe; when the write end closes, because nod wants the
// end or because nod is gone, everything below the shim dies. A pipe is used rather than
// PR_SET_PDEATHSIG, which fires when the starting thread ends and not when the process does
// (go.dev/issue/27505). A program that runs commands calls [Dispatch] first thing in main,
// and its tests do so in TestMain.
//
// Run may be called from several goroutines at once; commands don't share anything but the measured
// level. When Run returns without an error, all processes of its command are gone and all goroutines
// that it started have ended.
package shell
