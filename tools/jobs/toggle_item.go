package jobs

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"nod/approvals"
	"nod/tools"
)

type toggleIn struct {
	Kind    string `json:"kind" jsonschema:"what it is"`
	ID      string `json:"id" jsonschema:"its id or name, from list_items"`
	Enabled bool   `json:"enabled" jsonschema:"true switches it on (resumes a job), false off (pauses it)"`
}

// Refine lists the kinds that there may be.
func (toggleIn) Refine(p map[string]*jsonschema.Schema) {
	p["kind"].Enum = []any{"mcp", "plugin", "cron"}
}

func (k kinds) toggleItem() tools.Tool {
	names, words := k.names(kindOf)
	return tools.New(tools.Spec[toggleIn]{
		Name:        tools.ToggleItem,
		Description: "Switches something on or off. The kinds are: " + words + ".",
		Traits:      config,
		Check: func(in *toggleIn) error {
			if !slices.Contains(names, any(in.Kind)) {
				return fmt.Errorf("there is no kind %q; the kinds are: %s", in.Kind, words)
			}
			return nil
		},
		Label: func(in toggleIn, _ bool) string {
			return fmt.Sprintf("%s %s", k.find(in.Kind, kindOf).verb(in.Enabled), tools.Quote(in.ID))
		},
		Judge: func(_ context.Context, _ tools.Scope, in toggleIn) (tools.Judged, error) {
			text, err := k.find(in.Kind, kindOf).Describe(in.ID, in.Enabled)
			return tools.Judged{Subject: approvals.Subject{Kind: approvals.Words, Text: text}}, err
		},
		Run: func(_ context.Context, _ tools.Call, in toggleIn) (tools.Output, error) {
			return k.find(in.Kind, kindOf).Toggle(in.ID, in.Enabled)
		},
	})
}
