package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nod/agent/llm/scripted"
	"nod/bot/emulator"
	"nod/tools"
)

// exhibition is a world in which the model does with galleries what it is told.
type exhibition struct{ *world }

func exhibit(t *testing.T, hold func(t *testing.T, e exhibition)) {
	synctest.Test(t, func(t *testing.T) {
		e := exhibition{newWorld(t)}
		e.start()
		hold(t, e)
	})
}

// hang puts pictures of their own shades into the workspace.
func (e exhibition) hang(t *testing.T, n int) (paths []string) {
	for i := range n {
		paths = append(paths, fmt.Sprintf("pics/%02d.png", i))
		e.write(paths[i], string(plainPicture(t, uint8(i))))
	}
	return paths
}

// call has the model make a call after words of Ann's, and gives back what it reads of it.
func (e exhibition) call(words, tool string, args map[string]any) (result string) {
	e.t.Helper()
	read := make(chan string, 1)
	e.model.push(scripted.Call(tool, args))
	e.model.answer(func(r scripted.Request) scripted.Reply {
		results := r.Results()
		read <- results[len(results)-1]
		return scripted.Say("Heard.")
	})
	e.ann.SendText(words)
	select {
	case result = <-read:
	case <-time.After(time.Minute):
		e.t.Fatalf("%s %v has no result:\n%s", tool, args, e.ann.Transcript())
	}
	time.Sleep(5 * time.Second) // the answer is there, and on record
	synctest.Wait()
	return result
}

// says makes a call whose result must hold a text.
func (e exhibition) says(want, words, tool string, args map[string]any) string {
	e.t.Helper()
	got := e.call(words, tool, args)
	if !strings.Contains(got, want) {
		e.t.Errorf("%s %v gives %q, want %q", tool, args, got, want)
	}
	return got
}

func (e exhibition) add(paths []string) {
	e.t.Helper()
	e.says("Nothing is added yet", "Keep these.", tools.GalleryAdd, map[string]any{"action": "prepare", "workspace_paths": paths})
	e.says("Added", "yes", tools.GalleryAdd, map[string]any{"action": "confirm"})
}

// listed are the references of the pictures in the galleries, in order.
func (e exhibition) listed() []string {
	e.t.Helper()
	var found []string
	for _, word := range strings.Fields(e.call("What is there?", tools.GalleryList, map[string]any{})) {
		if word = strings.Trim(word, ".,;()"); strings.HasPrefix(word, "picture_") {
			found = append(found, word)
		}
	}
	return found
}

