package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/approvals"
)

func TestRulesOfTheFileAreRead(t *testing.T) {
	s := newSetting(t, strings.Join([]string{
		"rules:",
		"  - {tool: write_file, path: inbox, action: allow, unattended: true, note: what jobs leave}",
		"  - {tool: \"@fs_any\", path: \"glob:/srv/**/*.key\", action: deny}",
		"  - group: work",
		"    agent: researcher",
		"    source: cron",
		"    tool: mcp__mail__*",
		"    action: require",
		"  - command:",
		"      program: git",
		"      args: [log]",
		"      flags: [-n, \"5\"]",
		"      operands: true",
		"    path: repo",
		"    action: allow",
		"    network: true",
		"  - {tool: execute_cmd, command: {program: df}, action: allow}",
		"  - {tool: \"*\", action: deny}",
	}, "\n"), nil)
	cfg, err := s.load()
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(canonical(cfg.Workspace), name) }
	want := []approvals.Rule{
		{Group: "default", Tool: "write_file", Path: in("inbox"), Action: approvals.ActionAllow, Unattended: true, Note: "what jobs leave"},
		{Group: "default", Tool: "@fs_any", Path: "glob:/srv/**/*.key", Action: approvals.ActionDeny},
		{Group: "work", Tool: "mcp__mail__*", Agent: "researcher", Source: approvals.Cron, Action: approvals.ActionRequire},
		{
			Group: "default", Tool: "execute_cmd", Dir: in("repo"), Action: approvals.ActionAllow, Network: true,
			Command: &approvals.CommandRule{Program: "git", Args: []string{"log"}, Flags: []string{"-n", "5"}, Operands: true},
		},
		{Group: "default", Tool: "execute_cmd", Dir: in(""), Action: approvals.ActionAllow, Command: &approvals.CommandRule{Program: "df"}},
		{Group: "default", Tool: "*", Action: approvals.ActionDeny},
	}
	if diff := cmp.Diff(want, cfg.Rules); diff != "" {
		t.Error(diff)
	}
}

func TestBadRulesNameTheirLines(t *testing.T) {
	for _, tt := range []struct{ rule, want string }{
		{"{tool: exeute_cmd, action: deny}", "there is no tool exeute_cmd"},
		{"{tool: nothing_*, action: deny}", "there is no tool nothing_*"},
		{"{tool: \"@fs_burn\", action: deny}", "there is no set of tools called @fs_burn"},
		{"{action: deny}", "a rule needs a tool"},
		{"{tool: execute_cmd, action: allow}", "no rule lets every call of execute_cmd through"},
		{"{command: {program: ./x}, action: allow}", "the program \"./x\" must be a bare name"},
		{"{command: {program: rm}, action: deny}", "a command can only be allowed"},
		{"{command: {program: env, operands: true}, action: allow}", "env runs what its operands name"},
		{"{tool: restart, command: {program: ls}, action: allow}", "a command is for the tool execute_cmd"},
		{"{tool: restart, action: perhaps}", "the action must be allow, require or deny"},
		{"{tool: restart, action: deny, source: mail}", "the source must be telegram or cron"},
		{"{tool: restart, action: deny, group: A b}", "a group's name has"},
		{"{tool: restart, action: deny, path: \"glob:/[\"}", "the pattern \"/[\" can't be read"},
		{"{tool: restart, actoin: deny}", "there is no setting rules[1].actoin"},
		{"{command: ls, action: allow}", "rules[1].command must be keys with values"},
		{"{command: {program: ls, args: -l}, action: allow}", "rules[1].command.args must be"},
		{"{tool: \"*\", action: deny}", "the group has a rule for every tool with another action"},
	} {
		got := newSetting(t, "log: info\nrules:\n  - {tool: \"*\", action: require}\n  - "+tt.rule+"\n", nil).problems()
		if len(got) != 1 || !strings.HasPrefix(got[0], "nod.yaml: line 4: "+tt.want) {
			t.Errorf("%s: %q", tt.rule, got)
		}
	}
}
