package approvals

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Program is a command that is one program with literal words, so that it runs the same without a shell. Only such a command
// can be let through by a rule, and then it runs as these words.
type Program struct {
	Words []string `json:"words"` // the program's bare name, then each word as the program gets it
	// Operands are the words that are plain paths and lie in the workspace, seen from the working folder.
	Operands []string `json:"operands,omitempty"`
	// Scripts are the files that it runs by name, as they are now.
	Scripts []Fact `json:"scripts,omitempty"`
}

// CommandRule narrows a rule to one program and the words that may follow it. There are no patterns: a word is compared byte by
// byte, since programs take abbreviations and joined flags that a pattern would miss.
type CommandRule struct {
	Program string `json:"program"` // its bare name, as it is found in nod's PATH
	// Args are the first words after the name, such as a subcommand: all of them, in this order.
	Args []string `json:"args,omitempty"`
	// Flags are words that may follow, in any order and number.
	Flags []string `json:"flags,omitempty"`
	// Operands lets plain paths in the workspace follow too: letters, digits and . _ / - without - at the beginning.
	Operands bool `json:"operands,omitempty"`
}

// covers says whether the rule's words are those of the program. A script that it runs may be changed, and so needs a rule
// that is bound to what is in it.
func (c CommandRule) covers(p *Program) bool {
	if p == nil || len(p.Scripts) > 0 || len(p.Words) < 1+len(c.Args) || p.Words[0] != c.Program {
		return false
	}
	words := p.Words[1:]
	if !slices.Equal(words[:len(c.Args)], c.Args) {
		return false
	}
	return !slices.ContainsFunc(words[len(c.Args):], func(word string) bool {
		return !slices.Contains(c.Flags, word) && !(c.Operands && slices.Contains(p.Operands, word))
	})
}

// ProgramName is what a program's bare name may be.
var ProgramName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+-]*$`)

func (c CommandRule) check(r Rule) error {
	switch {
	case !ProgramName.MatchString(c.Program):
		return fmt.Errorf("the program %q must be a bare name, without a folder", c.Program)
	case r.Action != ActionAllow:
		return errors.New("a command can only be allowed: whatever a list denies has another name too")
	case strings.ContainsAny(r.Tool, "*@"):
		return errors.New("a command needs the name of the one tool that it is for")
	case r.Args != nil || r.Path != "" || r.Dir == "":
		return errors.New("a command needs the one folder in which it may start")
	case c.Operands && runsOperands[c.Program]:
		return fmt.Errorf("%s runs what its operands name, so that any command would pass; list the words one by one", c.Program)
	}
	return nil
}

// runsOperands are programs of which a rule with operands would say something else than it seems to: they run a program or a
// script that an operand names. It only helps whoever writes a rule; nothing rests on its being complete.
var runsOperands = func() map[string]bool {
	names := map[string]bool{}
	for name := range strings.FieldsSeq(`sh bash dash zsh ksh fish csh tcsh busybox env sudo doas su nice ionice nohup setsid
		time timeout stdbuf chroot unshare nsenter xargs find parallel watch script strace ltrace gdb flock systemd-run
		awk gawk mawk sed perl python python2 python3 ruby node deno bun php lua tclsh pwsh make ninja just npm npx yarn`) {
		names[name] = true
	}
	return names
}()

// words says which commands the rule covers, for people.
func (c CommandRule) words() string {
	text := "“" + clip(strings.Join(append([]string{c.Program}, c.Args...), " ")) + "”"
	var also []string
	for _, flag := range c.Flags {
		also = append(also, "“"+clip(flag)+"”")
	}
	if c.Operands {
		also = append(also, "paths in the workspace")
	}
	if len(also) == 0 {
		return text + " and nothing after it"
	}
	return text + " with nothing after it but " + strings.Join(also, ", ")
}

// shellOnly says whether the call is a command that takes a shell, which no rule lets through.
func (r Request) shellOnly() bool { return r.Subject.Kind == Command && r.Program == nil }
