package agent

import (
	"context"
	"fmt"
	"time"

	"nod/store"
)

// takeMail empties a session's mailbox.
func takeMail(tx *store.Tx, id store.SessionID) (inputs []Input, err error) {
	waiting, err := mailboxes.All(tx, store.Prefix(id))
	if err != nil || len(waiting) == 0 {
		return nil, err
	}
	for _, m := range waiting {
		inputs = append(inputs, m.Input)
	}
	_, err = mailboxes.DeletePrefix(tx, store.Prefix(id))
	return inputs, err
}

// moveMail gives what waits in one session to another.
func moveMail(tx *store.Tx, from, to store.SessionID) error {
	inputs, err := takeMail(tx, from)
	for _, in := range inputs {
		if err == nil {
			_, err = store.Append(tx, mailboxes, to, mail{Input: in})
		}
	}
	if err != nil {
		return fmt.Errorf("moving waiting messages: %w", err)
	}
	return nil
}

// hold keeps a session's turn from asking the model while more messages for it are on their way, or ends that.
func (d *Driver) hold(id store.SessionID, more bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	held := d.held[id]
	switch {
	case more && held == nil:
		d.held[id] = make(chan struct{})
	case !more && held != nil:
		close(held)
		delete(d.held, id)
	}
}

// gathered waits until no more messages are on their way.
func (d *Driver) gathered(ctx context.Context, id store.SessionID) {
	d.mu.Lock()
	held := d.held[id]
	d.mu.Unlock()
	if held == nil {
		return
	}
	limit := time.NewTimer(gatherTime)
	defer limit.Stop()
	select {
	case <-held:
	case <-ctx.Done():
	case <-limit.C:
		d.hold(id, false)
	}
}

// Expect tells that further messages are about to be submitted at an address, as Input.More does; Gathered that they
// have come, whatever became of them.
func (d *Driver) Expect(at store.Address) error { return d.holdAt(at, true) }

// Gathered ends Expect.
func (d *Driver) Gathered(at store.Address) error { return d.holdAt(at, false) }

func (d *Driver) holdAt(at store.Address, more bool) error {
	return d.DB.View(func(tx *store.Tx) error {
		s, ok, err := SessionAt(tx, at)
		if ok {
			d.hold(s.ID, more)
		}
		return err
	})
}
