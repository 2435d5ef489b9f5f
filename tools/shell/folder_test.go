package shell

import (
	"testing"

	"nod/approvals"
	"nod/tools"
	"nod/tools/tooltest"
)

// TestCommandsBeginInTheFolder of a run context, unless they name another.
func TestCommandsBeginInTheFolder(t *testing.T) {
	rig := tooltest.New(t, func(*tools.Workspace) []tools.Tool { return []tools.Tool{ExecuteCmd(&Runner{Mode: Off})} })
	rig.OnCard = func(approvals.Pending) approvals.Decision { return approvals.Decision{Verb: approvals.VerbReject} }
	rig.Write("house/facts.md", "x")
	rig.Scope.Dir, rig.Scope.Workspace = "house", rig.Workspace.In("house")
	for workdir, want := range map[string]string{"": rig.Path("house"), rig.Workspace.Dir(): rig.Workspace.Dir()} {
		rig.Call(tools.ExecuteCmd, map[string]string{"command": "ls", "workdir": workdir})
		cards := rig.Cards()
		if got := cards[len(cards)-1].Request.Subject.Dir; got != want {
			t.Errorf("with workdir %q the card says %s, want %s", workdir, got, want)
		}
	}
}
