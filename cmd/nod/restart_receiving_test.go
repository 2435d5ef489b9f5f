package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent/llm/scripted"
	"nod/bot/emulator"
	"nod/bot/inbox"
)

// TestRECV1_WhatWasHandledIsNotHandledAgain: nod ends after it has handled an update and before it could acknowledge it.
// Telegram delivers the update again, and nothing happens.
func TestRECV1_WhatWasHandledIsNotHandledAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start()
		synctest.Wait() // the poll is held
		w.telegram.Inject("getUpdates", 1000, emulator.DropBefore())
		w.ann.SendText("hello")
		w.model.push(scripted.Say("Hello."))
		w.sees(w.ann, "Hello.")
		w.end()
		if w.telegram.PendingUpdates() == 0 {
			t.Fatal("the update was acknowledged")
		}
		w.telegram.ClearFaults()
		w.start()
		ctx, cancel := w.within()
		defer cancel()
		if err := w.telegram.WaitAcknowledged(ctx); err != nil {
			t.Fatal(err)
		}
		w.ann.SendText("/id")
		w.sees(w.ann, "Your id")
		requests := w.service.Requests()
		last := string(requests[len(requests)-1].Body)
		if len(requests) > 3 || strings.Count(last, "one") < 1 || strings.Count(last, "Read: two") > 0 {
			t.Errorf("the model was asked %d times, at last: %s", len(requests), last)
		}
	})
}

// TestRECV2_WhatWasReceivedIsHandledAfterTheStart: the message was taken in, and nod ended before the model had answered.
func TestRECV2_WhatWasReceivedIsHandledAfterTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start()
		w.ann.SendText("hello")
		ctx, cancel := w.within()
		defer cancel()
		if err := w.telegram.WaitAcknowledged(ctx); err != nil {
			t.Fatal(err)
		}
		w.end()
		w.start()
		w.model.push(scripted.Say("Hello."))
		w.sees(w.ann, "Hello.")
		time.Sleep(time.Minute)
		if diff := strings.Count(w.ann.Transcript(), "Hello."); diff != 1 {
			t.Errorf("the answer is there %d times:\n%s", diff, w.ann.Transcript())
		}
	})
}

// TestRECV3_BadUpdatesAreSkipped: updates that no client can decode stand between two messages, one of which comes twice.
func TestRECV3_BadUpdatesAreSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start()
		synctest.Wait()
		w.telegram.Inject("getUpdates", 1, emulator.DropAfter()) // so that the batch comes again
		w.ann.SendText("one")
		for _, bad := range []string{
			`{"message":{"message_id":"seven","chat":7}}`, `{"message_reaction":{"new_reaction":[{"type":"newest"}]}}`, `{"future":{"x":[1,2]}}`,
			`{"message":{"message_id":9,"date":1,"chat":{"id":101,"type":"private"},"from":{"id":101,"first_name":"Ann"},"text":"x","entities":[{"type":"mention","offset":-5,"length":99999}]}}`,
		} {
			w.telegram.InjectUpdate(json.RawMessage(bad))
		}
		w.ann.SendText("two")
		// The three messages that can be read may come in one poll, and then enter one turn, or in several.
		for range 3 {
			w.model.answer(func(r scripted.Request) scripted.Reply { return scripted.Say("Read: " + r.LastUser()) })
		}
		w.sees(w.ann, "two")
		time.Sleep(time.Minute)
		synctest.Wait()
		requests := w.service.Requests()
		last := string(requests[len(requests)-1].Body)
		if len(requests) > 3 || strings.Count(last, "one") < 1 || strings.Count(last, "Read: two") > 0 {
			t.Errorf("the model was asked %d times, at last: %s", len(requests), last)
		}
		if left := w.telegram.PendingUpdates(); left > 0 {
			t.Errorf("%d updates are not acknowledged", left)
		}
		if n := strings.Count(w.logs.String(), "can't be decoded"); n < 1 {
			t.Errorf("%d bad updates are in the log", n)
		}
	})
}

// TestAStartWithoutANetworkWaits: nod waits until Telegram can be reached, and says once what it waits for.
func TestAStartWithoutANetworkWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.telegram.Inject("getMe", 5, emulator.DropBefore())
		w.start()
		w.ann.SendText("/id")
		w.sees(w.ann, "Your id")
		if n := strings.Count(w.logs.String(), "Telegram can't be reached"); n != 1 {
			t.Errorf("the log says %d times that Telegram can't be reached", n)
		}
	})
}

// TestRECV6_ATokenThatWasRevokedEndsTheProgram: the program says so and ends; it does not knock forever.
func TestRECV6_ATokenThatWasRevokedEndsTheProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start()
		w.ann.SendText("/id")
		w.sees(w.ann, "Your id")
		w.telegram.Inject("", 1000, emulator.Fail(401, "Unauthorized"))
		time.Sleep(2 * time.Minute)
		polls := len(w.telegram.Calls("getUpdates"))
		err := w.stop()
		w.stop = nil
		if !errors.Is(err, inbox.ErrToken) || exitCode(err) != 1 {
			t.Errorf("nod ended with %v", err)
		}
		time.Sleep(10 * time.Minute)
		if more := len(w.telegram.Calls("getUpdates")) - polls; more > 0 {
			t.Errorf("%d polls followed", more)
		}
	})
}
