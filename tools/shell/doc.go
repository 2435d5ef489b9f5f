// Package shell runs shell commands for the model: the tools execute_cmd and restart, and beneath them the
// Runner, which gives back what one command printed and how it ended.
//
// It owns the life of the command's processes: the environment and folder they start in, their
// limits, what they may touch, their output, and above all their end. Whatever way a command ends (its own exit, the
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
// # Sandbox
//
// A command runs in a [Sandbox] unless a person let this very one run without, on the host. On Linux the shim
// builds it out of what the machine gives, each layer in a file of its own:
//
//   - mounts: namespaces for mounts, processes, System V IPC and, without the network, for the network; all files are
//     read-only but for the workspace; /tmp, /var/tmp, /dev/shm, /dev/pts and /run are new; what is closed is covered.
//   - Landlock: files outside of the workspace can't be changed and closed ones not be opened; from Linux 6.12 on, no
//     process outside be signalled and no abstract socket there be reached.
//   - system calls: no namespaces, mounts, tracing, keys, io_uring and the like, no calls of another architecture, and
//     only the families of sockets that the network and the other layers allow.
//   - no capabilities, no new privileges, also for root; files of at most 4 GiB, no core files, a bounded number of
//     processes (not for root before Linux 6.14, nor for root without namespaces).
//
// [Full] is all of it. [Partial] is mounts without Landlock, on kernels that lack it: then a command with the network may
// open no Unix sockets, and nothing else changes. Or it is Landlock without mounts, where namespaces are refused: then the
// secrets/ of the workspace can be read, since Landlock lets folders and leaves none out; modes and times of the user's
// files can be changed; command lines of other processes be seen; /tmp and /dev/shm can't be used (TMPDIR points
// elsewhere), nor any Unix socket; and the processes of a command are found as at [LevelSubreaper]. At both, nod's
// home, its database, its environment, token files and the credentials of the user can't be read. [None] keeps a command
// from nothing.
//
// At no level does the sandbox stop faults of the kernel, the use of processors and memory, sockets that lie outside of
// /run, /tmp and what is closed, or a hard link in the workspace to a file elsewhere that was made before. With the
// network a command reaches what the machine reaches, servers on the loopback device too.
//
// Run may be called from several goroutines at once; commands don't share anything but the measured
// level. When Run returns without an error, all processes of its command are gone and all goroutines
// that it started have ended.
package shell
