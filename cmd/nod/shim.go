package main

import (
	"nod/store"
	"nod/tools/confined"
	"nod/tools/outline"
	"nod/tools/shell"
	"nod/tools/svg"
)

// works is what this program does in confined children of its own, by name.
var works = map[string]confined.Work{svg.WorkName: svg.Work, outline.WorkName: outline.Work}

// playedPart says whether this process was started by another nod to do one thing for it, and has done it.
func playedPart(args []string) bool {
	return store.Dispatch(args) || shell.Dispatch(args) || confined.Dispatch(args, works)
}
