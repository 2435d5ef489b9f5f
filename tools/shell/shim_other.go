//go:build unix && !linux

package shell

import (
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

const dirFlags = os.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

func executable() (string, error) { return os.Executable() }

// ladder has one step: this system has neither PID namespaces nor subreapers.
func ladder() []isolation { return []isolation{{level: LevelGroup}} }

// sandboxLadder is empty: macOS and the BSDs have other means, which nod does not use.
func sandboxLadder() []isolation { return nil }

func (isolation) attributes(bool) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// harden keeps the descriptors that nod itself inherited from the command.
func harden() error {
	entries, err := os.ReadDir("/dev/fd")
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

func duplicate(from, to int) error { return unix.Dup2(from, to) }

func isolate(spec) error { return nil }

func renounce(spec) error { return nil }

// limitProcesses does nothing: the limit would count all processes of the user.
func limitProcesses(spec) error { return nil }

// sweep kills what is left in the shell's process group; how many that are is not known.
func sweep(group int, _ Level) int {
	syscall.Kill(-group, syscall.SIGKILL)
	return 0
}
