package bot

import (
	"fmt"

	"nod/approvals"
	"nod/bot/keyboard"
	"nod/store"
)

// rules takes a press on the panel of rules to its effect. What deletes, or lets more through, takes a second press.
func (b *buttonPress) rules(tx *store.Tx, a keyboard.Action) (notice string, err error) {
	p := rulesPanel{b.Router, b.at()}
	switch a.Verb {
	case keyboard.RuleGroups:
		return "", p.groups(tx, false)
	case keyboard.RuleGroup:
		return "", p.group(tx, a.Ref, int(a.N), false)
	case keyboard.GroupCopy:
		return b.copyGroup(tx, p, a.Ref)
	case keyboard.GroupDelete:
		return b.deleteGroup(tx, p, a)
	case keyboard.RuleTools:
		return "", p.tools(tx, a.Ref, int(a.N))
	case keyboard.RuleTool, keyboard.RuleAdd:
		return b.addRule(tx, p, a)
	}
	r, err := b.Rules.Find(tx, a.Ref)
	if err != nil {
		return "", err
	}
	switch a.Verb {
	case keyboard.RuleSet:
		return b.setRule(tx, p, r, int(a.N))
	case keyboard.RuleDelete:
		return b.deleteRule(tx, p, r, a.N == 1)
	}
	return "", p.rule(tx, r)
}

// chosenAction is the action that a number stands for; sure says that an allow was asked back.
func chosenAction(n int) (action approvals.Action, sure bool, err error) {
	if n == keyboard.ConfirmedAllow {
		return approvals.ActionAllow, true, nil
	}
	if n < 0 || n >= len(ruleActions) {
		return "", false, fmt.Errorf("this button is not one of this version of nod")
	}
	return ruleActions[n], false, nil
}

func (b *buttonPress) setRule(tx *store.Tx, p rulesPanel, r approvals.Rule, n int) (string, error) {
	action, sure, err := chosenAction(n)
	if err != nil {
		return "", err
	}
	if action == approvals.ActionAllow && !sure && r.Action != action {
		changed := r
		changed.Action, changed.Note = action, ""
		return "", p.show(tx, []string{"**Rules: " + escapeMarkdown(r.Group) + "**", capital(ruleText(changed)) + "?"},
			keyboard.Confirm("✅ Yes, allow", keyboard.Action{Verb: keyboard.RuleSet, Ref: r.ID, N: keyboard.ConfirmedAllow}, keyboard.Action{Verb: keyboard.RuleShow, Ref: r.ID}), false)
	}
	r, err = b.Rules.Change(tx, r.ID, action, b.person.ID)
	if err != nil {
		return "", err
	}
	return "Changed", p.rule(tx, r)
}

func (b *buttonPress) deleteRule(tx *store.Tx, p rulesPanel, r approvals.Rule, sure bool) (string, error) {
	if !sure {
		return "", p.show(tx, []string{"**Rules: " + escapeMarkdown(r.Group) + "**", "Delete this rule? " + capital(ruleText(r))},
			keyboard.Confirm("🗑 Yes, delete", keyboard.Action{Verb: keyboard.RuleDelete, Ref: r.ID, N: 1}, keyboard.Action{Verb: keyboard.RuleShow, Ref: r.ID}), false)
	}
	if _, err := b.Rules.Remove(tx, r.ID); err != nil {
		return "", err
	}
	return "Deleted", p.group(tx, r.Group, 0, false)
}

func (b *buttonPress) deleteGroup(tx *store.Tx, p rulesPanel, a keyboard.Action) (string, error) {
	g, err := b.Rules.Group(tx, a.Ref)
	if err != nil {
		return "", err
	}
	if a.N != 1 {
		text := fmt.Sprintf("Delete this group with its %s?", count(g.Rules, "rule", "rules"))
		return "", p.show(tx, []string{"**Rules: " + escapeMarkdown(g.Name) + "**", text},
			keyboard.Confirm("🗑 Yes, delete", keyboard.Action{Verb: keyboard.GroupDelete, Ref: g.Name, N: 1}, keyboard.Action{Verb: keyboard.RuleGroup, Ref: g.Name}), false)
	}
	if err := b.Rules.DeleteGroup(tx, g.Name); err != nil {
		return "", err
	}
	return "Deleted", p.groups(tx, false)
}

// maxCopies bounds the search for a free name.
const maxCopies = 100

func (b *buttonPress) copyGroup(tx *store.Tx, p rulesPanel, from string) (string, error) {
	stem := from[:min(len(from), 20)]
	for n := 2; n < maxCopies; n++ {
		name := fmt.Sprintf("%s-%d", stem, n)
		if _, err := b.Rules.Group(tx, name); err == nil {
			continue
		}
		if err := b.Rules.DuplicateGroup(tx, from, name, b.person.ID); err != nil {
			return "", err
		}
		return "Duplicated", p.group(tx, name, 0, false)
	}
	return "", approvals.ErrGroupTaken
}

// addRule asks what a new rule should say, and puts it down.
func (b *buttonPress) addRule(tx *store.Tx, p rulesPanel, a keyboard.Action) (string, error) {
	tool, group, err := p.toolOf(tx, a.Ref)
	if err != nil {
		return "", err
	}
	head := "**A new rule in " + escapeMarkdown(group) + "**"
	if a.Verb == keyboard.RuleTool {
		return "", p.show(tx, []string{head, "What should become of calls of " + escapeMarkdown(toolWords(tool)) + "?"}, keyboard.NewRule(a.Ref, group), false)
	}
	action, sure, err := chosenAction(int(a.N))
	if err != nil {
		return "", err
	}
	if action == approvals.ActionAllow && !sure {
		return "", p.show(tx, []string{head, capital(ruleText(approvals.Rule{Tool: tool, Action: action})) + "?"},
			keyboard.Confirm("✅ Yes, allow", keyboard.Action{Verb: keyboard.RuleAdd, Ref: a.Ref, N: keyboard.ConfirmedAllow}, keyboard.Action{Verb: keyboard.RuleTool, Ref: a.Ref}), false)
	}
	if _, err := b.Rules.Decide(tx, group, tool, action, b.person.ID); err != nil {
		return "", err
	}
	return "Added", p.group(tx, group, 0, false)
}
