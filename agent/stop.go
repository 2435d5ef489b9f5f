package agent

import (
	"fmt"

	"nod/approvals"
	"nod/store"
)

// Fresh gives an address a new, empty session within the caller's commit; the model chosen for the old one stays, and
// so do messages that wait and tasks in the background, of whose end the new one is told. A turn under way in the old one is
// stopped.
func (d *Driver) Fresh(tx *store.Tx, at store.Address) error {
	old, ok, err := SessionAt(tx, at)
	if err != nil {
		return err
	}
	if ok {
		if _, err := d.stop(tx, old, foreground); err != nil {
			return err
		}
		if err := d.Gate.EndSession(tx, old.ID); err != nil {
			return err
		}
	}
	fresh, err := newSessionAt(tx, at, old.Model)
	if err != nil || !ok {
		return err
	}
	if err := adopt(tx, old.ID, fresh.ID); err != nil || old.Turn != "" {
		return err // a turn that is being stopped names what waits, and moves it then
	}
	return moveMail(tx, old.ID, fresh.ID)
}

// Stop ends the turn under way at an address and the tasks that it has in the background, with all their sub-agents,
// within the caller's commit, and says whether there was any. What had been done is told by a TurnStopped for each.
func (d *Driver) Stop(tx *store.Tx, at store.Address) (bool, error) {
	s, ok, err := SessionAt(tx, at)
	if err != nil || !ok {
		return false, err
	}
	return d.stop(tx, s, everything)
}

// StopAll ends every turn, those of jobs and tasks too, and says how many there were beside those of sub-agents.
func (d *Driver) StopAll(tx *store.Tx) (n int, err error) {
	var all []Session
	err = sessions.Scan(tx, nil, func(_ store.SessionID, s Session) (bool, error) {
		if s.Turn != "" {
			all = append(all, s)
		}
		return true, nil
	})
	if err != nil {
		return 0, err
	}
	for _, s := range all {
		if !s.Nested() {
			n++
		}
		if err := d.stopTurn(tx, s); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// reach says how far a stop goes beside the turn and its sub-agents.
type reach bool

const (
	foreground reach = false
	everything reach = true // tasks too
)

// stop ends a session's turn and who works for it, and says whether there was anything to end.
func (d *Driver) stop(tx *store.Tx, s Session, far reach) (was bool, err error) {
	if s.Turn != "" {
		was = true
		if err := d.stopTurn(tx, s); err != nil {
			return false, err
		}
	}
	children, err := childrenOf(tx, s.ID)
	if err != nil {
		return false, err
	}
	for _, child := range children {
		if child.isTask() && far == foreground {
			continue
		}
		ended, err := d.stop(tx, child, everything)
		if err != nil {
			return false, err
		}
		was = was || ended
	}
	return was, nil
}

// stopTurn marks a session's turn, so that it ends as stopped even if the program dies first, takes its cards back, and
// cuts what runs.
func (d *Driver) stopTurn(tx *store.Tx, s Session) error {
	turn, ok, err := turns.Get(tx, s.Turn)
	if err != nil || !ok {
		return err
	}
	turn.State = Stopping
	if err := turns.Put(tx, turn.ID, turn); err != nil {
		return fmt.Errorf("stopping a turn: %w", err)
	}
	tx.OnCommit(func() { // before those who wait at the cards hear of it
		d.wake(s.ID)
		d.mu.Lock()
		defer d.mu.Unlock()
		if live := d.live[s.ID]; live != nil {
			live.cut(turn.ID)
		}
	})
	if _, err := d.Gate.Withdraw(tx, turn.ID, approvals.Stopped+"."); err != nil {
		return fmt.Errorf("stopping a turn: %w", err)
	}
	return nil
}
