package bot

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-telegram/bot/models"

	"nod/bot/outbox"
	"nod/store"
	"nod/tools"
)

// mountRetry is how long files are not offered to a group after Telegram refused one: nobody tells a bot that a group's
// own permissions have changed.
const mountRetry = time.Hour

// mount is what keeps files from being sent to a chat.
type mount struct {
	// Until is when it may be tried again; zero means once Telegram says that the bot may.
	Until time.Time `json:"until,omitzero"`
}

var closedMounts = store.NewTable[store.ChatID, mount]("mounts", store.ParseChatID)

// Mounts says for which conversations the port for files is mounted: not where there is no chat, not in a group in which
// the bot may not send files, and nowhere while the outbox can keep none. It is asked in each round, so it answers from memory.
type Mounts struct {
	out  *outbox.Outbox
	mask func(string) string

	mu     sync.Mutex
	closed map[store.ChatID]mount
}

// NewMounts reads what is known of groups. mask takes secrets out of captions.
func NewMounts(db *store.DB, out *outbox.Outbox, mask func(string) string) (*Mounts, error) {
	m := &Mounts{out: out, mask: mask, closed: map[store.ChatID]mount{}}
	err := db.View(func(tx *store.Tx) error {
		return closedMounts.Scan(tx, nil, func(chat store.ChatID, is mount) (bool, error) {
			m.closed[chat] = is
			return true, nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("reading where files can be sent: %w", err)
	}
	return m, nil
}

// Files is the port for files of a scope, or nil where it is not mounted.
func (m *Mounts) Files(scope tools.Scope) tools.FilePort {
	if !m.can(scope.Address.Chat) {
		return nil
	}
	return Files{Out: m.out, Mask: m.mask}
}

// can says whether files can be sent to a chat.
func (m *Mounts) can(chat store.ChatID) bool {
	m.mu.Lock()
	is, closed := m.closed[chat]
	m.mu.Unlock()
	barred := closed && (is.Until.IsZero() || time.Now().Before(is.Until))
	return chat != 0 && !barred && m.out.CanKeep()
}

// MemberChanged takes in what the bot has become in a chat.
func (m *Mounts) MemberChanged(tx *store.Tx, u *models.ChatMemberUpdated) error {
	chat, now := store.ChatID(u.Chat.ID), u.NewChatMember
	switch {
	case u.Chat.Type == models.ChatTypePrivate: // somebody has blocked the bot, or taken it back
		return nil
	case now.Restricted != nil && now.Restricted.IsMember && now.Restricted.CanSendDocuments: // as which any file can go
		return m.open(tx, chat)
	case now.Restricted != nil:
		is := mount{}
		if until := now.Restricted.UntilDate; until > 0 {
			is.Until = time.Unix(int64(until), 0).UTC()
		}
		return m.close(tx, chat, is)
	case now.Left != nil || now.Banned != nil:
		return m.close(tx, chat, mount{})
	}
	return m.open(tx, chat)
}

// Refused notes that Telegram did not take a file for a chat.
func (m *Mounts) Refused(tx *store.Tx, chat store.ChatID) error {
	return m.close(tx, chat, mount{Until: time.Now().Add(mountRetry).UTC()})
}

func (m *Mounts) close(tx *store.Tx, chat store.ChatID, is mount) error {
	tx.OnCommit(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.closed[chat] = is
	})
	return closedMounts.Put(tx, chat, is)
}

func (m *Mounts) open(tx *store.Tx, chat store.ChatID) error {
	tx.OnCommit(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.closed, chat)
	})
	return closedMounts.Delete(tx, chat)
}

// Migrate moves what is known of a group to its new id, where the numbers of old messages mean nothing.
func (m *Mounts) Migrate(tx *store.Tx, from, to store.ChatID) error {
	if err := forgetRecent(tx, from); err != nil {
		return err
	}
	is, closed, err := closedMounts.Get(tx, from)
	if err != nil || !closed {
		return err
	}
	return errors.Join(m.open(tx, from), m.close(tx, to, is))
}

// Undelivered tells a chat of what could not be sent or done, in the commit that gives it up, and learns from it.
func (v *View) Undelivered(tx *store.Tx, m *Mounts, d outbox.Dead) {
	files := d.Item.Kind == outbox.Upload || d.Item.Kind == outbox.Album
	if d.Forbidden || !files && d.Item.Kind != outbox.Act {
		return // nothing can be said there, or what could not be said was it
	}
	var err error
	if d.MayNot && files {
		err = m.Refused(tx, d.Item.To.Chat)
	}
	if err = errors.Join(err, v.say(tx, d.Item.To, undeliveredText(d), true)); err != nil {
		v.log.Error("telling of something that could not be sent", "chat", d.Item.To.Chat, "err", err)
	}
}
