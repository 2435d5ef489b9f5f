package prompt

import "nod/tools"

// crossTool is guidance that concerns more than one tool; what concerns one stands in its description. Each line is
// shown only where all the tools that it names are offered.
var crossTool = []struct {
	text  string
	needs []string
}{
	{"Look before you change: " + tools.ReadFile + " a file before " + tools.EditFile + ", and prefer " + tools.EditFile + " to rewriting a file with " + tools.WriteFile + ".", []string{tools.ReadFile, tools.EditFile, tools.WriteFile}},
	{"For files use " + tools.ListFiles + ", " + tools.GrepFiles + " and " + tools.ReadFile + ", not " + tools.ExecuteCmd + ": they need no approval.", []string{tools.ListFiles, tools.GrepFiles, tools.ReadFile, tools.ExecuteCmd}},
	{"Files in memory/ and data/ can be written freely with " + tools.WriteFile + "; keep what should be remembered in memory/MEMORY.md.", []string{tools.WriteFile}},
	{"Use " + tools.AskUserClarification + " only when you can't go on without an answer.", []string{tools.AskUserClarification}},
	{"When the user wants a file, send it with " + tools.SendAttachment + " instead of pasting it.", []string{tools.SendAttachment}},
	{"To do something regularly or later, use " + tools.ExecuteTask + " with mode cron. Look at jobs with " + tools.ListItems + ".", []string{tools.ExecuteTask, tools.ListItems}},
	{"Tools that change your configuration (jobs on and off, deleting jobs) come with " + tools.ActivateTools + "([\"config\"]).", []string{tools.ActivateTools}},
}