// kept are the names under which nod keeps its copies.
func (e exhibition) kept() (names []string) {
	entries, err := os.ReadDir(filepath.Join(e.home, "gallery"))
	if err != nil {
		e.t.Error(err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// albums are how many pictures each album had that was sent.
func (e exhibition) albums() (sizes []int, captions string) {
	for _, c := range e.telegram.Calls("sendMediaGroup") {
		var media []struct {
			Type    string `json:"type"`
			Caption string `json:"caption"`
		}
		if err := json.Unmarshal([]byte(c.Params["media"]), &media); err != nil || c.Code != 200 || len(c.Files) != len(media) {
			e.t.Errorf("an album of %d files: %v, %d %s", len(c.Files), err, c.Code, c.Description)
		}
		sizes = append(sizes, len(media))
		for _, m := range media {
			if m.Type != "photo" {
				e.t.Errorf("a picture goes as %s", m.Type)
			}
			captions += m.Caption
		}
	}
	return sizes, captions
}

// TestGalleryOfTwelveGoesAsTwoAlbums, since Telegram takes ten in one; the words stand below the first alone.
func TestGalleryOfTwelveGoesAsTwoAlbums(t *testing.T) {
	exhibit(t, func(t *testing.T, e exhibition) {
		e.add(e.hang(t, 12))
		e.says("Sent the gallery main at revision 1: 12 pictures.", "Show me.", tools.GallerySend, map[string]any{"caption": "All of it"})
		time.Sleep(time.Minute) // each picture counts as a message, of which a chat gets one a second
		sizes, captions := e.albums()
		if !slices.Equal(sizes, []int{10, 2}) || captions != "All of it" {
			t.Errorf("albums of %v pictures with %q", sizes, captions)
		}
		if shown := strings.Count(e.ann.Transcript(), "<photo 640x480>"); shown != 12 {
			t.Errorf("Ann sees %d pictures:\n%s", shown, e.ann.Transcript())
		}
	})
}

// TestGalleryTakesOnlyWhatWasAskedAbout: a yes is for the bytes and the references that the question was about.
func TestGalleryTakesOnlyWhatWasAskedAbout(t *testing.T) {
	prepare := func(e exhibition, paths []string) {
		e.says("Nothing is added yet", "Keep these.", tools.GalleryAdd, map[string]any{"action": "prepare", "workspace_paths": paths})
	}
	const changed = "nothing was added: a picture has changed since the user was asked"
	confirm := map[string]any{"action": "confirm"}
	for name, hold := range map[string]func(t *testing.T, e exhibition){
		"a picture is overwritten before the yes": func(t *testing.T, e exhibition) {
			paths := e.hang(t, 2)
			prepare(e, paths)
			e.write(paths[1], string(plainPicture(t, 99)))
			e.says(changed, "yes", tools.GalleryAdd, confirm)
		},
		"two exchange their bytes": func(t *testing.T, e exhibition) {
			paths := e.hang(t, 2)
			prepare(e, paths)
			e.write(paths[0], string(plainPicture(t, 1)))
			e.write(paths[1], string(plainPicture(t, 0)))
			e.says(changed, "yes", tools.GalleryAdd, confirm)
		},
		"one becomes a link": func(t *testing.T, e exhibition) {
			paths := e.hang(t, 2)
			prepare(e, paths[:1])
			path := filepath.Join(e.workspace, paths[0])
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("01.png", path); err != nil {
				t.Fatal(err)
			}
			e.says("there is a link on the way", "yes", tools.GalleryAdd, confirm)
		},
		"an upload is overwritten": func(t *testing.T, e exhibition) {
			e.model.push(scripted.Call(tools.GalleryAdd, map[string]any{"action": "prepare"}), scripted.Say("Add them?"))
			e.ann.SendAlbum(twoPictures(t), emulator.Caption("keep these"))
			e.sees(e.ann, "Add them?")
			time.Sleep(time.Second)
			uploads, err := filepath.Glob(filepath.Join(e.workspace, "uploads", "*.*"))
			if err != nil || len(uploads) != 2 {
				t.Fatalf("uploads: %v, %v", uploads, err)
			}
			if err := os.WriteFile(uploads[0], plainPicture(t, 99), 0o600); err != nil {
				t.Fatal(err)
			}
			e.says(changed, "yes", tools.GalleryAdd, confirm)
		},
	} {
		t.Run(name, func(t *testing.T) {
			exhibit(t, func(t *testing.T, e exhibition) {
				hold(t, e)
				if names := e.kept(); len(names) > 0 {
					t.Errorf("copies: %v", names)
				}
				e.says("no such gallery", "What is there?", tools.GalleryList, map[string]any{})
			})
		})
	}
}

// TestGalleryRefsAreNotForged: an altered reference and one that is more than a day old are refused, and nothing is asked or
// changed for them. (Another chat's: TestDeletingAndReordering of tools/gallery.)
func TestGalleryRefsAreNotForged(t *testing.T) {
	const bad = "this reference is not valid here"
	exhibit(t, func(t *testing.T, e exhibition) {
		e.add(e.hang(t, 2))
		refs := e.listed()
		if len(refs) != 2 {
			t.Fatalf("the gallery has %v", refs)
		}
		// From one gallery to another an altered reference leads nowhere.
		for _, ref := range []string{altered(refs[0]), "pics/00.png", strings.Replace(refs[0], "picture_", "group_", 1)} {
			e.says(bad, "Take that too.", tools.GalleryAdd, map[string]any{"action": "prepare", "gallery": "best", "image_ref": ref})
		}
		e.says(bad, "Throw that away.", tools.GalleryDelete, map[string]any{"image_refs": []string{altered(refs[0])}})
		e.says(bad, "Sort them.", tools.GalleryReorder, map[string]any{"image_refs": []string{refs[1], altered(refs[0])}})
		// One that was asked about and is another at the yes.
		e.says("Nothing is added yet", "The first is the best.", tools.GalleryAdd, map[string]any{"action": "prepare", "gallery": "best", "image_ref": refs[0]})
		e.says("not the pictures that the user was asked about", "yes", tools.GalleryAdd, map[string]any{"action": "confirm", "gallery": "best", "image_ref": altered(refs[0])})
		e.says("not the pictures that the user was asked about", "go on", tools.GalleryAdd, map[string]any{"action": "confirm", "gallery": "best", "image_ref": refs[1]})

		time.Sleep(25 * time.Hour)
		e.says(bad, "Throw that away.", tools.GalleryDelete, map[string]any{"image_refs": refs[:1]})
		e.says(bad, "The first is the best.", tools.GalleryAdd, map[string]any{"action": "prepare", "gallery": "best", "image_ref": refs[0]})
		if cards := e.ann.Transcript(); strings.Contains(cards, "✋") {
			t.Errorf("a person was asked:\n%s", cards)
		}
		if again := e.listed(); len(again) != 2 {
			t.Errorf("the gallery has %v", again)
		}
	})
}

// altered is a reference with one letter of its middle changed.
func altered(ref string) string {
	at, letter := len(ref)/2, "A"
	if ref[at] == 'A' {
		letter = "B"
	}
	return ref[:at] + letter + ref[at+1:]
}

// TestGalleryResultsShowNoInnards: what the model reads of galleries are names, numbers and references; no id of a file of
// Telegram's, no path of an upload, no name of a copy and no bytes.
func TestGalleryResultsShowNoInnards(t *testing.T) {
	exhibit(t, func(t *testing.T, e exhibition) {
		e.model.push(scripted.Call(tools.GalleryAdd, map[string]any{"action": "prepare"}), scripted.Say("Add them?"))
		e.ann.SendAlbum(twoPictures(t), emulator.Caption("keep these"))
		e.sees(e.ann, "Add them?")
		time.Sleep(time.Second)
		e.says("Added 2 pictures", "yes", tools.GalleryAdd, map[string]any{"action": "confirm"})
		names := e.kept() // of copies, also of those that go
		refs := e.listed()
		e.says("Nothing is added yet", "The first is the best.", tools.GalleryAdd, map[string]any{"action": "prepare", "gallery": "best", "image_ref": refs[0]})
		e.says("Added 1 picture", "yes", tools.GalleryAdd, map[string]any{"action": "confirm", "gallery": "best"})
		e.nodded("revision 2", tools.GalleryReorder, map[string]any{"image_refs": []string{refs[1], refs[0]}})
		e.nodded("1 picture", tools.GalleryDelete, map[string]any{"image_refs": refs[:1]})
		e.says("Sent the gallery main", "Show me.", tools.GallerySend, map[string]any{})
		e.says("there is nothing to add", "Take it again.", tools.GalleryAdd, map[string]any{"action": "prepare", "gallery": "best", "image_ref": e.listed()[0]})
		for _, file := range e.uploads() { // refusals tell no more
			e.write(file, "no picture any more")
			e.says("it is no JPEG", "And these?", tools.GalleryAdd, map[string]any{"action": "prepare", "gallery": "new", "workspace_paths": []string{file}})
		}
		for _, name := range names {
			if err := os.RemoveAll(filepath.Join(e.home, "gallery", name)); err != nil {
				t.Fatal(err)
			}
		}
		e.says("opening the copy of", "Show me.", tools.GallerySend, map[string]any{})
		e.says("opening the copy of", "Take it again.", tools.GalleryAdd, map[string]any{"action": "prepare", "gallery": "new", "image_ref": e.listed()[0]})
		e.model.answer(func(scripted.Request) scripted.Reply {
			if err := os.RemoveAll(filepath.Join(e.workspace, "uploads")); err != nil {
				t.Error(err)
			}
			return scripted.Call(tools.GalleryAdd, map[string]any{"action": "prepare", "gallery": "new"})
		})
		e.tellsResult()
		e.ann.SendAlbum(twoPictures(t), emulator.Caption("two more"))
		e.sees(e.ann, "there is no file of this name any more")
		e.areNotIn(names)
	})
}

// nodded makes a call to which Ann nods.
func (e exhibition) nodded(want, tool string, args map[string]any) {
	e.t.Helper()
	go func() { e.press(e.ann, approveButton) }()
	e.says(want, "Do it.", tool, args)
}

// uploads are the paths of Ann's files in the workspace.
func (e exhibition) uploads() (paths []string) {
	e.t.Helper()
	found, err := filepath.Glob(filepath.Join(e.workspace, "uploads", "*.*"))
	if err != nil || len(found) == 0 {
		e.t.Errorf("uploads: %v, %v", found, err)
	}
	for _, path := range found {
		paths = append(paths, filepath.Join("uploads", filepath.Base(path)))
	}
	return paths
}

// areNotIn looks for what the model must not read in all that calls gave it.
func (e exhibition) areNotIn(copies []string) {
	e.t.Helper()
	banned := append(copies, "uploads/", e.home, "iVBORw0KGgo", "base64", "\x89PNG")
	for _, c := range e.telegram.Calls("getFile") {
		var file struct {
			Path   string `json:"file_path"`
			Unique string `json:"file_unique_id"`
		}
		if err := json.Unmarshal(c.Result, &file); err != nil || file.Path == "" {
			e.t.Errorf("getFile gives %s: %v", c.Result, err)
		}
		banned = append(banned, c.Params["file_id"], file.Path, file.Unique)
	}
	if len(copies) != 2 || len(banned) < 13 {
		e.t.Errorf("too little is looked for: %q", banned)
	}
	seen := 0
	for _, r := range e.service.Requests() {
		for _, result := range r.Results() {
			seen++
			for _, text := range banned {
				if strings.Contains(result, text) {
					e.t.Errorf("the model reads %q: %s", text, result)
				}
			}
		}
	}
	if seen == 0 {
		e.t.Error("there were no results")
	}
}
