package shell

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Bounds of a command.
const (
	// MaxTimeout is the longest time that a command may ask for.
	MaxTimeout = 600 * time.Second
	// MaxLine is the longest command line, and the longest word of a program, in bytes. Linux takes no single argument
	// over 128 KiB with its closing NUL (MAX_ARG_STRLEN in execve(2)).
	MaxLine = 128<<10 - 1
	// MaxOutput is how many bytes of cleaned output a Result carries, the marker line not counted.
	MaxOutput = 100_000
	// MaxSpill is how many bytes of cleaned output are written to Command.Spill.
	MaxSpill = 64 << 20
)

// Command is one command line, or one program with its words, and the circumstances that it runs in.
type Command struct {
	Line    string        // run as /bin/sh -c Line
	Program string        // instead of a line: the absolute path of a program, which is run without a shell
	Words   []string      // the program's arguments, its name first
	Dir     *Dir          // where it starts; stays open and the caller's
	Timeout time.Duration // over 0 and up to MaxTimeout
	Env     []string      // "NAME=value", added to the clean environment; wins over it
	Sandbox *Sandbox      // nil: none

	// Spill opens the place for the whole output and gives its name for the marker line. It is called
	// at most once, from a goroutine of Run, when the output outgrows MaxOutput; closing is the
	// caller's. Nil: what is left out is dropped.
	Spill func() (w io.Writer, name string, err error)

	std *stdio // of a Service
}

// Result tells how a command went. Exactly one of Exit ≥ 0 and Signal != "" holds, but for a command
// that was ended before it started, which has Exit -1 and no Signal.
type Result struct {
	Exit      int           // exit status, -1 when a signal ended the command
	Signal    string        // as in "SIGSEGV"
	TimedOut  bool          // the deadline ended it
	Cancelled bool          // the context ended it
	Duration  time.Duration // from the call to the end of the last process
	Leftovers int           // processes that a command left behind when it ended by itself, and that were killed

	Output   string // cleaned stdout and stderr in the order written; holds a marker line where Omitted > 0
	Total    int64  // bytes that the command wrote
	Omitted  int64  // bytes of cleaned output that Output lacks
	Spilled  int64  // bytes of cleaned output given to Spill
	SpillErr error  // why Spill is incomplete, other than by MaxSpill
}

func (c Command) check() error {
	if c.Program == "" {
		if err := checkLine(c.Line); err != nil {
			return err
		}
	}
	switch {
	case c.Program != "" && (!filepath.IsAbs(c.Program) || c.Line != "" || len(c.Words) == 0):
		return errors.New("a program needs its absolute path and its words, and no line beside them")
	case slices.ContainsFunc(c.Words, badWord):
		return fmt.Errorf("a word holds a NUL byte, or has more than the %d bytes that the system takes", MaxLine)
	case c.Dir == nil:
		return errors.New("the command has no folder to run in")
	case c.Timeout <= 0 || c.Timeout > MaxTimeout:
		return fmt.Errorf("the timeout %v is outside 1 s to %v", c.Timeout, MaxTimeout)
	case c.Sandbox != nil && !filepath.IsAbs(c.Sandbox.Workspace):
		return errors.New("the sandbox has no workspace")
	case slices.ContainsFunc(c.Env, badVariable):
		return errors.New("an environment variable is not of the form NAME=value, or holds a NUL byte")
	}
	return nil
}

func checkLine(line string) error {
	switch {
	case strings.TrimSpace(line) == "":
		return errors.New("the command is empty")
	case strings.ContainsRune(line, 0):
		return errors.New("the command holds a NUL byte, which no shell can take")
	case len(line) > MaxLine:
		return fmt.Errorf("the command has %d bytes, more than the %d that the system takes: write it to a script file and run that", len(line), MaxLine)
	}
	return nil
}

const sh = "/bin/sh"

// exec is what the system is told to execute: nothing for a Command that only tries the shim.
func (c Command) exec() (program string, words []string) {
	if c.Line != "" {
		return sh, []string{"sh", "-c", c.Line}
	}
	return c.Program, c.Words
}

func badWord(word string) bool { return len(word) > MaxLine || strings.ContainsRune(word, 0) }

func badVariable(v string) bool {
	return strings.IndexByte(v, '=') < 1 || strings.ContainsRune(v, 0)
}
