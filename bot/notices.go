package bot

import (
	"time"

	"github.com/go-telegram/bot/models"

	"nod/store"
)

// Greet tells the owner something at the start.
func (v *View) Greet(markdown string) error {
	return v.db.Update(func(tx *store.Tx) error {
		at, _, err := v.access.Home(tx)
		if err != nil {
			return err
		}
		return v.reply(tx, at, 0, markdown, nil)
	})
}

// Trouble tells the owner that Telegram has been out of reach, or is there again; it arrives when it can.
func (v *View) Trouble(text string, over bool) {
	sign := "⚠️ "
	if over {
		sign = "✓ "
	}
	err := v.db.Update(func(tx *store.Tx) error { return v.sayHome(tx, sign+text, over) })
	if err != nil {
		v.log.Error("telling the owner of trouble", "err", err)
	}
}

// Restored tells the owner what a restore means, in the commit that sees to it.
func (v *View) Restored(tx *store.Tx) error { return v.sayHome(tx, restoredText, false) }

// Gap tells the owner that what was sent between two times may be lost.
func (v *View) Gap(tx *store.Tx, from, to time.Time) error {
	return v.sayHome(tx, gapText(from.In(v.zone), to.In(v.zone)), false)
}

// UpdateLost tells a person whose message could not be handled, in the commit that gives it up.
func (v *View) UpdateLost(tx *store.Tx, group []models.Update) {
	m := group[0].Message
	if m == nil || m.From == nil {
		return
	}
	p, err := v.access.Person(tx, store.UserID(m.From.ID))
	if err == nil && (p.Role == Owner || p.Role == Guest) {
		err = v.say(tx, addressOf(m), lostText, false)
	}
	if err != nil {
		v.log.Error("telling of a message that could not be handled", "update", group[0].ID, "err", err)
	}
}
