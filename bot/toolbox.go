package bot

import (
	"fmt"
	"slices"
	"strings"

	"nod/store"
	"nod/tools"
)

// tools lists what this conversation's agent is offered, or tells all about one tool.
func (q *request) tools(tx *store.Tx, name string) error {
	offer, err := q.Driver.Offered(tx, q.at)
	if err != nil {
		return err
	}
	if name == "" {
		return q.say(tx, toolboxText(q.Registry, offer))
	}
	t, ok := q.Registry.Find(strings.ToLower(strings.Trim(name, "`")))
	if !ok {
		return q.say(tx, "There is no tool of this name. /tools lists them.")
	}
	_, offered := offer.Find(t.Name())
	return q.say(tx, toolText(q.Registry, t, offered))
}

// shelves are the kinds in the order in which they are shown; what has no entry in the catalogue stands under its server.
var shelves = []struct {
	kind tools.Kind
	head string
}{
	{tools.System, "Files, commands and nod itself"},
	{tools.Business, "In the chat"},
	{tools.Atomic, "Telegram, one act each"},
}

// toolboxText lists an offer by kind, in Markdown.
func toolboxText(r *tools.Registry, offer *tools.Offer) string {
	var b strings.Builder
	for _, shelf := range shelves {
		writeShelf(&b, shelf.head, offer.Tools, func(t tools.Tool) bool {
			e, ok := tools.EntryOf(t.Name())
			return ok && e.Kind == shelf.kind
		})
	}
	for _, g := range r.Groups() {
		writeShelf(&b, "MCP server "+escapeMarkdown(g.Name), offer.Tools, func(t tools.Tool) bool {
			_, ok := tools.EntryOf(t.Name())
			return !ok && t.Traits().Group == g.Name
		})
	}
	if b.Len() == 0 {
		return "🧰 There are no tools here: this is plain chat."
	}
	text := "🧰 " + count(len(offer.Tools), "tool is", "tools are") + " offered here.\n\n" + b.String()
	if away := putAway(r, offer); len(away) > 0 {
		text += "Put away until the agent asks for them: " + escapeMarkdown(strings.Join(away, ", ")) + ".\n"
	}
	return text + "/tools NAME tells more about one."
}

func writeShelf(b *strings.Builder, head string, all []tools.Tool, belongs func(tools.Tool) bool) {
	first := true
	for _, t := range all {
		if !belongs(t) {
			continue
		}
		if first {
			fmt.Fprintf(b, "**%s**\n", head)
			first = false
		}
		fmt.Fprintf(b, "- `%s` — %s\n", t.Name(), escapeMarkdown(tools.Gist(t.Description())))
	}
	if !first {
		b.WriteByte('\n')
	}
}

// putAway are the lazy groups of which nothing is offered.
func putAway(r *tools.Registry, offer *tools.Offer) (names []string) {
	for _, g := range r.Groups() {
		active := slices.ContainsFunc(offer.Tools, func(t tools.Tool) bool { return t.Traits().Group == g.Name })
		if !active {
			names = append(names, g.Name)
		}
	}
	return names
}

// toolText tells all about one tool, in Markdown.
func toolText(r *tools.Registry, t tools.Tool, offered bool) string {
	traits := t.Traits()
	lines := []string{"🧰 **" + escapeMarkdown(t.Name()) + "**", "", escapeMarkdown(t.Description()), ""}
	if e, ok := tools.EntryOf(t.Name()); ok {
		lines = append(lines, fmt.Sprintf("- kind %s, category %s, phase %s", e.Kind, e.Category, e.Phase), "- id `"+e.ID+"`")
	} else {
		lines = append(lines, "- of the MCP server "+escapeMarkdown(traits.Group))
	}
	effect := "it only reads"
	if traits.Effect == tools.Write {
		effect = "it changes things, so it needs a nod or a rule"
	}
	lines = append(lines, "- "+effect)
	if !offered {
		lines = append(lines, "- not offered here now: "+whyNot(r, t))
	}
	return strings.Join(lines, "\n")
}

// whyNot says why a tool is not offered, as far as that can be told at a glance.
func whyNot(r *tools.Registry, t tools.Tool) string {
	traits := t.Traits()
	e, known := tools.EntryOf(t.Name())
	switch {
	case known && r.Profile() != "" && !e.In(r.Profile()):
		return fmt.Sprintf("the profile %s has no %s tools", r.Profile(), e.Kind)
	case traits.SubAgentsOnly, traits.Background:
		return "it is for sub-agents and background runs"
	case traits.Group != "":
		return "the agent takes it out with activate\\_tools when it needs it"
	}
	return "a rule denies it, or this chat lacks what it needs"
}
