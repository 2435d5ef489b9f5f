package outbox

import (
	"errors"
	"fmt"
	"testing"
	"time"

	tg "github.com/go-telegram/bot"
	"github.com/google/go-cmp/cmp"
)

func TestClassify(t *testing.T) {
	bad := func(text string) error { return fmt.Errorf("%w, Bad Request: %s", tg.ErrorBadRequest, text) }
	no := func(text string) error { return fmt.Errorf("%w, Forbidden: %s", tg.ErrorForbidden, text) }
	for _, tc := range []struct {
		err  error
		want class
	}{
		{nil, done},
		{bad("message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message"), done},
		{bad("query is too old and response timeout expired or query ID is invalid"), done},
		{bad("message to delete not found"), done},
		{bad("message can't be deleted"), done},
		{bad(`can't parse entities: Unsupported start tag "br/" at byte offset 1`), badMarkup},
		{bad("ENTITIES_TOO_LONG"), badMarkup},
		{bad("message to be replied not found"), noReply},
		{bad("message thread not found"), noThread},
		{bad("TOPIC_CLOSED"), noThread},
		{bad("message to edit not found"), gone},
		{bad("message can't be edited"), gone},
		{bad("there is no text in the message to edit"), gone},
		{bad("MESSAGE_ID_INVALID"), gone},
		{bad("message is too long"), tooLong},
		{bad("text is too long"), tooLong},
		{bad("MESSAGE_TOO_LONG"), tooLong},
		{bad("message caption is too long"), tooLong},
		{bad("PHOTO_INVALID_DIMENSIONS"), badMedia},
		{bad("VOICE_MESSAGES_FORBIDDEN"), badMedia},
		{bad("chat not found"), forbidden},
		{bad("not enough rights to send text messages to the chat"), forbidden},
		{bad("not enough rights to send documents to the chat"), mayNot},
		{bad("not enough rights to send voice notes to the chat"), mayNot},
		{bad("CHAT_SEND_DOCS_FORBIDDEN"), mayNot},
		{bad("CHAT_SEND_PLAIN_FORBIDDEN"), forbidden},
		{no("bot was blocked by the user"), forbidden},
		{no("user is deactivated"), forbidden},
		{no("bot can't initiate conversation with a user"), forbidden},
		{no("bot was kicked from the supergroup chat"), forbidden},
		{no("bot is not a member of the channel chat"), forbidden},
		{no("the group chat was deleted"), forbidden},
		{bad("message text is empty"), refused},
		{bad("text must be non-empty"), refused},
		{bad("BUTTON_DATA_INVALID"), refused},
		{bad("reply markup is too long"), refused},
		{bad("something that Telegram invents next year"), refused},
		{errors.New("error response from telegram for method sendDocument, 413 Request Entity Too Large"), refused},
		{fmt.Errorf("%w, Not Found: method not found", tg.ErrorNotFound), refused},
		{fmt.Errorf("%w, Not Found", tg.ErrorNotFound), later},
		{fmt.Errorf("%w, Unauthorized", tg.ErrorUnauthorized), later},
		{fmt.Errorf("%w, Conflict: terminated", tg.ErrorConflict), later},
		{&tg.TooManyRequestsError{Message: "Too Many Requests", RetryAfter: 33}, later},
		{fmt.Errorf("wrapped: %w", &tg.TooManyRequestsError{}), later},
		{&tg.MigrateError{MigrateToChatID: -100}, migrated},
		{fmt.Errorf("wrapped: %w", &CallError{Fate: Unserved}), later},
		{&CallError{Fate: Unknown}, unknown},
		{&CallError{Fate: Unsent}, refused},
	} {
		if got := classify(tc.err); got.class != tc.want {
			t.Errorf("%v: %v, want %v", tc.err, got.class, tc.want)
		}
	}
	if v := classify(&tg.TooManyRequestsError{RetryAfter: 33}); v.wait != 33*time.Second {
		t.Errorf("waits %v, want 33 s", v.wait)
	}
	if v := classify(&tg.MigrateError{MigrateToChatID: -1001}); v.chat != -1001 {
		t.Errorf("migrated to %d", v.chat)
	}
}

func TestEachRepairIsTriedOnce(t *testing.T) {
	full := &Item{HTML: "<b>", Plain: "b", ReplyTo: 1}
	full.To.Topic = 5
	upload := &Item{Kind: Upload, HTML: "<b>", Plain: "b"}
	for _, tc := range []struct {
		class class
		item  *Item
		want  bool
	}{
		{badMarkup, full, true},
		{noReply, full, true},
		{noThread, full, true},
		{gone, full, true},
		{tooLong, full, true},
		{badMedia, full, false},
		{badMedia, upload, true},
		{tooLong, upload, true},
		{noReply, upload, false},
		{noThread, upload, false},
		{gone, &Item{Kind: Edit, Plain: "x"}, false},
		{badMarkup, &Item{Plain: "x"}, false},
		{refused, full, false},
		{done, full, false},
	} {
		var f fix
		if got := f.learn(tc.class, tc.item); got != tc.want {
			t.Errorf("%v: learnt %v, want %v", tc.class, got, tc.want)
		}
		if f.learn(tc.class, tc.item) {
			t.Errorf("%v: repaired a second time", tc.class)
		}
	}
}

func TestPace(t *testing.T) {
	start := time.Unix(1_000_000, 0)
	p := pace{group: true}
	var at []time.Duration
	now := start
	for range 25 {
		now = now.Add(p.wait(now, 0, 0))
		p.take(now)
		at = append(at, now.Sub(start))
	}
	want := []time.Duration{0, 0, 0, 0}
	for i := 1; i <= 16; i++ {
		want = append(want, time.Duration(i)*time.Second)
	}
	want = append(want, 60*time.Second, 60*time.Second, 60*time.Second, 60*time.Second, 61*time.Second)
	if diff := cmp.Diff(want, at); diff != "" {
		t.Error(diff)
	}
	for age, want := range map[time.Duration]time.Duration{0: 1500 * time.Millisecond, time.Minute: 3 * time.Second, time.Hour: 10 * time.Second} {
		if got := previewEvery(false, age); got != want {
			t.Errorf("a preview of age %v is edited every %v, want %v", age, got, want)
		}
	}
}
