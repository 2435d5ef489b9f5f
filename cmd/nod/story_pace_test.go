package main

import (
	"testing"
	"time"

	"nod/bot/emulator"
)

// calls are the finished calls of some methods to Ann's chat.
func (d *dialog) calls(methods ...string) (list []emulator.Call) {
	for _, c := range d.telegram.Calls(methods...) {
		if c.Done {
			list = append(list, c)
		}
	}
	return list
}

func TestSEND13_TypingIsRepeatedEvery4SecondsAndEndsBeforeTheAnswer(t *testing.T) {
	story(t, func(d *dialog) {
		d.play("user> think\nmodel> sleep 30s\n  say Done.\nwait 20s\nbot< Done.")
		d.play("wait 1m") // in which the answer's call is over as well
		answer := d.calls("sendMessage")[0]
		typing := d.calls("sendChatAction")
		if len(typing) != 8 {
			t.Errorf("typing was shown %d times in 30 s instead of 8", len(typing))
		}
		for i, c := range typing {
			if i > 0 && c.At.Sub(typing[i-1].At).Round(100*time.Millisecond) != 4*time.Second {
				t.Errorf("typing was repeated after %s", c.At.Sub(typing[i-1].At))
			}
			if c.N > answer.N {
				t.Errorf("typing was shown after the answer, at %s", c.At)
			}
		}
	})
}

func TestSEND13_TypingPausesWhileACardWaits(t *testing.T) {
	story(t, func(d *dialog) {
		d.play("user> write\nmodel> call write_file {\"path\":\"a.md\",\"content\":\"a\\n\"}\nbot< Create a.md?\nwait 1s")
		before := len(d.calls("sendChatAction"))
		d.play("wait 1m")
		if n := len(d.calls("sendChatAction")) - before; n > 0 {
			t.Errorf("typing was shown %d times while the bot waited for a person", n)
		}
		d.play("press> ✅ Approve\nmodel> sleep 6s\n  say Written.\nbot< Written.")
		if n := len(d.calls("sendChatAction")) - before; n < 2 {
			t.Errorf("typing was shown %d times in 6 s of work", n)
		}
	})
}

func TestSEND12_APreviewIsOneMessageThatIsEditedAtAPace(t *testing.T) {
	story(t, func(d *dialog) {
		model := "model> say \"Once\"\n"
		for range 30 {
			model += "  sleep 300ms\n  say \" and once\"\n"
		}
		d.play("user> tell me\n" + model + "  say \" more.\"\nbot< once more.")
		d.settle()
		if n := len(d.calls("sendMessage")); n != 1 {
			t.Errorf("%d messages were sent instead of 1", n)
		}
		edits := d.calls("editMessageText")
		if n := len(edits); n < 4 || n > 8 {
			t.Errorf("%d edits in 9 s", n)
		}
		for i := 1; i < len(edits)-1; i++ { // the last one is the answer
			if gap := edits[i].At.Sub(edits[i-1].At); gap < 1500*time.Millisecond {
				t.Errorf("two edits within %s", gap)
			}
		}
	})
}

func TestSEND11_NoCallToTheChatBeforeRetryAfterIsOver(t *testing.T) {
	story(t, func(d *dialog) {
		d.play(`fault editMessageText 1 429:33
user> tell me a story
model> say "Once upon a time "
  sleep 2s
  say "there was "
  sleep 2s
  say "a bot, "
  sleep 20s
  say "and a cat."
wait 60s
bot< Once upon a time there was a bot, and a cat.`)
		var refused time.Time
		for _, c := range d.calls("sendMessage", "editMessageText", "sendChatAction") {
			switch {
			case c.Code == 429:
				refused = c.At
			case !refused.IsZero() && c.At.After(refused) && c.At.Sub(refused) < 33*time.Second:
				t.Errorf("%s was called %s after Telegram asked to wait for 33 s", c.Method, c.At.Sub(refused))
			}
		}
		if got := d.said(); len(got) != 1 {
			t.Errorf("%d messages instead of one:\n%s", len(got), d.ann.Transcript())
		}
	})
}
