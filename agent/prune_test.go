package agent

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/agent/llm/scripted"
	"nod/store"
)

// TestPrune: after a quarter of a year, what nobody comes back to is gone, and nothing else.
func TestPrune(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		end := r.clock()
		r.addJob("the mail", store.Address{})
		r.script.Push(scripted.Say("no mail"))
		time.Sleep(24 * time.Hour)
		r.answered("no mail")
		end()

		// A session before /new, one whose beginning is summarised, one with a turn under way, one with mail.
		r.chat(2)
		before := r.session(here).ID
		r.update(func(tx *store.Tx) error { return r.driver.Fresh(tx, here) })
		r.view.reset() // the answers of the two sessions are the same
		r.chat(2)
		r.script.Push(scripted.Say(summaryText))
		r.compact(here)
		sees(r, anyOf[Compacted])
		r.script.Push(scripted.Say("on"))
		r.say("go on")
		r.answered("on")
		present := r.session(here).ID
		busy, waiting := leftAlone(r, "turn1"), leftAlone(r, "")
		r.update(func(tx *store.Tx) error {
			_, err := store.Append(tx, mailboxes, waiting, mail{Input: message(here, "later")})
			return err
		})

		time.Sleep(60 * 24 * time.Hour)
		if n, err := Prune(t.Context(), r.db, time.Now().Add(-90*24*time.Hour)); n != 0 || err != nil {
			t.Errorf("after 60 days %d records are pruned, %v", n, err)
		}
		time.Sleep(60 * 24 * time.Hour)
		if n, err := Prune(t.Context(), r.db, time.Now().Add(-90*24*time.Hour)); n == 0 || err != nil {
			t.Errorf("after 120 days %d records are pruned, %v", n, err)
		}
		var left []store.SessionID
		r.look(func(tx *store.Tx) error {
			if n, err := turns.All(tx, nil); len(n) != 0 || err != nil {
				t.Errorf("%d turns are left, %v", len(n), err)
			}
			return sessions.Scan(tx, nil, func(id store.SessionID, _ Session) (bool, error) {
				left = append(left, id)
				return true, nil
			})
		})
		if diff := cmp.Diff([]store.SessionID{present, busy, waiting}, left); diff != "" {
			t.Errorf("sessions: %s", diff)
		}
		if lines := r.transcript(before); len(lines) != 0 {
			t.Errorf("the session before /new still has %q", lines)
		}
		if diff := cmp.Diff([]string{"user: go on", "assistant: on"}, r.transcript(present)); diff != "" {
			t.Errorf("the present session: %s", diff)
		}
		if len(r.transcript(busy)) != 1 || len(r.transcript(waiting)) != 1 {
			t.Error("what is under way lost its transcript")
		}
		r.script.Push(scripted.Say("still here"))
		r.say("hello?")
		r.answered("still here")
		if u := r.session(here).Usage["first"]; u.In == 0 {
			t.Errorf("the usage is gone: %+v", u)
		}
	})
}

// leftAlone makes a session that no address uses.
func leftAlone(r *rig, turn store.TurnID) store.SessionID {
	r.Helper()
	s := Session{ID: store.NewSessionID(), Address: here, Created: time.Now(), Turn: turn}
	r.update(func(tx *store.Tx) error {
		if _, err := store.Append(tx, transcripts, s.ID, Entry{At: time.Now()}); err != nil {
			return err
		}
		return sessions.Put(tx, s.ID, s)
	})
	time.Sleep(time.Millisecond) // so that ids are in this order
	return s.ID
}
