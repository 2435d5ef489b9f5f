package shell

import "nod/tools"

// Tools are the tools of this package, whose commands r runs.
func Tools(r *Runner) []tools.Tool { return []tools.Tool{ExecuteCmd(r), Restart()} }
