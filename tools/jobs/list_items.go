package jobs

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"nod/store"
	"nod/tools"
)

type listIn struct {
	Type string `json:"type" jsonschema:"what to list"`
}

// Refine lists the types that there may be.
func (listIn) Refine(p map[string]*jsonschema.Schema) {
	p["type"].Enum = []any{"mcp", "plugins", "cron", "agents"}
}

func (k kinds) listItems(db *store.DB) tools.Tool {
	names, words := k.names(typeOf)
	return tools.New(tools.Spec[listIn]{
		Name:        tools.ListItems,
		Description: "Lists what there is of a type, with ids and states. The types are: " + words + ".",
		Traits:      tools.Traits{Category: tools.Introspection, Effect: tools.Read},
		Check: func(in *listIn) error {
			if !slices.Contains(names, any(in.Type)) {
				return fmt.Errorf("there is no type %q; the types are: %s", in.Type, words)
			}
			return nil
		},
		Label: func(in listIn, _ bool) string { return in.Type },
		Run: func(_ context.Context, call tools.Call, in listIn) (out tools.Output, err error) {
			err = db.View(func(tx *store.Tx) error {
				out.Text, err = k.find(in.Type, typeOf).List(tx, call.Scope)
				return err
			})
			return out, err
		},
	})
}
