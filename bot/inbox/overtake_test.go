package inbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-telegram/bot/models"
	"github.com/google/go-cmp/cmp"

	"nod/store"
)

// backlog is what waits after a time without a connection: texts to two chats, and a press.
func backlog(parts ...string) (batch []json.RawMessage) {
	for i, part := range parts {
		text, chat := part, 101
		if other, ok := strings.CutPrefix(part, "elsewhere: "); ok {
			text, chat = other, 102
		}
		message := fmt.Sprintf(`{"message_id":%d,"date":1,"chat":{"id":%d,"type":"private"},"text":%q}`, i+1, chat, text)
		if text == "press" {
			batch = append(batch, fmt.Appendf(nil, `{"update_id":%d,"callback_query":{"id":"1","data":"ok","message":%s}}`, i+1, message))
			continue
		}
		batch = append(batch, fmt.Appendf(nil, `{"update_id":%d,"message":%s}`, i+1, message))
	}
	return batch
}

// stopper is a handler for which "/stop" overtakes what came before it, and "/stop all" everything; the others note
// whether they were.
func (r *rig) stopper(ctx context.Context, group []models.Update, done func(*store.Tx) error) error {
	u, text := group[0], textOf(group[0])
	err := r.db.Update(func(tx *store.Tx) error {
		if strings.HasPrefix(text, "/stop") {
			marked, err := r.inbox.Overtake(tx, &u, text == "/stop all")
			for _, m := range marked {
				text += " " + textOf(m)
			}
			r.said(text)
			if err != nil {
				return err
			}
			return done(tx)
		}
		overtaken, err := r.inbox.Overtaken(tx, &u)
		if err != nil {
			return err
		}
		if overtaken {
			text += " (overtaken)"
		}
		r.said(text)
		return done(tx)
	})
	return err
}

func (r *rig) said(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, text)
}

func TestSTOP1_WhatCameBeforeAStopIsToldSo(t *testing.T) {
	for name, c := range map[string]struct{ came, want []string }{
		"in its conversation": {
			[]string{"one", "elsewhere: two", "press", "/stop", "three"},
			[]string{"/stop one", "one (overtaken)", "press ok", "three", "two"},
		},
		"everywhere": {
			[]string{"one", "elsewhere: two", "/stop all", "three"},
			[]string{"/stop all one two", "one (overtaken)", "three", "two (overtaken)"},
		},
		"of several conversations": {
			[]string{"one", "/stop", "elsewhere: two", "elsewhere: /stop"},
			[]string{"/stop one", "/stop two", "one (overtaken)", "two (overtaken)"},
		},
		"twice": {
			[]string{"one", "/stop", "two", "/stop", "press"},
			[]string{"/stop one", "/stop one two", "one (overtaken)", "press ok", "two (overtaken)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				r.urgent = func(u *models.Update) bool { return u.Message != nil && strings.HasPrefix(u.Message.Text, "/stop") }
				r.handle = r.stopper
				r.start()
				if _, err := r.inbox.Receive(backlog(c.came...)); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				got := r.handled()
				slices.Sort(got)
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestSTOP1_ARestartForgetsNotWhatAStopOvertook(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.urgent = func(u *models.Update) bool { return u.Message != nil && u.Message.Text == "/stop" }
		ending := false
		r.handle = func(ctx context.Context, group []models.Update, done func(*store.Tx) error) error {
			if textOf(group[0]) == "one" && !ending {
				<-ctx.Done() // a file is fetched
				return ctx.Err()
			}
			return r.stopper(ctx, group, done)
		}
		r.start()
		for _, raw := range backlog("one", "/stop") {
			if _, err := r.inbox.Receive([]json.RawMessage{raw}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		r.stopAll()
		ending = true
		r.start()
		r.want("/stop one", "one (overtaken)")
	})
}

// TestSTOP1_MessagesWaitForAStop: whatever comes together with a /stop, above or below it, and what comes while it is being
// handled, is handled after it. In its conversation what is below would else be stopped with the rest.
func TestSTOP1_MessagesWaitForAStop(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.urgent = func(u *models.Update) bool { return u.Message != nil && strings.HasPrefix(u.Message.Text, "/stop") }
		r.handle = func(ctx context.Context, group []models.Update, done func(*store.Tx) error) error {
			if strings.HasPrefix(textOf(group[0]), "/stop") {
				time.Sleep(time.Second)
			}
			return r.stopper(ctx, group, done)
		}
		r.start()
		all := backlog("one", "/stop", "two", "elsewhere: two", "press", "elsewhere: three", "three")
		for _, batch := range [][]json.RawMessage{all[:5], all[5:]} {
			if _, err := r.inbox.Receive(batch); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if got := r.handled(); len(got) > 0 {
			t.Errorf("before the /stop: %q", got)
		}
		time.Sleep(time.Minute)
		got := r.handled()
		if len(got) != len(all) || got[0] != "/stop one" {
			t.Errorf("%q", got)
		}
		slices.Sort(got)
		if diff := cmp.Diff([]string{"/stop one", "one (overtaken)", "press ok", "three", "three", "two", "two"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

// TestSTOP1_AStopThatCannotBeHandledHoldsNothingUp for longer than it is tried.
func TestSTOP1_AStopThatCannotBeHandledHoldsNothingUp(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.urgent = func(u *models.Update) bool { return u.Message != nil && u.Message.Text == "/stop" }
		r.handle = func(ctx context.Context, group []models.Update, done func(*store.Tx) error) error {
			if textOf(group[0]) == "/stop" {
				panic("no stop")
			}
			return r.stopper(ctx, group, done)
		}
		r.start()
		if _, err := r.inbox.Receive(backlog("one", "/stop", "two")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		r.want("one", "two")
	})
}
