// Package prompt writes what stands around a conversation: the agent's text, guidance on its tools, the owner's notes, and
// the facts of the moment. It reads notes at the time of use, so that an edit works from the next answer on, and leaves who
// the agents are to agent/roster, and the history and what fits to package agent.
package prompt

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"
	"unicode/utf8"

	"nod/agent/roster"
	"nod/store"
	"nod/tools"
	"nod/tools/chat"
)

// maxNotes bounds what is taken from one file of notes, in bytes.
const maxNotes = 16 << 10

// Builder writes prompts.
type Builder struct {
	DB        *store.DB
	Workspace *tools.Workspace
	Zone      *time.Location
}

// Facts are what a prompt depends on.
type Facts struct {
	Agent roster.Agent
	Job   string          // the job's title, in a job's run
	Task  string          // the task's title, in one that runs in the background
	Root  store.SessionID // whose scratchpad is shown
	// Fragments are the run context's own words, and Dir is its folder within the workspace.
	Fragments []string
	Dir       string
	Offer     *tools.Offer
	Groups    []tools.Group // the lazy groups that there are
	Now       time.Time
}

// System is the text before the history. What changes least stands first, so that a service can cache it.
func (b *Builder) System(f Facts) (string, error) {
	parts := []string{agentText(f), guidance(f), servers(f)}
	parts = append(parts, f.Fragments...)
	for _, name := range []string{"AGENTS.md", "memory/MEMORY.md"} {
		parts = append(parts, b.notes(name))
	}
	pad, err := b.scratchpad(f.Root)
	if err != nil {
		return "", err
	}
	parts = append(parts, pad, b.moment(f))
	return joinParts(parts), nil
}

func joinParts(parts []string) string {
	var kept []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "\n\n")
}

// guidance is what goes for several tools at once; it names only tools that are offered.
func guidance(f Facts) string {
	var lines []string
	for i, line := range crossTool {
		if offered(f.Offer, needs()[i]...) {
			lines = append(lines, "- "+line)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return "# Using your tools\n\n" + strings.Join(lines, "\n")
}

func offered(o *tools.Offer, names ...string) bool {
	if o == nil {
		return false
	}
	for _, name := range names {
		if _, ok := o.Find(name); !ok {
			return false
		}
	}
	return true
}

// notes are a file of the owner's in the workspace, or nothing.
func (b *Builder) notes(name string) string {
	// Resolving a path takes many looks at the disk, and most workspaces have no notes.
	if _, err := b.Workspace.Root().Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	f, _, err := b.Workspace.OpenInside(name)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	raw := ""
	if err == nil {
		raw, err = readBounded(f, maxNotes)
	}
	if err != nil {
		return fmt.Sprintf("# %s\n\n(could not be read: %v)", name, err)
	}
	if strings.TrimSpace(raw) == "" {
		return ""
	}
	return fmt.Sprintf("# The owner's notes (%s)\n\n%s", name, raw)
}

func (b *Builder) scratchpad(session store.SessionID) (pad string, err error) {
	err = b.DB.View(func(tx *store.Tx) error {
		pad, err = chat.Scratchpad(tx, session)
		return err
	})
	if err != nil || pad == "" {
		return "", err
	}
	return "# Scratchpad (shared by the agents of this session)\n\n" + pad, nil
}

func (b *Builder) moment(f Facts) string {
	now := f.Now.In(b.Zone)
	text := fmt.Sprintf("# Now\n\nIt is %s, time zone %s.", now.Format("Monday, 2 January 2006, 15:04"), b.Zone)
	if f.Offer != nil && len(f.Offer.Tools) > 0 {
		text += fmt.Sprintf(" Your workspace is %s.", b.Workspace.Dir())
	}
	if f.Dir != "" {
		text += fmt.Sprintf(" You work in its folder %s: relative paths and commands begin there.", f.Dir)
	}
	switch {
	case f.Job != "":
		text += fmt.Sprintf(" You are running the scheduled job %q: nobody is watching.", f.Job)
	case f.Task != "":
		text += fmt.Sprintf(" You are working on the task %q in the background: nobody is watching.", f.Task)
	}
	return text
}

// readBounded reads the head of a file, cut at a rune's edge, and closes it.
func readBounded(f io.ReadCloser, limit int) (string, error) {
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err != nil {
		return "", err
	}
	if len(raw) <= limit {
		return strings.ToValidUTF8(string(raw), "�"), nil
	}
	for limit > 0 && !utf8.RuneStart(raw[limit]) {
		limit--
	}
	return strings.ToValidUTF8(string(raw[:limit]), "�") + "\n[… the rest of this file is left out: it is longer than what fits here]", nil
}
