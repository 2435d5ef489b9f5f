package outbox_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/bot/emulator"
	"nod/bot/outbox"
	"nod/store"
)

// grow shows a preview that changes every 50 ms.
func grow(r *rig, p *emulator.Person, s outbox.Slot, changes int) {
	for i := range changes {
		r.out.Preview(s, to(p), outbox.Content{Plain: strings.Repeat(".", i/2+1) + fmt.Sprint(i)})
		time.Sleep(50 * time.Millisecond)
	}
}

func TestSEND12_PreviewThenFinalIsOneMessage(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		r.server.SetFlood(&emulator.Flood{})
		start := time.Now()
		grow(r, r.ann, "turn/1/answer", 200)
		final := outbox.Item{To: to(r.ann), Slot: "turn/1/answer", HTML: "<b>final</b>", Plain: "final"}
		r.out.Preview("turn/1/answer", to(r.ann), outbox.Content{Plain: "late preview"})
		ended := time.Now()
		r.put(final)
		synctest.Wait()
		if d := time.Since(ended); d != 0 {
			t.Errorf("the final waited %v", d)
		}
		r.flush()
		time.Sleep(time.Minute)
		if diff := cmp.Diff([]string{"final"}, said(r.ann)); diff != "" {
			t.Error(diff)
		}
		calls := r.server.Calls()
		if calls[0].Method != "sendMessage" || !calls[0].At.Equal(start) {
			t.Errorf("the first preview: %v", calls[0])
		}
		for i, c := range calls[1 : len(calls)-1] {
			if gap := c.At.Sub(calls[i].At); gap < 1500*time.Millisecond || c.Method != "editMessageText" || c.Code != 200 {
				t.Errorf("edit %d after %v: %v", i+1, gap, c)
			}
		}
		if n := len(calls); n < 6 || n > 9 {
			t.Errorf("%d calls in 10 s", n)
		}
		if last := calls[len(calls)-1]; last.Params["text"] != "<b>final</b>" {
			t.Errorf("the last call: %v", last)
		}
	})
}

func TestPreviewsInAGroupLeaveRoomForTheFinal(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		r.server.SetFlood(&emulator.Flood{})
		p := r.server.NewGroup(emulator.GroupOptions{Title: "G"}, ann).Person(ann)
		grow(r, p, "s", 1500)
		r.put(outbox.Item{To: to(p), Slot: "s", Plain: "part 1"}, text(p, "part 2"), text(p, "part 3"))
		synctest.Wait()
		if diff := cmp.Diff([]string{"part 1", "part 2", "part 3"}, said(p)); diff != "" {
			t.Error(diff)
		}
		calls := r.server.Calls()
		for i, c := range calls {
			if c.Code != 200 {
				t.Errorf("refused: %v", c)
			}
			if i > 0 && i < len(calls)-3 && c.At.Sub(calls[i-1].At) < 3*time.Second {
				t.Errorf("edit %d after %v", i, c.At.Sub(calls[i-1].At))
			}
		}
	})
}

func TestPreviewsGetSlowerAsTheyAge(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		grow(r, r.ann, "s", 6000) // five minutes
		calls := r.server.Calls()
		if gap := calls[len(calls)-1].At.Sub(calls[len(calls)-2].At); gap < 9*time.Second {
			t.Errorf("after five minutes edits are %v apart", gap)
		}
	})
}

