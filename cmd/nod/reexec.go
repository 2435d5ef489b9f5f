package main

import (
	"fmt"
	"hash/fnv"
	"os"
	"syscall"
)

// reexec replaces the process by a new start of the program, with the same arguments and environment.
func reexec() error {
	path, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding the program to restart: %w", err)
	}
	if err := syscall.Exec(path, os.Args, os.Environ()); err != nil {
		return fmt.Errorf("restarting: %w", err)
	}
	return nil
}

// hashOf is a short name for a long path.
func hashOf(path string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(path)) // never fails
	return h.Sum64()
}
