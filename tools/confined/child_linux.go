package confined

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// executable leads to this very program even after its file was replaced or deleted.
func executable() (string, error) { return "/proc/self/exe", nil }

// limitMemory bounds what is allocated from now on. RLIMIT_DATA counts memory that can be written to, which RLIMIT_AS does
// not tell from the address space that Go's runtime and the race detector only reserve. What the program took to start
// differs by build.
func limitMemory(more uint64) error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	_, rest, _ := bytes.Cut(status, []byte("\nVmData:"))
	fields := bytes.Fields(rest)
	if len(fields) == 0 {
		return errors.New("/proc/self/status has no VmData")
	}
	kib, err := strconv.ParseUint(string(fields[0]), 10, 64)
	if err != nil {
		return err
	}
	return lower(unix.RLIMIT_DATA, kib<<10+more)
}

// allowed are the system calls of a process that only computes: memory, threads, signals within itself, time, and what is
// open already. All others are refused, so that a process that a hostile file took over can't reach beyond itself.
var allowed = []uint32{
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_CLOSE, unix.SYS_FCNTL, unix.SYS_PPOLL, unix.SYS_PIPE2, unix.SYS_EVENTFD2,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT,
	unix.SYS_BRK, unix.SYS_MMAP, unix.SYS_MUNMAP, unix.SYS_MREMAP, unix.SYS_MPROTECT, unix.SYS_MADVISE, unix.SYS_MINCORE,
	unix.SYS_FUTEX, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_SET_TID_ADDRESS, unix.SYS_MEMBARRIER, unix.SYS_PRCTL,
	unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_GETRUSAGE, unix.SYS_GETRANDOM,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_RESTART_SYSCALL,
	unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME, unix.SYS_GETTIMEOFDAY,
	unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
}

// architectures are those whose calls the filter knows, by GOARCH.
var architectures = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// x32Calls is where the numbers of the x32 convention begin, which has the architecture of 64-bit calls.
const x32Calls = 0x4000_0000

// refuseCalls installs the filter for all threads of this process. Where the kernel or the architecture has none, the
// limits have to do.
func refuseCalls() error {
	arch, known := architectures[runtime.GOARCH]
	if !known {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("giving up privileges: %w", err)
	}
	filter := callFilter(arch, os.Getpid())
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program)))
	if errno != 0 && errno != unix.ENOSYS && errno != unix.EINVAL {
		return fmt.Errorf("refusing system calls: %w", errno)
	}
	return nil
}

// callFilter is a program of classic BPF over struct seccomp_data, see seccomp(2). Calls of another convention do not exist.
// Nor does clone3, which hides its flags from filters: who misses it falls back on clone, which may make threads here but
// no processes. A thread may signal those of its own process, as Go's runtime does to interrupt them.
func callFilter(arch uint32, pid int) []unix.SockFilter {
	const number, architecture, firstArgument = 0, 4, 16
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	jump := func(condition uint16, value uint32, met, unmet uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_K | condition, Jt: met, Jf: unmet, K: value}
	}
	exit := func(action uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: action}
	}
	pass := exit(unix.SECCOMP_RET_ALLOW)
	missing, denied := exit(unix.SECCOMP_RET_ERRNO|uint32(unix.ENOSYS)), exit(unix.SECCOMP_RET_ERRNO|uint32(unix.EPERM))
	f := []unix.SockFilter{
		load(architecture), jump(unix.BPF_JEQ, arch, 1, 0), missing,
		load(number), jump(unix.BPF_JGE, x32Calls, 0, 1), missing,
		jump(unix.BPF_JEQ, unix.SYS_CLONE3, 0, 1), missing,
	}
	for _, call := range allowed {
		f = append(f, jump(unix.BPF_JEQ, call, 0, 1), pass)
	}
	return append(f,
		jump(unix.BPF_JEQ, unix.SYS_CLONE, 0, 3),
		load(firstArgument), jump(unix.BPF_JSET, unix.CLONE_THREAD, 0, 1), pass,
		jump(unix.BPF_JEQ, unix.SYS_TGKILL, 0, 3),
		load(firstArgument), jump(unix.BPF_JEQ, uint32(pid), 0, 1), pass,
		denied,
	)
}
