package tools

import (
	"path/filepath"

	"nod/approvals"
)

// ToolSets are the sets of file tools that rules name. What sends a file reads it.
func ToolSets() approvals.ToolSets {
	return approvals.ToolSets{
		approvals.FSRead:  {ListFiles, ReadFile, SearchFile, GrepFiles, GetASTOutline, SendAttachment},
		approvals.FSWrite: {WriteFile, EditFile, InsertAtLine, ReplaceLines},

		approvals.Commands: {ExecuteCmd},
	}
}

// SeededRules are the rules that a new home begins with. Whatever they don't mention is asked.
func SeededRules(w *Workspace) []approvals.Rule {
	inside := func(name string) string { return filepath.Join(w.Dir(), name) }
	rules := []approvals.Rule{{
		Priority: approvals.PriorityGuard, Tool: approvals.FSAny, Path: inside(secretsDir), Action: approvals.ActionDeny,
		Note: "secrets/ is closed to file tools",
	}}
	// Where secrets is a link, canonical paths lie in the folder that it points to.
	if real, err := canonicalPath(inside(secretsDir), ForReading); err == nil && real != inside(secretsDir) {
		rules = append(rules, approvals.Rule{
			Priority: approvals.PriorityGuard, Tool: approvals.FSAny, Path: real, Action: approvals.ActionDeny,
			Note: "secrets/ is closed to file tools",
		})
	}
	for _, free := range []string{"memory", "data"} {
		rules = append(rules, approvals.Rule{
			Tool: approvals.FSWrite, Path: inside(free), Action: approvals.ActionAllow, Note: free + "/ is the agent's own",
		})
	}
	rules = append(rules,
		approvals.Rule{Tool: approvals.FSRead, Path: w.Dir(), Action: approvals.ActionAllow, Note: "reading in the workspace is free"},
		// After the one above: an attachment leaves the machine, so a file from elsewhere is not even asked for.
		approvals.Rule{Tool: SendAttachment, Action: approvals.ActionDeny, Note: "only files in the workspace are sent; copy the file there first"},
		approvals.Rule{Tool: ExecuteCmd, Action: approvals.ActionRequire, Note: "commands always ask"},
		approvals.Rule{Tool: Restart, Action: approvals.ActionRequire, Note: "a restart always asks"},
	)
	// Of execute_task a job asks all the same: what another agent does now is asked about call by call.
	for _, plumbing := range []string{AskUserClarification, WriteTodos, UpdateScratchpad, ActivateTools, ExecuteTask, ExecuteSubtask, ReadAgentResult, Notify, ReadNotification, ListItems, ListSecrets, GroupList, GroupMemberCandidates, GalleryList} {
		rules = append(rules, approvals.Rule{Tool: plumbing, Action: approvals.ActionAllow, Note: "changes nothing outside of the conversation"})
	}
	// telegram_send_message asks by itself for any other conversation.
	for _, told := range []string{SendVoiceMessage, ImageGenerate, ImageGenerateProvidersList, TelegramSendMessage, GallerySend} {
		rules = append(rules, approvals.Rule{Tool: told, Action: approvals.ActionAllow, Note: "goes only into the conversation that asked for it"})
	}
	rules = append(rules, approvals.Rule{Tool: GalleryAdd, Action: approvals.ActionAllow, Note: "the user is asked between its two steps"})
	return append(rules, approvals.Rule{
		Priority: approvals.PriorityCatchAll, Tool: "*", Action: approvals.ActionRequire, Note: "everything else asks",
	})
}
