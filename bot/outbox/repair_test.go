package outbox_test

import (
	"bytes"
	"errors"
	"image"
	"image/png"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/bot/emulator"
	"nod/bot/outbox"
	"nod/store"
)

func TestSEND8_RefusedFormattingIsSentAsPlainText(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		r.put(outbox.Item{To: to(r.ann), HTML: `<b>see <a href="https://x.test">docs</a>`, Plain: "see docs (https://x.test)"})
		r.flush()
		if diff := cmp.Diff([]string{"see docs (https://x.test)"}, said(r.ann)); diff != "" {
			t.Error(diff)
		}
		if err := r.log.has("bad markup", "item=1", "chat=101"); err != nil {
			t.Error(err)
		}
		r.put(outbox.Item{To: to(r.ann), Slot: "s", Plain: "x"})
		r.put(outbox.Item{To: to(r.ann), Slot: "s", Kind: outbox.Edit, HTML: "</b>", Plain: "edited"})
		r.flush()
		if m, _ := r.ann.Last(); m.Text != "edited" {
			t.Errorf("the edit shows %q", m.Text)
		}
	})
}

func TestSEND9_ReplyToADeletedMessageArrivesWithoutTheReply(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		m := r.ann.SendText("question")
		r.put(outbox.Item{To: to(r.ann), Plain: "with", ReplyTo: store.MessageID(m.ID)})
		r.flush()
		if got, _ := r.ann.Last(); got.ReplyTo == nil || got.ReplyTo.ID != m.ID {
			t.Errorf("not a reply: %+v", got)
		}
		r.ann.Delete(m.ID)
		r.put(outbox.Item{To: to(r.ann), Plain: "without", ReplyTo: store.MessageID(m.ID)})
		r.server.InjectWhen("sendMessage", 1, func(c emulator.Call) bool { return c.Params["text"] == "refused" },
			emulator.Fail(400, "Bad Request: message to be replied not found"))
		r.put(outbox.Item{To: to(r.ann), Plain: "refused", ReplyTo: store.MessageID(m.ID)})
		r.flush()
		if diff := cmp.Diff([]string{"with", "without", "refused"}, said(r.ann)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestRECV12_ForumTopics(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		g := r.server.NewGroup(emulator.GroupOptions{Title: "F", Forum: true}, ann)
		g.Person(ann).SendText("message 1, so that the topic is not thread 1, which is General")
		topic := g.NewTopic(ann, "plans")
		general := store.Address{Chat: store.ChatID(g.ID()), Topic: 1}
		r.put(outbox.Item{To: store.Address{Chat: store.ChatID(g.ID()), Topic: topic}, Plain: "in the topic"})
		r.put(outbox.Item{To: general, Plain: "in General"})
		r.put(outbox.Item{To: store.Address{Chat: store.ChatID(g.ID()), Topic: 999}, Plain: "in a topic that is gone"})
		r.flush()
		if diff := cmp.Diff([]string{"in the topic"}, said(g.Person(ann).In(topic))); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"in General", "in a topic that is gone"}, said(g.Person(ann).In(1))); diff != "" {
			t.Error(diff)
		}
		r.out.Typing(general)()
		for _, c := range r.server.Calls("sendMessage") {
			if c.Params["text"] == "in General" && c.Params["message_thread_id"] != "" {
				t.Errorf("sent to General with thread %s", c.Params["message_thread_id"])
			}
		}
		stop := r.out.Typing(general)
		synctest.Wait()
		stop()
		calls := r.server.Calls("sendChatAction")
		if got := calls[len(calls)-1].Params["message_thread_id"]; got != "1" {
			t.Errorf("typing in General has thread %q, want 1", got)
		}
	})
}

