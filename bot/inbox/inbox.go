// Package inbox takes updates in. It owns the polling, the rows of updates that wait, the last update id that was seen,
// and the order in which updates are handed over. It leaves to its handler (bot's router) what they mean.
//
// Promises. An update is on disk, together with the id that acknowledges it, before Telegram is told that it came; it is
// handed over until its handler committed its effect, whose commit ends the row, and never after. A repeated update is
// dropped, also across restarts. Updates of one chat and topic are handed over one after the other in order; chats and
// topics don't wait for each other. Presses, and what Urgent names, overtake that order and keep one of their own. The
// parts of an album, and of a text that Telegram split, are handed over as one group; nothing else waits for a timer.
// What Drop refuses, as most of what strangers write, costs neither a row nor a commit of its own. A time without polls that
// is longer than Telegram keeps updates is told once; that costs a commit every ten minutes at most.
package inbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-telegram/bot/models"

	"nod/store"
)

// Handler brings a group of updates to its effect: one update, or the parts of an album or a split text. It calls done
// in the transaction of that effect, which marks the updates as handled. Without a call to done they count as handled
// when it returns nil; on an error or a panic before done's commit they are handed over again, maxTries times in all.
type Handler func(ctx context.Context, group []models.Update, done func(*store.Tx) error) error

// Options of an Inbox.
type Options struct {
	Bot    store.UserID // whose updates these are: another bot's ids count from elsewhere
	Handle Handler
	Urgent func(*models.Update) bool        // what overtakes its chat, besides presses; may be nil
	OnDead func(*store.Tx, []models.Update) // what was given up, in that commit; may be nil
	// OnGap is told, in a commit of its own, when Telegram was out of reach for so long that what was sent between two
	// times may be lost; may be nil.
	OnGap func(tx *store.Tx, from, to time.Time) error
	// Drop says that an update has no effect whatever, so that it is not even stored; may be nil. It only reads.
	Drop func(*store.Tx, *models.Update) (bool, error)
	// Drained is told the last update of a conversation of which More was true for an earlier one; may be nil.
	Drained func(*models.Update)
	Log     *slog.Logger // nil: slog.Default
}

// Inbox keeps updates until they are handled. All methods may be called from any goroutine.
type Inbox struct {
	db   *store.DB
	opts Options
	log  *slog.Logger

	receiving sync.Mutex // held over a commit and the hand-over of what it brought, so that order holds
	mu        sync.Mutex
	ctx       context.Context // of Run, nil before and after
	lanes     map[laneKey]*lane
	came      arrival           // the last that this process received
	urgent    []<-chan struct{} // closed once what Urgent names was handled: see part
	litter    litter
	work      sync.WaitGroup
}

// arrival is an update id and when it came.
type arrival struct {
	id store.UpdateID
	at time.Time // with its monotonic part
}

// New returns an inbox on db. Nothing is handed over before Run.
func New(db *store.DB, o Options) *Inbox {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Inbox{db: db, opts: o, log: o.Log, lanes: map[laneKey]*lane{}}
}

// waiting is an update that is not handled yet, as Telegram sent it.
type waiting struct {
	Update json.RawMessage `json:"update"`
	At     time.Time       `json:"at"`
	Tries  int             `json:"tries,omitempty"` // that failed
	// Overtaken is set by Overtake.
	Overtaken bool `json:"overtaken,omitempty"`
}

// last is the newest update that was received, and when Telegram was last asked.
type last struct {
	ID   store.UpdateID `json:"id"`
	At   time.Time      `json:"at"`
	Poll time.Time      `json:"poll,omitzero"`
}

var (
	rows = store.NewTable[store.UpdateID, waiting]("inbox", store.ParseUpdateID)
	dead = store.NewTable[store.UpdateID, waiting]("inbox_dead", store.ParseUpdateID)
	seen = store.NewTable[store.UserID, last]("inbox_seen", store.ParseUserID)
)

// idLife is how long update ids are known to go on counting. After a week without updates Telegram starts at a random
// number (https://core.telegram.org/bots/api#update), by when nothing is left to be repeated: it keeps updates 24 h.
const idLife = 6 * 24 * time.Hour

// newest is the last update id that still counts, or 0.
func (in *Inbox) newest(tx *store.Tx) (store.UpdateID, error) {
	l, ok, err := seen.Get(tx, in.opts.Bot)
	if err != nil || !ok {
		return 0, err
	}
	in.mu.Lock()
	came := in.came
	in.mu.Unlock()
	// A machine without a clock of its own boots in 1970 and then jumps: what came in this process's life is timed by the
	// monotonic clock.
	if came.id == l.ID && time.Since(came.at) <= idLife || time.Since(l.At) <= idLife {
		return l.ID, nil
	}
	return 0, nil
}

