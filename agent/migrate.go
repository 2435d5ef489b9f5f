package agent

import (
	"fmt"

	"nod/store"
)

// Migrate rewrites what is filed under a group that became a supergroup.
func Migrate(tx *store.Tx, from, to store.ChatID) error {
	err := moveAddresses(tx, addresses, from, to)
	if err == nil {
		err = moveAddresses(tx, profiles, from, to) // a group keeps its run contexts
	}
	if err == nil {
		err = moveSessions(tx, from, to)
	}
	if err != nil {
		return fmt.Errorf("moving the sessions of chat %d: %w", from, err)
	}
	return nil
}

// moveAddresses files what a table holds of a chat, and of its topics, under another.
func moveAddresses[V any](tx *store.Tx, t store.Table[store.Address, V], from, to store.ChatID) error {
	moved := map[store.Address]V{}
	err := t.Scan(tx, from.Bytes(), func(at store.Address, v V) (bool, error) {
		moved[at] = v
		return true, nil
	})
	for at, v := range moved {
		if err == nil {
			err = t.Delete(tx, at)
		}
		if err == nil {
			err = t.Put(tx, store.Address{Chat: to, Topic: at.Topic}, v)
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
