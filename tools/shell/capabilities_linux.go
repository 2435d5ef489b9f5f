package shell

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// dropCapabilities leaves the calling thread, and what it starts, without any privilege, for good: a setuid program
// gives none, and neither does being root. Root keeps what every user has, the say over its own files.
func dropCapabilities() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("giving up privileges: %w", err)
	}
	for c := range uintptr(64) {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPERM) { // the last one, or a root without CAP_SETPCAP
			break
		}
		if err != nil {
			return fmt.Errorf("bounding capabilities: %w", err)
		}
	}
	return setCapabilities(func(c *unix.CapUserData) { *c = unix.CapUserData{} })
}

// keepCapabilities leaves the calling thread those that it has, and starts programs without them.
func keepCapabilities() error {
	return setCapabilities(func(c *unix.CapUserData) { c.Inheritable = 0 })
}

func setCapabilities(change func(*unix.CapUserData)) error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("dropping ambient capabilities: %w", err)
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&head, &sets[0]); err != nil {
		return fmt.Errorf("reading capabilities: %w", err)
	}
	for i := range sets {
		change(&sets[i])
	}
	if err := unix.Capset(&head, &sets[0]); err != nil {
		return fmt.Errorf("dropping capabilities: %w", err)
	}
	return nil
}
