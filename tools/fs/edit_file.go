package fs

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nod/tools"
)

type editIn struct {
	Path       string `json:"path" jsonschema:"file, relative to the workspace or absolute"`
	Old        string `json:"old" jsonschema:"the exact text to replace, with its indentation but without the line numbers that read_file puts before lines; must stand in the file once, unless replace_all"`
	New        string `json:"new" jsonschema:"the text to put in its place; empty deletes"`
	ReplaceAll bool   `json:"replace_all,omitempty" jsonschema:"replace every occurrence (default false)"`
}

func editFile(w *tools.Workspace) tools.Tool {
	return writer[editIn]{
		name: tools.EditFile,
		description: "Replaces one piece of text in a file by another; the rest stays as it is, line ends too. Read the file first and " +
			"copy the old text exactly. Use this and not sed, awk or perl in execute_cmd.",
		path:   func(in editIn) string { return in.Path },
		check:  (*editIn).check,
		change: func(in editIn) change { return in.edit },
	}.tool(w)
}

func (in *editIn) check() error {
	switch {
	case in.Path == "":
		return errNoPath
	case in.Old == "":
		return errors.New("old is empty; insert_at_line adds text, and write_file replaces the whole file")
	case in.Old == in.New:
		return errors.New("old and new are the same, so there is nothing to change")
	}
	return nil
}

func (in editIn) edit(old file) ([]byte, string, error) {
	if err := old.needText(); err != nil {
		return nil, "", err
	}
	text := string(old.data)
	find, with := in.Old, in.New
	if strings.Contains(find, "\n") && !strings.Contains(text, find) || onlyCRLF(text) {
		find, with = toCRLF(find), toCRLF(with)
	}
	at := occurrences(text, find)
	switch {
	case len(at) == 0:
		return nil, "", fmt.Errorf("old does not stand in %s%s", old.shown, nearMiss(text, in.Old))
	case len(at) > 1 && !in.ReplaceAll:
		return nil, "", fmt.Errorf("old stands %d times in %s, at %s; give more of the lines around it, or set replace_all",
			len(at), old.shown, lineList(text, at))
	case slices.ContainsFunc(at, func(i int) bool { return cutsLineEnd(text, i+len(find)) }):
		return nil, "", fmt.Errorf("old ends between the \\r and the \\n of a line end of %s; leave the \\r out, or write both", old.shown)
	case find == with:
		return nil, "", fmt.Errorf("old and new differ only in line ends, and %s keeps its own", old.shown)
	}
	made := strings.Count(text, find)
	return []byte(strings.ReplaceAll(text, find, with)),
		fmt.Sprintf("Edited %s: replaced %s, at %s.", old.shown, count(made, "occurrence"), lineList(text, at)), nil
}

// cutsLineEnd says whether an offset lies within a CRLF.
func cutsLineEnd(text string, at int) bool {
	return strings.HasSuffix(text[:at], "\r") && strings.HasPrefix(text[at:], "\n")
}

// occurrences are the offsets of find in text; those that overlap count too, since they leave open which one is meant.
func occurrences(text, find string) []int {
	var at []int
	for from := 0; ; {
		i := strings.Index(text[from:], find)
		if i < 0 {
			return at
		}
		at = append(at, from+i)
		from += i + 1
	}
}

// maxListed is how many lines an error lists.
const maxListed = 10

// lineList names the lines that offsets of text are in.
func lineList(text string, at []int) string {
	var numbers []string
	line, from := 1, 0
	for _, offset := range at {
		line += strings.Count(text[from:offset], "\n")
		from = offset
		numbers = append(numbers, strconv.Itoa(line))
	}
	numbers = slices.Compact(numbers)
	list := "line " + numbers[0]
	if len(numbers) > 1 {
		list = "lines " + strings.Join(numbers[:min(len(numbers), maxListed)], ", ")
	}
	if len(numbers) > maxListed {
		list += fmt.Sprintf(" and %d more", len(numbers)-maxListed)
	}
	return list
}
