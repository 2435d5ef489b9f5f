// Package outbox delivers what the bot says. It owns the queue of messages that stay, the slots that tell which message
// stands where, the pace towards Telegram, the meaning of its errors, and the wire to it. It leaves to others what is
// said (bot) and how it is formatted (bot/render).
//
// Promises. An item is on disk before it is sent and until it was settled, so a crash loses none; after one it may be
// sent a second time, since the Bot API has no key to recognise a repeat, except that an edit stays an edit. A call
// whose connection was lost is repeated once. Items of a chat are delivered in the order of their commits, each at most
// once at a time; chats don't wait for each other. Finals go before previews. Previews, typing, reactions and answers
// to presses are best effort and never stored.
//
// No attempt is recorded before a send: after a crash a tried item and an untried one must both be sent, so the record
// would cost a commit and change nothing.
package outbox

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	tg "github.com/go-telegram/bot"

	"nod/store"
)

// Options of an Outbox.
type Options struct {
	Dir        string       // where files wait to be sent; made when missing
	Log        *slog.Logger // nil: slog.Default
	Unpaced    bool         // no limits of ours on the pace; for tests
	OnDead     func(*store.Tx, Dead)
	OnMigrated func(tx *store.Tx, from, to store.ChatID) error // rewrites the ids that others keep; may be nil
	Mask       func(string) string                             // takes secrets out of Dead.Reason; nil leaves it as it is
}

// Outbox is the queue and its lanes. All methods may be called from any goroutine.
type Outbox struct {
	db     *store.DB
	client *tg.Bot
	opts   Options
	log    *slog.Logger
	files  atomic.Pointer[os.Root] // the folder
	// inherited are the rows with a slot that an earlier process left; made before anything is sent.
	inherited map[rowKey]bool
	broken    atomic.Bool // a file could not be kept since the folder was last found to be well

	mu      sync.Mutex
	ctx     context.Context             // of Run, nil before and after
	ended   bool                        // Run has ended
	early   []func(run context.Context) // what was asked for before Run
	lanes   map[store.ChatID]*lane
	moved   map[store.ChatID]store.ChatID // groups that got a new id since the start
	settles []settlement
	settle  chan struct{} // tells the settler that there are settlements
	changed chan struct{} // closed and replaced when a lane or the settler may have come to rest
	work    sync.WaitGroup
}

// New opens the folder for files. Nothing is sent before Run.
func New(db *store.DB, client *tg.Bot, o Options) (*Outbox, error) {
	if err := store.MakeFolder(o.Dir); err != nil {
		return nil, fmt.Errorf("making the outbox folder: %w", err)
	}
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("opening the outbox folder: %w", err)
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	out := &Outbox{
		db:      db,
		client:  client,
		opts:    o,
		log:     o.Log,
		lanes:   map[store.ChatID]*lane{},
		moved:   map[store.ChatID]store.ChatID{},
		settle:  make(chan struct{}, 1),
		changed: make(chan struct{}),
	}
	out.files.Store(root)
	return out, nil
}

// Put queues items in order. They are sent as soon as tx is committed; previews of their slots are dropped then.
func (o *Outbox) Put(tx *store.Tx, items ...Item) error {
	for i := range items {
		it := &items[i]
		if err := it.check(); err != nil {
			return fmt.Errorf("queuing a message to %s: %w", it.To, err)
		}
		if _, err := store.Append(tx, rows, it.To.Chat, *it); err != nil {
			return err
		}
	}
	tx.OnCommit(func() {
		for i := range items {
			o.queued(items[i].To.Chat, items[i].Slot)
		}
	})
	return nil
}

// Slot returns the message that the slot holds. It knows what was settled, which is a moment behind what was sent.
func (o *Outbox) Slot(tx *store.Tx, s Slot) (store.MessageID, bool, error) {
	h, ok, err := slots.Get(tx, store.Text(s))
	return h.Message, ok, err
}

// Copied says whether another copy of a slot's message may stand above it, on no record: nod was killed with it in hand.
func (o *Outbox) Copied(tx *store.Tx, s Slot) (bool, error) {
	h, _, err := slots.Get(tx, store.Text(s))
	return h.Again, err
}

