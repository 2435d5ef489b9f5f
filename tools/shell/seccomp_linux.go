package shell

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// refused are the system calls that no command needs to do its work: ways to change what the sandbox is made of, to look
// into other processes, and parts of the kernel in which faults are found again and again.
var refused = []uint32{
	unix.SYS_ACCT, unix.SYS_ADD_KEY, unix.SYS_BPF, unix.SYS_CHROOT, unix.SYS_CLOCK_SETTIME, unix.SYS_DELETE_MODULE,
	unix.SYS_FANOTIFY_INIT, unix.SYS_FINIT_MODULE, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSOPEN, unix.SYS_FSPICK,
	unix.SYS_INIT_MODULE, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_IO_URING_SETUP, unix.SYS_KCMP,
	unix.SYS_KEXEC_LOAD, unix.SYS_KEYCTL, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_MOUNT, unix.SYS_MOUNT_SETATTR, unix.SYS_MOVE_MOUNT,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_OPEN_TREE, unix.SYS_PERF_EVENT_OPEN, unix.SYS_PIDFD_GETFD, unix.SYS_PIVOT_ROOT,
	unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PTRACE, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD,
	unix.SYS_REBOOT, unix.SYS_REQUEST_KEY, unix.SYS_SETDOMAINNAME, unix.SYS_SETHOSTNAME, unix.SYS_SETNS,
	unix.SYS_SETTIMEOFDAY, unix.SYS_SWAPOFF, unix.SYS_SWAPON, unix.SYS_SYSLOG, unix.SYS_UMOUNT2, unix.SYS_UNSHARE,
	unix.SYS_USERFAULTFD, unix.SYS_VHANGUP,
}

// newNamespaces are the flags of clone(2) by which a process would get capabilities in a namespace of its own.
const newNamespaces = unix.CLONE_NEWCGROUP | unix.CLONE_NEWIPC | unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID |
	unix.CLONE_NEWUSER | unix.CLONE_NEWUTS

// architectures are those whose call convention the filter knows, by GOARCH: all have clone's flags in the first argument
// and its low half first.
var architectures = map[string]uint32{
	"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64, "riscv64": unix.AUDIT_ARCH_RISCV64,
	"loong64": unix.AUDIT_ARCH_LOONGARCH64, "arm": unix.AUDIT_ARCH_ARM,
}

// families are the kinds of sockets that the command may open. A socket between its own processes needs none of
// them (socketpair). Path-named Unix sockets lead to container engines and the service manager where no view of its own
// hides them, abstract ones where neither Landlock nor a network namespace cuts them off.
func families(s spec) []uint32 {
	var allowed []uint32
	if s.Walls.Mounts || s.Network {
		allowed = append(allowed, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK)
	}
	if s.Walls.Mounts && (s.Walls.Landlock || !s.Network) {
		allowed = append(allowed, unix.AF_UNIX)
	}
	return allowed
}

// refuseCalls installs the filter in the calling thread, for it and what it starts. The thread must have given up
// privileges. A filter from a library that lets by default what it does not list would let in 32-bit calls, whose
// numbers are others (elastic/go-seccomp-bpf 1.6.0 does); here a foreign call does not exist.
func refuseCalls(s spec) error {
	arch, ok := architectures[runtime.GOARCH]
	if !ok {
		return fmt.Errorf("there is no list of system calls for %s", runtime.GOARCH)
	}
	filter := callFilter(arch, families(s))
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return fmt.Errorf("refusing system calls: %w", errno)
	}
	return nil
}

// Offsets in struct seccomp_data, see seccomp(2).
const (
	callNumber  = 0
	callArch    = 4
	firstArgLow = 16

	// x32Calls is where the numbers of the x32 convention begin, which has the architecture of 64-bit calls.
	x32Calls = 0x4000_0000
)

// callFilter is a program of classic BPF (bpf(4) in FreeBSD has the best words for it). Each refusal is a comparison and
// a return, so that no jump is longer than a byte counts.
func callFilter(arch uint32, families []uint32) []unix.SockFilter {
	errno := func(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }
	f := program{
		load(callArch),
		jumpIf(unix.BPF_JEQ, arch, 1, 0),
		exit(errno(unix.ENOSYS)),
		load(callNumber),
	}
	if arch == unix.AUDIT_ARCH_X86_64 {
		f = append(f, jumpIf(unix.BPF_JGE, x32Calls, 0, 1), exit(errno(unix.ENOSYS)))
	}
	for _, call := range refused {
		f = append(f, jumpIf(unix.BPF_JEQ, call, 0, 1), exit(errno(unix.EPERM)))
	}
	// Its flags are in memory, which a filter can't read; who misses it falls back on clone.
	f = append(f, jumpIf(unix.BPF_JEQ, unix.SYS_CLONE3, 0, 1), exit(errno(unix.ENOSYS)))
	f = append(f,
		jumpIf(unix.BPF_JEQ, unix.SYS_CLONE, 0, 4),
		load(firstArgLow),
		jumpIf(unix.BPF_JSET, newNamespaces, 0, 1), exit(errno(unix.EPERM)),
		exit(unix.SECCOMP_RET_ALLOW),
	)
	f = append(f,
		jumpIf(unix.BPF_JEQ, unix.SYS_SOCKET, 1, 0),
		exit(unix.SECCOMP_RET_ALLOW),
		load(firstArgLow),
	)
	for _, family := range families {
		f = append(f, jumpIf(unix.BPF_JEQ, family, 0, 1), exit(unix.SECCOMP_RET_ALLOW))
	}
	return append(f, exit(errno(unix.ENETUNREACH)))
}

type program = []unix.SockFilter

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

// jumpIf skips as many instructions as it is told for either case.
func jumpIf(condition uint16, value uint32, met, unmet uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | condition, Jt: met, Jf: unmet, K: value}
}

func exit(action uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
}
