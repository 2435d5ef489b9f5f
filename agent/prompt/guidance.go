package prompt

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"nod/agent/roster"
	"nod/tools"
)

// crossTool is guidance that concerns more than one tool; what concerns one stands in its description. Each line is shown
// only where all the tools that it names are offered: so it changes with the profile, and comes and goes with a port.
var crossTool = []string{
	"Look before you change: " + tools.ReadFile + " a file before " + tools.EditFile + ", and prefer " + tools.EditFile + " to rewriting a file with " + tools.WriteFile + ".",
	"For files use " + tools.ListFiles + ", " + tools.GrepFiles + " and " + tools.ReadFile + ", not " + tools.ExecuteCmd + ": they need no approval.",
	"To find your way in a long source file, take its outline with " + tools.GetASTOutline + " before you read parts of it with " + tools.ReadFile + ".",
	"Files in memory/ and data/ can be written freely with " + tools.WriteFile + "; keep what should be remembered in memory/MEMORY.md.",
	"Use " + tools.AskUserClarification + " only when you can't go on without an answer.",
	"When the user wants a file, send it with " + tools.SendAttachment + " instead of pasting it.",
	"A picture that " + tools.ImageGenerate + " makes is sent by itself; don't send it again with " + tools.SendAttachment + ".",
	"To add pictures to a gallery, " + tools.GalleryAdd + " is called twice with the user's yes between; " + tools.GalleryList + " has the references that the other gallery tools take.",
	"To bring people into a group, go from " + tools.GroupList + " over " + tools.GroupMemberCandidates + " to " + tools.GroupMemberAdd + ", and pass references on unchanged.",
	"Your answer reaches this chat by itself; " + tools.TelegramSendMessage + " is for what must stand apart from it.",
	"To do something regularly or later, use " + tools.ExecuteTask + " with mode cron. Look at jobs with " + tools.ListItems + ".",
	"Give a part of the work to another agent with " + tools.ExecuteTask + ", mode sync, when it would fill the conversation with what only its result matters of; several in one step run side by side. Mode async is for what takes long: its result comes by itself, so don't wait for it.",
	"Give a part of the work to another agent with " + tools.ExecuteSubtask + " when only its result matters; several in one step run side by side.",
	"Tools that change your configuration (jobs, MCP servers, plugins, secrets) come with " + tools.ActivateTools + "([\"config\"]).",
}

// needs are the tools that each line of crossTool names, found once.
var needs = sync.OnceValue(func() (all [][]string) {
	for _, line := range crossTool {
		var named []string
		for _, e := range tools.Named(line) {
			named = append(named, e.Tool)
		}
		all = append(all, named)
	}
	return all
})

// Check refuses texts of ours that name a tool which is not there when they are: guidance whose tools no profile has
// together, and an agent's text, which is shown in every profile that has tools and in every phase. It is made at the start.
func Check(agents []roster.Agent) error {
	var problems []error
	for _, line := range crossTool {
		named := tools.Named(line)
		if !slices.ContainsFunc(tools.Profiles, func(p tools.Profile) bool {
			return !slices.ContainsFunc(named, func(e tools.Entry) bool { return !e.In(p) })
		}) {
			problems = append(problems, fmt.Errorf("no profile has all the tools of the guidance %q", line))
		}
	}
	for _, a := range agents {
		for _, e := range tools.Named(a.Text) {
			if e.Kind != tools.System || e.Phase != tools.Core {
				problems = append(problems, fmt.Errorf("the text of the agent %s names %s, which is not in every profile and phase", a.ID, e.Tool))
			}
		}
	}
	return errors.Join(problems...)
}

// toolSection is a part of an agent's text that is left out where there are no tools at all.
var toolSection = regexp.MustCompile(`(?s)\s*<!-- with tools -->(.*?)<!-- /with tools -->`)

// agentText is what an agent is told about itself, without a word about tools where it has none.
func agentText(f Facts) string {
	if f.Offer == nil || len(f.Offer.Tools) == 0 {
		return toolSection.ReplaceAllString(f.Agent.Text, "")
	}
	return toolSection.ReplaceAllString(f.Agent.Text, "$1")
}
