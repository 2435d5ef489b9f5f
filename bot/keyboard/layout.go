package keyboard

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/go-telegram/bot/models"
	"github.com/rivo/uniseg"

	"nod/store"
)

// Colours of buttons (Bot API 9.4); older apps show them plain.
const (
	success = "success"
	danger  = "danger"
)

// What a keyboard may have, below the hundred buttons and 10,000 bytes at which Telegram refuses it.
const (
	maxButtons = 100
	maxBytes   = 9_500 // of JSON
)

// Card is what the buttons of an approval card depend on.
type Card struct {
	ID       store.ApprovalID
	Page     int  // the one that is shown, from 0
	Pages    int  // of the subject; 0 and 1 are the same
	NoBypass bool // ⏱ and 🔄 don't apply to this call
	NoAlways bool // nor does ♾
}

// Approval is the keyboard of an approval card. Approve and all that implies it stand on the last page only: nobody can
// nod to what was not shown.
func Approval(c Card) *models.InlineKeyboardMarkup {
	ref := string(c.ID)
	last := max(c.Pages, 1) - 1
	page := max(0, min(c.Page, last))
	reject := styled(danger, button("❌ Reject", Action{Reject, ref, 0}))
	turn := turns(Page, ref, page, last+1)
	if page < last {
		return rows(turn, row(reject))
	}
	bypass := row(button("⏱ 15 min", Action{Grant15, ref, 0}), button("🔄 Session", Action{GrantSession, ref, 0}))
	if c.NoBypass {
		bypass = nil
	}
	always := row(button("♾ Always…", Action{Always, ref, 0}))
	if c.NoAlways {
		always = nil
	}
	return rows(
		turn,
		row(styled(success, button("✅ Approve", Action{Approve, ref, 0})), reject),
		bypass,
		always,
	)
}

// AlwaysConfirmation stands below the words that say what ♾ would cover.
func AlwaysConfirmation(id store.ApprovalID) *models.InlineKeyboardMarkup {
	return rows(row(
		styled(success, button("♾ Yes, always", Action{AlwaysConfirm, string(id), 0})),
		button("↩ Back", Action{Back, string(id), 0}),
	))
}

// Question offers answers, one below the other; those beyond what a keyboard holds are left for the person to type.
func Question(id store.ApprovalID, answers []string) *models.InlineKeyboardMarkup {
	var list [][]models.InlineKeyboardButton
	for i, answer := range answers {
		list = append(list, row(button(answer, Action{Answer, string(id), int64(i)})))
	}
	return rows(list...)
}

// Interrupted asks what becomes of a call whose outcome is unknown.
func Interrupted(id store.ApprovalID) *models.InlineKeyboardMarkup {
	return rows(row(button("🔁 Run again", Action{Again, string(id), 0}), button("⏭ Skip", Action{Skip, string(id), 0})))
}

// Job controls one job. toggle is JobPause or JobResume; a job that can't be either, since no due time is left, has
// neither button.
func Job(id store.JobID, toggle Verb) *models.InlineKeyboardMarkup {
	ref := string(id)
	buttons := row(button("▶ Run now", Action{JobRun, ref, 0}))
	switch toggle {
	case JobPause:
		buttons = append(buttons, button("⏸ Pause", Action{JobPause, ref, 0}))
	case JobResume:
		buttons = append(buttons, button("▶ Resume", Action{JobResume, ref, 0}))
	}
	return rows(append(buttons, styled(danger, button("🗑 Delete", Action{JobDelete, ref, 0}))))
}

// Models offers the configured models by name, in order, and the choice by nod. current counts from 1; 0 is nod's choice.
func Models(names []string, current int) *models.InlineKeyboardMarkup {
	list := [][]models.InlineKeyboardButton{row(button(chosen("auto", current == 0), Action{UseModel, "", 0}))}
	for i, name := range names {
		list = append(list, row(button(chosen(name, current == i+1), Action{UseModel, "", int64(i + 1)})))
	}
	return rows(list...)
}

