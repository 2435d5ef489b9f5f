package main

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent/llm/scripted"
	"nod/bot/emulator"
)

func plainPicture(t *testing.T, shade uint8) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewPaletted(image.Rect(0, 0, 640, 480), color.Palette{color.Gray{shade}})); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func twoPictures(t *testing.T) []emulator.Upload {
	return []emulator.Upload{
		{Name: "a.png", Mime: "image/png", Data: plainPicture(t, 1)},
		{Name: "b.png", Mime: "image/png", Data: plainPicture(t, 2)},
	}
}

// tellsResult has the model answer with what its last call gave back.
func (w *world) tellsResult() {
	w.model.answer(func(r scripted.Request) scripted.Reply {
		results := r.Results()
		return scripted.Say("It says: " + results[len(results)-1])
	})
}

// TestGalleryFromPicturesToAlbum: two pictures come, the question is put in plain conversation, a yes adds them, and they
// go out as one album, also after a restart between the question and the yes.
func TestGalleryFromPicturesToAlbum(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start()
		w.model.push(scripted.Call("gallery_add", map[string]any{"action": "prepare", "gallery": "trip"}), scripted.Say("Add 2 pictures to the gallery trip?"))
		w.ann.SendAlbum(twoPictures(t), emulator.Caption("keep these"))
		w.sees(w.ann, "Add 2 pictures to the gallery trip?")
		time.Sleep(time.Second)
		w.end()
		w.start()
		w.model.push(scripted.Call("gallery_add", map[string]any{"action": "confirm", "gallery": "trip"}))
		w.tellsResult()
		w.ann.SendText("Yes.")
		w.sees(w.ann, "It says: Added 2 pictures to the gallery trip")
		w.model.push(scripted.Call("gallery_send", map[string]any{"gallery": "trip", "caption": "Our **trip**"}), scripted.Say("There they are."))
		w.ann.SendText("Show me.")
		w.sees(w.ann, "There they are.")
		time.Sleep(time.Minute)
		if n := len(w.telegram.Calls("sendMediaGroup")); n != 1 {
			t.Errorf("%d albums were sent:\n%s", n, w.ann.Transcript())
		}
		for _, r := range w.service.Requests() {
			if all := strings.Join(r.Results(), "\n"); strings.Contains(all, w.home) {
				t.Errorf("the model reads a path of nod's own: %s", all)
			}
		}
	})
}

// TestGalleryWithoutAYes: what the person says next is no plain yes, so confirm is refused.
func TestGalleryWithoutAYes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start()
		w.model.push(scripted.Call("gallery_add", map[string]any{"action": "prepare"}), scripted.Say("Add it?"))
		w.ann.SendAlbum(twoPictures(t), emulator.Caption("keep these"))
		w.sees(w.ann, "Add it?")
		time.Sleep(time.Second) // a person reads; what was sent is on record by then
		w.model.push(scripted.Call("gallery_add", map[string]any{"action": "confirm"}))
		w.tellsResult()
		w.ann.SendText("yes, the first one only")
		w.sees(w.ann, "It says: the user's answer was no plain yes")
	})
}

// TestGalleryWhatIsNoYes: words that were not typed below the question, or are for something else, let nothing in; and a no
// stays one, also when it was said into a turn that was under way.
func TestGalleryWhatIsNoYes(t *testing.T) {
	for name, say := range map[string]func(w *world, question emulator.Message){
		"a no while another turn runs": func(w *world, _ emulator.Message) {
			begun := make(chan struct{})
			w.model.answer(func(scripted.Request) scripted.Reply {
				close(begun)
				time.Sleep(10 * time.Second)
				return scripted.Say("Two letters.")
			})
			w.model.push(scripted.Say("Fine. Shall I go on?"))
			w.ann.Forward(w.ann.SendText("/id"))
			<-begun
			w.ann.SendText("no, leave it")
			w.sees(w.ann, "Shall I go on?")
			w.ann.SendText("yes")
		},
		"a reply to something else": func(w *world, _ emulator.Message) {
			w.ann.SendText("yes", emulator.ReplyTo(w.ann.Messages()[0].ID))
		},
		"an edit": func(w *world, _ emulator.Message) {
			w.model.push(scripted.Say("Left."))
			m := w.ann.SendText("no")
			w.sees(w.ann, "Left.")
			if err := w.ann.Edit(m.ID, "yes"); err != nil {
				w.t.Fatal(err)
			}
			w.ann.SendText("as I say")
		},
		"a caption": func(w *world, _ emulator.Message) {
			w.ann.SendPhoto(emulator.Upload{Name: "c.png", Mime: "image/png", Data: plainPicture(w.t.(*testing.T), 3)}, emulator.Caption("yes"))
		},
		"a forward": func(w *world, _ emulator.Message) { w.ann.SendText("yes", emulator.ForwardedFrom(bob, time.Now())) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.start()
				w.model.push(scripted.Call("gallery_add", map[string]any{"action": "prepare"}), scripted.Say("Add it?"))
				w.ann.SendAlbum(twoPictures(t), emulator.Caption("keep these"))
				question := w.sees(w.ann, "Add it?")
				time.Sleep(time.Second) // a person reads
				say(w, question)
				w.model.push(scripted.Call("gallery_add", map[string]any{"action": "confirm"}))
				w.tellsResult()
				if m := w.sees(w.ann, "It says: "); !strings.Contains(m.Text, "no plain yes") {
					t.Errorf("the model was told: %s", m.Text)
				}
			})
		})
	}
}

// TestGalleryAYesBeforeTheQuestionWasThere is for something else: it decides nothing, and the question waits for its answer.
func TestGalleryAYesBeforeTheQuestionWasThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start()
		w.telegram.InjectWhen("sendMessage", 1, func(c emulator.Call) bool { return strings.Contains(c.Params["text"], "Add it?") }, emulator.RetryAfter(30))
		w.model.push(scripted.Call("gallery_add", map[string]any{"action": "prepare"}), scripted.Say("Add it?"))
		w.ann.SendAlbum(twoPictures(t), emulator.Caption("keep these"))
		time.Sleep(10 * time.Second)
		w.model.push(scripted.Call("gallery_add", map[string]any{"action": "confirm"}))
		w.tellsResult()
		w.ann.SendText("yes")
		time.Sleep(30 * time.Second)
		w.sees(w.ann, "It says: the user has not answered yet")
		w.sees(w.ann, "Add it?")
		w.model.push(scripted.Call("gallery_add", map[string]any{"action": "confirm"}))
		w.tellsResult()
		w.ann.SendText("yes")
		w.sees(w.ann, "It says: Added 2 pictures")
	})
}
