package approvals

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"nod/store"
)

// Action is what a rule says of the calls that it matches.
type Action string

const (
	ActionAllow   Action = "allow"   // runs without asking
	ActionRequire Action = "require" // a person is asked
	ActionDeny    Action = "deny"    // never runs, whatever else would let it
)

// DefaultGroup holds the rules that apply everywhere, after those of a run context's own group.
const DefaultGroup = "default"

// Priorities that rules are given. A rule of higher priority is consulted first; of two alike, the older one.
const (
	PriorityCatchAll = -100 // the last word of a group: `*`
	PrioritySeed     = 0    // defaults
	PriorityTool     = 50   // what a person decided on a tool as a whole
	PriorityPerson   = 100  // what a person decided on exactly one call, by ♾ Always
	PriorityNever    = 110  // what a person denied
	PriorityGuard    = 200  // denies that no ♾ Always may stand before
)

// GlobPrefix begins a Rule.Path that is a pattern. Without it a path is meant literally, so that a folder whose name
// holds a bracket or a star can't make a rule miss it.
const GlobPrefix = "glob:"

// maxPattern bounds tool and path patterns, in bytes.
const maxPattern = 4096

// Rule says what becomes of the calls that it matches. An empty filter matches everything.
type Rule struct {
	ID       string `json:"id"`
	Group    string `json:"group"`
	Priority int    `json:"priority"`
	// Tool is a name, "prefix*", "*", or a set: @fs_read, @fs_write, @fs_any.
	Tool string `json:"tool"`
	// Path is an absolute canonical file or folder and stands for all that lies in it; or GlobPrefix and a pattern of
	// path.Match, in which the component ** stands for any number of components. An allow covers a call only when all of
	// its paths match, and a pattern then matches whole paths; a deny or require needs one, or one that lies beneath a match.
	Path   string `json:"path,omitempty"`
	Agent  string `json:"agent,omitempty"`
	Source Source `json:"source,omitempty"`
	// Args, when set, are the exact canonical arguments; Dir is then the exact working folder. This is what ♾ Always writes.
	Args json.RawMessage `json:"args,omitempty"`
	Dir  string          `json:"dir,omitempty"`
	// Scripts are the files that the exact command runs, as they were.
	Scripts []Fact `json:"scripts,omitempty"`
	// Command, when set, is one program with listed words; Dir is the folder that it starts in.
	Command *CommandRule `json:"command,omitempty"`
	Action  Action       `json:"action"`
	Network bool         `json:"network,omitempty"` // an allowed command has the network, which it otherwise lacks
	// Unattended lets writes through also in turns that no owner's own typed words opened.
	Unattended bool         `json:"unattended,omitempty"`
	Note       string       `json:"note,omitempty"` // why, or for an exact rule what it covers, in words
	By         store.UserID `json:"by,omitempty"`   // who gave it; 0 for a default
	Created    time.Time    `json:"created,omitzero"`
	Seeded     bool         `json:"seeded,omitempty"` // a default that came with nod
	// FromFile marks a rule of nod.yaml, which stands there and is changed there.
	FromFile bool `json:"from_file,omitempty"`
}

// Names of the tool sets that rules refer to.
const (
	FSRead  = "@fs_read"
	FSWrite = "@fs_write"
	FSAny   = "@fs_any"
	// Commands are the tools that run command lines, of which no rule lets every call through.
	Commands = "@commands"
)

// ToolSets says which tools the names that begin with @ stand for. FSAny is FSRead and FSWrite together where it is not given.
type ToolSets map[string][]string

func (s ToolSets) has(set, tool string) bool {
	if tools, ok := s[set]; ok || set != FSAny {
		return slices.Contains(tools, tool)
	}
	return slices.Contains(s[FSRead], tool) || slices.Contains(s[FSWrite], tool)
}

// Matches says whether the rule speaks of the request. It does not look at the group.
func (r Rule) Matches(req Request, sets ToolSets) bool {
	return r.concerns(req.Tool, req.Agent, req.Source, sets) && r.matchesPaths(req.Paths) && r.matchesExactly(req) &&
		(r.Command == nil || r.Command.covers(req.Program))
}

// concerns is the part of Matches that needs no arguments.
func (r Rule) concerns(tool, agent string, source Source, sets ToolSets) bool {
	return r.matchesTool(tool, sets) && (r.Agent == "" || r.Agent == agent) && (r.Source == "" || r.Source == source)
}

// conditional says whether the rule depends on the arguments of a call.
func (r Rule) conditional() bool {
	return r.Path != "" || r.Args != nil || r.Dir != "" || r.Command != nil
}

func (r Rule) matchesTool(tool string, sets ToolSets) bool {
	if strings.HasPrefix(r.Tool, "@") {
		return sets.has(r.Tool, tool)
	}
	if prefix, ok := strings.CutSuffix(r.Tool, "*"); ok {
		return strings.HasPrefix(tool, prefix)
	}
	return r.Tool == tool
}

func (r Rule) matchesPaths(paths []Path) bool {
	if r.Path == "" {
		return true
	}
	match := func(p Path) bool { return matchPath(r.Path, p.Canonical, r.Action != ActionAllow) }
	if r.Action == ActionAllow {
		return len(paths) > 0 && !slices.ContainsFunc(paths, func(p Path) bool { return !match(p) })
	}
	return slices.ContainsFunc(paths, match)
}

