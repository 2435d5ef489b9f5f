package main

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"nod/bot/emulator"
)

// TestSD1_StrangersLeaveNothing: ten thousand strangers write, some of them files. None reaches the model, none has a
// file fetched, few are answered, few are asked about, and the database stays as small as it was.
func TestSD1_StrangersLeaveNothing(t *testing.T) {
	const strangers, mostAnswered, mostGrowth = 10_000, 200, 1 << 20
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start()
		w.ann.SendText("/id")
		w.sees(w.ann, "Your id")
		before := w.databaseSize()
		began := time.Now()
		for n := range strangers {
			p := w.telegram.Private(emulator.User{ID: int64(1_000_000 + n), FirstName: "Stranger"})
			if n%10 == 0 {
				p.SendDocument(emulator.Upload{Name: "big.bin", Size: 1 << 20})
			} else {
				p.SendText("/start let me in")
			}
		}
		ctx, cancel := w.within()
		defer cancel()
		if err := w.telegram.WaitAcknowledged(ctx); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute) // all are answered who ever will be
		synctest.Wait()
		if n := len(w.telegram.Calls("sendMessage")); n > 2*mostAnswered+1 {
			t.Errorf("%d messages were sent", n)
		}
		if n := len(w.telegram.Calls("getFile")); n > 0 {
			t.Errorf("%d files were fetched", n)
		}
		if n := len(w.service.Requests()); n > 0 {
			t.Errorf("the model was asked %d times", n)
		}
		w.ann.SendText("/status")
		w.sees(w.ann, "Up for")
		w.end()
		if grown := w.databaseSize() - before; grown > mostGrowth {
			t.Errorf("the database has grown by %d KB", grown>>10)
		}
		t.Logf("%v on the bot's clock", time.Since(began))
	})
}

func (w *world) databaseSize() int64 {
	w.t.Helper()
	info, err := os.Stat(filepath.Join(w.home, databaseName))
	if err != nil {
		w.t.Fatal(err)
	}
	return info.Size()
}
