//go:build !linux

package main

import "testing"

func playWriter() (played bool) { return false }

// measurePower needs a mount namespace.
func measurePower(*testing.T) powerFigures {
	return powerFigures{Refused: "this system has no mount namespaces"}
}

func trustFiles(t *testing.T, table *trustTable) {
	table.miss(t, "7. paths that left the workspace without a nod", "0", "the swap race needs Linux")
}

func trustProcesses(t *testing.T, table *trustTable) {
	table.miss(t, "8. processes left", "0", "they are counted in /proc")
}

func trustSandbox(t *testing.T, table *trustTable) {
	table.miss(t, "11. the sandbox", "0", "this system has none")
}

func trustMemory(t *testing.T, table *trustTable) {
	table.miss(t, "9. peak memory", "< 64 MiB", "it is read in /proc")
}
