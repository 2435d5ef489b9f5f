package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"nod/agent"
	"nod/approvals"
	"nod/tools"
)

// fileContext is one run context of nod.yaml.
type fileContext struct {
	Name   string   `yaml:"name"`
	Group  string   `yaml:"group"`
	Prompt []string `yaml:"prompt"`
	Dir    string   `yaml:"dir"`
	Reads  []string `yaml:"reads"`
	Writes []string `yaml:"writes"`

	line int // where it stands
}

// contexts are the run contexts of the file. What is wrong with one names its line.
func (l *loader) contexts(f file, home, workspace string) (all []agent.RunContext) {
	if slices.ContainsFunc(l.problems, func(p string) bool { return strings.Contains(p, " contexts[") }) {
		return nil // what was not understood would be called wrong once more
	}
	where := folders{home: canonical(home), workspace: canonical(workspace)}
	known := map[string]bool{}
	for _, given := range f.Contexts {
		c := agent.RunContext{Name: given.Name, Group: given.Group, Prompt: given.Prompt, Dir: given.Dir, Reads: given.Reads, Writes: given.Writes}
		err := c.Check(where)
		if err == nil && known[c.Name] {
			err = fmt.Errorf("there are two run contexts named %s", c.Name)
		}
		if err != nil {
			l.problem("nod.yaml", "line %d: %v", given.line, err)
			continue
		}
		known[c.Name] = true
		all = append(all, c)
	}
	return all
}

// folders knows where paths lead before the workspace is open.
type folders struct{ home, workspace string }

// Resolve implements agent.Folders.
func (w folders) Resolve(path string, _ tools.Access) (tools.Place, error) {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return tools.Place{}, fmt.Errorf("the folder ~/%s begins with ~, which is not expanded here; write it absolute, or relative to the workspace", rest)
	}
	full := path
	if !filepath.IsAbs(path) {
		full = filepath.Join(w.workspace, path)
	}
	full = canonical(filepath.Clean(full))
	p := tools.Place{Path: approvals.Path{Canonical: full, Shown: full}, Inside: within(full, w.workspace), Denied: within(full, w.home)}
	p.Private = !p.Inside || within(full, filepath.Join(w.workspace, "secrets"))
	if rel, err := filepath.Rel(w.workspace, full); p.Inside && err == nil {
		p.Path.Shown = rel
	}
	return p, nil
}
