package fs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/google/jsonschema-go/jsonschema"

	"nod/tools"
)

const (
	modeContent = "content"
	modeFiles   = "files_only"
	modeCount   = "count"

	grepResults    = 100
	maxGrepResults = 1000
)

type grepIn struct {
	Path          string `json:"path" jsonschema:"folder to search with all below it, or one file; relative to the workspace (which is .) or absolute"`
	Pattern       string `json:"pattern" jsonschema:"regular expression (RE2), matched line by line"`
	CaseSensitive bool   `json:"case_sensitive,omitempty" jsonschema:"tell upper from lower case (default false)"`
	IncludeGlob   string `json:"include_glob,omitempty" jsonschema:"only files like this: *.go, *.{ts,tsx}; with a slash it is matched against the path from the folder: src/**/*.go"`
	OutputMode    string `json:"output_mode,omitempty" jsonschema:"content (lines, the default), files_only (paths) or count (matching lines per file)"`
	ContextLines  int    `json:"context_lines,omitempty" jsonschema:"content: lines to show before and after each match, 0 to 10 (default 0)"`
	MaxResults    int    `json:"max_results,omitempty" jsonschema:"matches, or files, on one page (default 100, at most 1000)"`
	Offset        int    `json:"offset,omitempty" jsonschema:"matches, or files, to pass over: where the last page ended (default 0)"`
}

// Refine bounds the numbers and lists the modes.
func (grepIn) Refine(p map[string]*jsonschema.Schema) {
	p["output_mode"].Enum = []any{modeContent, modeFiles, modeCount}
	p["context_lines"].Minimum = jsonschema.Ptr(0.0)
	p["context_lines"].Maximum = jsonschema.Ptr(float64(maxAround))
	p["max_results"].Minimum = jsonschema.Ptr(1.0)
	p["max_results"].Maximum = jsonschema.Ptr(float64(maxGrepResults))
	p["offset"].Minimum = jsonschema.Ptr(0.0)
}

func grepFiles(w *tools.Workspace) tools.Tool {
	return tools.New(tools.Spec[grepIn]{
		Name: tools.GrepFiles,
		Description: "Searches the files in a folder and below for a regular expression. Paths in the result are relative to that folder. " +
			"Leaves out binary files, .git, secrets/ and what .gitignore names. Use this and not grep, rg or find in execute_cmd.",
		Traits: reads,
		Check:  (*grepIn).check,
		Label: func(in grepIn, full bool) string {
			if full {
				return fmt.Sprintf("%s in %s", tools.Quote(in.Pattern), w.Shown(in.Path))
			}
			return tools.Quote(in.Pattern)
		},
		Judge: judgeRead(func(in grepIn) string { return in.Path }),
		Run:   runGrepFiles,
	})
}

func (in *grepIn) check() error {
	if in.OutputMode == "" {
		in.OutputMode = modeContent
	}
	if in.MaxResults == 0 {
		in.MaxResults = grepResults
	}
	switch {
	case in.Pattern == "":
		return errors.New("pattern is empty; list_files lists files")
	case len(in.Pattern) > maxPatternBytes:
		return fmt.Errorf("pattern is longer than %d bytes", maxPatternBytes)
	case in.IncludeGlob != "" && !doublestar.ValidatePattern(in.IncludeGlob):
		return fmt.Errorf("include_glob %q is not a pattern like *.go or src/**/*.go", in.IncludeGlob)
	}
	if _, err := newMatcher(in.Pattern, in.CaseSensitive); err != nil {
		return err
	}
	return needPath(in.Path)
}

// wants says whether include_glob lets a file in.
func (in *grepIn) wants(rel, name string) bool {
	switch {
	case in.IncludeGlob == "":
		return true
	case strings.Contains(in.IncludeGlob, "/"):
		return doublestar.MatchUnvalidated(strings.TrimPrefix(in.IncludeGlob, "./"), rel)
	}
	return doublestar.MatchUnvalidated(in.IncludeGlob, name)
}

// enough is how many matches of one file a page can make use of: all that come before it, its own, and one more to know
// whether there is another page.
func (in *grepIn) enough() int {
	switch in.OutputMode {
	case modeFiles:
		return 1
	case modeCount:
		return maxSearch // there are no more lines
	}
	return in.Offset + in.MaxResults + 1
}

func runGrepFiles(ctx context.Context, call tools.Call, in grepIn) (tools.Output, error) {
	m, err := newMatcher(in.Pattern, in.CaseSensitive)
	if err != nil {
		return tools.Output{}, err
	}
	held, err := hold(call, in.Path, tools.ForReading)
	if err != nil {
		return tools.Output{}, err
	}
	defer held.Close()
	g := &grep{in: in, matcher: m, walk: walk{guard: call.Scope.Workspace.Guard()}}
	g.page = grepPage{in: &g.in}
	if held.IsFolder() {
		err = g.inFolder(ctx, held, call.Scope.Workspace)
	} else {
		err = g.inFile(ctx, held)
	}
	if err != nil {
		return tools.Output{}, fmt.Errorf("searching %s: %w", held.Path.Shown, reason(err))
	}
	return tools.Output{Text: g.page.text(g.walk.skipped)}, nil
}
