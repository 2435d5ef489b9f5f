package shell

import "nod/tools"

// Tools are the tools of this package. They share one Runner.
func Tools() []tools.Tool {
	return []tools.Tool{ExecuteCmd(new(Runner)), Restart()}
}
