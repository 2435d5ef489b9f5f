package approvals

import (
	"encoding/json"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRuleMatches(t *testing.T) {
	twoPaths := file("write_file", "/w/memory/a", true)
	twoPaths.Paths = append(twoPaths.Paths, Path{Canonical: "/w/b", Write: true})
	cron := command("git status")
	cron.Source, cron.Agent = Cron, "researcher"
	exact := json.RawMessage(`{"command":"git status"}`)

	tests := []struct {
		name string
		rule Rule
		req  Request
		want bool
	}{
		{"exact tool", Rule{Tool: "execute_cmd"}, command("x"), true},
		{"another tool", Rule{Tool: "execute_cm"}, command("x"), false},
		{"prefix", Rule{Tool: "exec*"}, command("x"), true},
		{"prefix of another", Rule{Tool: "mcp__*"}, command("x"), false},
		{"everything", Rule{Tool: "*"}, command("x"), true},
		{"set", Rule{Tool: FSRead}, file("read_file", "/w/a", false), true},
		{"set without the tool", Rule{Tool: FSWrite}, file("read_file", "/w/a", false), false},
		{"any is read and write", Rule{Tool: FSAny}, file("edit_file", "/w/a", true), true},
		{"unknown set", Rule{Tool: "@fs_burn"}, file("read_file", "/w/a", false), false},
		{"agent", Rule{Tool: "*", Agent: "researcher"}, cron, true},
		{"another agent", Rule{Tool: "*", Agent: "main"}, cron, false},
		{"source", Rule{Tool: "*", Source: Cron}, cron, true},
		{"another source", Rule{Tool: "*", Source: Telegram}, cron, false},
		{"exact arguments", Rule{Tool: "execute_cmd", Args: exact, Dir: "/w"}, command("git status"), true},
		{"other arguments", Rule{Tool: "execute_cmd", Args: exact, Dir: "/w"}, command("git status "), false},
		{"another folder", Rule{Tool: "execute_cmd", Args: exact, Dir: "/w/sub"}, command("git status"), false},
		{"no folder in the rule", Rule{Tool: "execute_cmd", Args: exact}, command("git status"), false},
		{"path of a call without paths", Rule{Tool: "*", Path: "/w", Action: ActionDeny}, command("x"), false},
		{"allow needs all paths", Rule{Tool: "*", Path: "/w/memory", Action: ActionAllow}, twoPaths, false},
		{"deny needs one path", Rule{Tool: "*", Path: "/w/memory", Action: ActionDeny}, twoPaths, true},
		{"require needs one path", Rule{Tool: "*", Path: "/w/b", Action: ActionRequire}, twoPaths, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.rule.Matches(test.req, testSets); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// An argument that < > & are part of is the same after a round through the database, which escapes them.
func TestExactArgumentsSurviveEscapes(t *testing.T) {
	req := command("x")
	req.Args = json.RawMessage(`{"command":"a <b> && c"}`)
	rule, err := exactly(req, owner)
	if err != nil {
		t.Fatal(err)
	}
	if !rule.Matches(req, testSets) {
		t.Error("the rule made of a call must match that call")
	}
}

func TestMatchPath(t *testing.T) {
	tests := []struct {
		pattern, name  string
		whole, beneath bool // as an allow, and as a deny
	}{
		{"/x/safe", "/x/safe", true, true},
		{"/x/safe", "/x/safe/a/b", true, true},
		{"/x/safe", "/x/safevil", false, false},
		{"/x/safe", "/x", false, false},
		{"/x/safe", "/x/safe/../evil", false, false},
		{"/x/safe", "/x/evil/../safe/a", false, true}, // not canonical: no allow, yet a deny
		{"/x/safe", "x/safe", false, false},
		{"/x/safe", "", false, false},
		{"x", "/x", false, false},
		{"/", "/anything", true, true},
		{"/a[b]c", "/a[b]c/d", true, true}, // no pattern without the prefix
		{"/a[b]c", "/abc/d", false, false},
		{"/a*", "/abc", false, false},
		{"glob:/w/*.go", "/w/a.go", true, true},
		{"glob:/w/*.go", "/w/sub/a.go", false, false},
		{"glob:/w/*.go", "/w/a.go/b", false, true},
		{"glob:/w/**/*.key", "/w/a.key", true, true},
		{"glob:/w/**/*.key", "/w/a/b/c.key", true, true},
		{"glob:/w/**/*.key", "/wa/b.key", false, false},
		{"glob:/w/**", "/w", true, true},
		{"glob:/w/**", "/w/a/b", true, true},
		{"glob:/**/secrets", "/a/secrets/x", false, true},
		{"glob:/**/secrets", "/a/secretsx", false, false},
		{"glob:/w/[", "/w/[", false, false}, // can't be read: matches nothing, and check refuses it
		{"glob:w/*", "/w/a", false, false},
	}
	for _, test := range tests {
		whole, beneath := matchPath(test.pattern, test.name, false), matchPath(test.pattern, test.name, true)
		if whole != test.whole || beneath != test.beneath {
			t.Errorf("%s on %q: got %v and beneath %v, want %v and %v", test.pattern, test.name, whole, beneath, test.whole, test.beneath)
		}
	}
}

func TestRuleCheck(t *testing.T) {
	ok := Rule{Tool: "*", Action: ActionAllow}
	tests := map[string]func(*Rule){
		"action":        func(r *Rule) { r.Action = "maybe" },
		"no tool":       func(r *Rule) { r.Tool = "" },
		"long tool":     func(r *Rule) { r.Tool = strings.Repeat("a", maxPattern+1) },
		"star inside":   func(r *Rule) { r.Tool = "a*b" },
		"unknown set":   func(r *Rule) { r.Tool = "@fs_burn" },
		"relative path": func(r *Rule) { r.Path = "memory" },
		"dotted path":   func(r *Rule) { r.Path = "/w/../etc" },
		"slash at end":  func(r *Rule) { r.Path = "/w/" },
		"bad pattern":   func(r *Rule) { r.Path = "glob:/w/[" },
		"relative glob": func(r *Rule) { r.Path = "glob:*.go" },
		"no JSON":       func(r *Rule) { r.Args = json.RawMessage(`{`) },
		"source":        func(r *Rule) { r.Source = "email" },
	}
	if err := ok.Check(testSets); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range tests {
		r := ok
		spoil(&r)
		if r.Check(testSets) == nil {
			t.Errorf("%s: a rule that says nothing clear was taken", name)
		}
	}
}

// TestShortWords: on a button two rules about files can be told apart.
func TestShortWords(t *testing.T) {
	for _, c := range []struct {
		rule Rule
		want string
	}{
		{Rule{Tool: FSAny, Path: "/w/secrets"}, "reading or writing files in secrets"},
		{Rule{Tool: FSWrite, Path: "/w/memory"}, "writing files in memory"},
		{Rule{Tool: FSRead, Path: "glob:/w/**/*.go"}, "reading files in *.go"},
		{Rule{Tool: "execute_cmd", Command: &CommandRule{Program: "git", Args: []string{"log"}}, Dir: "/w/code"}, "git log in code"},
		{Rule{Tool: "*"}, "any tool"},
		{Rule{Tool: "restart"}, "restart"},
	} {
		if got := c.rule.Short(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.rule, got, c.want)
		}
	}
}

func TestWords(t *testing.T) {
	long := strings.Repeat("é", maxWords+1)
	tests := []struct {
		rule Rule
		want string
	}{
		{Rule{Tool: FSWrite, Path: "/w/memory", Action: ActionAllow}, "allow writing files in /w/memory without asking"},
		{Rule{Tool: FSAny, Path: "/w/secrets", Action: ActionDeny}, "never allow reading or writing files in /w/secrets"},
		{Rule{Tool: FSRead, Path: "glob:/w/*.go", Action: ActionRequire}, "ask before reading files in /w/*.go"},
		{Rule{Tool: "*", Action: ActionRequire}, "ask before any tool"},
		{Rule{Tool: "mcp__mail__*", Agent: "main", Source: Cron, Action: ActionDeny}, "never allow tools that begin with mcp__mail__ by the agent main in jobs"},
		{Rule{Tool: "execute_cmd", Source: Telegram, Dir: "/w", Action: ActionRequire}, "ask before execute_cmd in /w in chats"},
		{
			Rule{Tool: "execute_cmd", Command: &CommandRule{Program: "git", Args: []string{"log"}, Flags: []string{"-n", "5"}, Operands: true}, Dir: "/w", Action: ActionAllow},
			"allow execute_cmd “git log” with nothing after it but “-n”, “5”, paths in the workspace in /w without the network without asking",
		},
		{
			Rule{Tool: "execute_cmd", Command: &CommandRule{Program: "df"}, Dir: "/w", Action: ActionAllow, Network: true, Unattended: true},
			"allow execute_cmd “df” and nothing after it in /w with the network without asking, in every turn",
		},
		{Rule{Tool: "a", Args: json.RawMessage(`"` + long + `"`), Action: ActionAllow}, `allow a with exactly the arguments "` + long[:2*(maxWords-1)] + `… without asking`},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, test.rule.Words()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestAlwaysWords(t *testing.T) {
	edit := file("edit_file", "/w/notes.md", true)
	mcp := command("")
	mcp.Tool, mcp.Subject = "mcp__mail__send", Subject{Kind: Arguments, Text: "{}"}
	read := file("read_file", "/etc/hosts", false)
	script := command("sh a.sh")
	script.Agent, script.Program.Scripts = "researcher", []Fact{{Name: "script /w/a.sh", Value: "SHA-256 0"}}
	tests := []struct {
		req  Request
		want string
	}{
		{command("git status"), "always run exactly “git status” in /w, without the network and without asking, when an owner's own message asks for it"},
		{edit, "always let edit_file run with exactly these arguments on notes.md without asking, when an owner's own message asks for it"},
		{mcp, "always let mcp__mail__send run with exactly these arguments without asking, when an owner's own message asks for it"},
		{read, "always let read_file run with exactly these arguments on hosts without asking, in chats and jobs"},
		{script, "always run exactly “sh a.sh” in /w, as long as what it runs stays as it is, without the network and without asking, when an owner's own message asks for it, by any agent"},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, AlwaysWords(test.req)); diff != "" {
			t.Error(diff)
		}
		rule, err := exactly(test.req, owner)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, rule.Words()); diff != "" {
			t.Errorf("the rule says something else than was confirmed: %s", diff)
		}
	}
}

func FuzzRule(f *testing.F) {
	f.Add("execute_cmd", "/x/safe", "execute_cmd", "/x/safevil", `{"a":1}`)
	f.Add("@fs_any", "glob:/x/**/a*", "read_file", "/x/b/../a", `{"a":1,"a":2}`)
	f.Add("*", "glob:/[", "", "\xff/", `{`)
	f.Add("**", "/", "x", "//", "")
	f.Fuzz(func(t *testing.T, toolPattern, pathPattern, tool, name, args string) {
		req := Request{Tool: tool, Args: json.RawMessage(args), Paths: []Path{{Canonical: name}}}
		for _, action := range []Action{ActionAllow, ActionRequire, ActionDeny} {
			r := Rule{Tool: toolPattern, Path: pathPattern, Action: action}
			_ = r.Check(testSets)
			_ = r.Words()
			matches := r.Matches(req, testSets)
			if matches && pathPattern != "" && !reaches(pathPattern, path.Clean(name)) {
				t.Errorf("%s %q matches %q, which lies outside of it", action, pathPattern, name)
			}
			if matches && action == ActionAllow && pathPattern != "" && path.Clean(name) != name {
				t.Errorf("an allow for %q matches %q, which is not canonical", pathPattern, name)
			}
			r = Rule{Tool: toolPattern, Args: json.RawMessage(args), Action: action}
			if !json.Valid(req.Args) && r.Matches(req, testSets) {
				t.Errorf("arguments that are no JSON match: %q", args)
			}
		}
	})
}

// reaches is an oracle by other means: it compares the components before the first that holds a special character.
func reaches(pattern, name string) bool {
	glob, isGlob := strings.CutPrefix(pattern, GlobPrefix)
	have := strings.Split(name, "/")
	for i, want := range strings.Split(path.Clean(glob), "/") {
		if want == "" {
			continue
		}
		if isGlob && strings.ContainsAny(want, `*?[\`) {
			return true
		}
		if i >= len(have) || have[i] != want {
			return false
		}
	}
	return true
}
