package agent

import (
	"fmt"

	"nod/store"
)

// Fresh gives an address a new, empty session within the caller's commit; the model chosen for the old one stays, and
// so do messages that wait. A turn under way in the old one is stopped.
func (d *Driver) Fresh(tx *store.Tx, at store.Address) error {
	old, ok, err := SessionAt(tx, at)
	if err != nil {
		return err
	}
	if ok {
		if _, err := d.stop(tx, old); err != nil {
			return err
		}
		if err := d.Gate.EndSession(tx, old.ID); err != nil {
			return err
		}
	}
	fresh, err := newSessionAt(tx, at, old.Model)
	if err != nil || !ok || old.Turn != "" {
		return err // a turn that is being stopped names what waits, and moves it then
	}
	return moveMail(tx, old.ID, fresh.ID)
}

// Stop ends the turn under way at an address within the caller's commit, and says whether there was one. What had been
// done is told by a TurnStopped.
func (d *Driver) Stop(tx *store.Tx, at store.Address) (bool, error) {
	s, ok, err := SessionAt(tx, at)
	if err != nil || !ok {
		return false, err
	}
	return d.stop(tx, s)
}

// StopAll ends every turn, those of jobs too, and says how many there were.
func (d *Driver) StopAll(tx *store.Tx) (int, error) {
	var all []Session
	err := sessions.Scan(tx, nil, func(_ store.SessionID, s Session) (bool, error) {
		if s.Turn != "" {
			all = append(all, s)
		}
		return true, nil
	})
	if err != nil {
		return 0, err
	}
	for _, s := range all {
		if _, err := d.stop(tx, s); err != nil {
			return 0, err
		}
	}
	return len(all), nil
}

// stop marks a session's turn, so that it ends as stopped even if the program dies first, and cuts what runs.
func (d *Driver) stop(tx *store.Tx, s Session) (bool, error) {
	if s.Turn == "" {
		return false, nil
	}
	turn, ok, err := turns.Get(tx, s.Turn)
	if err != nil || !ok {
		return false, err
	}
	turn.State = Stopping
	if err := turns.Put(tx, turn.ID, turn); err != nil {
		return false, fmt.Errorf("stopping a turn: %w", err)
	}
	tx.OnCommit(func() {
		d.wake(s.ID)
		d.mu.Lock()
		defer d.mu.Unlock()
		if live := d.live[s.ID]; live != nil {
			live.cut(turn.ID)
		}
	})
	return true, nil
}