func TestRECV11_MigrationRewritesTheQueueAndRepeatsTheSend(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		g := r.server.NewGroup(emulator.GroupOptions{Title: "B", Basic: true}, ann)
		old := store.Address{Chat: store.ChatID(g.ID())}
		r.put(outbox.Item{To: old, Slot: "card/1", Plain: "card"})
		r.flush()
		super := g.Migrate()
		r.put(outbox.Item{To: old, Plain: "first", ReplyTo: 1}, outbox.Item{To: old, Slot: "card/1", Plain: "card, decided"})
		r.flush()
		if diff := cmp.Diff([]string{"first", "card, decided"}, said(super.Person(ann))); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([][2]store.ChatID{{old.Chat, store.ChatID(super.ID())}}, r.moved); diff != "" {
			t.Error(diff)
		}
		err := r.db.View(func(tx *store.Tx) error {
			s, _, err := r.out.SlotOf(tx, store.ChatID(super.ID()), r.slot("card/1"))
			if s != "card/1" {
				t.Errorf("the new message's slot is %q", s)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestRECV11_AFailedRewriteIsTriedAgain(t *testing.T) {
	tries := 0
	o := outbox.Options{OnMigrated: func(*store.Tx, store.ChatID, store.ChatID) error {
		if tries++; tries == 1 {
			return errors.New("not now")
		}
		return nil
	}}
	inBubble(t, o, func(r *rig) {
		g := r.server.NewGroup(emulator.GroupOptions{Title: "B", Basic: true}, ann)
		super := g.Migrate()
		r.put(outbox.Item{To: store.Address{Chat: store.ChatID(g.ID())}, Plain: "hello"})
		r.flush()
		if got := said(super.Person(ann)); tries != 2 || len(got) == 0 || got[len(got)-1] != "hello" {
			t.Errorf("%d tries, said %q", tries, got)
		}
	})
}

func TestSD6_PermanentRefusalsAreTriedOnceAndKept(t *testing.T) {
	for name, refuse := range map[string]func(*rig){
		"blocked":     func(r *rig) { r.ann.Block() },
		"deactivated": func(r *rig) { r.ann.Deactivate() },
		"bad request": func(r *rig) { r.server.Inject("", 9, emulator.Fail(400, "Bad Request: BUTTON_DATA_INVALID")) },
		"413": func(r *rig) {
			r.server.Inject("", 9, emulator.Fail(413, "Request Entity Too Large"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, outbox.Options{}, func(r *rig) {
				refuse(r)
				r.put(text(r.ann, "anybody there?"))
				r.flush()
				time.Sleep(time.Hour)
				if n := len(r.server.Calls()); n != 1 {
					t.Errorf("%d tries", n)
				}
				d := r.deaths()
				if len(d) != 1 || d[0].Item.Plain != "anybody there?" || d[0].Forbidden != (name == "blocked" || name == "deactivated") {
					t.Errorf("dead: %+v", d)
				}
				if err := r.log.has("delivery given up"); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestAnEditWhoseMessageIsGoneIsSentAnew(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		r.put(outbox.Item{To: to(r.ann), Slot: "s", Plain: "1"}, outbox.Item{To: to(r.ann), Slot: "t", Plain: "2"})
		r.flush()
		for _, m := range r.ann.Messages() {
			r.ann.Delete(m.ID)
		}
		r.put(outbox.Item{To: to(r.ann), Slot: "s", Plain: "1, edited"})
		r.put(outbox.Item{To: to(r.ann), Slot: "t", Kind: outbox.Edit, Plain: "2, edited"}) // nothing is left to edit
		r.flush()
		if diff := cmp.Diff([]string{"1, edited"}, said(r.ann)); diff != "" {
			t.Error(diff)
		}
		if m, _ := r.ann.Last(); r.slot("s") != store.MessageID(m.ID) {
			t.Errorf("the slot holds %d, want %d", r.slot("s"), m.ID)
		}
	})
}

func TestAnUnchangedEditIsASuccess(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		same := outbox.Item{To: to(r.ann), Slot: "s", Plain: "same"}
		for range 2 {
			r.put(same)
			r.flush()
		}
		if n := len(r.server.Calls()); n != 1 {
			t.Errorf("an edit that changes nothing was sent: %v", r.server.Calls())
		}
		time.Sleep(time.Hour) // what the message shows is forgotten
		r.put(same)
		r.flush()
		if d := r.deaths(); len(d) > 0 || len(r.server.Calls()) != 2 {
			t.Errorf("dead %v, calls %v", d, r.server.Calls())
		}
	})
}

func TestATextThatIsTooLongGoesAsAFile(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		long := strings.Repeat("word ", 1000)
		r.put(text(r.ann, long))
		r.flush()
		m, _ := r.ann.Last()
		if m.Document == nil {
			t.Fatalf("sent %+v", m)
		}
		if _, data, _ := r.server.File(m.FileID()); string(data) != long {
			t.Errorf("the file holds %d bytes, want %d", len(data), len(long))
		}
	})
}

func TestUnknownOutcomes(t *testing.T) {
	for name, tc := range map[string]struct {
		faults []emulator.Fault
		want   []string
		dead   int
	}{
		"lost before it had its effect":          {[]emulator.Fault{emulator.DropBefore()}, []string{"hello"}, 0},
		"lost after it had its effect":           {[]emulator.Fault{emulator.DropAfter()}, []string{"hello", "hello"}, 0},
		"lost twice: given up, told":             {[]emulator.Fault{emulator.DropAfter(), emulator.DropAfter()}, []string{"hello", "hello"}, 1},
		"server errors are no unknown outcomes":  {[]emulator.Fault{emulator.ServerError(), emulator.BadGateway(), emulator.ServerError()}, []string{"hello"}, 0},
		"a hung connection is cut after a while": {[]emulator.Fault{emulator.Hang()}, []string{"hello"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, outbox.Options{}, func(r *rig) {
				for _, f := range tc.faults {
					r.server.Inject("sendMessage", 1, f)
				}
				r.put(text(r.ann, "hello"))
				r.flush()
				if diff := cmp.Diff(tc.want, said(r.ann)); diff != "" {
					t.Error(diff)
				}
				if d := r.deaths(); len(d) != tc.dead {
					t.Errorf("dead: %+v", d)
				}
			})
		})
	}
}

func TestALostAnswerToAnEditIsAskedForAgain(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		r.put(outbox.Item{To: to(r.ann), Slot: "s", Plain: "1"})
		r.flush()
		r.server.Inject("editMessageText", 3, emulator.DropAfter())
		r.put(outbox.Item{To: to(r.ann), Slot: "s", Plain: "2"})
		r.flush()
		if diff := cmp.Diff([]string{"2"}, said(r.ann)); diff != "" || len(r.deaths()) > 0 {
			t.Errorf("%s, dead %v", diff, r.deaths())
		}
	})
}

func TestFilesGoAsTheirKind(t *testing.T) {
	var pic bytes.Buffer
	if err := png.Encode(&pic, image.NewGray(image.Rect(0, 0, 40, 30))); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		kind outbox.FileKind
		data []byte
		want string
	}{
		"photo":                           {outbox.Photo, pic.Bytes(), "sendPhoto"},
		"photo that is none":              {outbox.Photo, []byte("not a picture"), "sendPhoto sendDocument"},
		"photo too large for one":         {outbox.Photo, append(pic.Bytes(), make([]byte, 11<<20)...), "sendDocument"},
		"video":                           {outbox.Video, []byte("video"), "sendVideo"},
		"audio":                           {outbox.Audio, []byte("audio"), "sendAudio"},
		"voice":                           {outbox.Voice, []byte("voice"), "sendVoice"},
		"document":                        {outbox.Document, []byte("document"), "sendDocument"},
		"document that needs no reserves": {outbox.Document, make([]byte, 3<<20), "sendDocument"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, outbox.Options{}, func(r *rig) {
				if name == "photo that is none" {
					r.server.Inject("sendPhoto", 1, emulator.Fail(400, "Bad Request: IMAGE_PROCESS_FAILED"))
				}
				handle, err := r.out.Keep("../a/na me.bin", bytes.NewReader(tc.data), -1)
				if err != nil {
					t.Fatal(err)
				}
				r.put(outbox.Item{To: to(r.ann), Kind: outbox.Upload, HTML: "<b>here</b>", Plain: "here", File: &outbox.File{Handle: handle, Name: "na me.bin", Kind: tc.kind}})
				r.flush()
				var methods []string
				calls := r.server.Calls()
				for _, c := range calls {
					methods = append(methods, c.Method)
				}
				if got := strings.Join(methods, " "); got != tc.want {
					t.Fatalf("calls %q, want %q; %v", got, tc.want, calls)
				}
				if f := calls[len(calls)-1].Files[0]; f.Size != int64(len(tc.data)) || f.Name != "na me.bin" {
					t.Errorf("uploaded %+v", f)
				}
				if m, _ := r.ann.Last(); m.Caption != "here" || len(m.CaptionEntities) != 1 {
					t.Errorf("caption %q %v", m.Caption, m.CaptionEntities)
				}
				synctest.Wait() // the copy goes after the commit that Flush waits for
				if left, err := os.ReadDir(r.dir); err != nil || len(left) > 0 {
					t.Errorf("left in the folder: %v, %v", left, err)
				}
			})
		})
	}
}

