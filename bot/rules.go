package bot

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/go-telegram/bot/models"

	"nod/approvals"
	"nod/bot/keyboard"
	"nod/bot/render"
	"nod/store"
	"nod/tools"
)

// rulesOnPage is how many rules, or tools, a panel lists at a time.
const rulesOnPage = 8

const rulesHelp = "The first rule that speaks of a call decides. Those of a run context's group come before those of default. " +
	"What is allowed to change something holds in turns that an owner's own message began, except where a rule says “in every turn”.  \n" +
	"/rules new NAME makes a group, /rules rename OLD NEW and /rules copy OLD NEW change one."

// rules shows the groups of rules, or makes, renames or copies one.
func (q *request) rules(tx *store.Tx, args string) error {
	words := strings.Fields(args)
	switch verb := strings.ToLower(cmp.Or(append(words, "")[0], "")); {
	case len(words) == 0:
		return q.rulesPanel().groups(tx, true)
	case len(words) == 1:
		if _, err := q.Rules.Group(tx, words[0]); err != nil {
			return q.say(tx, sentence(err.Error()))
		}
		return q.rulesPanel().group(tx, words[0], 0, true)
	case verb == "new" && len(words) == 2:
		return q.changeGroup(tx, words[1], q.Rules.AddGroup(tx, words[1], q.person.ID))
	case verb == "rename" && len(words) == 3:
		return q.changeGroup(tx, words[2], q.Rules.RenameGroup(tx, words[1], words[2]))
	case verb == "copy" && len(words) == 3:
		return q.changeGroup(tx, words[2], q.Rules.DuplicateGroup(tx, words[1], words[2], q.person.ID))
	}
	return q.say(tx, rulesHelp)
}

// changeGroup shows a group after a change, or says why there was none.
func (q *request) changeGroup(tx *store.Tx, name string, err error) error {
	if err != nil {
		return &refusedError{text: escapeMarkdown(sentence(clean(err.Error())))}
	}
	return q.rulesPanel().group(tx, name, 0, true)
}

// rulesPanel is the one message of a conversation in which rules are looked at and changed.
type rulesPanel struct {
	*Router
	at store.Address
}

func (q *request) rulesPanel() rulesPanel { return rulesPanel{q.Router, q.at} }

func (p rulesPanel) show(tx *store.Tx, lines []string, kb *models.InlineKeyboardMarkup, fresh bool) error {
	return p.View.panel(tx, p.at, "rules/"+p.at.String(), strings.Join(lines, "  \n"), kb, fresh)
}

func (p rulesPanel) groups(tx *store.Tx, fresh bool) error {
	groups, err := p.Rules.Groups(tx)
	if err != nil {
		return err
	}
	lines := []string{"**Rules**", rulesHelp}
	var list []keyboard.Listed
	for _, g := range groups {
		list = append(list, keyboard.Listed{Ref: g.Name, Label: g.Name})
	}
	return p.show(tx, lines, keyboard.Groups(list), fresh)
}

// rulesOf are the rules of a group, in the order of consultation.
func (p rulesPanel) rulesOf(tx *store.Tx, group string) ([]approvals.Rule, error) {
	all, err := p.Rules.All(tx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(r approvals.Rule) bool { return r.Group != group }), nil
}

func (p rulesPanel) group(tx *store.Tx, name string, page int, fresh bool) error {
	g, err := p.Rules.Group(tx, name)
	if err != nil {
		return err
	}
	all, err := p.rulesOf(tx, name)
	if err != nil {
		return err
	}
	from, to, page, pages := pageOf(len(all), page)
	lines := []string{"**Rules: " + escapeMarkdown(name) + "**"}
	var list []keyboard.Listed
	for i, r := range all[from:to] {
		line := fmt.Sprintf("%d\\. %s", from+i+1, ruleText(r))
		if note := ruleNote(r); note != "" && r.Action == approvals.ActionDeny { // which a rule before it may have spared some calls
			line += ": " + note
		}
		lines = append(lines, line)
		short, _ := render.Visible(r.Short())
		list = append(list, keyboard.Listed{Ref: r.ID, Label: fmt.Sprintf("%d. %s %s", from+i+1, actionIcon(r.Action), short)})
	}
	if len(all) == 0 {
		lines = append(lines, "It has no rules yet.")
	}
	return p.show(tx, lines, keyboard.GroupPanel(name, list, page, pages, name == approvals.DefaultGroup || g.FromFile), fresh)
}

