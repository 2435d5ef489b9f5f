package bot

import (
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-telegram/bot/models"

	"nod/bot/emulator"
	"nod/bot/outbox"
	"nod/store"
	"nod/tools"
)

// mounted are the mounts of a fresh database, with the outbox below them.
func mounted(t *testing.T) (*Mounts, *outbox.Outbox, *store.DB) {
	t.Helper()
	db, log := store.OpenTest(t), slog.New(slog.DiscardHandler)
	client, _, err := outbox.NewClient(emulator.Token, "http://telegram.invalid", emulator.Transport(emulator.New(emulator.Options{})), log)
	if err != nil {
		t.Fatal(err)
	}
	out, err := outbox.New(db, client, outbox.Options{Dir: filepath.Join(t.TempDir(), "outbox"), Log: log})
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewMounts(db, out, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m, out, db
}

// can says whether files are mounted for a chat.
func can(m *Mounts, chat store.ChatID) bool {
	return m.Files(tools.Scope{Address: store.Address{Chat: chat}}) != nil
}

func TestMounts_WhatTheBotHasBecomeCounts(t *testing.T) {
	const team = store.ChatID(-1001)
	until := int(time.Now().Add(time.Hour).Unix())
	restricted := func(member, documents bool, until int) models.ChatMember {
		return models.ChatMember{Type: models.ChatMemberTypeRestricted, Restricted: &models.ChatMemberRestricted{
			IsMember: member, CanSendDocuments: documents, UntilDate: until,
		}}
	}
	synctest.Test(t, func(t *testing.T) {
		m, out, db := mounted(t)
		if !can(m, team) || !can(m, 101) || can(m, 0) {
			t.Error("to begin with: everywhere but where there is no chat")
		}
		for _, c := range []struct {
			name string
			is   models.ChatMember
			want bool
		}{
			{"restricted", restricted(true, false, 0), false},
			{"restricted, but for files", restricted(true, true, 0), true},
			{"kicked", models.ChatMember{Type: models.ChatMemberTypeBanned, Banned: &models.ChatMemberBanned{}}, false},
			{"a member again", models.ChatMember{Type: models.ChatMemberTypeMember, Member: &models.ChatMemberMember{}}, true},
			{"left", models.ChatMember{Type: models.ChatMemberTypeLeft, Left: &models.ChatMemberLeft{}}, false},
			{"restricted and gone", restricted(false, true, 0), false},
			{"an administrator", models.ChatMember{Type: models.ChatMemberTypeAdministrator, Administrator: &models.ChatMemberAdministrator{}}, true},
			{"restricted for years", restricted(true, false, until), false},
		} {
			u := &models.ChatMemberUpdated{Chat: models.Chat{ID: int64(team), Type: models.ChatTypeSupergroup}, NewChatMember: c.is}
			if err := db.Update(func(tx *store.Tx) error { return m.MemberChanged(tx, u) }); err != nil {
				t.Fatal(err)
			}
			again, err := NewMounts(db, out, nil)
			if err != nil {
				t.Fatal(err)
			}
			if can(m, team) != c.want || can(again, team) != c.want {
				t.Errorf("%s: %t, and after a restart %t", c.name, can(m, team), can(again, team))
			}
		}
	})
}

func TestMounts_ARefusalCountsForAnHour(t *testing.T) {
	const team, super = store.ChatID(-1001), store.ChatID(-1002)
	synctest.Test(t, func(t *testing.T) {
		m, _, db := mounted(t)
		if err := db.Update(func(tx *store.Tx) error { return m.Refused(tx, team) }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(59 * time.Minute)
		if can(m, team) || !can(m, super) {
			t.Error("before the hour is over it is tried again, or another chat is closed")
		}
		if err := db.Update(func(tx *store.Tx) error { return m.Migrate(tx, team, super) }); err != nil {
			t.Fatal(err)
		}
		if !can(m, team) || can(m, super) {
			t.Error("the refusal did not move with its group")
		}
		time.Sleep(time.Minute)
		if !can(m, super) {
			t.Error("after the hour it is not tried again")
		}
	})
}
