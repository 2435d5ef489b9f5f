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
		w.model.push(scripted.Call("gallery_add", map[string]any{"action": "confirm"}))
		w.tellsResult()
		w.ann.SendText("yes, the first one only")
		w.sees(w.ann, "It says: the user's answer was no plain yes")
	})
}
