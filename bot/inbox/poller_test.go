package inbox_test

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/bot/emulator"
	"nod/bot/inbox"
)

func TestAllowedUpdatesAreNamed(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.start()
		want := `["message","edited_message","callback_query","my_chat_member","chat_join_request","stopped_message_generation"]`
		if got := r.server.Calls("getUpdates")[0].Params["allowed_updates"]; got != want {
			t.Errorf("allowed_updates %s, want %s", got, want)
		}
	})
}

func TestAWebhookIsRemovedFirst(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.server.Inject("deleteWebhook", 1, emulator.BadGateway())
		r.start()
		time.Sleep(5 * time.Second)
		r.ann.SendText("hello")
		synctest.Wait()
		r.want("hello")
		if n := len(r.server.Calls("deleteWebhook")); n != 2 {
			t.Errorf("%d calls of deleteWebhook", n)
		}
	})
}

func TestRECV4_FailuresBackOffAndGoOn(t *testing.T) {
	reset := &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	unknown := &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "api.test", IsNotFound: true}}
	for name, fail := range map[string]func(*rig){
		"409 twice":        func(r *rig) { r.server.Inject("getUpdates", 2, conflict()) },
		"502 with HTML":    func(r *rig) { r.server.Inject("getUpdates", 3, emulator.BadGateway()) },
		"500":              func(r *rig) { r.server.Inject("getUpdates", 3, emulator.ServerError()) },
		"429":              func(r *rig) { r.server.Inject("getUpdates", 2, emulator.RetryAfter(4)) },
		"dropped":          func(r *rig) { r.server.Inject("getUpdates", 3, emulator.DropBefore()) },
		"dropped after":    func(r *rig) { r.server.Inject("getUpdates", 1, emulator.DropAfter()) },
		"connection reset": func(r *rig) { r.base = &flaky{base: r.base, left: 3, err: reset} },
		"no such host":     func(r *rig) { r.base = &flaky{base: r.base, left: 3, err: unknown} },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				fail(r)
				r.start()
				r.ann.SendText("hello")
				time.Sleep(15 * time.Second)
				r.want("hello")
				if got := r.troubles(); len(got) > 0 {
					t.Errorf("the owner was told of a short trouble: %q", got)
				}
				if strings.Contains(r.log.String(), "EMULATOR-emulator") {
					t.Errorf("the log holds the token:\n%s", r.log)
				}
			})
		})
	}
}

func TestRECV4_PausesGrowAndDiffer(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.server.Inject("getUpdates", 12, emulator.ServerError())
		r.start()
		time.Sleep(5 * time.Minute)
		calls := r.server.Calls("getUpdates")[:12]
		var gaps []time.Duration
		for i, c := range calls[1:] {
			gaps = append(gaps, c.At.Sub(calls[i].At))
		}
		if gaps[0] > 500*time.Millisecond || gaps[10] < 7*time.Second || gaps[10] > 15*time.Second || gaps[9] == gaps[10] {
			t.Errorf("pauses: %v", gaps)
		}
	})
}

func TestRECV4_TheOwnerIsToldOnceWhenItLastsAndOnceWhenItIsOver(t *testing.T) {
	for name, tc := range map[string]struct {
		fault emulator.Fault
		want  string
	}{
		"conflict":     {conflict(), "Another program uses this bot's token and takes its messages. Stop that program, or get nod a bot of its own from @BotFather."},
		"server error": {emulator.ServerError(), "Telegram can't be reached. What you write arrives late; the log of nod has the details."},
		"wrong root":   {emulator.Fail(404, "Not Found"), "The Bot API does not know this bot. Check NOD_TELEGRAM_API and the token."},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				r.server.Inject("getUpdates", 100000, tc.fault)
				r.start()
				time.Sleep(time.Hour)
				if diff := cmp.Diff([]string{tc.want}, r.troubles()); diff != "" {
					t.Error(diff)
				}
				r.server.ClearFaults()
				time.Sleep(5 * time.Minute)
				if diff := cmp.Diff([]string{tc.want, "over: Telegram can be reached again."}, r.troubles()); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

func TestRECV5_AHungPollIsReplaced(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.start()
		time.Sleep(time.Second)
		r.server.Inject("getUpdates", 1, emulator.Hang())
		r.ann.SendText("first")
		synctest.Wait()
		before := r.poller.LastPoll()
		r.ann.SendText("second")
		time.Sleep(70 * time.Second)
		r.want("first", "second")
		if !r.poller.LastPoll().After(before) {
			t.Errorf("the last poll was at %v, before it hung at %v", r.poller.LastPoll(), before)
		}
	})
}

func TestRECV6_ABadTokenEndsWithAClearMessage(t *testing.T) {
	for _, method := range []string{"deleteWebhook", "getUpdates"} {
		inBubble(t, func(r *rig) {
			r.server.Inject(method, 1, emulator.Fail(401, "Unauthorized"))
			r.start()
			time.Sleep(time.Second)
			if !errors.Is(r.ended, inbox.ErrToken) || !strings.Contains(r.ended.Error(), "TELEGRAM_BOT_TOKEN") {
				t.Errorf("%s: Run ended with %v", method, r.ended)
			}
		})
	}
}

func TestABatchThatAcknowledgesNothingDoesNotSpin(t *testing.T) {
	inBubble(t, func(r *rig) {
		stuck := &stuckServer{}
		r.base = stuck
		r.start()
		time.Sleep(time.Minute)
		if n := stuck.polls.Load(); n > 70 {
			t.Errorf("%d polls in a minute", n)
		}
		r.want("same")
	})
}

func conflict() emulator.Fault {
	return emulator.Fail(409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running")
}

// flaky fails the first requests with an error of the network.
type flaky struct {
	base http.RoundTripper
	left int
	err  error
}

func (f *flaky) RoundTrip(r *http.Request) (*http.Response, error) {
	if f.left > 0 {
		f.left--
		return nil, errors.Join(r.Body.Close(), f.err)
	}
	return f.base.RoundTrip(r)
}

// stuckServer answers every poll with the same update, whatever is acknowledged.
type stuckServer struct{ polls atomic.Int32 }

func (s *stuckServer) RoundTrip(r *http.Request) (*http.Response, error) {
	return emulator.Transport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/getUpdates") {
			s.polls.Add(1)
			_, _ = w.Write([]byte(`{"ok":true,"result":[{"update_id":9,"message":{"message_id":1,"date":1,"chat":{"id":101,"type":"private"},"text":"same"}}]}`))
			return
		}
		_, _ = w.Write([]byte(`{"ok":true,"result":true}`))
	})).RoundTrip(r)
}
