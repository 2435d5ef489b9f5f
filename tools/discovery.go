package tools

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"nod/store"
)

// KnownTool is a tool that a model was offered at some time.
type KnownTool struct {
	Name        string    `json:"name"`
	Description string    `json:"description"`
	First       time.Time `json:"first"`
}

const knownToolsBucket = "known_tools"

var knownTools = store.NewTable[store.Text, KnownTool](knownToolsBucket, store.ParseText[store.Text])

// Discovery remembers every tool that was ever offered, so that a rule can be given for it while it is not there. It
// looks at each round's offer; only a name that is new causes a write, in Run's goroutine and so off the turn's path.
type Discovery struct {
	db  *store.DB
	log *slog.Logger

	mu    sync.Mutex
	seen  map[string]bool
	fresh []KnownTool
	more  chan struct{}
}

// NewDiscovery wires a discovery. Nothing is written before Run.
func NewDiscovery(db *store.DB, log *slog.Logger) *Discovery {
	return &Discovery{db: db, log: log, seen: map[string]bool{}, more: make(chan struct{}, 1)}
}

// Observe notes what is offered. It doesn't block.
func (d *Discovery) Observe(o *Offer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, t := range o.Tools {
		if d.seen[t.Name()] {
			continue
		}
		d.seen[t.Name()] = true
		d.fresh = append(d.fresh, KnownTool{Name: t.Name(), Description: t.Description(), First: time.Now()})
	}
	if len(d.fresh) == 0 {
		return
	}
	select {
	case d.more <- struct{}{}:
	default:
	}
}

// Run writes down what is new until ctx ends, and then what is left.
func (d *Discovery) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			d.keep()
			return nil
		case <-d.more:
			d.keep()
		}
	}
}

func (d *Discovery) keep() {
	d.mu.Lock()
	fresh := d.fresh
	d.fresh = nil
	d.mu.Unlock()
	if len(fresh) == 0 {
		return
	}
	unknown, err := d.unknown(fresh)
	if err == nil && len(unknown) > 0 {
		err = d.db.Update(func(tx *store.Tx) error {
			for _, k := range unknown {
				if err := knownTools.Put(tx, store.Text(k.Name), k); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err == nil {
		return
	}
	d.log.Warn("remembering offered tools", "err", err)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, k := range fresh {
		delete(d.seen, k.Name) // the next round tries again
	}
}

// unknown are those that no earlier process remembered, so that a start with the usual tools writes nothing.
func (d *Discovery) unknown(fresh []KnownTool) (unknown []KnownTool, err error) {
	err = d.db.View(func(tx *store.Tx) error {
		for _, k := range fresh {
			known, err := knownTools.Has(tx, store.Text(k.Name))
			if err != nil {
				return err
			}
			if !known {
				unknown = append(unknown, k)
			}
		}
		return nil
	})
	return unknown, err
}

// KnownTools are all tools that were ever offered, by name.
func KnownTools(tx *store.Tx) ([]KnownTool, error) {
	known, err := knownTools.All(tx, nil)
	if err != nil {
		return nil, fmt.Errorf("reading the known tools: %w", err)
	}
	return known, nil
}