func TestALongCaptionIsClippedRatherThanLost(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		handle, err := r.out.Keep("a", strings.NewReader("a"), 1)
		if err != nil {
			t.Fatal(err)
		}
		r.put(outbox.Item{To: to(r.ann), Kind: outbox.Upload, Plain: strings.Repeat("é", 1500), File: &outbox.File{Handle: handle, Name: "a"}})
		r.flush()
		if m, _ := r.ann.Last(); m.Caption != strings.Repeat("é", 1023)+"…" {
			t.Errorf("caption %q", m.Caption)
		}
	})
}

func TestAFileThatVanishedIsGivenUp(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		r.put(outbox.Item{To: to(r.ann), Kind: outbox.Upload, File: &outbox.File{Handle: "../../etc/passwd", Name: "x"}})
		r.flush()
		if d := r.deaths(); len(d) != 1 || len(r.server.Calls()) != 0 {
			t.Errorf("dead %v, calls %v", d, r.server.Calls())
		}
	})
}

func TestKeep(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		for _, name := range []string{"../../x", "/etc/passwd", "", ".", "..", strings.Repeat("n", 300), "a\x00b", "\u202egnp.exe", `c:\x\y`, "-rf", "ünï"} {
			handle, err := r.out.Keep(name, strings.NewReader("x"), 1)
			if err != nil {
				t.Errorf("%q: %v", name, err)
				continue
			}
			info, err := os.Lstat(filepath.Join(r.dir, handle))
			if err != nil || handle != filepath.Base(handle) || info.Mode() != 0o600 || len(handle) > 100 {
				t.Errorf("%q became %q: %v, %v", name, handle, info, err)
			}
		}
		if _, err := r.out.Keep("big", strings.NewReader(""), outbox.MaxFile+1); !errors.Is(err, outbox.ErrTooBig) {
			t.Errorf("announced as too big: %v", err)
		}
		before, _ := os.ReadDir(r.dir)
		if _, err := r.out.Keep("big", io.LimitReader(zeros{}, outbox.MaxFile+1), -1); !errors.Is(err, outbox.ErrTooBig) {
			t.Errorf("too big: %v", err)
		}
		if _, err := r.out.Keep("bad", io.MultiReader(strings.NewReader("x"), broken{}), -1); !errors.Is(err, io.ErrNoProgress) {
			t.Errorf("broken source: %v", err)
		}
		if after, _ := os.ReadDir(r.dir); len(after) != len(before) {
			t.Errorf("%d files, want %d", len(after), len(before))
		}
	})
}

