package outline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"nod/approvals"
	"nod/tools"
	"nod/tools/confined"
)

const (
	// MaxFile is the largest file that is outlined, in bytes.
	MaxFile = 2 << 20
	// maxUnsized is how much is read of a file that says it is empty and is not, as in /proc, in bytes; unsizedWait is how
	// long that may take.
	maxUnsized  = 64 << 10
	unsizedWait = 2 * time.Second
)

type outlineIn struct {
	Path string `json:"path" jsonschema:"source file, relative to the workspace or absolute"`
}

// Tools is get_ast_outline. Labels show paths relative to w; the calls themselves use the workspace of their scope.
func Tools(w *tools.Workspace) []tools.Tool { return []tools.Tool{getASTOutline(w, newPool())} }

func getASTOutline(w *tools.Workspace, pool *confined.Pool) tools.Tool {
	return tools.New(tools.Spec[outlineIn]{
		Name: tools.GetASTOutline,
		Description: "Lists the definitions in a source file (functions, types, classes, methods; keys, headings or selectors where a " +
			"format has those) without their bodies, with line numbers. Use it to find your way in a long file, then read_file for the " +
			"lines that matter. Knows " + strings.Join(endings(), " ") + ".",
		Traits: tools.Traits{Category: tools.Filesystem, Effect: tools.Read},
		Check: func(in *outlineIn) error {
			if in.Path == "" {
				return errors.New("path is empty; name the file")
			}
			return checkEnding(in.Path)
		},
		Label:  func(in outlineIn, _ bool) string { return tools.Quote(w.Shown(in.Path)) },
		Target: func(in outlineIn) string { return w.Shown(in.Path) },
		Judge:  judge,
		Run: func(ctx context.Context, call tools.Call, in outlineIn) (tools.Output, error) {
			return run(ctx, call, in, pool)
		},
	})
}

// checkEnding refuses what nothing here can read.
func checkEnding(path string) error {
	if _, known := languageOf(path); known {
		return nil
	}
	return fmt.Errorf("%s has no outline: its ending is none of %s; read_file shows it, search_file finds lines in it",
		filepath.Base(path), strings.Join(endings(), " "))
}

// judge tells the gate which path is read. It looks at no content: what is there must not show before the gate spoke.
func judge(_ context.Context, scope tools.Scope, in outlineIn) (tools.Judged, error) {
	place, err := scope.Workspace.Resolve(in.Path, tools.ForReading)
	if err != nil {
		return tools.Judged{}, err
	}
	judged := tools.Judged{Paths: []approvals.Path{place.Path}, Subject: approvals.Subject{Facts: place.Facts()}}
	if !place.Inside {
		judged.Subject.Notes = append(judged.Subject.Notes, "Outside of the workspace: "+place.Path.Canonical)
	}
	return judged, nil
}

func run(ctx context.Context, call tools.Call, in outlineIn, pool *confined.Pool) (tools.Output, error) {
	held, err := call.Scope.Workspace.Hold(in.Path, tools.ForReading, call.Approved.Subject())
	if err != nil {
		return tools.Output{}, err
	}
	defer held.Close()
	// A link may lead to a file of another kind than its own name says.
	if err := checkEnding(held.Path.Canonical); err != nil {
		return tools.Output{}, err
	}
	content, err := read(held)
	if err != nil {
		return tools.Output{}, err
	}
	shown := held.Path.Shown
	f, err := inChild(ctx, pool, filepath.Base(held.Path.Canonical), content)
	if broken, ok := errors.AsType[*confined.BrokenError](err); ok {
		call.Log.Warn("a child that outlined a file broke down", "call", call.ID, "tool", tools.GetASTOutline, "err", broken.Detail)
		return tools.Output{}, fmt.Errorf("outlining %s: %w; nothing else came to harm, and search_file and read_file still work on it", shown, err)
	}
	if err != nil {
		return tools.Output{}, fmt.Errorf("outlining %s: %w", shown, err)
	}
	return tools.Output{Text: f.text(shown, lineCount(content))}, nil
}

// read is the content of a text file.
func read(held *tools.Held) ([]byte, error) {
	f, info, err := held.OpenFile()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	shown, size := held.Path.Shown, info.Size()
	if size > MaxFile {
		return nil, fmt.Errorf("%s has %d bytes, and files over %d bytes are not outlined; use search_file or read_file", shown, size, MaxFile)
	}
	if size == 0 {
		// Only what the poller watches can wait for data, and only that takes a deadline.
		_ = f.SetReadDeadline(time.Now().Add(unsizedWait))
		size = maxUnsized
	}
	content, err := io.ReadAll(io.LimitReader(f, size)) // a file that grows meanwhile ends where it did
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, fmt.Errorf("reading %s: %w", shown, err)
	}
	if bytes.IndexByte(content, 0) >= 0 {
		return nil, fmt.Errorf("%s is not text, so it has no outline", shown)
	}
	return content, nil
}

func lineCount(content []byte) int {
	n := bytes.Count(content, []byte("\n"))
	if len(content) > 0 && content[len(content)-1] != '\n' {
		n++
	}
	return n
}
