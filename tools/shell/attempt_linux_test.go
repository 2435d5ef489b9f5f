package shell

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// asAttempts, set in the environment, makes the test binary a program that tries to get out of the sandbox which it runs in,
// and prints what became of each attempt as a line of JSON. The variable holds its targets.
const asAttempts = "NOD_SHELL_TEST_ATTEMPTS"

// targets are what a program in the sandbox wants to reach.
type targets struct {
	Workspace, Home, Outside string
	Key                      string // a closed file outside of all that
	Nod                      int    // a process with a secret in its environment
	TCP, UDP                 string
	Path, Control, Abstract  string // Unix sockets
}

type attemptResult struct{ Name, Err string }

type attempt struct {
	name string
	try  func(t targets) error
}

// attempts are what a command that means ill would try to get out of its sandbox, also as root without capabilities.
func attempts() []attempt {
	read := func(path ...string) error {
		text, err := os.ReadFile(filepath.Join(path...))
		if err == nil && len(text) == 0 {
			err = errors.New("it is empty")
		}
		return err
	}
	write := func(path string) error {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return f.Close()
	}
	create := func(path ...string) error { return os.WriteFile(filepath.Join(path...), []byte("x"), 0o644) }
	proc := func(pid int, file string) string { return filepath.Join("/proc", strconv.Itoa(pid), file) }
	dial := func(network, address string) error {
		c, err := net.DialTimeout(network, address, time.Second)
		if err != nil {
			return err
		}
		return c.Close()
	}
	call := func(number uintptr, args ...uintptr) error {
		args = append(args, 0, 0, 0, 0, 0, 0)
		if _, _, errno := unix.Syscall6(number, args[0], args[1], args[2], args[3], args[4], args[5]); errno != 0 {
			return errno
		}
		return nil
	}
	text := func(s string) uintptr {
		p, err := unix.BytePtrFromString(s)
		if err != nil {
			panic(err)
		}
		return uintptr(unsafe.Pointer(p))
	}
	return []attempt{
		{"read secrets/token", func(t targets) error { return read(t.Workspace, "secrets/token") }},
		{"read it by a link", func(t targets) error { return read(t.Workspace, "link") }},
		{"read a hard link made before", func(t targets) error { return read(t.Workspace, "hard") }},
		{"make a hard link to the database", func(t targets) error {
			return os.Link(filepath.Join(t.Home, "nod.db"), filepath.Join(t.Workspace, "new hard"))
		}},
		{"read the database", func(t targets) error { return read(t.Home, "nod.db") }},
		{"read a token file", func(t targets) error { return read(t.Key) }},
		{"create a file in NOD_HOME", func(t targets) error { return create(t.Home, "nod.yaml") }},
		{"write outside", func(t targets) error { return write(filepath.Join(t.Outside, "file")) }},
		{"create outside", func(t targets) error { return create(t.Outside, "new") }},
		{"remove outside", func(t targets) error { return os.Remove(filepath.Join(t.Outside, "doomed")) }},
		{"chmod outside", func(t targets) error { return os.Chmod(filepath.Join(t.Outside, "file"), 0o600) }},
		{"touch outside", func(t targets) error {
			return os.Chtimes(filepath.Join(t.Outside, "file"), time.Time{}, time.Unix(1, 0))
		}},
		{"read /proc/NOD/environ", func(t targets) error { return read(proc(t.Nod, "environ")) }},
		{"read /proc/NOD/cmdline", func(t targets) error { return read(proc(t.Nod, "cmdline")) }},
		{"follow the shim's descriptors", func(targets) error { return followDescriptors(proc(grandparent(), "fd")) }},
		{"kill nod", func(t targets) error { return syscall.Kill(t.Nod, syscall.SIGKILL) }},
		{"TCP to the host", func(t targets) error { return dial("tcp", t.TCP) }},
		{"UDP to the host", func(t targets) error { return dialEcho(t.UDP) }},
		{"nod's control socket", func(t targets) error { return dial("unix", t.Control) }},
		{"a socket by path elsewhere", func(t targets) error { return dial("unix", t.Path) }},
		{"an abstract socket", func(t targets) error { return dial("unix", t.Abstract) }},
		{"AF_ALG", func(targets) error { return call(unix.SYS_SOCKET, unix.AF_ALG, unix.SOCK_SEQPACKET) }},
		{"AF_VSOCK", func(targets) error { return call(unix.SYS_SOCKET, unix.AF_VSOCK, unix.SOCK_STREAM) }},
		{"io_uring", func(targets) error {
			var params [120]byte
			return call(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)))
		}},
		{"mount", func(t targets) error {
			if err := unix.Mount("tmpfs", t.Outside, "tmpfs", 0, ""); err != nil {
				return err
			}
			return unix.Unmount(t.Outside, unix.MNT_DETACH)
		}},
		{"umount secrets/", func(t targets) error { return unix.Unmount(filepath.Join(t.Workspace, "secrets"), unix.MNT_DETACH) }},
		{"open_tree", func(targets) error { _, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE); return err }},
		{"unshare", func(targets) error { return call(unix.SYS_UNSHARE) }}, // which changes nothing
		{"clone into a user namespace", func(targets) error {
			pid, err := syscall.ForkExec("/bin/true", []string{"true"}, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}})
			if err == nil {
				_, err = syscall.Wait4(pid, nil, 0, nil)
			}
			return err
		}},
		{"ptrace", func(targets) error {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			return call(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(os.Getppid()))
		}},
		{"sethostname", func(targets) error { // to what it is
			name, err := os.Hostname()
			return firstError(err, call(unix.SYS_SETHOSTNAME, text(name), uintptr(len(name))))
		}},
		{"chroot", func(targets) error { return syscall.Chroot("/") }},
		{"keyctl", func(targets) error { return call(unix.SYS_KEYCTL, 0, ^uintptr(2)) }},
		{"setuid", func(targets) error {
			done := make(chan error)
			go func() {
				runtime.LockOSThread() // and end the thread, which has another user now
				done <- call(unix.SYS_SETRESUID, 12345, 12345, 12345)
			}()
			return <-done
		}},
		{"open a disk", openDisk},
		{"write core_pattern", func(targets) error { return write("/proc/sys/kernel/core_pattern") }},
		{"write in /sys", func(targets) error { return write("/sys/kernel/mm/transparent_hugepage/enabled") }},
		{"write in /etc", func(targets) error { return write("/etc/passwd") }},
		{"write resolv.conf", func(targets) error { return write(resolverFile()) }},
		{"chmod /dev/null", func(targets) error { return os.Chmod("/dev/null", 0o666) }}, // as it is
		{"chmod the standard input", func(targets) error { return os.Stdin.Chmod(0o666) }},
		{"write in the own home's parent", func(t targets) error { return create(filepath.Dir(t.Workspace), "new") }},
		{"a 32-bit system call", foreignCall},
		{"write in the workspace", func(t targets) error { return create(t.Workspace, "new") }},
		{"write in HOME", func(targets) error { return create(os.Getenv("HOME"), "new") }},
		{"write a temporary file", func(targets) error {
			f, err := os.CreateTemp("", "")
			if err != nil {
				return err
			}
			return firstError(f.Close(), os.Remove(f.Name()))
		}},
		{"write to /dev/null", func(targets) error { return write("/dev/null") }},
		{"read /etc/passwd", func(targets) error { return read("/etc/passwd") }},
		{"list /", func(targets) error { _, err := os.ReadDir("/"); return err }},
	}
}

