package outbox_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-telegram/bot/models"
	"github.com/google/go-cmp/cmp"

	"nod/bot/emulator"
	"nod/bot/outbox"
	"nod/store"
)

func TestAnItemIsSentTheMomentItsTransactionCommits(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		start := time.Now()
		item := outbox.Item{To: to(r.ann), Slot: "turn/1/answer", HTML: "<b>hi</b> https://x.test", Plain: "hi https://x.test"}
		err := r.db.Update(func(tx *store.Tx) error {
			if err := r.out.Put(tx, item); err != nil {
				return err
			}
			synctest.Wait()
			if n := len(r.server.Calls()); n != 0 {
				t.Errorf("%d calls before the commit", n)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if d := time.Since(start); d != 0 {
			t.Errorf("the send waited %v", d)
		}
		m, ok := r.ann.Last()
		if !ok || m.Text != "hi https://x.test" || m.Entities[0].Type != "bold" || !m.NoPreview {
			t.Errorf("sent %+v", m)
		}
		if got := r.slot("turn/1/answer"); got != store.MessageID(m.ID) {
			t.Errorf("the slot holds %d, want %d", got, m.ID)
		}
		if n := r.out.Depth(); n != 0 {
			t.Errorf("%d items are left", n)
		}
	})
}

func TestARolledBackItemIsNotSent(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		_ = r.db.Update(func(tx *store.Tx) error {
			if err := r.out.Put(tx, text(r.ann, "no")); err != nil {
				t.Error(err)
			}
			return fmt.Errorf("never mind")
		})
		time.Sleep(time.Minute)
		if got := r.server.Calls(); len(got) > 0 {
			t.Errorf("calls: %v", got)
		}
	})
}

func TestItemsThatCannotBeSentAreRefused(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		here := to(r.ann)
		bad := map[string]outbox.Item{
			"no chat":              {Plain: "x"},
			"no plain text":        {To: here, HTML: "<b>x</b>"},
			"blank":                {To: here, Plain: " \n"},
			"edit without a slot":  {To: here, Kind: outbox.Edit, Plain: "x"},
			"edit of nothing":      {To: here, Kind: outbox.Edit, Slot: "s"},
			"delete without slot":  {To: here, Kind: outbox.Delete},
			"upload without file":  {To: here, Kind: outbox.Upload},
			"unknown kind":         {To: here, Kind: "sing", Plain: "x"},
			"html caption only":    {To: here, Kind: outbox.Upload, File: &outbox.File{Handle: "h"}, HTML: "x"},
			"edit with html alone": {To: here, Kind: outbox.Edit, Slot: "s", HTML: "x"},
		}
		for name, item := range bad {
			if err := r.db.Update(func(tx *store.Tx) error { return r.out.Put(tx, item) }); err == nil {
				t.Errorf("%s: accepted", name)
			}
		}
	})
}

func TestOrderIsKeptWithinAChatAndASlowUploadHoldsNoOther(t *testing.T) {
	inBubble(t, outbox.Options{Unpaced: true}, func(r *rig) {
		bob := r.server.Private(emulator.User{ID: 102, FirstName: "Bob"})
		handle, err := r.out.Keep("big.bin", strings.NewReader(strings.Repeat("x", 1<<20)), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		r.server.Inject("sendDocument", 1, emulator.Slow(5*time.Minute))
		r.put(outbox.Item{To: to(r.ann), Kind: outbox.Upload, File: &outbox.File{Handle: handle, Name: "big.bin"}})
		var want []string
		for i := range 20 {
			want = append(want, fmt.Sprint("line ", i))
			r.put(text(r.ann, want[i]), text(bob, want[i]))
		}
		time.Sleep(time.Second)
		if diff := cmp.Diff(want, said(bob)); diff != "" {
			t.Errorf("Bob's chat: %s", diff)
		}
		if got := said(r.ann); len(got) > 0 {
			t.Errorf("Ann's chat overtook the upload: %q", got)
		}
		time.Sleep(5 * time.Minute)
		if diff := cmp.Diff(append([]string{""}, want...), said(r.ann)); diff != "" {
			t.Errorf("Ann's chat: %s", diff)
		}
	})
}

func TestASlotsMessageIsEditedThenDeleted(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		card := outbox.Item{To: to(r.ann), Slot: "card/1", HTML: "<i>May I?</i>", Plain: "May I?", Keyboard: &models.InlineKeyboardMarkup{
			InlineKeyboard: [][]models.InlineKeyboardButton{{{Text: "✅ Approve", CallbackData: "a"}}},
		}}
		r.put(card)
		r.flush()
		first := r.slot("card/1")
		card.Kind, card.Plain, card.HTML, card.Keyboard = outbox.Edit, "", "", &models.InlineKeyboardMarkup{}
		r.put(card) // the keyboard alone
		r.flush()
		if m, _ := r.ann.Last(); m.Text != "May I?" || m.Keyboard != nil {
			t.Errorf("after the keyboard's removal: %q %v", m.Text, m.Keyboard)
		}
		r.put(outbox.Item{To: to(r.ann), Slot: "card/1", Plain: "Approved."})
		r.put(outbox.Item{To: to(r.ann), Slot: "other", Kind: outbox.Edit, Plain: "an empty slot is not edited"})
		r.flush()
		if diff := cmp.Diff([]string{"Approved."}, said(r.ann)); diff != "" {
			t.Error(diff)
		}
		err := r.db.View(func(tx *store.Tx) error {
			s, ok, err := r.out.SlotOf(tx, to(r.ann).Chat, first)
			if s != "card/1" || !ok {
				t.Errorf("SlotOf: %q, %v", s, ok)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		r.put(outbox.Item{To: to(r.ann), Slot: "card/1", Plain: "again", Fresh: true})
		r.flush()
		if second := r.slot("card/1"); second == first {
			t.Errorf("Fresh edited message %d", first)
		}
		r.put(outbox.Item{To: to(r.ann), Slot: "card/1", Kind: outbox.Delete}, outbox.Item{To: to(r.ann), Slot: "card/1", Kind: outbox.Delete})
		r.flush()
		if diff := cmp.Diff([]string{"Approved."}, said(r.ann)); diff != "" {
			t.Error(diff)
		}
		if m := r.slot("card/1"); m != 0 {
			t.Errorf("the slot still holds %d", m)
		}
	})
}

func TestEditsThatALaterOneReplacesAreLeftOut(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		r.put(outbox.Item{To: to(r.ann), Slot: "s", Plain: "0"})
		r.flush()
		var edits []outbox.Item
		for i := range 10 {
			edits = append(edits, outbox.Item{To: to(r.ann), Slot: "s", Kind: outbox.Edit, Plain: fmt.Sprint("edit ", i)})
		}
		r.put(append(edits, text(r.ann, "below"))...)
		r.flush()
		if diff := cmp.Diff([]string{"edit 9", "below"}, said(r.ann)); diff != "" {
			t.Error(diff)
		}
		if n := len(r.server.Calls("editMessageText")); n != 1 {
			t.Errorf("%d edits", n)
		}
	})
}

