package fs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"nod/tools"
)

type replaceIn struct {
	Path     string `json:"path" jsonschema:"file, relative to the workspace or absolute"`
	FromLine int    `json:"from_line" jsonschema:"number of the first line to replace; the first of the file is 1"`
	ToLine   int    `json:"to_line" jsonschema:"number of the last line to replace"`
	New      string `json:"new" jsonschema:"the lines to put in their place; empty deletes them"`
}

// Refine bounds the lines.
func (replaceIn) Refine(p map[string]*jsonschema.Schema) {
	p["from_line"].Minimum = jsonschema.Ptr(1.0)
	p["to_line"].Minimum = jsonschema.Ptr(1.0)
}

func replaceLines(w *tools.Workspace) tools.Tool {
	return writer[replaceIn]{
		name: tools.ReplaceLines,
		description: "Replaces whole lines of a file, from from_line to to_line inclusive, by new ones. Take the numbers from read_file or " +
			"grep_files, and anew after each change. Use this and not sed in execute_cmd.",
		path: func(in replaceIn) string { return in.Path },
		check: func(in *replaceIn) error {
			if in.ToLine < in.FromLine {
				return fmt.Errorf("to_line (%d) is before from_line (%d)", in.ToLine, in.FromLine)
			}
			return needPath(in.Path)
		},
		change: func(in replaceIn) change { return in.replace },
	}.tool(w)
}

func (in replaceIn) replace(old file) ([]byte, string, error) {
	if err := old.needText(); err != nil {
		return nil, "", err
	}
	mark, text := cutMark(string(old.data))
	all := lines(text)
	if in.ToLine > len(all) {
		return nil, "", fmt.Errorf("there is no line %d: %s has %s", in.ToLine, old.shown, count(len(all), "line"))
	}
	var added []string
	if in.New != "" {
		added = withEnds(in.New, lineEnd(text))
	}
	made := splice(all, in.FromLine-1, in.ToLine, added, lineEnd(text))
	if slices.Equal(made, all) {
		return nil, "", fmt.Errorf("these lines of %s say exactly this already", old.shown)
	}
	gone := in.ToLine - in.FromLine + 1
	done := fmt.Sprintf("Replaced %s of %s by %s, from line %d on.", count(gone, "line"), old.shown, count(len(added), "line"), in.FromLine)
	return []byte(mark + strings.Join(made, "")), done, nil
}
