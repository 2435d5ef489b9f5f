package gallery_test

import (
	"os"
	"strings"
	"testing"

	"nod/tools"
)

// TestPicturesThatChangePlaces: the yes is for pictures in their order, so that files which have exchanged their bytes since
// are not what was asked about.
func TestPicturesThatChangePlaces(t *testing.T) {
	h := newHall(t)
	a, b := picture(400, 400, 1), picture(400, 400, 2)
	h.Write("a.png", a)
	h.Write("b.png", b)
	both := args{"action": "prepare", "workspace_paths": []string{"a.png", "b.png"}}
	h.try(tools.Completed, "Nothing is added yet", tools.GalleryAdd, both)
	h.says("yes")
	h.Write("a.png", b)
	h.Write("b.png", a)
	h.try(tools.Failed, "nothing was added: a picture has changed since the user was asked", tools.GalleryAdd, args{"action": "confirm"})
	if entries, err := os.ReadDir(h.dir); err != nil || len(entries) > 0 {
		t.Errorf("copies: %v, %v", entries, err)
	}
	// Named in another order they are another question, too.
	h.Write("a.png", a)
	h.Write("b.png", b)
	h.try(tools.Failed, "not the pictures that the user was asked about", tools.GalleryAdd, args{"action": "confirm", "workspace_paths": []string{"b.png", "a.png"}})
	h.try(tools.Failed, "only one can wait", tools.GalleryAdd, args{"action": "prepare", "workspace_paths": []string{"b.png", "a.png"}})
	h.try(tools.Completed, "Added 2 pictures", tools.GalleryAdd, args{"action": "confirm"})
	if list, _ := h.list(); !strings.Contains(list, "1. a.png") || !strings.Contains(list, "2. b.png") {
		t.Errorf("the gallery reads %s", list)
	}
}