// Adopt has the slot hold a message that is there already: one whose record a crash prevented, or one that a person wrote,
// so that an item can delete it.
func (o *Outbox) Adopt(tx *store.Tx, s Slot, chat store.ChatID, m store.MessageID) error {
	return fill(tx, s, held{Chat: chat, Message: m})
}

// SlotOf returns the slot that holds a message, as when a person replies to it.
func (o *Outbox) SlotOf(tx *store.Tx, chat store.ChatID, m store.MessageID) (Slot, bool, error) {
	return places.Get(tx, place{chat, m})
}

// Depth is how many items wait for their delivery or its record.
func (o *Outbox) Depth() (n int) {
	// A read fails only on a closed database, where nothing waits for anything.
	_ = o.db.View(func(tx *store.Tx) (err error) {
		n, err = o.DepthIn(tx)
		return err
	})
	return n
}

// DepthIn is Depth as of a transaction.
func (o *Outbox) DepthIn(tx *store.Tx) (n int, err error) {
	err = rows.Scan(tx, nil, func(rowKey, Item) (bool, error) { n++; return true, nil })
	return n, err
}

// Migrate moves a group's queue to its new id and has the ids of others rewritten, in the caller's transaction. Message
// ids of the old group mean nothing in the new one, so slots are emptied and replies dropped: what would have edited
// an old message is sent anew.
func (o *Outbox) Migrate(tx *store.Tx, from, to store.ChatID) error {
	if o.opts.OnMigrated != nil {
		if err := o.opts.OnMigrated(tx, from, to); err != nil {
			return fmt.Errorf("moving chat %d to %d: %w", from, to, err)
		}
	}
	if err := moveRows(tx, from, to); err != nil {
		return err
	}
	if err := forgetPlaces(tx, from); err != nil {
		return err
	}
	tx.OnCommit(func() {
		o.mu.Lock()
		o.moved[from] = to
		o.mu.Unlock()
		o.wake(to)
	})
	return nil
}

func moveRows(tx *store.Tx, from, to store.ChatID) error {
	queue, err := readRows(tx, from, 0, 0)
	if err != nil {
		return err
	}
	for _, r := range queue {
		if err := rows.Delete(tx, r.key); err != nil {
			return err
		}
		r.key.Of, r.item.To.Chat, r.item.ReplyTo = to, to, 0
		if r.item.Action != nil {
			r.item.Action.Message = 0
		}
		if err := rows.Put(tx, r.key, r.item); err != nil {
			return err
		}
	}
	return nil
}

func forgetPlaces(tx *store.Tx, chat store.ChatID) error {
	var old []Slot
	err := places.Scan(tx, chat.Bytes(), func(_ place, s Slot) (bool, error) {
		old = append(old, s)
		return true, nil
	})
	for _, s := range old {
		if err == nil {
			err = slots.Delete(tx, store.Text(s))
		}
	}
	if err == nil {
		_, err = places.DeletePrefix(tx, chat.Bytes())
	}
	return err
}

// readRows returns a chat's queue after a number; limit 0 means all.
func readRows(tx *store.Tx, chat store.ChatID, after uint64, limit int) (queue []row, err error) {
	from := rowKey{Of: chat, N: after + 1}
	err = rows.ScanFrom(tx, store.Prefix(chat), from, func(k rowKey, it Item) (bool, error) {
		queue = append(queue, row{k, it})
		return len(queue) != limit, nil
	})
	return queue, err
}

// fill records what the slot holds, in place of any other.
func fill(tx *store.Tx, s Slot, h held) error {
	if err := empty(tx, s); err != nil {
		return err
	}
	h.At = time.Now().UTC()
	if err := slots.Put(tx, store.Text(s), h); err != nil {
		return err
	}
	return places.Put(tx, place{h.Chat, h.Message}, s)
}

func empty(tx *store.Tx, s Slot) error {
	h, ok, err := slots.Get(tx, store.Text(s))
	if err != nil || !ok {
		return err
	}
	if err := places.Delete(tx, place{h.Chat, h.Message}); err != nil {
		return err
	}
	return slots.Delete(tx, store.Text(s))
}
