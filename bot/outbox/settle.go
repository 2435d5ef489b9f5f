package outbox

import (
	"context"
	"time"

	"nod/store"
)

// deadKept is how many dead items are kept for a look.
const deadKept = 500

// settlement is the end of a row, or the birth of a preview's message, on its way to the disk.
type settlement struct {
	lane    *lane
	row     row // with the slot that is meant, also when there is no row to settle
	settled bool
	message store.MessageID // that the slot holds now; 0 leaves the slot, or empties it after a deletion
	dead    *Dead
}

// save hands a settlement to the settler. The lane goes on meanwhile.
func (o *Outbox) save(s settlement) {
	o.mu.Lock()
	defer o.mu.Unlock()
	s.lane.unsaved++
	if slot := s.row.item.Slot; slot != "" {
		if s.message != 0 {
			s.lane.known[slot] = s.message
		} else if s.empties() {
			s.lane.known[slot] = 0
		}
	}
	o.settles = append(o.settles, s)
	signal(o.settle)
}

func (s *settlement) empties() bool { return s.row.item.Kind == Delete && s.dead == nil }

// settler commits settlements, all that came together in one transaction, until ctx ends and none is left.
func (o *Outbox) settler(ctx context.Context) {
	for {
		batch := o.takeSettles()
		switch {
		case len(batch) > 0:
			if err := o.db.Update(func(tx *store.Tx) error { return o.record(tx, batch) }); err != nil {
				o.log.Error("recording deliveries", "count", len(batch), "err", err)
				o.putBack(batch)
				select {
				case <-ctx.Done():
					return
				case <-time.After(retryFirst):
				}
				continue
			}
			store.Failpoint("outbox.settled")
			o.recorded(batch)
		case ctx.Err() != nil:
			return
		default:
			select {
			case <-ctx.Done():
			case <-o.settle:
			}
		}
	}
}

func (o *Outbox) takeSettles() []settlement {
	o.mu.Lock()
	defer o.mu.Unlock()
	batch := o.settles
	o.settles = nil
	return batch
}

func (o *Outbox) putBack(batch []settlement) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.settles = append(batch, o.settles...)
}

// record writes a batch: rows go, slots get their messages, the dead are kept.
func (o *Outbox) record(tx *store.Tx, batch []settlement) error {
	for i := range batch {
		s := &batch[i]
		if s.settled {
			if err := o.deleteRow(tx, s.row.key); err != nil {
				return err
			}
		}
		if err := o.recordSlot(tx, s); err != nil {
			return err
		}
		if s.dead != nil {
			if err := o.bury(tx, *s.dead); err != nil {
				return err
			}
		}
	}
	return nil
}

// deleteRow deletes a row also when its group got a new id since it was read.
func (o *Outbox) deleteRow(tx *store.Tx, k rowKey) error {
	if err := rows.Delete(tx, k); err != nil {
		return err
	}
	to, moved := o.movedTo(k.Of)
	if !moved {
		return nil
	}
	return rows.Delete(tx, rowKey{Of: to, N: k.N})
}

func (o *Outbox) movedTo(chat store.ChatID) (to store.ChatID, moved bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	to, moved = o.moved[chat]
	return to, moved
}

func (o *Outbox) recordSlot(tx *store.Tx, s *settlement) error {
	slot := s.row.item.Slot
	if _, moved := o.movedTo(s.row.item.To.Chat); moved || slot == "" {
		return nil // a message id of the old group means nothing in the new one
	}
	switch {
	case s.message != 0:
		return fill(tx, slot, held{Chat: s.row.item.To.Chat, Message: s.message, Again: o.inherited[s.row.key]})
	case s.empties():
		return empty(tx, slot)
	}
	return nil
}

func (o *Outbox) bury(tx *store.Tx, d Dead) error {
	if o.opts.Mask != nil {
		d.Reason = o.opts.Mask(d.Reason)
	}
	n, err := dead.NextSeq(tx)
	if err != nil {
		return err
	}
	if err := dead.Put(tx, number(n), d); err != nil {
		return err
	}
	if n > deadKept {
		if err := dead.Delete(tx, number(n-deadKept)); err != nil {
			return err
		}
	}
	if o.opts.OnDead != nil {
		o.opts.OnDead(tx, d)
	}
	return nil
}

// recorded forgets what the disk knows now, and deletes the files that were sent.
func (o *Outbox) recorded(batch []settlement) {
	for i := range batch {
		if !batch[i].settled {
			continue
		}
		for _, handle := range batch[i].row.item.handles() {
			o.discard(handle)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range batch {
		l := batch[i].lane
		if l.unsaved--; l.unsaved == 0 {
			clear(l.known)
		}
	}
	o.note()
}
