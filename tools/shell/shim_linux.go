package shell

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	dirFlags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

	// maxProcesses bounds a fork storm, threads included.
	maxProcesses = 2048
)

// executable leads to this very program even after its file was replaced or deleted.
func executable() (string, error) { return "/proc/self/exe", nil }

// ladder lists the isolations to try, best first. A user namespace comes second for root because in it
// other users would not exist for the command.
func ladder() []isolation {
	steps := []isolation{{LevelNamespace, true, walls{}}, {LevelSubreaper, false, walls{}}}
	if os.Geteuid() == 0 {
		steps = append([]isolation{{LevelNamespace, false, walls{}}}, steps...)
	}
	return steps
}

// sandboxLadder is the same for commands in a sandbox. What has mounts only is for kernels without Landlock, what has
// Landlock only for machines and containers that refuse namespaces.
func sandboxLadder() []isolation {
	var steps []isolation
	for _, w := range []walls{{Mounts: true, Landlock: true}, {Mounts: true}} {
		if os.Geteuid() == 0 {
			steps = append(steps, isolation{LevelNamespace, false, w})
		}
		steps = append(steps, isolation{LevelNamespace, true, w})
	}
	return append(steps, isolation{LevelSubreaper, false, walls{Landlock: true}})
}

// attributes starts the shim in its namespaces, in a session of its own that terminal signals don't reach.
func (i isolation) attributes(network bool) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if i.level == LevelNamespace {
		attr.Cloneflags = unix.CLONE_NEWPID | unix.CLONE_NEWNS
	}
	if i.walls.Mounts {
		attr.Cloneflags |= unix.CLONE_NEWIPC
		if !network {
			attr.Cloneflags |= unix.CLONE_NEWNET
		}
	}
	if i.userNS {
		uid, gid := os.Geteuid(), os.Getegid()
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		// For mounts, the loopback device and giving up the rest. The shell gets none of them.
		attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP}
	}
	return attr
}

// harden closes the shim against the command: descriptors that nod itself inherited stay behind, and
// processes of the same user can't open the shim's own through /proc.
func harden() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("closing the shim to other processes: %w", err)
	}
	err := unix.CloseRange(controlFD, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	entries, err := os.ReadDir("/proc/self/fd") // before Linux 5.11
	if err != nil {
		return fmt.Errorf("listing open files: %w", err)
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= controlFD {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

func duplicate(from, to int) error { return unix.Dup3(from, to, 0) }

// isolate completes what the clone flags began.
func isolate(s spec) error {
	if s.Level == LevelSubreaper {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("becoming the subreaper: %w", err)
		}
	}
	if s.Level != LevelNamespace {
		return nil
	}
	// As root the mounts may still be shared with the rest of the system, which must not get ours. Without a sandbox its
	// own later mounts keep coming in.
	propagation := uintptr(unix.MS_SLAVE)
	if s.Walls.Mounts {
		propagation = unix.MS_PRIVATE
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|propagation, ""); err != nil {
		return fmt.Errorf("parting the mounts: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	if err := limitNumbers(s); err != nil {
		return err
	}
	if !s.Walls.Mounts {
		return nil
	}
	if !s.Network {
		if err := raiseLoopback(); err != nil {
			return err
		}
	}
	return ownView(s)
}

// renounce takes from the calling thread what the shell must not have.
func renounce(s spec) error {
	if s.Walls.none() {
		if s.UserNS {
			return keepCapabilities()
		}
		return nil
	}
	if err := dropCapabilities(); err != nil {
		return err
	}
	if s.Walls.Landlock {
		if err := landlockSelf(s); err != nil {
			return err
		}
	}
	return refuseCalls(s)
}

// maxUserProcesses bounds the processes of an ordinary user where those of one command can't be counted apart, the
// user's others included.
const maxUserProcesses = 8192

// limitProcesses bounds the processes of a command. RLIMIT_NPROC counts within a user namespace, but never binds root.
func limitProcesses(s spec) error {
	limit := uint64(maxUserProcesses)
	switch {
	case os.Geteuid() == 0 || s.Walls.none() && !s.UserNS:
		return nil
	case s.UserNS:
		limit = maxProcesses
	}
	if err := lower(unix.RLIMIT_NPROC, limit, limit); err != nil {
		return fmt.Errorf("limiting processes: %w", err)
	}
	return nil
}

// limitNumbers does the same for root. The highest process number belongs to the PID namespace since Linux 6.14, and is
// left alone before, when it was the whole system's.
func limitNumbers(s spec) error {
	if s.UserNS && os.Geteuid() != 0 || !kernelAtLeast(6, 14) {
		return nil
	}
	if err := os.WriteFile("/proc/sys/kernel/pid_max", []byte(strconv.Itoa(maxProcesses)), 0); err != nil {
		return fmt.Errorf("limiting processes: %w", err)
	}
	return nil
}

func kernelAtLeast(major, minor int) bool {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return false
	}
	var m, n int
	if _, err := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &m, &n); err != nil {
		return false
	}
	return m > major || m == major && n >= minor
}

// sweep ends what the shell left behind and returns how many processes that were.
func sweep(_ int, level Level) int {
	if !reap() {
		return 0
	}
	if level == LevelNamespace {
		return len(descendants())
	}
	killed := map[int]bool{}
	for reap() {
		for _, pid := range freeze() {
			syscall.Kill(pid, syscall.SIGKILL)
			killed[pid] = true
		}
		time.Sleep(time.Millisecond) // they need it to die
	}
	return len(killed)
}

// freeze stops all descendants until no scan shows a new one, so that none can fork away from the kill
// that follows.
func freeze() []int {
	stopped := map[int]bool{}
	for {
		family, fresh := descendants(), false
		for _, pid := range family {
			if !stopped[pid] {
				stopped[pid], fresh = true, true
				syscall.Kill(pid, syscall.SIGSTOP)
			}
		}
		if !fresh {
			return family
		}
	}
}

// descendants lists the living processes below this one.
func descendants() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]int{}
	dead := map[int]bool{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // ended meanwhile
		}
		// The name, in parentheses, may hold anything; state and parent follow the last one (proc_pid_stat(5)).
		f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(f) < 2 {
			continue
		}
		parent, _ := strconv.Atoi(string(f[1]))
		children[parent] = append(children[parent], pid)
		dead[pid] = f[0][0] == 'Z' || f[0][0] == 'X'
	}
	var family []int
	for queue := children[os.Getpid()]; len(queue) > 0; queue = queue[1:] {
		if !dead[queue[0]] {
			family = append(family, queue[0])
		}
		queue = append(queue, children[queue[0]]...)
	}
	return family
}
