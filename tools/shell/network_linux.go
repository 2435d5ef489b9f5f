package shell

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// raiseLoopback lets the processes of a command without a network speak to each other on 127.0.0.1. Their network
// namespace has no other device.
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("raising the loopback device: %w", err)
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("raising the loopback device: %w", err)
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("raising the loopback device: %w", err)
	}
	return nil
}
