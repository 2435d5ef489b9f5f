package fs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"nod/tools"
)

const (
	searchAround    = 3
	maxAround       = 10
	maxSearchShown  = 100
	maxPatternBytes = 1000
)

type searchIn struct {
	Path         string `json:"path" jsonschema:"file, relative to the workspace or absolute"`
	Query        string `json:"query" jsonschema:"text to look for in each line, as it is (no pattern), upper and lower case alike"`
	ContextLines *int   `json:"context_lines,omitempty" jsonschema:"lines to show before and after each match, 0 to 10 (default 3)"`
}

// Refine bounds the numbers.
func (searchIn) Refine(p map[string]*jsonschema.Schema) {
	p["context_lines"].Minimum = jsonschema.Ptr(0.0)
	p["context_lines"].Maximum = jsonschema.Ptr(float64(maxAround))
}

func searchFile(w *tools.Workspace) tools.Tool {
	return tools.New(tools.Spec[searchIn]{
		Name: tools.SearchFile,
		Description: "Finds a text in one file and shows the lines around each match with their numbers. For several files, or a regular " +
			"expression, use grep_files. Use this and not grep in execute_cmd.",
		Traits: reads,
		Check:  (*searchIn).check,
		Label: func(in searchIn, full bool) string {
			if full {
				return fmt.Sprintf("%q in %s", in.Query, tools.Quote(w.Shown(in.Path)))
			}
			return tools.Quote(w.Shown(in.Path))
		},
		Target: func(in searchIn) string { return w.Shown(in.Path) },
		Judge:  judgeRead(func(in searchIn) string { return in.Path }),
		Run:    runSearchFile,
	})
}

func (in *searchIn) check() error {
	switch {
	case in.Query == "":
		return errors.New("query is empty; say what to look for")
	case strings.ContainsAny(in.Query, "\r\n"):
		return errors.New("query holds a line break, and lines are searched one by one; look for a part that stands in one line")
	case len(in.Query) > maxPatternBytes:
		return fmt.Errorf("query is longer than %d bytes", maxPatternBytes)
	}
	if in.ContextLines == nil {
		in.ContextLines = jsonschema.Ptr(searchAround)
	}
	return needPath(in.Path)
}

func runSearchFile(ctx context.Context, call tools.Call, in searchIn) (tools.Output, error) {
	m, err := newMatcher(regexp.QuoteMeta(in.Query), false)
	if err != nil {
		return tools.Output{}, err
	}
	held, err := hold(call, in.Path, tools.ForReading)
	if err != nil {
		return tools.Output{}, err
	}
	defer held.Close()
	f, info, err := held.OpenFile()
	if err != nil {
		return tools.Output{}, err
	}
	defer f.Close()
	r, _ := reader(f, info.Size(), maxSearch)
	var buf bytes.Buffer
	s, err := readSearched(r, info.Size(), &buf)
	if err != nil {
		return tools.Output{}, fmt.Errorf("reading %s: %w", held.Path.Shown, reason(err))
	}
	if binary(s.data) {
		return tools.Output{Text: describeBinary(held.Path.Shown, s.data[:min(len(s.data), sniffed)], info.Size())}, nil
	}
	return tools.Output{Text: searchText(ctx, in, m, s, held.Path.Shown)}, ctx.Err()
}

func searchText(ctx context.Context, in searchIn, m *matcher, s searched, shown string) string {
	total := m.count(ctx, s, math.MaxInt, new([]byte))
	note := ""
	if s.cut {
		note = fmt.Sprintf(" (only its first %d MiB were searched)", maxSearch>>20)
	}
	if total == 0 {
		return fmt.Sprintf("%q does not stand in %s%s.", in.Query, shown, note)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s in %s%s:\n", count(total, "match"), shown, note)
	e := excerpt{out: &out, around: *in.ContextLines, take: maxSearchShown, room: maxText}
	if n := e.write(ctx, m, s); n < total {
		fmt.Fprintf(&out, "[the first %d of them; read_file shows the rest from line %d on]\n", n, e.written)
	}
	return out.String()
}
