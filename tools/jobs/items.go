package jobs

import (
	"cmp"
	"slices"
	"strings"

	"nod/store"
	"nod/tools"
)

// Items is one kind of things that list_items lists and toggle_item switches: each package that has some gives its own.
type Items struct {
	Type string // for list_items: mcp, plugins, cron, agents
	Kind string // for toggle_item: mcp, plugin, cron; "" where nothing can be switched
	What string // what they are, for the model
	// On and Off say what switching one is called; "on" and "off" when they are empty.
	On, Off string
	// List tells all about them.
	List func(tx *store.Tx, scope tools.Scope) (string, error)
	// Describe says for a card what switching one would do. Its error says that there is none, and which there are.
	Describe func(id string, on bool) (string, error)
	// Toggle switches one, in the commit of its output.
	Toggle func(id string, on bool) (tools.Output, error)
}

// ItemTools are list_items and toggle_item for all of these kinds.
func ItemTools(db *store.DB, all ...Items) []tools.Tool {
	k := kinds(all)
	return []tools.Tool{k.listItems(db), k.toggleItem()}
}

type kinds []Items

// find gives the items of a type, or of a kind, that the schema allows.
func (k kinds) find(name string, of func(Items) string) Items {
	return k[slices.IndexFunc(k, func(i Items) bool { return of(i) == name })]
}

func typeOf(i Items) string { return i.Type }
func kindOf(i Items) string { return i.Kind }

// verb is what switching one is called.
func (i Items) verb(on bool) string {
	if on {
		return cmp.Or(i.On, "on")
	}
	return cmp.Or(i.Off, "off")
}

// names lists what there is by name, and in words for the model.
func (k kinds) names(of func(Items) string) (names []any, words string) {
	var lines []string
	for _, i := range k {
		if name := of(i); name != "" {
			names = append(names, name)
			lines = append(lines, name+", "+i.What)
		}
	}
	return names, strings.Join(lines, "; ")
}
