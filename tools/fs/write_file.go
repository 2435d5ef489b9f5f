package fs

import (
	"bytes"
	"fmt"

	"nod/tools"
)

type writeIn struct {
	Path    string `json:"path" jsonschema:"file, relative to the workspace or absolute; missing folders are made"`
	Content string `json:"content" jsonschema:"the whole content of the file"`
}

func writeFile(w *tools.Workspace) tools.Tool {
	return writer[writeIn]{
		name: tools.WriteFile,
		description: "Makes a file, or replaces the whole content of one. For a change to a file that exists use edit_file, " +
			"insert_at_line or replace_lines instead; use this and not echo, tee or a heredoc in execute_cmd.",
		path:   func(in writeIn) string { return in.Path },
		check:  func(in *writeIn) error { return needPath(in.Path) },
		change: func(in writeIn) change { return in.write },
	}.tool(w)
}

func (in writeIn) write(old file) ([]byte, string, error) {
	data := []byte(in.Content)
	if old.info == nil {
		return data, fmt.Sprintf("Wrote the new file %s: %s, %s.", old.shown, count(len(lines(in.Content)), "line"), count(len(data), "byte")), nil
	}
	if bytes.Equal(old.data, data) {
		return nil, "", fmt.Errorf("%s has exactly this content already", old.shown)
	}
	return data, fmt.Sprintf("Replaced the content of %s: %s, %s.", old.shown, count(len(lines(in.Content)), "line"), count(len(data), "byte")), nil
}
