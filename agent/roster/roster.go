// Package roster is the agents that there are: who they are, what they are told, and what they may use.
//
// An agent is a Markdown file: its front matter describes it, its text is what it is told about itself. nod brings some
// along; files in NOD_HOME/agents add others, or replace one of the same id. They are read at the time of use, so that an
// edit works from the next answer on. A file that can't be used is told, and the agent that it would replace stays. The
// package leaves to agent and agent/prompt what is made of an agent. A Roster may be used from many goroutines.
package roster

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

//go:embed agents/*.md
var embedded embed.FS

// Kind says what an agent is for.
type Kind string

const (
	Chat   Kind = "chat"   // talks to people
	Task   Kind = "task"   // does what another agent asks of it
	System Kind = "system" // nod's own: not listed, and it can't ask anybody
)

// Agent is one agent.
type Agent struct {
	ID           string
	Name         string
	Description  string // what it is good for, in a sentence, for other agents
	Kind         Kind
	Instructions string   // for whoever calls it: how to do that well
	Model        string   // that it prefers; "" takes what its caller has
	Tools        []string // names, or beginnings with a * at their end, of all that it may be offered; none means no limit
	Client       string   // which client it is meant for, as its file says; nod only tells it
	Text         string   // what it is told about itself
}

// Allows says whether the agent's own list has a tool.
func (a Agent) Allows(tool string) bool {
	return len(a.Tools) == 0 || slices.ContainsFunc(a.Tools, func(pattern string) bool {
		prefix, open := strings.CutSuffix(pattern, "*")
		return pattern == tool || open && strings.HasPrefix(tool, prefix)
	})
}

// Roster reads agents.
type Roster struct {
	dir string
	log *slog.Logger

	mu   sync.Mutex
	told map[string]string // the last problem of each file, so that it is logged once
}

// New reads the owner's agents in a folder, which need not exist.
func New(dir string, log *slog.Logger) *Roster {
	return &Roster{dir: dir, log: log, told: map[string]string{}}
}

// idForm is made when it is needed: each command starts this program anew, and would pay for it.
var idForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`)
})

// Find gives an agent: the owner's, else ours. Where the owner's can't be used, that is logged.
func (r *Roster) Find(id string) (Agent, error) {
	if !idForm().MatchString(id) {
		return Agent{}, fmt.Errorf("%q is no id of an agent", id)
	}
	agent, err := r.own(id)
	if err == nil {
		r.tell(id, nil)
		return agent, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		r.tell(id, err)
	}
	agent, ourErr := our(id)
	if errors.Is(ourErr, fs.ErrNotExist) {
		return Agent{}, fmt.Errorf("there is no agent %q: %w", id, err)
	}
	return agent, ourErr
}

// tell logs the problem of a file once, until it changes.
func (r *Roster) tell(id string, problem error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := ""
	if problem != nil {
		text = problem.Error()
	}
	if text != "" && r.told[id] != text {
		r.log.Warn("a file of an agent can't be used", "agent", id, "err", problem)
	}
	r.told[id] = text
}

// All lists the agents by id, and what keeps files from being used, which is also logged.
func (r *Roster) All() (all []Agent, problems []error) {
	ids, err := r.ids()
	if err != nil {
		problems = append(problems, err)
	}
	for _, id := range ids {
		agent, err := r.own(id)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, err)
			r.tell(id, err)
		}
		if err != nil {
			agent, err = our(id)
		}
		if err == nil {
			all = append(all, agent)
		}
	}
	return all, problems
}

// Embedded are the agents that nod brings along, by id.
func Embedded() []Agent {
	all, _ := (&Roster{}).All() // without a folder of the owner's there is nothing that could be wrong; TestEmbedded
	return all
}

// ids are those of all files, ours and the owner's. A name that can't be an id is a problem.
func (r *Roster) ids() (ids []string, err error) {
	all, err := ours()
	if err != nil {
		return nil, err
	}
	ids = slices.Collect(maps.Keys(all))
	entries, err := os.ReadDir(r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	for _, e := range entries {
		id, is := strings.CutSuffix(e.Name(), ".md")
		switch {
		case is && idForm().MatchString(id):
			ids = append(ids, id)
		case is:
			err = errors.Join(err, fmt.Errorf("agents/%s: an agent's id has up to 40 of a-z, 0-9 and -, and begins with a letter or digit", e.Name()))
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), err
}

// own reads a file of the owner's. One without front matter changes only the text of an agent that nod brings.
func (r *Roster) own(id string) (Agent, error) {
	if r.dir == "" {
		return Agent{}, fs.ErrNotExist
	}
	agent, err := readFile(os.DirFS(r.dir), id+".md", id)
	if err != nil || agent.Kind != "" {
		return agent, err
	}
	base, err := our(id)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		base = Agent{ID: id, Kind: Task, Name: id, Description: firstLine(agent.Text)}
	case err != nil:
		return Agent{}, err
	}
	base.Text = agent.Text
	return base, nil
}

// ours are the agents that nod brings along, read once.
var ours = sync.OnceValues(func() (map[string]Agent, error) {
	names, err := fs.Glob(embedded, "agents/*.md")
	all := map[string]Agent{}
	for _, name := range names {
		if err != nil {
			break
		}
		id := strings.TrimSuffix(path.Base(name), ".md")
		all[id], err = readFile(embedded, name, id)
	}
	return all, err
})

// our gives one of them; its error is fs.ErrNotExist where there is none of that id.
func our(id string) (Agent, error) {
	all, err := ours()
	agent, ok := all[id]
	if err == nil && !ok {
		err = fs.ErrNotExist
	}
	return agent, err
}

// maxFile bounds an agent's file, in bytes: its text is part of every request.
const maxFile = 64 << 10

// readFile reads an agent. Its Kind is "" where there is no front matter.
func readFile(files fs.FS, name, id string) (Agent, error) {
	f, err := files.Open(name)
	if err != nil {
		return Agent{}, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(raw) > maxFile {
		err = fmt.Errorf("it is longer than %d bytes", maxFile)
	}
	var agent Agent
	if err == nil {
		agent, err = parse(id, strings.ToValidUTF8(string(raw), "�"))
	}
	if err != nil {
		return Agent{}, fmt.Errorf("agents/%s.md: %w", id, err)
	}
	return agent, nil
}

// firstLine stands in for a description, clipped to what a list has room for.
func firstLine(text string) string {
	const limit = 200 // characters
	line, _, _ := strings.Cut(strings.TrimLeft(text, "# \n"), "\n")
	if r := []rune(line); len(r) > limit {
		line = string(r[:limit-1]) + "…"
	}
	return cmp.Or(line, "an agent of the owner's")
}
