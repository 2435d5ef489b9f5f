package bot

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/bot/emulator"
	"nod/bot/outbox"
	"nod/store"
)

// TestTheOwnerIsToldOfADiskThatIsFullAndThatItIsNoMore: once each, past the outbox, also when Telegram is out of reach meanwhile.
func TestTheOwnerIsToldOfADiskThatIsFullAndThatItIsNoMore(t *testing.T) {
	full := fmt.Errorf("committing: %w", syscall.ENOSPC)
	const (
		begun = "⚠️ The disk is full. Make room where NOD_HOME is. Nothing is taken in or run until then; I go on by myself."
		over  = "✓ The database can be written to again. What was sent meanwhile is taken in now."
	)
	for name, tt := range map[string]struct {
		play func(a *Alarm, telegram *emulator.Server)
		want []string
	}{
		"ten commits": {func(a *Alarm, _ *emulator.Server) {
			for range 10 {
				a.news <- full
				time.Sleep(time.Second)
			}
		}, []string{begun, over}},
		"Telegram is away for a while": {func(a *Alarm, telegram *emulator.Server) {
			telegram.Inject("sendMessage", 2, emulator.BadGateway())
			for range 5 {
				a.news <- full
				time.Sleep(9 * time.Second)
			}
		}, []string{begun, over}},
		"it is over before Telegram is back": {func(a *Alarm, telegram *emulator.Server) {
			telegram.Inject("sendMessage", 3, emulator.BadGateway())
			a.news <- full
		}, nil},
		"it comes and goes": {func(a *Alarm, _ *emulator.Server) {
			for range 5 {
				a.news <- full
				time.Sleep(time.Minute)
			}
			time.Sleep(2 * time.Hour)
		}, []string{begun, over, begun + " " + comesAndGoesText, over}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				telegram := emulator.New(emulator.Options{})
				ann := telegram.Private(emulator.User{ID: 101, FirstName: "Ann"})
				ann.SendText("/start")
				db := store.OpenTest(t)
				if err := db.Update(func(tx *store.Tx) error { return Access{}.Adopt(tx, []store.UserID{101}) }); err != nil {
					t.Fatal(err)
				}
				client, _, err := outbox.NewClient(emulator.Token, "http://telegram.invalid", emulator.Transport(telegram), slog.New(slog.DiscardHandler))
				if err != nil {
					t.Fatal(err)
				}
				a := NewAlarm(db, client, slog.New(slog.DiscardHandler))
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error)
				go func() { ended <- a.Run(ctx) }()
				tt.play(a, telegram)
				time.Sleep(2 * time.Minute)
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
				var got []string
				for _, m := range ann.Messages() {
					if m.From != nil && m.From.IsBot {
						got = append(got, m.Text)
					}
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestWhatKeepsTheDatabaseFromBeingWrittenToIsSaidInWords(t *testing.T) {
	for err, want := range map[error]string{
		syscall.ENOSPC: "The disk is full", syscall.EDQUOT: "The disk is full", syscall.EROFS: "has become read-only", syscall.EFBIG: "a limit on the size of files",
		syscall.EIO: "input/output error",
	} {
		if got := diskText(fmt.Errorf("committing: %w", err)); !strings.Contains(got, want) || strings.Contains(got, "\n") {
			t.Errorf("%v: %q", err, got)
		}
	}
}