func (r Rule) matchesExactly(req Request) bool {
	if r.Args == nil {
		return r.Dir == "" || r.Dir == req.Subject.Dir
	}
	want, err := normal(r.Args)
	if err != nil {
		return false
	}
	have, err := normal(req.Args)
	return err == nil && bytes.Equal(want, have) && r.Dir == req.Subject.Dir && slices.Equal(r.Scripts, req.scripts())
}

func (r Request) scripts() []Fact {
	if r.Program == nil {
		return nil
	}
	return r.Program.Scripts
}

// normal evens out what storing JSON inside of JSON changes: white space and the escapes of < > &.
func normal(args json.RawMessage) ([]byte, error) { return json.Marshal(args) }

// matchPath matches an absolute path; beneath also lets a pattern match what lies in a folder that it names.
func matchPath(pattern, name string, beneath bool) bool {
	if !path.IsAbs(name) || (!beneath && path.Clean(name) != name) {
		return false // an allow never rests on a path that was not made canonical
	}
	name = path.Clean(name)
	glob, ok := strings.CutPrefix(pattern, GlobPrefix)
	if !ok {
		return path.IsAbs(pattern) && under(path.Clean(pattern), name)
	}
	return path.IsAbs(glob) && matchGlob(components(glob), components(name), beneath)
}

// under says whether name is folder or lies in it, component by component: /x/safevil is not in /x/safe.
func under(folder, name string) bool {
	return name == folder || folder == "/" || strings.HasPrefix(name, folder+"/")
}

func components(p string) []string {
	return strings.FieldsFunc(p, func(c rune) bool { return c == '/' })
}

// matchGlob keeps the set of pattern positions that can be reached, so that many ** cost no more than their number.
func matchGlob(pattern, name []string, beneath bool) bool {
	reach := make([]bool, len(pattern)+1)
	reach[0] = true
	skipEmpty(reach, pattern)
	for _, component := range name {
		if beneath && reach[len(pattern)] {
			return true
		}
		next := make([]bool, len(reach))
		for i, p := range pattern {
			if !reach[i] {
				continue
			}
			if p == "**" {
				next[i] = true
			} else if ok, err := path.Match(p, component); ok && err == nil {
				next[i+1] = true
			}
		}
		skipEmpty(next, pattern)
		reach = next
	}
	return reach[len(pattern)]
}

// skipEmpty lets each ** stand for no component at all.
func skipEmpty(reach []bool, pattern []string) {
	for i, p := range pattern {
		if reach[i] && p == "**" {
			reach[i+1] = true
		}
	}
}

// Check finds what would make the rule match nothing, or not what its words say.
func (r Rule) Check(sets ToolSets) error {
	glob, isGlob := strings.CutPrefix(r.Path, GlobPrefix)
	_, globErr := path.Match(strings.ReplaceAll(glob, "/", ""), "")
	_, known := sets[r.Tool]
	switch {
	case r.Action != ActionAllow && r.Action != ActionRequire && r.Action != ActionDeny:
		return fmt.Errorf("the action must be allow, require or deny, not %q", r.Action)
	case r.Tool == "" || len(r.Tool) > maxPattern || len(r.Path) > maxPattern:
		return errors.New("a rule needs a tool, and patterns of at most 4096 bytes")
	case strings.HasPrefix(r.Tool, "@") && !known && r.Tool != FSAny:
		return fmt.Errorf("there is no set of tools called %s", r.Tool)
	case strings.Contains(strings.TrimSuffix(r.Tool, "*"), "*"):
		return fmt.Errorf("the tool %q may have a * at its end only", r.Tool)
	case r.Path != "" && !path.IsAbs(glob):
		return fmt.Errorf("the path %q must be absolute", r.Path)
	case r.Path != "" && path.Clean(glob) != glob:
		return fmt.Errorf("the path %q must be in its shortest form, without . and .. and doubled slashes", r.Path)
	case isGlob && globErr != nil:
		return fmt.Errorf("the pattern %q can't be read", glob)
	case r.Args != nil && !json.Valid(r.Args):
		return errors.New("the arguments are no JSON")
	case r.Source != "" && r.Source != Telegram && r.Source != Cron:
		return fmt.Errorf("the source must be telegram or cron, not %q", r.Source)
	case r.Dir != "" && (!path.IsAbs(r.Dir) || path.Clean(r.Dir) != r.Dir):
		return fmt.Errorf("the folder %q must be absolute and in its shortest form", r.Dir)
	case r.Command != nil:
		return r.Command.check(r)
	}
	return nil
}

// same says whether two rules say the same of the same calls.
func (r Rule) same(other Rule) bool {
	plain := func(r Rule) string {
		r.ID, r.Note, r.By, r.Created, r.Seeded, r.FromFile = "", "", 0, time.Time{}, false, false
		text, err := json.Marshal(r)
		if err != nil {
			return "" // Args that are no JSON; check refuses them
		}
		return string(text)
	}
	return plain(r) == plain(other)
}
