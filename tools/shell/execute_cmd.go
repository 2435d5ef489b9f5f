package shell

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"nod/approvals"
	"nod/tools"
)

const defaultTimeout = 120 // seconds

const description = `Run a shell command line (sh -c) and get its output, stdout and stderr together, and how it ended.
Use it for programs: builds, tests, git, package managers. For files use the tools made for them: read_file instead of cat, head or tail; edit_file or replace_lines instead of sed and awk; write_file instead of echo or a here-document; grep_files or search_file instead of grep; list_files instead of ls and find.
Each command starts in the workspace or in workdir, with a clean environment, without a terminal and with an empty standard input, so pass flags that keep programs from asking. Nothing outlives the command: background processes are ended with it. It may see only its own processes.`

// executeArgs are the arguments of execute_cmd.
type executeArgs struct {
	Command string `json:"command" jsonschema:"the command line, as for sh -c"`
	Workdir string `json:"workdir,omitempty" jsonschema:"absolute path of the folder to start in; the workspace when left out"`
	Timeout int    `json:"timeout,omitempty" jsonschema:"seconds after which the command is ended"`
}

// Refine adds the bounds of timeout.
func (executeArgs) Refine(properties map[string]*jsonschema.Schema) {
	properties["timeout"].Minimum = jsonschema.Ptr(1.0)
	properties["timeout"].Maximum = jsonschema.Ptr(MaxTimeout.Seconds())
	properties["timeout"].Default = []byte(fmt.Sprint(defaultTimeout))
}

// ExecuteCmd is the tool execute_cmd, whose commands r runs.
func ExecuteCmd(r *Runner) tools.Tool {
	return tools.New(tools.Spec[executeArgs]{
		Name:        tools.ExecuteCmd,
		Description: description,
		Traits:      tools.Traits{Category: tools.Shell, Effect: tools.Write},
		Check:       checkArgs,
		Label:       label,
		Judge:       judge,
		Run: func(ctx context.Context, call tools.Call, in executeArgs) (tools.Output, error) {
			return execute(ctx, r, call, in)
		},
	})
}

func checkArgs(in *executeArgs) error {
	in.Timeout = cmp.Or(in.Timeout, defaultTimeout)
	if in.Workdir != "" && !filepath.IsAbs(in.Workdir) {
		return fmt.Errorf("workdir %q is not an absolute path; leave it out to start in the workspace", in.Workdir)
	}
	return checkLine(in.Command)
}

// label is the program's name, or the whole command.
func label(in executeArgs, full bool) string {
	if full {
		return tools.Quote(in.Command)
	}
	for _, command := range split(in.Command) {
		for _, word := range command {
			if word != "" && !assigns(word) {
				return tools.Quote(word)
			}
		}
	}
	return ""
}

// Names of the facts that a nod to a command is bound to, beside those of its scripts.
const (
	factFolder      = "folder id"
	factEnvironment = "environment"
)

func judge(_ context.Context, scope tools.Scope, in executeArgs) (tools.Judged, error) {
	place, err := scope.Workspace.Resolve(in.Workdir, tools.ForReading)
	if err != nil {
		return tools.Judged{}, err
	}
	path := place.Path.Canonical
	dir, err := OpenDir(path)
	switch {
	case err == nil:
		defer dir.Close()
	case !place.Private && !place.Denied: // else the outcome would tell what is there before anybody nodded
		return tools.Judged{}, fmt.Errorf("the command can't start in %s: %w", place.Path.Shown, err)
	}
	facts, notes := circumstances(in, path, dir)
	return tools.Judged{
		Paths: []approvals.Path{place.Path},
		Subject: approvals.Subject{
			Kind: approvals.Command, Text: in.Command, Dir: path, Facts: facts,
			Notes: append([]string{fmt.Sprintf("ended after %d s at the latest", in.Timeout)}, notes...),
		},
	}, nil
}

// circumstances are what a command depends on beside its line, as they are now, and the lines that a card shows of
// them. dir is nil for a folder that is not there.
func circumstances(in executeArgs, path string, dir *Dir) (facts []approvals.Fact, notes []string) {
	folder := absent
	if dir != nil {
		folder = fmt.Sprintf("%d:%d", dir.Dev, dir.Ino)
	}
	environ := sha256.Sum256(slices.Concat(environment(nil)...))
	facts = []approvals.Fact{
		{Name: factFolder, Value: folder},
		{Name: factEnvironment, Value: hex.EncodeToString(environ[:])},
	}
	scripts, notes := scriptFacts(in.Command, path)
	return append(facts, scripts...), notes
}

// errDrifted is the outcome of a call whose circumstances changed in the instant between the last check and the start.
var errDrifted = errors.New("nothing ran: the folder or a script changed since the command was let through; look again and repeat the call")

// execute runs what the gate let through: in the folder that it judged, if all is as it was then.
func execute(ctx context.Context, r *Runner, call tools.Call, in executeArgs) (tools.Output, error) {
	subject := call.Approved.Subject()
	dir, err := OpenDir(subject.Dir)
	if err != nil {
		return tools.Output{}, fmt.Errorf("the command can't start: %w", err)
	}
	defer dir.Close()
	if facts, _ := circumstances(in, dir.Path, dir); dir.Path != subject.Dir || !slices.Equal(facts, subject.Facts) {
		return tools.Output{}, errDrifted
	}
	call.Log.Info("running a command", "command", in.Command, "dir", dir.Path, "timeout", in.Timeout, "how", call.Approved.How())
	res, err := r.Run(ctx, Command{
		Line: in.Command, Dir: dir, Timeout: time.Duration(in.Timeout) * time.Second,
		Spill: func() (io.Writer, string, error) { return call.OutputFile() },
	})
	if err != nil {
		return tools.Output{}, err
	}
	if res.SpillErr != nil {
		call.Log.Warn("keeping a long output", "err", res.SpillErr)
	}
	text := res.text()
	switch {
	case res.Cancelled:
		return tools.Output{Text: text}, context.Cause(ctx)
	case res.TimedOut:
		return tools.Output{}, errors.New(text)
	}
	return tools.Output{Text: text}, nil
}

// text is what the model reads: the output, and a last line on how it ended.
func (res Result) text() string {
	output := strings.TrimRight(res.Output, "\n")
	if output == "" {
		output = "(no output)"
	}
	var parts []string
	switch {
	case res.TimedOut:
		parts = append(parts, "timed out")
	case res.Cancelled:
		parts = append(parts, "stopped")
	}
	switch {
	case res.Signal != "":
		parts = append(parts, "ended by "+res.Signal)
	case res.Exit >= 0:
		parts = append(parts, fmt.Sprintf("exit %d", res.Exit))
	}
	parts = append(parts, fmt.Sprintf("%.1f s", res.Duration.Seconds()))
	switch {
	case res.Leftovers == 1:
		parts = append(parts, "1 background process was ended with it")
	case res.Leftovers > 1:
		parts = append(parts, fmt.Sprintf("%d background processes were ended with it", res.Leftovers))
	}
	return output + "\n[" + strings.Join(parts, " · ") + "]"
}
