package approvals

import (
	"cmp"
	"path/filepath"
	"strings"
)

// maxWords is how much of a command the words of a rule repeat, in characters.
const maxWords = 200

// Words says what the rule does, for people: "ask before any tool", "allow writing files in /w/memory without asking".
// The text may hold what a model wrote: whoever shows it escapes it as any other.
func (r Rule) Words() string {
	if r.Args != nil && r.Note != "" {
		return r.Note
	}
	what := r.toolWords()
	if r.Args != nil {
		what += " with exactly the arguments " + clip(string(r.Args))
	}
	if r.Command != nil {
		what += " " + r.Command.words()
	}
	if r.Path != "" {
		what += " in " + strings.TrimPrefix(r.Path, GlobPrefix)
	}
	if r.Dir != "" {
		what += " in " + r.Dir
	}
	if r.Agent != "" {
		what += " by the agent " + r.Agent
	}
	switch r.Source {
	case Telegram:
		what += " in chats"
	case Cron:
		what += " in jobs"
	}
	switch {
	case r.Network:
		what += " with the network"
	case r.Command != nil:
		what += " without the network"
	}
	switch r.Action {
	case ActionAllow:
		if r.Seeded || r.Unattended {
			return "allow " + what + " without asking, in every turn"
		}
		return "allow " + what + " without asking"
	case ActionDeny:
		return "never allow " + what
	default:
		return "ask before " + what
	}
}

// Short says what the rule speaks of, with the name of its folder, for a button: "writing files in memory", "git log in code".
func (r Rule) Short() string {
	what := r.toolWords()
	if r.Command != nil {
		what = strings.Join(append([]string{r.Command.Program}, r.Command.Args...), " ")
	}
	if path := cmp.Or(r.Path, r.Dir); path != "" {
		what += " in " + filepath.Base(strings.TrimPrefix(path, GlobPrefix))
	}
	return what
}

// reason names the rule in a ruling.
func (r Rule) reason() string {
	reason := "rule " + r.ID + ": " + r.Words()
	if r.Note != "" && r.Args == nil {
		reason += " (" + r.Note + ")"
	}
	return reason
}

func (r Rule) toolWords() string {
	switch r.Tool {
	case "*":
		return "any tool"
	case FSRead:
		return "reading files"
	case FSWrite:
		return "writing files"
	case FSAny:
		return "reading or writing files"
	}
	if prefix, ok := strings.CutSuffix(r.Tool, "*"); ok {
		return "tools that begin with " + prefix
	}
	return r.Tool
}

// AlwaysWords says what ♾ Always would cover for this request: "always run exactly “git status” in /w, without the network
// and without asking, when an owner's own message asks for it". It is shown before the person confirms, below the subject in full.
func AlwaysWords(r Request) string {
	what := "always let " + r.Tool + " run with exactly these arguments"
	switch {
	case r.Subject.Kind == Command:
		what = "always run exactly “" + clip(strings.Join(strings.Fields(r.Subject.Text), " ")) + "”"
	case len(r.Paths) == 1:
		what += " on " + r.Paths[0].Shown
	}
	if r.Subject.Dir != "" {
		what += " in " + r.Subject.Dir
	}
	if len(r.scripts()) > 0 {
		what += ", as long as what it runs stays as it is"
	}
	switch {
	case r.Subject.Kind == Command:
		what += ", without the network and without asking"
	default:
		what += " without asking"
	}
	if r.UserWrite {
		what += ", when an owner's own message asks for it"
	} else {
		what += ", in chats and jobs"
	}
	if r.Agent != "main" {
		what += ", by any agent"
	}
	return what
}

// clip keeps the head of a text, cut between characters.
func clip(s string) string {
	n := 0
	for i := range s {
		if n == maxWords {
			return s[:i] + "…"
		}
		n++
	}
	return s
}
