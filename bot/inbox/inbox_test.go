package inbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-telegram/bot/models"
	"github.com/google/go-cmp/cmp"

	"nod/bot/emulator"
	"nod/bot/inbox"
	"nod/store"
)

func TestAnOrdinaryMessageWaitsForNoTimer(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.start()
		start := time.Now()
		r.ann.SendText("hello")
		synctest.Wait()
		r.want("hello")
		if d := time.Since(start); d != 0 {
			t.Errorf("it waited %v", d)
		}
	})
}

func TestRECV1_AHandledUpdateIsNotHandledAgainAfterARestart(t *testing.T) {
	inBubble(t, func(r *rig) {
		raw := json.RawMessage(`{"update_id":77,"message":{"message_id":1,"date":1,"chat":{"id":101,"type":"private"},"text":"once"}}`)
		r.start()
		for range 2 { // before the next getUpdates the server would send it again
			if _, err := r.inbox.Receive([]json.RawMessage{raw}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			r.stopAll()
			r.start()
		}
		r.want("once")
		if offset, err := r.inbox.Offset(); offset != 78 || err != nil {
			t.Errorf("offset %d, %v", offset, err)
		}
	})
}

func TestRECV2_AReceivedUpdateIsHandledAfterARestart(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.handle = func(ctx context.Context, _ []models.Update, _ func(*store.Tx) error) error {
			<-ctx.Done() // the program ends before the effect
			return ctx.Err()
		}
		r.start()
		for i := range 5 {
			r.ann.SendText(fmt.Sprint("message ", i))
		}
		synctest.Wait()
		r.stopAll()
		if n := r.inbox.Waiting(); n != 5 {
			t.Fatalf("%d rows wait for the restart, want 5", n)
		}
		r.handle = nil
		r.start()
		r.want("message 0", "message 1", "message 2", "message 3", "message 4")
		if r.server.PendingUpdates() != 0 {
			t.Error("the updates were not acknowledged")
		}
	})
}

func TestUpdatesAreStoredBeforeTheyAreAcknowledged(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.handle = func(context.Context, []models.Update, func(*store.Tx) error) error { return errors.New("no") }
		r.ann.SendText("kept")
		var waiting atomic.Int32
		r.server.InjectWhen("getUpdates", 1, func(c emulator.Call) bool {
			if c.Params["offset"] == "" {
				return false
			}
			waiting.Store(int32(r.inbox.Waiting()))
			return true
		}, emulator.DropBefore())
		r.start()
		if n := waiting.Load(); n != 1 {
			t.Errorf("acknowledged while %d updates were stored", n)
		}
	})
}

func TestRECV3_TheSameBatchTwiceAndAnUpdateThatDoesNotDecode(t *testing.T) {
	inBubble(t, func(r *rig) {
		message := func(id int, text string) json.RawMessage {
			return fmt.Appendf(nil, `{"update_id":%d,"message":{"message_id":%d,"date":1,"chat":{"id":101,"type":"private"},"text":%q}}`, id, id, text)
		}
		batch := []json.RawMessage{
			message(1, "a"),
			json.RawMessage(`{"update_id":2,"message":{"message_id":"two"}}`),
			json.RawMessage(`{"update_id":3,"my_chat_member":{"old_chat_member":{"status":"a status of next year"}}}`),
			message(3, "a repeated id"),
			json.RawMessage(`{"no":"id"}`),
			json.RawMessage(`[]`),
			message(4, "b"),
		}
		r.start()
		for range 2 {
			if _, err := r.inbox.Receive(batch); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		r.want("a", "b")
		if err := r.log.has("update=2", "update=3", "skipping an update without an id"); err != nil {
			t.Error(err)
		}
	})
}

func TestRECV3_AnUndecodableUpdateDoesNotBlockThePoller(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.start()
		r.ann.SendText("before")
		r.server.InjectUpdate(json.RawMessage(`{"message":{"message_id":"x"}}`))
		r.ann.SendText("after")
		synctest.Wait()
		r.want("before", "after")
		if r.server.PendingUpdates() != 0 {
			t.Error("the updates were not acknowledged")
		}
	})
}

func TestUpdateIDsMayStartAnewAfterAWeek(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.start()
		r.ann.SendText("before the holidays")
		time.Sleep(8 * 24 * time.Hour)
		r.server.SetNextUpdateID(1000)
		r.ann.SendText("after them")
		r.ann.SendText("and on")
		time.Sleep(time.Minute)
		r.want("before the holidays", "after them", "and on")
	})
}

func TestAnotherBotsIDsCountFromElsewhere(t *testing.T) {
	db := store.OpenTest(t)
	batch := func(id int) []json.RawMessage { return []json.RawMessage{fmt.Appendf(nil, `{"update_id":%d}`, id)} }
	first, second := inbox.New(db, inbox.Options{Bot: 1}), inbox.New(db, inbox.Options{Bot: 2})
	for in, ids := range map[*inbox.Inbox][]int{first: {900, 901}, second: {5, 6}} {
		for _, id := range ids {
			if fresh, err := in.Receive(batch(id)); fresh != 1 || err != nil {
				t.Errorf("update %d: %d new, %v", id, fresh, err)
			}
		}
		if offset, err := in.Offset(); offset != int64(ids[1])+1 || err != nil {
			t.Errorf("offset %d after %v, %v", offset, ids, err)
		}
	}
}