func TestSEND11_RetryAfterOnAPreviewHoldsTheChatAndTheFinalArrivesOnce(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		r.out.Preview("s", to(r.ann), outbox.Content{Plain: "0"})
		synctest.Wait()
		r.server.Inject("editMessageText", 1, emulator.RetryAfter(33))
		r.out.Preview("s", to(r.ann), outbox.Content{Plain: "1"})
		time.Sleep(2 * time.Second)
		refused := r.server.Calls("editMessageText")
		if len(refused) != 1 || refused[0].Code != 429 {
			t.Fatalf("calls: %v", refused)
		}
		r.out.Preview("s", to(r.ann), outbox.Content{Plain: "2"})
		r.put(outbox.Item{To: to(r.ann), Slot: "s", Plain: "final"})
		r.flush()
		time.Sleep(time.Minute)
		calls := r.server.Calls("editMessageText")
		if len(calls) != 2 || calls[1].Params["text"] != "final" {
			t.Fatalf("calls: %v", calls)
		}
		if gap := calls[1].At.Sub(calls[0].At); gap < 33*time.Second || gap > 35*time.Second {
			t.Errorf("the final came after %v", gap)
		}
		if diff := cmp.Diff([]string{"final"}, said(r.ann)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAPreviewIsTriedAgainAfterAHold(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		r.server.Inject("sendMessage", 1, emulator.RetryAfter(5))
		r.out.Preview("s", to(r.ann), outbox.Content{Plain: "shown late"})
		time.Sleep(7 * time.Second)
		if diff := cmp.Diff([]string{"shown late"}, said(r.ann)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestPreviewsThatCannotBeShown(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		r.out.Preview("markup", to(r.ann), outbox.Content{HTML: "<b", Plain: "plain"})
		time.Sleep(5 * time.Second)
		r.server.Inject("sendMessage", 1, emulator.DropAfter())
		r.out.Preview("lost", to(r.ann), outbox.Content{Plain: "lost"})
		time.Sleep(5 * time.Second)
		r.out.Preview("lost", to(r.ann), outbox.Content{Plain: "lost, more"})
		time.Sleep(5 * time.Second)
		if diff := cmp.Diff([]string{"plain", "lost"}, said(r.ann)); diff != "" {
			t.Error(diff)
		}
		if m, _ := r.ann.Last(); true {
			r.ann.Delete(m.ID - 1)
		}
		r.out.Preview("markup", to(r.ann), outbox.Content{Plain: "its message is gone"})
		time.Sleep(5 * time.Second)
		r.put(outbox.Item{To: to(r.ann), Slot: "markup", Plain: "final"})
		r.flush()
		if diff := cmp.Diff([]string{"lost", "final"}, said(r.ann)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAPreviewMayBeSilent(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		r.out.Preview("s", to(r.ann), outbox.Content{Plain: "…", Silent: true})
		synctest.Wait()
		if m, _ := r.ann.Last(); !m.Silent {
			t.Errorf("sent %+v", m)
		}
	})
}

func TestSEND13_Typing(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		start := time.Now()
		stop := r.out.Typing(to(r.ann))
		time.Sleep(9 * time.Second)
		if r.ann.Action() != "typing" {
			t.Error("typing is not shown")
		}
		stop()
		r.put(text(r.ann, "answer"))
		r.flush()
		stop()
		time.Sleep(time.Minute)
		var at []time.Duration
		for _, c := range r.server.Calls("sendChatAction") {
			at = append(at, c.At.Sub(start))
		}
		if diff := cmp.Diff([]time.Duration{0, 4 * time.Second, 8 * time.Second}, at); diff != "" {
			t.Error(diff)
		}
		if r.ann.Action() != "" {
			t.Error("typing outlived the turn")
		}
	})
}

func TestSEND13_TypingEndsWhileItsCallHangs(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		r.server.Inject("sendChatAction", 1, emulator.Hang())
		stop := r.out.Typing(to(r.ann))
		synctest.Wait()
		start := time.Now()
		stop()
		if d := time.Since(start); d != 0 {
			t.Errorf("stop took %v", d)
		}
		forgotten := r.out.Typing(to(r.ann))
		time.Sleep(5 * time.Second)
		r.stop() // Run ends it too
		n := len(r.server.Calls("sendChatAction"))
		time.Sleep(time.Minute)
		if len(r.server.Calls("sendChatAction")) != n {
			t.Error("typing outlived Run")
		}
		forgotten()
	})
}

func TestNOD3_ARefusedAnswerToAPressIsIgnored(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		r.server.Inject("answerCallbackQuery", 1, emulator.Fail(400, "Bad Request: query is too old and response timeout expired or query ID is invalid"))
		r.out.Answer("no such press", strings.Repeat("x", 300), true)
		r.put(outbox.Item{To: to(r.ann), Slot: "card/1", Plain: "decided"})
		synctest.Wait()
		if diff := cmp.Diff([]string{"decided"}, said(r.ann)); diff != "" {
			t.Error(diff)
		}
		if n := len([]rune(r.server.Calls("answerCallbackQuery")[0].Params["text"])); n != 200 {
			t.Errorf("the notice has %d characters", n)
		}
		if strings.Contains(r.log.String(), "refused") {
			t.Errorf("logged:\n%s", r.log)
		}
	})
}

func TestReactions(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		m := r.ann.SendText("hi")
		r.out.React(to(r.ann).Chat, messageID(m), "👀")
		synctest.Wait()
		if diff := cmp.Diff([]string{"👀"}, r.ann.Reactions(m.ID)); diff != "" {
			t.Error(diff)
		}
		r.out.React(to(r.ann).Chat, messageID(m), "⏳") // not on Telegram's list
		synctest.Wait()
		r.out.React(to(r.ann).Chat, messageID(m), "")
		synctest.Wait()
		if got := r.ann.Reactions(m.ID); len(got) > 0 {
			t.Errorf("left: %v", got)
		}
	})
}

// A message may be handled a moment before Run: what was to be shown then is shown when it begins, unless an item for
// its slot was committed since.
func TestPreviewsWaitForRun(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		r.stop()
		r.early = func(out *outbox.Outbox) {
			out.Preview("long", to(r.ann), outbox.Content{Plain: "⏳ at work"})
			out.Preview("short", to(r.ann), outbox.Content{Plain: "⏳ nearly done"})
			err := r.db.Update(func(tx *store.Tx) error { return out.Put(tx, outbox.Item{To: to(r.ann), Slot: "short", Plain: "done"}) })
			if err != nil {
				t.Fatal(err)
			}
		}
		r.start(outbox.Options{})
		synctest.Wait()
		if diff := cmp.Diff([]string{"done", "⏳ at work"}, said(r.ann)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestBestEffortCallsDoNothingAfterRun(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		r.stop()
		r.out.Typing(to(r.ann))()
		r.out.React(to(r.ann).Chat, 1, "👀")
		r.out.Answer("x", "", false)
		r.out.Preview("s", to(r.ann), outbox.Content{Plain: "x"})
		if calls := r.server.Calls(); len(calls) > 0 {
			t.Errorf("calls: %v", calls)
		}
	})
}
