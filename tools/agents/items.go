package agents

import (
	"encoding/json"
	"fmt"
	"strings"

	"nod/store"
	"nod/tools"
	"nod/tools/jobs"
)

// Items is the agents for list_items, a JSON object a line. None can be switched.
func Items() jobs.Items {
	return jobs.Items{
		Type: "agents", What: "the agents that tasks can be given to, and how to call each well",
		List: func(_ *store.Tx, scope tools.Scope) (string, error) {
			if scope.Ports.Agents == nil {
				return "There are no other agents here.", nil
			}
			all, err := scope.Ports.Agents.Agents()
			if err != nil {
				return "", err
			}
			var b strings.Builder
			for _, a := range all {
				line, err := json.Marshal(a)
				if err != nil {
					return "", fmt.Errorf("listing the agent %s: %w", a.ID, err)
				}
				b.Write(append(line, '\n'))
			}
			return b.String(), nil
		},
	}
}