// Contexts offers run contexts by name, and none last.
func Contexts(names []string, current, none string) *models.InlineKeyboardMarkup {
	var list [][]models.InlineKeyboardButton
	for _, name := range append(slices.Clone(names), none) {
		list = append(list, row(button(chosen(name, name == current), Action{UseContext, name, 0})))
	}
	return rows(list...)
}

func chosen(name string, is bool) string {
	if is {
		return "✓ " + name
	}
	return name
}

// Revocable is a rule or a grant that was given by button.
type Revocable struct {
	ID    string
	Rule  bool
	Label string // what it lets through, in words
}

// Grants offers to take back each of the list.
func Grants(list []Revocable) *models.InlineKeyboardMarkup {
	var buttons [][]models.InlineKeyboardButton
	for _, r := range list {
		verb := RevokeGrant
		if r.Rule {
			verb = RevokeRule
		}
		buttons = append(buttons, row(button("🗑 "+r.Label, Action{verb, r.ID, 0})))
	}
	return rows(buttons...)
}

// Stranger asks the owner whether somebody may talk to the bot.
func Stranger(user store.UserID) *models.InlineKeyboardMarkup {
	return rows(row(
		styled(success, button("Allow", Action{AllowUser, "", int64(user)})),
		button("Ignore", Action{IgnoreUser, "", int64(user)}),
	))
}

// File is a call whose target can be fetched.
type File struct {
	Call  store.CallID
	Label string
}

// Files offers the files that a turn has touched.
func Files(list []File) *models.InlineKeyboardMarkup {
	var buttons [][]models.InlineKeyboardButton
	for _, f := range list {
		buttons = append(buttons, row(button("📎 "+f.Label, Action{FetchFile, string(f.Call), 0})))
	}
	return rows(buttons...)
}

// None takes a keyboard away.
func None() *models.InlineKeyboardMarkup { return rows() }

// rows puts a keyboard together, up to what Telegram takes. It never holds a nil list, which Telegram refuses, nor an
// empty row.
func rows(list ...[]models.InlineKeyboardButton) *models.InlineKeyboardMarkup {
	keyboard := &models.InlineKeyboardMarkup{InlineKeyboard: [][]models.InlineKeyboardButton{}}
	buttons, size := 0, 0
	for _, r := range list {
		if len(r) == 0 {
			continue
		}
		data, _ := json.Marshal(r) // plain strings and numbers
		buttons += len(r)
		size += len(data)
		if buttons > maxButtons || size > maxBytes {
			break
		}
		keyboard.InlineKeyboard = append(keyboard.InlineKeyboard, r)
	}
	return keyboard
}

func row(buttons ...models.InlineKeyboardButton) []models.InlineKeyboardButton { return buttons }

func styled(style string, b models.InlineKeyboardButton) models.InlineKeyboardButton {
	b.Style = style
	return b
}

// button can't fail for ids that the store makes. One that can't be encoded would be a fault in nod; its button then says
// that it is none of this version's rather than doing something else.
func button(text string, a Action) models.InlineKeyboardButton {
	data, err := Encode(a)
	if err != nil {
		data = string(version) + "?"
	}
	return models.InlineKeyboardButton{Text: label(text), CallbackData: data}
}

// maxLabel is how many characters of a button's text are of use.
const maxLabel = 64

// label cuts a text to what a button shows: one line, whole characters, … where something is left out. A button without
// text is refused by Telegram.
func label(s string) string {
	var out []byte
	for n, rest, state := 0, oneLine(s), -1; rest != ""; n++ {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if n == maxLabel-1 && rest != "" {
			return string(out) + "…"
		}
		out = append(out, cluster...)
	}
	if !strings.ContainsFunc(string(out), func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }) {
		return "…"
	}
	return string(out)
}

// oneLine joins lines and drops what can't be sent or shown.
func oneLine(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}
