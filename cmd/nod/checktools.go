package main

import (
	"fmt"
	"strings"

	"nod/tools"
)

// checkTools lists the built-in tools of a profile by kind. What each does, and which of them a chat is offered, /tools tells.
func checkTools(profile tools.Profile) finding {
	var parts []string
	for _, kind := range []tools.Kind{tools.System, tools.Business, tools.Atomic} {
		var names []string
		for _, e := range tools.Catalogue {
			if e.Kind == kind && e.In(profile) {
				names = append(names, e.Tool)
			}
		}
		if len(names) > 0 {
			parts = append(parts, fmt.Sprintf("%d %s (%s)", len(names), kind, strings.Join(names, ", ")))
		}
	}
	if len(parts) == 0 {
		return finding{"tools", ok, fmt.Sprintf("the profile %s has none: plain chat", profile)}
	}
	return finding{"tools", ok, fmt.Sprintf("the profile %s has %s; /tools tells about each", profile, strings.Join(parts, ", "))}
}
