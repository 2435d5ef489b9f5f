//go:build unix && !linux

package confined

import "os"

func executable() (string, error) { return os.Executable() }

// limitMemory does nothing: macOS keeps no such limit, so there the limits of time and of a file's size have to do.
func limitMemory(uint64) error { return nil }

func refuseCalls() error { return nil }
