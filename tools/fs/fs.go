// Package fs is the file tools: list_files read_file search_file grep_files, which read, and write_file edit_file
// insert_at_line replace_lines, which write.
//
// It owns what is done with a file's content. It leaves to tools.Workspace where a path leads and how it is opened, and to
// approvals whether a call may run. Promises: nothing outside of the folder that a nod is bound to is opened, whatever is
// renamed or linked meanwhile; links are not followed at a path's end; a write is whole or did not happen, and only
// replaces the content that was shown. Memory and outputs are bounded. The tools keep no state and may run side by side.
package fs

import (
	"context"
	"fmt"

	"nod/approvals"
	"nod/tools"
)

// Tools are the file tools. Labels show paths relative to w; the calls themselves use the workspace of their scope.
func Tools(w *tools.Workspace) []tools.Tool {
	return []tools.Tool{
		listFiles(w), readFile(w), searchFile(w), grepFiles(w),
		writeFile(w), editFile(w), insertAtLine(w), replaceLines(w),
	}
}

// maxText is where the reading tools end a text themselves, in bytes, so that they can say how to go on. It stays below
// tools.OutcomeLimit.
const maxText = 90 << 10

var (
	reads  = tools.Traits{Category: tools.Filesystem, Effect: tools.Read}
	writes = tools.Traits{Category: tools.Filesystem, Effect: tools.Write}
)

// judgeRead tells the gate which path is read. It looks at no content: what is there must not show before the gate spoke.
func judgeRead[In any](path func(In) string) func(context.Context, tools.Scope, In) (tools.Judged, error) {
	return func(_ context.Context, scope tools.Scope, in In) (tools.Judged, error) {
		place, err := scope.Workspace.Resolve(path(in), tools.ForReading)
		if err != nil {
			return tools.Judged{}, err
		}
		judged := tools.Judged{Paths: []approvals.Path{place.Path}, Subject: approvals.Subject{Facts: place.Facts()}}
		if !place.Inside {
			judged.Subject.Notes = append(judged.Subject.Notes, "Outside of the workspace: "+place.Path.Canonical)
		}
		return judged, nil
	}
}

// hold opens the place that a call was let through for.
func hold(call tools.Call, path string, access tools.Access) (*tools.Held, error) {
	return call.Scope.Workspace.Hold(path, access, call.Approved.Subject())
}

// count is a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	plural := noun + "s"
	if noun == "match" {
		plural = "matches"
	}
	return fmt.Sprintf("%d %s", n, plural)
}