// pageOf are the bounds of a page, which exists.
func pageOf(n, page int) (from, to, is, pages int) {
	pages = max(1, (n+rulesOnPage-1)/rulesOnPage)
	page = min(max(page, 0), pages-1)
	return page * rulesOnPage, min(n, (page+1)*rulesOnPage), page, pages
}

// ruleText is a rule in words, with where it is from.
func ruleText(r approvals.Rule) string {
	words, _ := render.Visible(r.Words())
	text := escapeMarkdown(words)
	switch {
	case r.FromFile:
		text += " *(from nod.yaml)*"
	case r.Seeded:
		text += " *(built in)*"
	}
	return text
}

// ruleNote is why a rule is there, or "". That of an exact rule says what its words say.
func ruleNote(r approvals.Rule) string {
	if r.Args != nil {
		return ""
	}
	note, _ := render.Visible(r.Note)
	return escapeMarkdown(note)
}

func actionIcon(a approvals.Action) string {
	icon, _, _ := strings.Cut(keyboard.RuleActions[slices.Index(ruleActions, a)], " ")
	return icon
}

// ruleActions are the actions in the order of keyboard.RuleActions.
var ruleActions = []approvals.Action{approvals.ActionAllow, approvals.ActionRequire, approvals.ActionDeny}

func (p rulesPanel) rule(tx *store.Tx, r approvals.Rule) error {
	all, err := p.rulesOf(tx, r.Group)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(all, func(o approvals.Rule) bool { return o.ID == r.ID })
	lines := []string{"**Rules: " + escapeMarkdown(r.Group) + "**", capital(ruleText(r))}
	if note := ruleNote(r); note != "" {
		lines = append(lines, "*"+note+"*")
	}
	return p.show(tx, lines, keyboard.RulePanel(r.ID, slices.Index(ruleActions, r.Action), r.Group, max(at, 0)/rulesOnPage, r.FromFile), false)
}

// ruleTool is a tool that a rule can be for.
type ruleTool struct {
	name, ref string
}

// known are the tools that a rule can be given for: those that there are, and those that a model was ever offered.
func (p rulesPanel) known(tx *store.Tx, group string) ([]ruleTool, error) {
	remembered, err := tools.KnownTools(tx)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, k := range remembered {
		names = append(names, k.Name)
	}
	for _, t := range p.Registry.All() {
		names = append(names, t.Name())
	}
	slices.Sort(names)
	names = slices.Compact(names)
	all, err := p.rulesOf(tx, group)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(all, approvals.Rule.Everything) {
		names = slices.Insert(names, 0, "*")
	}
	list := make([]ruleTool, 0, len(names))
	for _, name := range names {
		sum := sha256.Sum256([]byte(name)) // a button has no room for a name and a group
		list = append(list, ruleTool{name: name, ref: hex.EncodeToString(sum[:6]) + "-" + group})
	}
	return list, nil
}

func (p rulesPanel) tools(tx *store.Tx, group string, page int) error {
	if _, err := p.Rules.Group(tx, group); err != nil {
		return err
	}
	known, err := p.known(tx, group)
	if err != nil {
		return err
	}
	from, to, page, pages := pageOf(len(known), page)
	var list []keyboard.Listed
	for _, t := range known[from:to] {
		list = append(list, keyboard.Listed{Ref: t.ref, Label: toolWords(t.name)})
	}
	lines := []string{"**A new rule in " + escapeMarkdown(group) + "**", "Which tool is it for?"}
	return p.show(tx, lines, keyboard.Tools(group, list, page, pages), false)
}

func toolWords(name string) string {
	if name == "*" {
		return "every tool"
	}
	return name
}

// toolOf finds the tool and the group that a button names.
func (p rulesPanel) toolOf(tx *store.Tx, ref string) (tool, group string, err error) {
	_, group, _ = strings.Cut(ref, "-")
	if _, err := p.Rules.Group(tx, group); err != nil {
		return "", "", err
	}
	known, err := p.known(tx, group)
	if err != nil {
		return "", "", err
	}
	i := slices.IndexFunc(known, func(t ruleTool) bool { return t.ref == ref })
	if i < 0 {
		return "", "", fmt.Errorf("this tool is not known any more")
	}
	return known[i].name, group, nil
}
