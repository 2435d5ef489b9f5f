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

const description = `Runs a shell command line (sh -c) and gives its output, stdout and stderr together, and how it ended.
Use it for programs: builds, tests, git, package managers. For files use the tools made for them: read_file instead of cat, head or tail; edit_file or replace_lines instead of sed and awk; write_file instead of echo or a here-document; grep_files or search_file instead of grep; list_files instead of ls and find.
Each command starts in the workspace or in workdir, with a clean environment, without a terminal and with an empty standard input, so pass flags that keep programs from asking. Nothing outlives the command: background processes are ended with it. It may see only its own processes.
Commands run in a sandbox as far as the machine has one: they can read the system and write in the workspace; /tmp is new and empty each time, HOME is the folder .home of the workspace, keys and sockets are hidden, and the network is there only when the user approved that very command. When a command must do more, call again with access "host", which always asks the user; try without first.`

// executeArgs are the arguments of execute_cmd.
type executeArgs struct {
	Command string `json:"command" jsonschema:"the command line, as for sh -c"`
	Workdir string `json:"workdir,omitempty" jsonschema:"absolute path of the folder to start in; the workspace when left out"`
	Timeout int    `json:"timeout,omitempty" jsonschema:"seconds after which the command is ended"`
	Access  string `json:"access,omitempty" jsonschema:"workspace: in the sandbox; host: outside of it, which the user is asked for every time"`
}

// Values of access.
const (
	accessWorkspace = "workspace"
	accessHost      = "host"
)

// Refine adds the bounds of timeout and the values of access.
func (executeArgs) Refine(properties map[string]*jsonschema.Schema) {
	properties["access"].Enum = []any{accessWorkspace, accessHost}
	properties["access"].Default = []byte(`"` + accessWorkspace + `"`)
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
		Judge: func(_ context.Context, scope tools.Scope, in executeArgs) (tools.Judged, error) {
			return judge(r, scope, in)
		},
		Run: func(ctx context.Context, call tools.Call, in executeArgs) (tools.Output, error) {
			return execute(ctx, r, call, in)
		},
	})
}

func checkArgs(in *executeArgs) error {
	in.Timeout = cmp.Or(in.Timeout, defaultTimeout)
	if in.Access == accessWorkspace { // one form for what is the same call
		in.Access = ""
	}
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

func judge(r *Runner, scope tools.Scope, in executeArgs) (tools.Judged, error) {
	if _, err := r.choose(Command{Sandbox: sandbox(scope, in, true)}); err != nil {
		return tools.Judged{}, err
	}
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
	judged := tools.Judged{
		Paths: []approvals.Path{place.Path}, Program: r.program(scope, in, path),
		Subject: approvals.Subject{
			Kind: approvals.Command, Text: in.Command, Dir: path, Facts: facts,
			Notes: slices.Concat([]string{fmt.Sprintf("stopped after %d s at the latest", in.Timeout)}, notes, []string{r.note(in)}, r.givenNote()),
		},
	}
	if in.Access == accessHost {
		judged.MustAsk, judged.Subject.Warning = true, "⚠️ On the host, outside of the sandbox: it can do all that nod's user can."
	}
	return judged, nil
}

// sandbox is what the call may do, nil for everything.
func sandbox(scope tools.Scope, in executeArgs, network bool) *Sandbox {
	if in.Access == accessHost {
		return nil
	}
	workspace := scope.Workspace.Dir()
	return &Sandbox{Workspace: workspace, Closed: append(scope.Workspace.Closed(), personal(workspace)...), Network: network}
}

// note says on the card what the sandbox will be if a person approves. What the person nods to is bound to it.
func (r *Runner) note(in executeArgs) string {
	strength := None
	if in.Access != accessHost {
		strength, _ = r.Strength()
	}
	return fmt.Sprintf("🛡 sandbox: %v · network on", strength)
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
	box := sandbox(call.Scope, in, call.Approved.Network())
	command := Command{
		Dir: dir, Timeout: time.Duration(in.Timeout) * time.Second, Sandbox: box,
		Spill: func() (io.Writer, string, error) { return call.OutputFile() },
	}
	if call.Approved.Network() {
		command.Env = r.given()
	}
	if command, err = r.letBy(call.Approved, command, in.Command); err != nil {
		return tools.Output{}, err
	}
	call.Log.Info("running a command", "command", in.Command, "dir", dir.Path, "timeout", in.Timeout, "shell", command.Program == "",
		"host", box == nil, "network", call.Approved.Network(), "how", call.Approved.How())
	res, err := r.Run(ctx, command)
	if err != nil {
		return tools.Output{}, err
	}
	if res.SpillErr != nil {
		call.Log.Warn("keeping a long output", "err", res.SpillErr)
	}
	text := res.text(r.hint(box, res))
	switch {
	case res.Cancelled:
		return tools.Output{Text: text}, context.Cause(ctx)
	case res.TimedOut:
		return tools.Output{}, errors.New(text)
	}
	return tools.Output{Text: text}, nil
}

// letBy says what is run: a line that a person, or a bypass of a person's, let through goes to a shell; what a rule let
// through runs as the words that the rule was compared with.
func (r *Runner) letBy(nod approvals.Approved, c Command, line string) (Command, error) {
	if !nod.ByRule() {
		c.Line = line
		return c, nil
	}
	words, ok := literalWords(line)
	judged := nod.Request().Program
	if !ok || judged == nil || !slices.Equal(words, judged.Words) || c.Sandbox == nil {
		return c, errDrifted
	}
	program, err := r.find(words[0], c.Sandbox.Workspace)
	if err != nil {
		return c, fmt.Errorf("nothing ran: %w", err)
	}
	c.Program, c.Words = program, words
	return c, nil
}

// text is what the model reads: the output, and a last line on how it ended, with a hint if there is one.
func (res Result) text(hint string) string {
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
	if hint != "" {
		parts = append(parts, hint)
	}
	return output + "\n[" + strings.Join(parts, " · ") + "]"
}
