package agent

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"nod/agent/llm/scripted"
	"nod/approvals"
	"nod/store"
)

// TestManyAtOnce has people write, stop, begin anew and decide in several chats at the same time, on the real clock.
// Whatever comes first, each message ends in exactly one transcript, and a session has one turn at a time.
func TestManyAtOnce(t *testing.T) {
	const chats, messages = 6, 25
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(3, 4))
	model := scripted.New(func(req scripted.Request) scripted.Reply {
		mu.Lock()
		defer mu.Unlock()
		if strings.HasPrefix(req.System, "Summarise") {
			return scripted.Say("a summary")
		}
		switch random.IntN(6) {
		case 0:
			return scripted.Call("do_it", text("x"))
		case 1:
			return scripted.Say("I look.").Call("read_it", text("a")).Call("free_it", text("b"))
		case 2:
			return scripted.Say("wait").Sleep(time.Millisecond).Say("ing")
		}
		return scripted.Say("fine")
	})
	turns := newExclusive(t)
	r := newRig(t, func(r *rig) {
		r.model = model
		r.view.setTrap(turns.see)
	})

	var group sync.WaitGroup
	for c := range chats {
		at := store.Address{Chat: store.ChatID(c + 1)}
		group.Go(func() {
			for i := range messages {
				r.submit(message(at, fmt.Sprintf("<%d/%d>", c, i)))
			}
		})
		group.Go(func() { r.disturb(at, rand.New(rand.NewPCG(5, uint64(c)))) })
	}
	stopDeciding := r.decideAll(&group)
	time.Sleep(time.Second)
	stopDeciding()
	group.Wait()
	r.settle(chats)
	r.end()
	r.checkOnce(chats, messages)
}

// disturb stops, compacts and begins anew now and then.
func (r *rig) disturb(at store.Address, random *rand.Rand) {
	for range 20 {
		time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
		err := r.db.Update(func(tx *store.Tx) (err error) {
			switch random.IntN(4) {
			case 0:
				err = r.driver.Fresh(tx, at)
			case 1:
				_, err = r.driver.Compact(tx, at)
			default:
				_, err = r.driver.Stop(tx, at)
			}
			return err
		})
		if err != nil {
			r.Error(err)
		}
	}
}

// decideAll presses the buttons of whatever waits, each card twice at once, until it is ended.
func (r *rig) decideAll(group *sync.WaitGroup) (end func()) {
	done := make(chan struct{})
	for range 2 {
		group.Go(func() {
			for {
				select {
				case <-done:
					return
				case <-time.After(time.Millisecond):
					r.decideWaiting()
				}
			}
		})
	}
	return func() { close(done) }
}

func (r *rig) decideWaiting() {
	var waiting []approvals.Pending
	r.look(func(tx *store.Tx) (err error) {
		waiting, err = r.gate.Waiting(tx)
		return err
	})
	for _, p := range waiting {
		_, err := r.gate.Decide(p.ID, owner, approvals.Decision{Verb: approvals.VerbApprove})
		if err != nil && !errors.As(err, new(*approvals.DecidedError)) {
			r.Error(err)
		}
	}
}

// settle sends a last message to each chat, which takes along what was kept, and waits until nothing runs.
func (r *rig) settle(chats int) {
	for c := range chats {
		r.submit(message(store.Address{Chat: store.ChatID(c + 1)}, fmt.Sprintf("<%d/last>", c)))
	}
	r.until("the end of all turns", func() bool {
		r.decideWaiting()
		busy := false
		r.look(func(tx *store.Tx) error {
			return sessions.Scan(tx, nil, func(_ store.SessionID, s Session) (bool, error) {
				busy = busy || s.Turn != ""
				return true, nil
			})
		})
		return !busy
	})
}

// checkOnce counts the messages in all transcripts and mailboxes.
func (r *rig) checkOnce(chats, messages int) {
	seen := map[string]int{}
	r.offline(func(tx *store.Tx) error {
		if left, err := mailboxes.All(tx, nil); err != nil || len(left) > 0 {
			r.Errorf("%d messages still wait: %v", len(left), err)
		}
		return transcripts.Scan(tx, nil, func(_ store.Seq[store.SessionID], e Entry) (bool, error) {
			if e.Message.Role == "user" {
				seen[e.Message.Text]++
			}
			return true, nil
		})
	})
	for c := range chats {
		for i := range messages {
			if n := seen[fmt.Sprintf("<%d/%d>", c, i)]; n != 1 {
				r.Errorf("message %d of chat %d is in %d transcripts", i, c, n)
			}
		}
	}
}

// exclusive finds sessions with two turns at once.
type exclusive struct {
	t      *testing.T
	mu     sync.Mutex
	active map[store.SessionID]store.TurnID
}

func newExclusive(t *testing.T) *exclusive {
	return &exclusive{t: t, active: map[store.SessionID]store.TurnID{}}
}

func (x *exclusive) see(e Event) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch e := e.(type) {
	case TurnBegan:
		if before, is := x.active[e.Turn.Session]; is && before != e.Turn.ID {
			x.t.Errorf("session %s began a turn while another was under way", e.Turn.Session)
		}
		x.active[e.Turn.Session] = e.Turn.ID
	case TurnAnswered:
		delete(x.active, e.Turn.Session)
	case TurnFailed:
		delete(x.active, e.Turn.Session)
	case TurnStopped:
		delete(x.active, e.Turn.Session)
	}
}
