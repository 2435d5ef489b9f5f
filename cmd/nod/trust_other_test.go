//go:build !linux

package main

import "testing"

func playWriter() (played bool) { return false }

// measurePower needs a mount namespace.
func measurePower(*testing.T) powerFigures {
	return powerFigures{Refused: "this system has no mount namespaces"}
}

func trustFiles(t *testing.T, _ *trustTable) {
	t.Skip("NOT MEASURED: paths. The swap race needs Linux")
}

func trustProcesses(t *testing.T, _ *trustTable) {
	t.Skip("NOT MEASURED: processes. They are counted in /proc")
}

func trustSandbox(t *testing.T, _ *trustTable) {
	t.Skip("NOT MEASURED: the sandbox. This system has none")
}

func trustMemory(t *testing.T, _ *trustTable) { t.Skip("NOT MEASURED: memory. It is read in /proc") }
