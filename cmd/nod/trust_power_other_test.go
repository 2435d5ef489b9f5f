//go:build !linux

package main

import "testing"

func playWriter() bool { return false }

// measurePower needs a mount namespace.
func measurePower(*testing.T) powerFigures { return powerFigures{Refused: "this system has no mount namespaces"} }
