package main

import (
	"flag"
	"testing"
)

var trustLong = flag.Bool("trust.long", false, "measure the figures of SAFETY.md, section 5, in full sizes")

// trustSize is how large something is: with -short, without flags, and with -trust.long.
func trustSize(short, usual, long int) int {
	switch {
	case *trustLong:
		return long
	case testing.Short():
		return short
	}
	return usual
}

func TestTrust(t *testing.T) {
	t.Run("power", func(t *testing.T) { t.Logf("%+v", measurePower(t)) })
}
