package agent

import (
	"fmt"

	"nod/store"
)

// Migrate rewrites what is filed under a group that became a supergroup (RECV-11).
func Migrate(tx *store.Tx, from, to store.ChatID) error {
	moved := map[store.Address]store.SessionID{}
	err := addresses.Scan(tx, from.Bytes(), func(at store.Address, id store.SessionID) (bool, error) {
		moved[at] = id
		return true, nil
	})
	for at, id := range moved {
		if err == nil {
			err = addresses.Delete(tx, at)
		}
		if err == nil {
			err = addresses.Put(tx, store.Address{Chat: to, Topic: at.Topic}, id)
		}
	}
	if err == nil {
		err = moveProfiles(tx, from, to)
	}
	if err == nil {
		err = moveSessions(tx, from, to)
	}
	if err != nil {
		return fmt.Errorf("moving the sessions of chat %d: %w", from, err)
	}
	return nil
}

// moveProfiles lets a group keep its run contexts.
func moveProfiles(tx *store.Tx, from, to store.ChatID) error {
	moved := map[store.Address]string{}
	err := profiles.Scan(tx, from.Bytes(), func(at store.Address, name string) (bool, error) {
		moved[at] = name
		return true, nil
	})
	for at, name := range moved {
		if err == nil {
			err = profiles.Delete(tx, at)
		}
		if err == nil {
			err = profiles.Put(tx, store.Address{Chat: to, Topic: at.Topic}, name)
		}
	}
	return err
}

func moveSessions(tx *store.Tx, from, to store.ChatID) error {
	var all []Session
	err := sessions.Scan(tx, nil, func(_ store.SessionID, s Session) (bool, error) {
		if s.Address.Chat == from {
			all = append(all, s)
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	for _, s := range all {
		s.Address.Chat = to
		if err := sessions.Put(tx, s.ID, s); err != nil {
			return err
		}
		if err := moveWaiting(tx, s.ID, from, to); err != nil {
			return err
		}
		turn, ok, err := turns.Get(tx, s.Turn)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		turn.Address.Chat = to
		if turn.Cards.Chat == from {
			turn.Cards.Chat = to
		}
		if err := turns.Put(tx, turn.ID, turn); err != nil {
			return err
		}
	}
	return nil
}

// moveWaiting rewrites a session's mailbox.
func moveWaiting(tx *store.Tx, id store.SessionID, from, to store.ChatID) error {
	waiting := map[store.Seq[store.SessionID]]mail{}
	err := mailboxes.Scan(tx, store.Prefix(id), func(k store.Seq[store.SessionID], m mail) (bool, error) {
		waiting[k] = m
		return true, nil
	})
	for k, m := range waiting {
		m.Address.Chat = to
		if m.Cards.Chat == from {
			m.Cards.Chat = to
		}
		if err == nil {
			err = mailboxes.Put(tx, k, m)
		}
	}
	return err
}
