package shell

import (
	"context"

	"nod/approvals"
	"nod/store"
	"nod/tools"
)

// Restart is the tool restart. The program ends only after the commit of the outcome, so that the call is done when it
// comes up again and carries on with the turn.
func Restart() tools.Tool {
	return tools.New(tools.Spec[struct{}]{
		Name: tools.Restart,
		Description: "Restarts nod itself. The conversation goes on by itself once it is up again. " +
			"Use it when a change of nod's configuration or program is to take effect, and for nothing else.",
		Traits: tools.Traits{Category: tools.Shell, Effect: tools.Write, NoBypass: true, Needs: tools.RestartPort},
		Judge: func(context.Context, tools.Scope, struct{}) (tools.Judged, error) {
			return tools.Judged{Subject: approvals.Subject{Kind: approvals.Words, Text: "Everything under way goes on once it is up again."}}, nil
		},
		Run: func(_ context.Context, call tools.Call, _ struct{}) (tools.Output, error) {
			return tools.Output{
				Text: "nod was restarted.",
				Commit: func(tx *store.Tx) error {
					tx.OnCommit(call.Scope.Ports.Restart)
					return nil
				},
			}, nil
		},
	})
}
