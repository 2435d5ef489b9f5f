package agent

import (
	"context"
	"fmt"
	"slices"
	"time"

	"nod/store"
)

// takeMail takes what is due out of a session's mailbox. What a stop held back is due with the next message of a person,
// which release says is there; news alone does not bring it about.
func takeMail(tx *store.Tx, id store.SessionID, release bool) (inputs []Input, err error) {
	var keys []store.Seq[store.SessionID]
	var waiting []mail
	err = mailboxes.Scan(tx, store.Prefix(id), func(k store.Seq[store.SessionID], m mail) (bool, error) {
		keys, waiting = append(keys, k), append(waiting, m)
		release = release || !m.Held && m.News == nil
		return true, nil
	})
	for i, m := range waiting {
		if err != nil {
			break
		}
		if !m.Held || release {
			inputs = append(inputs, m.Input)
			err = mailboxes.Delete(tx, keys[i])
		}
	}
	return inputs, err
}

// holdMail keeps back what waits in a session whose turn a person stopped, but for what came after the stop. news says
// whether that goes for news too.
func holdMail(tx *store.Tx, id store.SessionID, news bool) error {
	held := map[store.Seq[store.SessionID]]mail{}
	err := mailboxes.Scan(tx, store.Prefix(id), func(k store.Seq[store.SessionID], m mail) (bool, error) {
		if !m.Late && (news || m.News == nil) {
			held[k] = m
		}
		return true, nil
	})
	for k, m := range held {
		if m.Held = true; err == nil {
			err = mailboxes.Put(tx, k, m)
		}
	}
	return err
}

// moveMail gives what waits in one session to another.
func moveMail(tx *store.Tx, from, to store.SessionID) error {
	waiting, err := mailboxes.All(tx, store.Prefix(from))
	for _, m := range waiting {
		if m.Late = false; err == nil {
			_, err = store.Append(tx, mailboxes, to, m)
		}
	}
	if err == nil {
		_, err = mailboxes.DeletePrefix(tx, store.Prefix(from))
	}
	if err != nil {
		return fmt.Errorf("moving waiting messages: %w", err)
	}
	return nil
}

// reword files an edit of a message that a stop keeps back, beside it. An edit of any other has come too late.
func reword(tx *store.Tx, id store.SessionID, in Input) (Receipt, error) {
	waiting, err := mailboxes.All(tx, store.Prefix(id))
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(waiting, func(m mail) bool { return m.News == nil && m.Message == in.Message })
	if i < 0 {
		return Ignored, nil
	}
	if _, err := store.Append(tx, mailboxes, id, mail{Input: in, Late: waiting[i].Late, Held: waiting[i].Held}); err != nil {
		return "", fmt.Errorf("keeping an edit: %w", err)
	}
	return Kept, nil
}

// expect keeps a session's turn from asking the model while more messages for it are on their way, or ends that.
func (d *Driver) expect(id store.SessionID, more bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	came := d.expected[id]
	switch {
	case more && came == nil:
		d.expected[id] = make(chan struct{})
	case !more && came != nil:
		close(came)
		delete(d.expected, id)
	}
}

// gathered waits until no more messages are on their way.
func (d *Driver) gathered(ctx context.Context, id store.SessionID) {
	d.mu.Lock()
	came := d.expected[id]
	d.mu.Unlock()
	if came == nil {
		return
	}
	limit := time.NewTimer(gatherTime)
	defer limit.Stop()
	select {
	case <-came:
	case <-ctx.Done():
	case <-limit.C:
		d.expect(id, false)
	}
}

// Expect tells that further messages are about to be submitted at an address, as Input.More does; Gathered that they
// have come, whatever became of them.
func (d *Driver) Expect(at store.Address) error { return d.expectAt(at, true) }

// Gathered ends Expect.
func (d *Driver) Gathered(at store.Address) error { return d.expectAt(at, false) }

func (d *Driver) expectAt(at store.Address, more bool) error {
	return d.DB.View(func(tx *store.Tx) error {
		s, ok, err := SessionAt(tx, at)
		if ok {
			d.expect(s.ID, more)
		}
		return err
	})
}