// grandparent is the shim, whose shell started this program.
func grandparent() int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", os.Getppid()))
	if err != nil {
		panic(err)
	}
	var pid, parent int
	var name, state string
	if _, err := fmt.Sscan(string(stat), &pid, &name, &state, &parent); err != nil {
		panic(err)
	}
	return parent
}

// followDescriptors succeeds if one of another process's descriptors tells what it is of. Root may list them.
func followDescriptors(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if _, err = os.Readlink(filepath.Join(dir, e.Name())); err == nil {
			return nil
		}
	}
	return cmp.Or(err, errors.New("there are none"))
}

// dialEcho sends a datagram and wants it back, since sending alone says nothing.
func dialEcho(address string) error {
	c, err := net.DialTimeout("udp", address, time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Second))
	if _, err := c.Write([]byte("x")); err != nil {
		return err
	}
	_, err = c.Read(make([]byte, 1))
	return err
}

// openDisk opens the first disk that there is, or a device that every kernel has.
func openDisk(targets) error {
	disks, err := filepath.Glob("/dev/[sv]d[a-z]")
	if err != nil {
		return err
	}
	for _, path := range append(disks, "/dev/kmsg") {
		var f *os.File
		if f, err = os.Open(path); err == nil {
			return f.Close()
		}
	}
	return err
}

// foreignCall runs a program whose system calls have other numbers.
func foreignCall(t targets) error {
	path := filepath.Join(t.Workspace, "foreign")
	if _, err := os.Stat(path); err != nil {
		return err
	}
	pid, err := syscall.ForkExec(path, []string{path}, &syscall.ProcAttr{})
	if err != nil {
		return err
	}
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &ws, 0, nil); err != nil {
		return err
	}
	if ws != 0 {
		return fmt.Errorf("it ended with %d", ws)
	}
	return nil
}

// foreignProgram is an ELF file for x86-64 that asks for its number by a 32-bit call (int 0x80) and ends with 0 if it
// was told, else with 1.
func foreignProgram() []byte {
	code := []byte{
		0xb8, 20, 0, 0, 0, // mov eax, 20 (getpid)
		0xcd, 0x80, // int 0x80
		0x31, 0xff, // xor edi, edi
		0x85, 0xc0, // test eax, eax
		0x79, 5, // jns over the next
		0xbf, 1, 0, 0, 0, // mov edi, 1
		0xb8, 60, 0, 0, 0, // mov eax, 60 (exit)
		0x0f, 0x05, // syscall
	}
	elf := make([]byte, 120, 120+len(code))
	put := func(at, size int, value uint64) {
		for i := range size {
			elf[at+i] = byte(value >> (8 * i))
		}
	}
	copy(elf, "\x7fELF\x02\x01\x01")
	const address = 0x400000
	put(16, 2, 2)                 // executable
	put(18, 2, 62)                // x86-64
	put(20, 4, 1)                 // version
	put(24, 8, address+120)       // where it begins
	put(32, 8, 64)                // program header
	put(52, 2, 64)                // sizes of the headers
	put(54, 2, 56)                //
	put(56, 2, 1)                 // one program header
	put(64, 4, 1)                 // to be loaded
	put(68, 4, 5)                 // to be read and run
	put(80, 8, address)           // where to
	put(88, 8, address)           //
	put(96, 8, uint64(cap(elf)))  // size in the file
	put(104, 8, uint64(cap(elf))) // and in memory
	put(112, 8, 0x1000)
	return append(elf, code...)
}

// beAttempts is the program's main.
func beAttempts(text string) int {
	var t targets
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		panic(err)
	}
	out := json.NewEncoder(os.Stdout)
	for _, a := range attempts() {
		result := attemptResult{Name: a.name}
		if err := a.try(t); err != nil {
			result.Err = err.Error()
		}
		if err := out.Encode(result); err != nil {
			return 1
		}
	}
	return 0
}
