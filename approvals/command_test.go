package approvals

import (
	"encoding/json"
	"testing"

	"nod/store"
)

// gitStatus is a rule as a person writes it.
func gitRule(change func(*CommandRule)) Rule {
	c := &CommandRule{Program: "git", Args: []string{"log"}, Flags: []string{"-s", "--short", "--"}}
	if change != nil {
		change(c)
	}
	return Rule{Tool: "execute_cmd", Command: c, Dir: "/w", Priority: PriorityPerson, Action: ActionAllow}
}

// program is a call of one program, of which those words lie in the workspace.
func program(operands []string, words ...string) Request {
	r := command("x")
	r.Program = &Program{Words: words, Operands: operands}
	return r
}

func TestSB1_FlagList(t *testing.T) {
	tests := []struct {
		name string
		rule Rule
		req  Request
		want Verdict
	}{
		{"as listed", gitRule(nil), program(nil, "git", "log", "-s", "--short", "-s"), Allow},
		{"nothing after it", gitRule(nil), program(nil, "git", "log"), Allow},
		{"less", gitRule(nil), program(nil, "git"), Ask},
		{"another subcommand", gitRule(nil), program(nil, "git", "push"), Ask},
		{"a flag before the subcommand", gitRule(nil), program(nil, "git", "-s", "log"), Ask},
		{"another flag", gitRule(nil), program(nil, "git", "log", "-p"), Ask},
		{"an abbreviation", gitRule(nil), program(nil, "git", "log", "--sho"), Ask},
		{"more than a flag", gitRule(nil), program(nil, "git", "log", "--short=x"), Ask},
		{"an empty word", gitRule(nil), program(nil, "git", "log", ""), Ask},
		{"another program", gitRule(nil), program(nil, "gitk", "log"), Ask},
		{"an operand", gitRule(nil), program([]string{"a"}, "git", "log", "a"), Ask},
		{"a listed operand", gitRule(func(c *CommandRule) { c.Operands = true }), program([]string{"a"}, "git", "log", "--", "a"), Allow},
		{"an operand elsewhere", gitRule(func(c *CommandRule) { c.Operands = true }), program([]string{"a"}, "git", "log", "a", "/etc"), Ask},
		{"a shell's line", gitRule(nil), func() Request { r := program(nil, "git", "log"); r.Program = nil; return r }(), Ask},
		{"another folder", gitRule(nil), func() Request { r := program(nil, "git", "log"); r.Subject.Dir = "/w/data"; return r }(), Ask},
		{"a script", gitRule(nil), func() Request { r := program(nil, "git", "log"); r.Program.Scripts = []Fact{{"script", "x"}}; return r }(), Ask},
		{"host", gitRule(nil), func() Request { r := program(nil, "git", "log"); r.MustAsk = true; return r }(), Ask},
		{"any command at all", Rule{Tool: "execute_cmd", Action: ActionAllow, Priority: 999}, program(nil, "git", "log"), Ask},
		{"any tool at all", Rule{Tool: "*", Action: ActionAllow, Priority: 999, Agent: "main"}, program(nil, "git", "log"), Ask},
		{"a deny goes for lines too", Rule{Tool: "execute_cmd", Action: ActionDeny, Priority: 999}, program(nil, "git", "log"), Deny},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := newRig(t)
			r.update(func(tx *store.Tx) error { return put(tx, withID(test.rule)) })
			ruling := r.judge(test.req)
			if ruling.Verdict != test.want {
				t.Errorf("got %s (%s), want %s", ruling.Verdict, ruling.Reason, test.want)
			}
			if approved, ok := ruling.Approved(); ok && (!approved.ByRule() || approved.Network()) {
				t.Errorf("by a rule: %v, network: %v", approved.ByRule(), approved.Network())
			}
		})
	}
}

func withID(r Rule) Rule {
	r.ID, r.Group = newID(), DefaultGroup
	return r
}

// What was let through by a press or by a bypass goes to a shell.
func TestSB1_OnlyRulesRunWithoutAShell(t *testing.T) {
	r := newRig(t)
	first := command("ls")
	p := r.ask(first)
	r.decide(p.ID, VerbGrantSession)
	pressed, err := r.redeem(p.ID, first)
	if err != nil || pressed.ByRule() {
		t.Errorf("a press: by a rule %v, %v", pressed.ByRule(), err)
	}
	bypassed, ok := r.judge(command("ls; id")).Approved()
	if !ok || bypassed.ByRule() {
		t.Errorf("a bypass: %v, by a rule %v", ok, bypassed.ByRule())
	}
}

// ♾ is not to be had for a line that takes a shell, also not by a forged press, and a rule from before asks again.
func TestSB1_AlwaysNeedsOneProgram(t *testing.T) {
	r := newRig(t)
	line := command("ls; id")
	line.Program = nil
	if line.Lasting() {
		t.Error("♾ is offered")
	}
	_, err := r.gate.Decide(r.ask(line).ID, owner, Decision{Verb: VerbAlways})
	wantErr(t, err, ErrUnfit)
	r.update(func(tx *store.Tx) error {
		return put(tx, withID(Rule{Tool: line.Tool, Args: line.Args, Dir: "/w", Priority: PriorityPerson, Action: ActionAllow}))
	})
	line.Call = store.NewCallID()
	if got := r.judge(line).Verdict; got != Ask {
		t.Errorf("an old rule: %s", got)
	}
}

// S-A3: a rule for a script is one for what is in it.
func TestSA3_AlwaysIsBoundToTheScript(t *testing.T) {
	r := newRig(t)
	run := func(content string) Request {
		req := command("sh build.sh")
		req.Program.Scripts = []Fact{{Name: "script /w/build.sh", Value: content}}
		return req
	}
	r.decide(r.ask(run("one")).ID, VerbAlways)
	if got := r.judge(run("one")).Verdict; got != Allow {
		t.Errorf("the same: %s", got)
	}
	for _, changed := range []Request{run("two"), command("sh build.sh")} {
		if got := r.judge(changed).Verdict; got != Ask {
			t.Errorf("%+v: %s", changed.Program, got)
		}
	}
}

func TestCommandRuleCheck(t *testing.T) {
	tests := map[string]Rule{
		"a path":             gitRule(func(c *CommandRule) { c.Program = "/usr/bin/git" }),
		"no program":         gitRule(func(c *CommandRule) { c.Program = "" }),
		"a wrapper":          gitRule(func(c *CommandRule) { *c = CommandRule{Program: "env", Operands: true} }),
		"a denial":           {Tool: "execute_cmd", Command: &CommandRule{Program: "rm"}, Dir: "/w", Action: ActionDeny},
		"every tool":         {Tool: "*", Command: &CommandRule{Program: "ls"}, Dir: "/w", Action: ActionAllow},
		"no folder":          {Tool: "execute_cmd", Command: &CommandRule{Program: "ls"}, Action: ActionAllow},
		"arguments too":      {Tool: "execute_cmd", Command: &CommandRule{Program: "ls"}, Dir: "/w", Args: json.RawMessage(`{}`), Action: ActionAllow},
		"a folder's pattern": {Tool: "execute_cmd", Command: &CommandRule{Program: "ls"}, Dir: "/w/../x", Action: ActionAllow},
	}
	for name, rule := range tests {
		if err := rule.Check(testSets); err == nil {
			t.Errorf("%s passes", name)
		}
	}
	for _, rule := range []Rule{gitRule(nil), gitRule(func(c *CommandRule) { *c = CommandRule{Program: "env"} })} {
		if err := rule.Check(testSets); err != nil {
			t.Error(err)
		}
	}
}