func TestRestartSendsWhatIsQueuedInOrderAndEditsWhatIsKnown(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		r.out.Preview("turn/1/answer", to(r.ann), outbox.Content{Plain: "half an ans"})
		synctest.Wait()
		r.server.Inject("", 1000, emulator.ServerError())
		r.put(text(r.ann, "one"), outbox.Item{To: to(r.ann), Slot: "turn/1/answer", Plain: "the whole answer"}, text(r.ann, "three"))
		synctest.Wait()
		r.stop()
		r.server.ClearFaults()
		if n := r.out.Depth(); n != 3 {
			t.Fatalf("%d items wait for the restart, want 3", n)
		}
		r.start(outbox.Options{})
		r.flush()
		if diff := cmp.Diff([]string{"the whole answer", "one", "three"}, said(r.ann)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestShutdownLetsARunningCallEndAndRecordsIt(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		r.server.Inject("sendMessage", 1, emulator.Slow(2*time.Second))
		r.put(text(r.ann, "bye"))
		synctest.Wait()
		r.stop()
		if n := r.out.Depth(); n != 0 {
			t.Errorf("%d items are left though the message arrived", n)
		}
		if diff := cmp.Diff([]string{"bye"}, said(r.ann)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestShutdownDoesNotWaitForAHungCall(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		r.server.Inject("sendMessage", 1, emulator.Hang())
		r.put(text(r.ann, "hello?"))
		synctest.Wait()
		start := time.Now()
		r.stop()
		if d := time.Since(start); d > 6*time.Second {
			t.Errorf("Run took %v to end", d)
		}
		if n := r.out.Depth(); n != 1 {
			t.Errorf("%d items are left, want the unsent one", n)
		}
	})
}

func TestFlushReturnsWhenAllWasTried(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		r.put(text(r.ann, "1"), text(r.ann, "2"))
		if err := r.out.Flush(r.Context()); err != nil || r.out.Depth() != 0 {
			t.Errorf("Flush: %v, %d left", err, r.out.Depth())
		}
		r.server.Inject("", 1, emulator.RetryAfter(600))
		r.put(text(r.ann, "3"))
		start := time.Now()
		if err := r.out.Flush(r.Context()); err != nil || time.Since(start) > 10*time.Second {
			t.Errorf("Flush waited %v for Telegram: %v", time.Since(start), err)
		}
		bob := r.server.Private(emulator.User{ID: 102})
		r.server.Inject("", 1, emulator.Hang())
		r.put(text(bob, "4"))
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if err := r.out.Flush(ctx); err == nil {
			t.Error("Flush did not end with its context")
		}
	})
}

func TestPaceKeepsBelowTheLimits(t *testing.T) {
	for name, group := range map[string]bool{"private": false, "group": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, outbox.Options{}, func(r *rig) {
				r.server.SetFlood(&emulator.Flood{})
				p := r.ann
				if group {
					p = r.server.NewGroup(emulator.GroupOptions{Title: "G"}, ann).Person(ann)
				}
				start := time.Now()
				var want []string
				for i := range 50 {
					want = append(want, fmt.Sprint(i))
					r.put(text(p, want[i]))
				}
				r.flush()
				if diff := cmp.Diff(want, said(p)); diff != "" {
					t.Error(diff)
				}
				for _, c := range r.server.Calls() {
					if c.Code == 429 {
						t.Errorf("a call was refused: %v", c)
					}
				}
				calls := r.server.Calls("sendMessage")
				if d := calls[2].At.Sub(start); d != 0 {
					t.Errorf("the first three took %v, want a burst", d)
				}
				limit := 60 * time.Second
				if group {
					limit = 130 * time.Second
				}
				if d := time.Since(start); d > limit {
					t.Errorf("50 messages took %v", d)
				}
			})
		})
	}
}

func TestALaneEndsWhenIdle(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		r.put(text(r.ann, "1"))
		r.flush()
		time.Sleep(10 * time.Minute)
		r.put(text(r.ann, "2")) // by a new lane
		synctest.Wait()
		if diff := cmp.Diff([]string{"1", "2"}, said(r.ann)); diff != "" {
			t.Error(diff)
		}
	})
}
