// Package agents is the tools by which agents work for each other and reach the home chat from the background:
// execute_subtask, read_agent_result, notify and read_notification, and the agents for list_items.
//
// It owns their words; execute_task, which also schedules, stands in tools/jobs. Who the agents are, and how they work, it
// leaves to the port.
package agents

import "nod/tools"

// Tools are the tools of this package.
func Tools() []tools.Tool {
	return []tools.Tool{executeSubtask(), readAgentResult(), notify(), readNotification()}
}
