package main

import (
	"fmt"
	"strings"
	"time"

	"nod/tools"
	"nod/tools/shell"
)

// toolLine is a tool as the doctor lists it, and as the running nod tells it of one of an MCP server.
type toolLine struct{ Name, Gist string }

func gistOf(t tools.Tool) toolLine { return toolLine{t.Name(), tools.Gist(t.Description())} }

// under puts a line for each tool below what is said of them.
func under(text string, all []toolLine) string {
	width := 0
	for _, l := range all {
		width = max(width, len(l.Name))
	}
	var b strings.Builder
	b.WriteString(text)
	for _, l := range all {
		fmt.Fprintf(&b, "\n         %-*s  %s", width, l.Name, l.Gist)
	}
	return b.String()
}

// definitions are the built-in tools by name, for reading what they say of themselves: none of these can run.
func definitions() map[string]tools.Tool {
	all := map[string]tools.Tool{}
	stock := &shelf{runner: &shell.Runner{}, groups: func() []tools.Group { return nil }, zone: time.UTC}
	for _, t := range stock.tools() {
		all[t.Name()] = t
	}
	return all
}

// checkTools lists the built-in tools of a profile by kind, one a line. Which of them a chat is offered, /tools tells.
func checkTools(profile tools.Profile) finding {
	var kinds []string
	var lines []toolLine
	defined := definitions()
	for _, kind := range []tools.Kind{tools.System, tools.Business, tools.Atomic} {
		before := len(lines)
		for _, e := range tools.Catalogue {
			if t := defined[e.Tool]; t != nil && e.Kind == kind && e.In(profile) {
				lines = append(lines, gistOf(t))
			}
		}
		if n := len(lines) - before; n > 0 {
			kinds = append(kinds, fmt.Sprintf("%d %s", n, kind))
		}
	}
	if len(lines) == 0 {
		return finding{"tools", ok, fmt.Sprintf("the profile %s has none: plain chat", profile)}
	}
	return finding{"tools", ok, under(fmt.Sprintf("the profile %s has %s tools; /tools NAME tells all about one", profile, strings.Join(kinds, ", ")), lines)}
}