// Offset is what getUpdates has to ask for; 0 means whatever there is.
func (in *Inbox) Offset() (offset int64, err error) {
	err = in.db.View(func(tx *store.Tx) error {
		id, err := in.newest(tx)
		if id != 0 {
			offset = int64(id) + 1
		}
		return err
	})
	return offset, err
}

// Receive stores a batch of raw updates and the id that acknowledges it in one commit, then hands them over. It drops
// what came before, and skips with a log line what can't be decoded. fresh is how many updates moved that id.
func (in *Inbox) Receive(batch []json.RawMessage) (fresh int, err error) {
	in.receiving.Lock()
	defer in.receiving.Unlock()
	store.Failpoint("inbox.received")
	var came []entry
	var latest store.UpdateID
	err = in.db.Update(func(tx *store.Tx) error {
		came, fresh = nil, 0
		if err := in.sweep(tx); err != nil {
			return err
		}
		newest, err := in.newest(tx)
		if err != nil {
			return err
		}
		for _, raw := range batch {
			e, err := decode(raw)
			if e.id == 0 {
				in.log.Warn("skipping an update without an id", "bytes", len(raw), "err", err)
				continue
			}
			if e.id <= newest {
				continue
			}
			newest, fresh = e.id, fresh+1
			if err != nil {
				in.log.Warn("skipping an update that can't be decoded", "update", e.id, "bytes", len(raw), "err", err)
				continue
			}
			if drop, err := in.drops(tx, &e.update); drop || err != nil {
				if err != nil {
					return err
				}
				continue
			}
			if err := rows.Put(tx, e.id, waiting{Update: raw, At: time.Now().UTC()}); err != nil {
				return err
			}
			came = append(came, e)
		}
		if fresh == 0 {
			return nil
		}
		now := time.Now().UTC()
		latest = newest
		return seen.Put(tx, in.opts.Bot, last{ID: newest, At: now, Poll: now})
	})
	if err != nil {
		return 0, &storeError{fmt.Errorf("storing updates: %w", err)}
	}
	if fresh > 0 {
		in.mu.Lock()
		in.came = arrival{latest, time.Now()}
		in.mu.Unlock()
	}
	store.Failpoint("inbox.stored")
	in.handOver(came)
	return fresh, nil
}

// entry is a stored update on its way to the handler.
type entry struct {
	id      store.UpdateID
	update  models.Update
	tries   int
	urgent  []<-chan struct{} // closed once what Urgent names, and this one waits for, was handled
	handled func()            // closes the one of this entry, if Urgent names it
}

// decode reads an update. The id is read on its own, so that it is known also when the library can't decode the rest;
// it is 0 when there is none. A panic of a decoder counts as an error.
func decode(raw json.RawMessage) (e entry, err error) {
	var head struct {
		ID store.UpdateID `json:"update_id"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return entry{}, err
	}
	e.id = head.ID
	if e.id <= 0 {
		return entry{}, errors.New("no update_id")
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return e, json.Unmarshal(raw, &e.update)
}

// Overtake marks what came before an update and still waits, in its conversation or everywhere: what the update asked for
// holds for these too, though they are handled after it. It gives back what it marked, in order.
func (in *Inbox) Overtake(tx *store.Tx, by *models.Update, everywhere bool) (marked []models.Update, err error) {
	overtaken := map[store.UpdateID]waiting{}
	at := laneOf(by)
	err = rows.Scan(tx, nil, func(id store.UpdateID, w waiting) (bool, error) {
		if id >= store.UpdateID(by.ID) {
			return false, nil
		}
		if e, err := decode(w.Update); err == nil && (everywhere || laneOf(&e.update) == at) {
			w.Overtaken = true
			overtaken[id], marked = w, append(marked, e.update)
		}
		return true, nil
	})
	for id, w := range overtaken {
		if err == nil {
			err = rows.Put(tx, id, w)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("marking what was overtaken: %w", err)
	}
	return marked, nil
}

// Overtaken says whether Overtake has marked an update that is being handled.
func (in *Inbox) Overtaken(tx *store.Tx, u *models.Update) (bool, error) {
	w, _, err := rows.Get(tx, store.UpdateID(u.ID))
	return w.Overtaken, err
}

// Waiting is how many updates are not handled yet.
func (in *Inbox) Waiting() (n int) {
	// A read fails only on a closed database, where nothing waits for anything.
	_ = in.db.View(func(tx *store.Tx) error {
		return rows.Scan(tx, nil, func(store.UpdateID, waiting) (bool, error) { n++; return true, nil })
	})
	return n
}