func TestOrderPerChatAndNoWaitingForOthers(t *testing.T) {
	inBubble(t, func(r *rig) {
		forum := r.server.NewGroup(emulator.GroupOptions{Title: "F", Forum: true}, ann)
		forum.Person(ann).SendText("0")
		topic := forum.Person(ann).In(forum.NewTopic(ann, "plans"))
		r.handle = func(ctx context.Context, group []models.Update, done func(*store.Tx) error) error {
			if group[0].Message != nil && strings.HasPrefix(group[0].Message.Text, "slow") {
				time.Sleep(time.Hour)
			}
			return r.note(ctx, group, done)
		}
		r.start()
		r.ann.SendText("slow 1")
		r.ann.SendText("2")
		for i := range 10 {
			topic.SendText(fmt.Sprint("topic ", i))
		}
		forum.Person(ann).In(1).SendText("general")
		synctest.Wait()
		got := slices.DeleteFunc(r.handled(), func(s string) bool { return !strings.HasPrefix(s, "topic") && s != "general" })
		if !slices.Contains(got, "general") {
			t.Errorf("General waited: %q", got)
		}
		got = slices.DeleteFunc(got, func(s string) bool { return s == "general" })
		if !slices.IsSorted(got) || len(got) != 10 {
			t.Errorf("the topic's order: %q", got)
		}
		time.Sleep(2 * time.Hour)
		got = r.handled()
		if diff := cmp.Diff([]string{"slow 1", "2"}, got[len(got)-2:]); diff != "" {
			t.Error(diff)
		}
	})
}

func TestPressesAndUrgentMessagesOvertake(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.urgent = func(u *models.Update) bool { return u.Message != nil && u.Message.Text == "/stop" }
		r.handle = func(ctx context.Context, group []models.Update, done func(*store.Tx) error) error {
			if group[0].Message != nil && group[0].Message.Text == "long" {
				time.Sleep(time.Hour)
			}
			return r.note(ctx, group, done)
		}
		r.start()
		r.ann.SendText("long")
		r.ann.PressData(1, "approve")
		r.ann.SendText("/stop")
		r.ann.SendText("next")
		synctest.Wait()
		got := r.handled()
		slices.Sort(got)
		if diff := cmp.Diff([]string{"/stop", "press approve"}, got); diff != "" {
			t.Error(diff)
		}
		time.Sleep(2 * time.Hour)
		if diff := cmp.Diff([]string{"long", "next"}, r.handled()[2:]); diff != "" {
			t.Error(diff)
		}
	})
}

func TestRECV9_AnAlbumIsOneGroup(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.start()
		start := time.Now()
		r.ann.SendAlbum(photos(10), emulator.Caption("ten"))
		synctest.Wait()
		r.want("photo ten" + strings.Repeat(" + photo ", 9))
		if d := time.Since(start); d != 0 {
			t.Errorf("a full album waited %v", d)
		}
	})
}

func TestRECV9_PartsThatComeApart(t *testing.T) {
	inBubble(t, func(r *rig) {
		part := func(id int, text string) json.RawMessage {
			return fmt.Appendf(nil, `{"update_id":%d,"message":{"message_id":%d,"date":1,"media_group_id":"g","chat":{"id":101,"type":"private"},"text":%q}}`, id, id, text)
		}
		r.start()
		for i := range 3 {
			if _, err := r.inbox.Receive([]json.RawMessage{part(i+1, fmt.Sprint(i))}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(700 * time.Millisecond)
		}
		if got := r.handled(); len(got) > 0 {
			t.Errorf("handed over too early: %q", got)
		}
		time.Sleep(time.Second)
		r.want("0 + 1 + 2")
	})
}

func TestAnythingElseEndsAnAlbum(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.start()
		start := time.Now()
		r.ann.SendAlbum(photos(2))
		r.ann.SendText("what is this?")
		synctest.Wait()
		r.want("photo  + photo ", "what is this?")
		if d := time.Since(start); d != 0 {
			t.Errorf("it waited %v", d)
		}
	})
}