func TestOrphanedCopiesAreSweptAway(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		keep := func(name string) string {
			handle, err := r.out.Keep(name, strings.NewReader("x"), 1)
			if err != nil {
				t.Fatal(err)
			}
			old := time.Now().Add(-2 * time.Hour)
			if err := os.Chtimes(filepath.Join(r.dir, handle), old, old); err != nil {
				t.Fatal(err)
			}
			return handle
		}
		keep("orphan")
		r.server.Inject("", 1000, emulator.ServerError())
		r.put(outbox.Item{To: to(r.ann), Kind: outbox.Upload, File: &outbox.File{Handle: keep("named"), Name: "named"}})
		r.stop()
		r.start(outbox.Options{})
		left, err := os.ReadDir(r.dir)
		if err != nil || len(left) != 1 || !strings.HasSuffix(left[0].Name(), "-named") {
			t.Errorf("left: %v, %v", left, err)
		}
	})
}

func TestOnDeadMayQueueAMessage(t *testing.T) {
	var r *rig
	o := outbox.Options{OnDead: func(tx *store.Tx, d outbox.Dead) {
		if err := r.out.Put(tx, outbox.Item{To: d.Item.To, Plain: "One message could not be delivered."}); err != nil {
			r.Error(err)
		}
	}}
	inBubble(t, o, func(it *rig) {
		r = it
		r.server.Inject("", 1, emulator.Fail(400, "Bad Request: STRANGE"))
		r.put(text(r.ann, "x"))
		r.flush()
		if diff := cmp.Diff([]string{"One message could not be delivered."}, said(r.ann)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAPanicInADeliveryCostsOneItem(t *testing.T) {
	inBubble(t, outbox.Options{}, func(r *rig) {
		r.stop()
		calls := 0
		server := r.base
		r.base = roundTripper(func(q *http.Request) (*http.Response, error) {
			if calls++; calls == 1 {
				panic("out of cheese")
			}
			return server.RoundTrip(q)
		})
		r.start(outbox.Options{})
		r.put(text(r.ann, "poison"), text(r.ann, "behind it"))
		r.flush()
		if diff := cmp.Diff([]string{"behind it"}, said(r.ann)); diff != "" {
			t.Error(diff)
		}
		if err := r.log.has("out of cheese", "item=1"); err != nil || len(r.deaths()) != 1 {
			t.Errorf("dead %v, %v", r.deaths(), err)
		}
	})
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrNoProgress }
