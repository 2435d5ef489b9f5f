package keyboard

import (
	"fmt"

	"github.com/go-telegram/bot/models"
)

// RuleActions are the words for what a rule can do, in the order of the numbers that RuleSet and RuleAdd carry.
var RuleActions = []string{"✅ Allow", "✋ Ask", "🚫 Never"}

// ConfirmedAllow is the number with which RuleSet and RuleAdd carry an allow that was asked back.
const ConfirmedAllow = 3

// Listed is one line of a list that can be opened.
type Listed struct {
	Ref   string
	Label string
}

// Groups lists groups of rules.
func Groups(groups []Listed) *models.InlineKeyboardMarkup {
	var list [][]models.InlineKeyboardButton
	for _, g := range groups {
		list = append(list, row(button("📁 "+g.Label, Action{RuleGroup, g.Ref, 0})))
	}
	return rows(list...)
}

// GroupPanel shows a page of a group's rules. fixed groups can't be deleted.
func GroupPanel(group string, rules []Listed, page, pages int, fixed bool) *models.InlineKeyboardMarkup {
	var list [][]models.InlineKeyboardButton
	for _, r := range rules {
		list = append(list, row(button(r.Label, Action{RuleShow, r.Ref, 0})))
	}
	last := row(button("📄 Duplicate", Action{GroupCopy, group, 0}))
	if !fixed {
		last = append(last, styled(danger, button("🗑 Delete", Action{GroupDelete, group, 0})))
	}
	return rows(append(list,
		turns(RuleGroup, group, page, pages),
		row(button("➕ Add a rule", Action{RuleTools, group, 0})),
		last,
		row(button("↩ Groups", Action{RuleGroups, "", 0})),
	)...)
}

// turns are the buttons to the pages before and after. They say where they lead: a bare number reads as the page that is shown.
func turns(verb Verb, ref string, page, pages int) (turn []models.InlineKeyboardButton) {
	if page > 0 {
		turn = append(turn, button(fmt.Sprintf("◀ to page %d of %d", page, pages), Action{verb, ref, int64(page - 1)}))
	}
	if page < pages-1 {
		turn = append(turn, button(fmt.Sprintf("to page %d of %d ▶", page+2, pages), Action{verb, ref, int64(page + 1)}))
	}
	return turn
}

// RulePanel shows what can be done with a rule, of which chosen is the action that it has, in RuleActions. group and page lead
// back. A fixed rule can't be changed here.
func RulePanel(id string, chosenAction int, group string, page int, fixed bool) *models.InlineKeyboardMarkup {
	back := row(button("↩ Rules", Action{RuleGroup, group, int64(page)}))
	if fixed {
		return rows(back)
	}
	return rows(
		actions(RuleSet, id, chosenAction),
		row(styled(danger, button("🗑 Delete", Action{RuleDelete, id, 0}))),
		back,
	)
}

func actions(verb Verb, ref string, chosenAction int) (buttons []models.InlineKeyboardButton) {
	for i, words := range RuleActions {
		buttons = append(buttons, button(chosen(words, i == chosenAction), Action{verb, ref, int64(i)}))
	}
	return buttons
}

// Tools lists a page of tools that a group can get a rule for.
func Tools(group string, tools []Listed, page, pages int) *models.InlineKeyboardMarkup {
	var list [][]models.InlineKeyboardButton
	for _, t := range tools {
		list = append(list, row(button(t.Label, Action{RuleTool, t.Ref, 0})))
	}
	return rows(append(list, turns(RuleTools, group, page, pages), row(button("↩ Rules", Action{RuleGroup, group, 0})))...)
}

// NewRule offers what a rule for the tool can say.
func NewRule(ref, group string) *models.InlineKeyboardMarkup {
	return rows(actions(RuleAdd, ref, -1), row(button("↩ Tools", Action{RuleTools, group, 0})))
}

// Confirm asks once more before something is done that can't be taken back, or lets more through.
func Confirm(words string, yes, back Action) *models.InlineKeyboardMarkup {
	return rows(row(styled(danger, button(words, yes)), button("↩ Back", back)))
}
