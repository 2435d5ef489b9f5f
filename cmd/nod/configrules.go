package main

import (
	"cmp"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"nod/approvals"
	"nod/tools"
)

// fileRule is one rule of nod.yaml. They are consulted in their order, before what was given by button.
type fileRule struct {
	Group   string       `yaml:"group"`
	Tool    string       `yaml:"tool"`
	Path    string       `yaml:"path"` // a folder or file, or glob: and a pattern; of a command the folder that it starts in
	Agent   string       `yaml:"agent"`
	Source  string       `yaml:"source"`
	Action  string       `yaml:"action"`
	Command *fileCommand `yaml:"command"`
	Network bool         `yaml:"network"`
	// Unattended lets writes through also in turns that no owner's own message began.
	Unattended bool   `yaml:"unattended"`
	Note       string `yaml:"note"`

	line int // where it stands
}

type fileCommand struct {
	Program  string   `yaml:"program"`
	Args     []string `yaml:"args"`
	Flags    []string `yaml:"flags"`
	Operands bool     `yaml:"operands"`
}

// setLine notes where a list's item stands, for the checks that come later.
func setLine(item reflect.Value, line int) {
	switch item := item.Addr().Interface().(type) {
	case *fileRule:
		item.line = line
	case *fileContext:
		item.line = line
	}
}

// rules are those of the file. What is wrong with one names its line.
func (l *loader) rules(f file, workspace string) (rules []approvals.Rule) {
	if slices.ContainsFunc(l.problems, func(p string) bool { return strings.Contains(p, " rules[") }) {
		return nil // what was not understood would be called wrong once more
	}
	workspace = canonical(workspace)
	everything := map[string]approvals.Action{}
	for _, given := range f.Rules {
		rule, err := l.rule(given, workspace)
		if err == nil {
			err = rule.Check(tools.ToolSets())
		}
		if err == nil && rule.Everything() {
			if other, is := everything[rule.Group]; is && other != rule.Action {
				err = approvals.ErrCatchAll
			}
			everything[rule.Group] = rule.Action
		}
		if err != nil {
			l.problem("nod.yaml", "line %d: %v", given.line, err)
			continue
		}
		rules = append(rules, rule)
	}
	return rules
}

func (l *loader) rule(given fileRule, workspace string) (approvals.Rule, error) {
	rule := approvals.Rule{
		Group: cmp.Or(given.Group, approvals.DefaultGroup), Tool: given.Tool, Agent: given.Agent, Source: approvals.Source(given.Source),
		Action: approvals.Action(given.Action), Network: given.Network, Unattended: given.Unattended, Note: given.Note,
	}
	switch {
	case !approvals.GroupName(rule.Group):
		return rule, approvals.ErrGroupName
	case rule.Tool == "" && given.Command != nil:
		rule.Tool = tools.ExecuteCmd
	case rule.Tool == "":
		return rule, errors.New("a rule needs a tool, such as write_file, or a command")
	case !knownTool(rule.Tool):
		return rule, errors.New("there is no tool " + rule.Tool + "; /tools lists them, and those of MCP servers begin with mcp__")
	}
	path := l.rulePath(given.Path, workspace)
	if given.Command == nil {
		rule.Path = path
		return rule, rule.Useful(tools.ToolSets())
	}
	rule.Dir = cmp.Or(path, workspace)
	rule.Command = &approvals.CommandRule{Program: given.Command.Program, Args: given.Command.Args, Flags: given.Command.Flags, Operands: given.Command.Operands}
	if rule.Tool != tools.ExecuteCmd {
		return rule, errors.New("a command is for the tool " + tools.ExecuteCmd)
	}
	return rule, nil
}

// rulePath is a path of a rule as the rules compare it: absolute, from the workspace where it is relative, without links.
func (l *loader) rulePath(path, workspace string) string {
	pattern, isGlob := strings.CutPrefix(path, approvals.GlobPrefix)
	switch {
	case path == "":
		return ""
	case isGlob && !filepath.IsAbs(pattern):
		return approvals.GlobPrefix + filepath.Join(workspace, pattern)
	case isGlob:
		return path
	case path[0] != '~' && !filepath.IsAbs(path):
		return canonical(filepath.Join(workspace, path))
	}
	return canonical(l.path("rules", path, ""))
}

// knownTool says whether a rule's tool can be one: a typing mistake in a denial would go unseen.
func knownTool(name string) bool {
	if strings.HasPrefix(name, "mcp__") || strings.HasPrefix(name, "@") {
		return true // checked by the rule itself, or not there yet
	}
	prefix, isPrefix := strings.CutSuffix(name, "*")
	return slices.ContainsFunc(tools.Catalogue, func(e tools.Entry) bool {
		return e.Tool == name || isPrefix && strings.HasPrefix(e.Tool, prefix)
	})
}
