package main

import (
	"io"
	"os"

	"nod/tools/outline"
)

// heldOutline is the name of a file whose outlining does not end by itself, so that a dialog can stop it.
const heldOutline = "held.lua"

// playHeldOutline is called first in TestMain. The arguments are those of a confined child.
func playHeldOutline(args []string) (played bool) {
	if len(args) != 3 || args[1] != outline.WorkName || args[2] != heldOutline {
		return false
	}
	io.Copy(io.Discard, os.Stdin) // which nod keeps open
	return true
}