func TestASplitPasteIsOneGroup(t *testing.T) {
	long := func(letter string, n int) string { return strings.Repeat(letter, n) }
	for name, tc := range map[string]struct {
		send func(*rig)
		want []string
		wait time.Duration
	}{
		"three parts": {func(r *rig) {
			r.ann.SendText(long("a", 4096))
			r.ann.SendText(long("b", 4000))
			r.ann.SendText("the end")
		}, []string{"aaa… + bbb… + the end"}, 0},
		"a long text alone": {func(r *rig) { r.ann.SendText(long("a", 4096)) }, []string{"aaa…"}, time.Second},
		"a command does not join": {func(r *rig) {
			r.ann.SendText(long("a", 4096))
			r.ann.SendText("/new")
		}, []string{"aaa…", "/new"}, 0},
		"what is sent later does not join": {func(r *rig) {
			r.ann.SendText(long("a", 4096), emulator.SentAt(time.Now().Add(-time.Minute)))
			r.ann.SendText("and?")
		}, []string{"aaa…", "and?"}, 0},
		"a reply does not join": {func(r *rig) {
			m := r.ann.SendText("first")
			r.ann.SendText(long("a", 4096))
			r.ann.SendText("reply", emulator.ReplyTo(m.ID))
		}, []string{"first", "aaa…", "reply"}, 0},
		"the parts of a long reply": {func(r *rig) {
			m := r.ann.SendText("first")
			r.ann.SendText(long("a", 4096), emulator.ReplyTo(m.ID))
			r.ann.SendText("the end", emulator.ReplyTo(m.ID))
		}, []string{"first", "aaa… + the end"}, 0},
		"short texts": {func(r *rig) {
			r.ann.SendText("one")
			r.ann.SendText("two")
		}, []string{"one", "two"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				tc.send(r)
				r.start()
				time.Sleep(tc.wait)
				synctest.Wait()
				r.want(tc.want...)
			})
		})
	}
}

func TestAGroupSendersTextsAreKeptApart(t *testing.T) {
	inBubble(t, func(r *rig) {
		g := r.server.NewGroup(emulator.GroupOptions{Title: "G"}, ann)
		g.Person(ann).SendText(strings.Repeat("a", 4096))
		g.Person(emulator.User{ID: 102}).SendText("mine")
		r.start()
		got := r.handled()
		if diff := cmp.Diff([]string{"aaa…", "mine"}, got[len(got)-2:]); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAPanicIsLoggedOnceATryAndTheUpdateGivenUpAfterThree(t *testing.T) {
	inBubble(t, func(r *rig) {
		var tries atomic.Int32
		r.handle = func(ctx context.Context, group []models.Update, done func(*store.Tx) error) error {
			if textOf(group[0]) == "poison" {
				tries.Add(1)
				panic("at the disco")
			}
			return r.note(ctx, group, done)
		}
		r.start()
		r.ann.SendText("poison")
		r.ann.SendText("behind it")
		synctest.Wait()
		if tries.Load() != 1 {
			t.Errorf("%d tries at once", tries.Load())
		}
		time.Sleep(time.Minute)
		r.want("behind it")
		if dead := r.deaths(); tries.Load() != 3 || len(dead) != 1 {
			t.Errorf("%d tries, dead %v", tries.Load(), dead)
		}
		if n := strings.Count(r.log.String(), "panic in the handler"); n != 3 {
			t.Errorf("%d log lines for three panics", n)
		}
		if err := r.log.has("at the disco", "inbox_test.go", fmt.Sprint("update=", r.deaths()[0])); err != nil {
			t.Error(err)
		}
	})
}

func TestTriesAreCountedAcrossRestarts(t *testing.T) {
	inBubble(t, func(r *rig) {
		var tries atomic.Int32
		r.handle = func(context.Context, []models.Update, func(*store.Tx) error) error {
			tries.Add(1)
			return errors.New("no")
		}
		r.start()
		r.ann.SendText("poison")
		synctest.Wait()
		r.stopAll()
		r.start()
		time.Sleep(time.Minute)
		if dead := r.deaths(); tries.Load() != 3 || len(dead) != 1 {
			t.Errorf("%d tries, dead %v", tries.Load(), dead)
		}
	})
}

func TestWhatWasCommittedIsHandledWhateverFollows(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.handle = func(ctx context.Context, group []models.Update, done func(*store.Tx) error) error {
			if err := r.note(ctx, group, done); err != nil {
				return err
			}
			panic("too late to matter")
		}
		r.start()
		r.ann.SendText("hello")
		time.Sleep(time.Minute)
		r.want("hello")
	})
}

func TestAHandlerThatDoesNothingEndsTheUpdate(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.handle = func(_ context.Context, group []models.Update, _ func(*store.Tx) error) error {
			r.remember(group)
			return nil
		}
		r.start()
		r.ann.SendText("ignored")
		synctest.Wait()
		r.want("ignored")
	})
}

func TestARolledBackEffectLeavesTheUpdate(t *testing.T) {
	inBubble(t, func(r *rig) {
		var failed atomic.Bool
		r.handle = func(ctx context.Context, group []models.Update, done func(*store.Tx) error) error {
			return r.db.Update(func(tx *store.Tx) error {
				if err := done(tx); err != nil || !failed.Swap(true) {
					return errors.Join(err, errors.New("the effect failed"))
				}
				r.remember(group)
				return nil
			})
		}
		r.start()
		r.ann.SendText("twice")
		time.Sleep(time.Minute)
		r.want("twice")
	})
}

func photos(n int) []emulator.Upload {
	pic := []byte("\x89PNG\r\n\x1a\n" + strings.Repeat("\x00", 64))
	return slices.Repeat([]emulator.Upload{{Name: "p.png", Mime: "image/png", Data: bytes.Clone(pic)}}, n)
}
