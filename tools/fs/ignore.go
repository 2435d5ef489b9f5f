package fs

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// ignore is what the .gitignore of one folder names, with those of the folders above it. A nil *ignore ignores nothing.
//
// The form is that of gitignore(5). The libraries for it are unmaintained or part of whole git implementations, and the
// wildcards are doublestar's already.
type ignore struct {
	above  *ignore
	folder string // of the file, absolute, with a slash at its end
	rules  []ignoreRule
}

// ignoreRule is one line of a .gitignore.
type ignoreRule struct {
	pattern  string
	suffix   string // for *.ext, which is most common
	literal  bool
	negated  bool // ! takes something back
	folders  bool // pattern/ means folders only
	anchored bool // a pattern with a slash is matched from the folder of its file, others against the last component
}

// parseIgnore reads a .gitignore that lies in folder. Lines that can't be understood match nothing, as in git.
func parseIgnore(above *ignore, folder, text string) *ignore {
	level := &ignore{above: above, folder: strings.TrimSuffix(folder, "/") + "/"}
	for line := range strings.Lines(text) {
		if rule, ok := parseIgnoreLine(strings.TrimRight(line, "\r\n")); ok {
			level.rules = append(level.rules, rule)
		}
	}
	if len(level.rules) == 0 {
		return above
	}
	return level
}

func parseIgnoreLine(line string) (rule ignoreRule, ok bool) {
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	if line == "" || line[0] == '#' {
		return rule, false
	}
	if line[0] == '!' {
		rule.negated, line = true, line[1:]
	}
	if strings.HasPrefix(line, `\#`) || strings.HasPrefix(line, `\!`) {
		line = line[1:]
	}
	line, rule.folders = strings.CutSuffix(line, "/")
	line, rule.anchored = strings.CutPrefix(line, "/")
	rule.anchored = rule.anchored || strings.Contains(line, "/")
	// Braces are plain characters here, and name/** is what lies in name, not name itself.
	line = strings.NewReplacer("{", `\{`, "}", `\}`).Replace(line)
	if inner, all := strings.CutSuffix(line, "/**"); all {
		line = inner + "/**/*"
	}
	rule.pattern = line
	rule.literal = !strings.ContainsAny(line, `*?[\`)
	if rest, star := strings.CutPrefix(line, "*"); star && rest != "" && !rule.anchored && !strings.ContainsAny(rest, `*?[\`) {
		rule.suffix = rest
	}
	return rule, line != "" && doublestar.ValidatePattern(line)
}

// matches says whether an entry of a walk is ignored: the nearest .gitignore that speaks of it decides, and in it the last line.
func (i *ignore) matches(path, name string, folder bool) bool {
	for level := i; level != nil; level = level.above {
		rel := path[len(level.folder):]
		for n := len(level.rules) - 1; n >= 0; n-- {
			rule := &level.rules[n]
			if (folder || !rule.folders) && rule.matches(rel, name) {
				return !rule.negated
			}
		}
	}
	return false
}

func (r *ignoreRule) matches(rel, name string) bool {
	target := name
	if r.anchored {
		target = rel
	}
	switch {
	case r.literal:
		return target == r.pattern
	case r.suffix != "":
		return strings.HasSuffix(target, r.suffix)
	}
	return doublestar.MatchUnvalidated(r.pattern, target)
}
