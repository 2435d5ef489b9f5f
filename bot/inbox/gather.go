package inbox

import (
	"time"
	"unicode/utf8"

	"github.com/go-telegram/bot/models"
)

// gatherIdle is how long a group waits for its next part. Telegram delivers the parts of an album and of a split text
// as updates of their own, usually in one answer.
const gatherIdle = time.Second

// Bounds of groups.
const (
	albumParts = 10 // Telegram's limit
	pasteParts = 20
)

// splitFrom is the length, in characters, from which a text may be a part of a longer one. Apps cut a paste that exceeds
// 4096 characters, some at the limit and some at a break before it.
const splitFrom = 3500

// splitWithin is how far apart in time the parts of one paste are sent, in seconds: Telegram's dates have no fractions.
const splitWithin = 2

// open says whether more parts of the group may follow.
func open(group []entry) bool {
	m := group[len(group)-1].update.Message
	switch {
	case m == nil:
		return false
	case m.MediaGroupID != "":
		return len(group) < albumParts
	}
	return len(group) < pasteParts && pasted(m) && utf8.RuneCountInString(m.Text) >= splitFrom
}

// joins says whether the update goes on where the group, which is open, ends.
func joins(group []entry, next entry) bool {
	prev, m := group[len(group)-1].update.Message, next.update.Message
	if m == nil || m.MediaGroupID != prev.MediaGroupID {
		return false
	}
	if m.MediaGroupID != "" {
		return true
	}
	return pasted(m) && !command(m) && prev.From.ID == m.From.ID && m.Date-prev.Date <= splitWithin &&
		(m.ReplyToMessage == nil || prev.ReplyToMessage != nil && m.ReplyToMessage.ID == prev.ReplyToMessage.ID) // apps repeat it
}

// pasted says whether a message is a text that its sender wrote or pasted.
func pasted(m *models.Message) bool {
	return m.Text != "" && m.From != nil && m.ForwardOrigin == nil && m.ViaBot == nil
}

func command(m *models.Message) bool {
	return len(m.Entities) > 0 && m.Entities[0].Type == models.MessageEntityTypeBotCommand && m.Entities[0].Offset == 0
}
