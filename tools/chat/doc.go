// Package chat is the tools of a conversation: send_attachment, send_voice_message, ask_user_clarification, write_todos, update_scratchpad and
// activate_tools.
//
// It owns a session's scratchpad and its set of active lazy groups, which change in the commit of a call's outcome. It
// leaves to others how a file reaches the chat (tools.FilePort), how a question looks, and which tools a round offers.
package chat

import (
	"nod/store"
	"nod/tools"
)

// Tools are the tools of this package. Labels show paths relative to w; the calls themselves use the workspace of their scope.
// groups are the lazy groups that there are at the time.
func Tools(w *tools.Workspace, groups func() []tools.Group) []tools.Tool {
	return []tools.Tool{sendAttachment(w), sendVoiceMessage(), askUserClarification(), writeTodos(), updateScratchpad(), activateTools(groups)}
}

// plumbing changes nothing outside of nod's own records, so it may run again after a crash.
var plumbing = tools.Traits{Category: tools.Plumbing, Effect: tools.Read}

var (
	scratchpads  = store.NewTable[store.SessionID, string]("scratchpads", store.ParseSessionID)
	activeGroups = store.NewTable[store.SessionID, []string]("active_groups", store.ParseSessionID)
)
