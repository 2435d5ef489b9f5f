package fs

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"nod/tools"
)

const (
	placedBefore = "before"
	placedAfter  = "after"
)

type insertIn struct {
	Path      string `json:"path" jsonschema:"file, relative to the workspace or absolute"`
	Line      int    `json:"line" jsonschema:"number of the line to insert at; the first is 1"`
	Content   string `json:"content" jsonschema:"the lines to insert; empty is one empty line"`
	Placement string `json:"placement,omitempty" jsonschema:"before or after that line (default after)"`
}

// Refine bounds the line and lists the placements.
func (insertIn) Refine(p map[string]*jsonschema.Schema) {
	p["line"].Minimum = jsonschema.Ptr(1.0)
	p["placement"].Enum = []any{placedBefore, placedAfter}
}

func insertAtLine(w *tools.Workspace) tools.Tool {
	return writer[insertIn]{
		name: tools.InsertAtLine,
		description: "Inserts lines before or after a line of a file. Take the line's number from read_file or grep_files, and anew after " +
			"each change. Use this and not sed in execute_cmd.",
		path: func(in insertIn) string { return in.Path },
		check: func(in *insertIn) error {
			if in.Placement == "" {
				in.Placement = placedAfter
			}
			return needPath(in.Path)
		},
		change: func(in insertIn) change { return in.insert },
	}.tool(w)
}

func (in insertIn) insert(old file) ([]byte, string, error) {
	if err := old.needText(); err != nil {
		return nil, "", err
	}
	mark, text := cutMark(string(old.data))
	all := lines(text)
	if in.Line > max(len(all), 1) {
		return nil, "", fmt.Errorf("there is no line %d: %s has %s", in.Line, old.shown, count(len(all), "line"))
	}
	added := withEnds(in.Content, lineEnd(text))
	at := in.Line
	if in.Placement == placedBefore || len(all) == 0 {
		at--
	}
	all = splice(all, at, at, added, lineEnd(text))
	done := fmt.Sprintf("Inserted %s into %s, now lines %d–%d.", count(len(added), "line"), old.shown, at+1, at+len(added))
	return []byte(mark + strings.Join(all, "")), done, nil
}

// splice puts added, whole lines, in place of all[from:to]. The text ends with a line end afterwards if it did before, or
// if its last line is now an empty one, which nothing else would show.
func splice(all []string, from, to int, added []string, end string) []string {
	if to < len(all) || len(all) == 0 || strings.HasSuffix(all[len(all)-1], "\n") {
		return slices.Concat(all[:from], added, all[to:])
	}
	made := slices.Concat(all[:from], added)
	if from == len(all) {
		made[from-1] += end // it was the open end and is not any more
	}
	if len(made) == 0 {
		return made
	}
	if last := strings.TrimSuffix(strings.TrimSuffix(made[len(made)-1], "\n"), "\r"); last != "" {
		made[len(made)-1] = last
	}
	return made
}

var errNoPath = errors.New("path is empty; name the file")

func needPath(path string) error {
	if path == "" {
		return errNoPath
	}
	return nil
}
