package gallery_test

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"nod/approvals"
	"nod/store"
	"nod/tools"
	"nod/tools/confined"
	"nod/tools/gallery"
	"nod/tools/refs"
	"nod/tools/svg"
	"nod/tools/tooltest"
)

func TestMain(m *testing.M) {
	if confined.Dispatch(os.Args, map[string]confined.Work{svg.WorkName: svg.Work}) {
		return
	}
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		os.Exit(2) // a child that nobody knows must not become a test run
	}
	goleak.VerifyTestMain(m)
}

// hall is a rig with galleries and a person who talks.
type hall struct {
	*tooltest.Rig
	dir  string
	sent []tools.File
}

func newHall(t *testing.T) *hall {
	t.Helper()
	db := store.OpenTest(t)
	box, err := refs.New(db)
	if err != nil {
		t.Fatal(err)
	}
	h := &hall{dir: filepath.Join(t.TempDir(), "gallery")}
	desk, err := gallery.New(db, box, h.dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := desk.Close(); err != nil {
			t.Error(err)
		}
	})
	h.Rig = tooltest.NewOn(t, db, func(*tools.Workspace) []tools.Tool { return desk.Tools() })
	h.Scope.Ports.Files = h
	return h
}

// hall is also the port for files.
func (h *hall) Limit() int64 { return 50 << 20 }

func (h *hall) Keep(name string, r io.Reader, size int64) (string, error) {
	n, err := io.Copy(io.Discard, r)
	if n != size {
		err = fmt.Errorf("%d bytes of %d", n, size)
	}
	return name, err
}

func (h *hall) Send(_ *store.Tx, _ store.Address, f tools.File) error {
	h.sent = append(h.sent, f)
	return nil
}

func (h *hall) SendAlbum(tx *store.Tx, to store.Address, photos []tools.File) error {
	h.sent = append(h.sent, photos...)
	return nil
}

// says ends the turn with an answer and lets the person write, as package agent does.
func (h *hall) says(text string) {
	h.T.Helper()
	h.hears(func(tx *store.Tx) error { return gallery.Answered(tx, h.Scope.Address, tooltest.Owner, typed(text)) })
}

// typed is a message below the question.
func typed(text string) gallery.Said {
	return gallery.Said{Text: text, Plain: true, Below: true, Begins: true}
}

func (h *hall) hears(message func(*store.Tx) error) {
	h.T.Helper()
	err := h.DB.Update(func(tx *store.Tx) error {
		if err := gallery.Asked(tx, h.Scope.Address, tooltest.Owner, h.Scope.Turn); err != nil {
			return err
		}
		return message(tx)
	})
	if err != nil {
		h.T.Fatal(err)
	}
	h.Scope.Turn = store.NewTurnID()
}

func (h *hall) brings(files ...string) {
	h.T.Helper()
	err := h.DB.Update(func(tx *store.Tx) error {
		return gallery.Received(tx, h.Scope.Address, tooltest.Owner, 5, files, true)
	})
	if err != nil {
		h.T.Fatal(err)
	}
}

type args = map[string]any

// try makes a call that must end in a state with some words.
func (h *hall) try(state tools.State, words, tool string, a args) string {
	h.T.Helper()
	out := h.Call(tool, a)
	if out.State != state || !strings.Contains(out.Text, words) {
		h.T.Fatalf("%s %v: %s: %s; want %s: %s", tool, a, out.State, out.Text, state, words)
	}
	return out.Text
}

func (h *hall) add(paths ...string) {
	h.T.Helper()
	h.try(tools.Completed, "Nothing is added yet", tools.GalleryAdd, args{"action": "prepare", "workspace_paths": paths})
	h.says("Yes!")
	h.try(tools.Completed, "Added", tools.GalleryAdd, args{"action": "confirm"})
}

func (h *hall) list() (text string, found []string) {
	h.T.Helper()
	text = h.try(tools.Completed, "", tools.GalleryList, args{})
	return text, regexp.MustCompile(`picture_[A-Za-z0-9_-]+`).FindAllString(text, -1)
}

// picture is a PNG of one colour.
func picture(width, height int, shade uint8) string {
	img := image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.Gray{shade}})
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err)
	}
	return b.String()
}

func TestAdding(t *testing.T) {
	h := newHall(t)
	h.Write("a.png", picture(400, 400, 1))
	h.Write("b.png", picture(400, 400, 2))
	h.try(tools.Failed, "nothing is prepared", tools.GalleryAdd, args{"action": "confirm"})
	text := h.try(tools.Completed, "Add 2 pictures to the gallery main?", tools.GalleryAdd, args{"action": "prepare", "workspace_paths": []string{"a.png", "b.png"}})
	if entries, err := os.ReadDir(h.dir); err != nil || len(entries) > 0 {
		t.Errorf("prepare has written %v, %v", entries, err)
	}
	h.try(tools.Completed, "no such gallery", tools.GalleryList, args{})
	h.try(tools.Failed, "has not answered yet", tools.GalleryAdd, args{"action": "confirm"})
	h.says("Yes!")
	h.try(tools.Completed, "Added 2 pictures to the gallery main, which now has 2 pictures at revision 1", tools.GalleryAdd, args{"action": "confirm"})
	h.try(tools.Failed, "nothing is prepared", tools.GalleryAdd, args{"action": "confirm"})
	list, found := h.list()
	if len(found) != 2 || !strings.Contains(list, "1. a.png, 400 × 400") || strings.Contains(text+list, h.dir) {
		t.Errorf("the gallery reads %s", list)
	}
	// A partial batch adds only what is missing.
	h.Write("c.png", picture(400, 400, 3))
	h.try(tools.Completed, "Add 1 picture to the gallery main?” (c.png)", tools.GalleryAdd, args{"action": "prepare", "workspace_paths": []string{"b.png", "c.png"}})
	h.says("👍🏽")
	h.try(tools.Completed, "Added 1 picture", tools.GalleryAdd, args{"action": "confirm"})
	h.try(tools.Completed, "there is nothing to add", tools.GalleryAdd, args{"action": "prepare", "workspace_paths": []string{"a.png", "c.png"}})
	// From one gallery of the chat to another.
	h.try(tools.Completed, "to the gallery best of?", tools.GalleryAdd, args{"action": "prepare", "gallery": "best of", "image_ref": found[1]})
	h.says("ja")
	h.try(tools.Failed, "not main", tools.GalleryAdd, args{"action": "confirm"})
	h.try(tools.Completed, "Added 1 picture to the gallery best of", tools.GalleryAdd, args{"action": "confirm", "gallery": "best of"})
}

// TestOnlyAPlainYesCounts: any other next message is a no, and a later yes does not change that.
func TestOnlyAPlainYesCounts(t *testing.T) {
	for name, say := range map[string]func(h *hall){
		"a no":             func(h *hall) { h.says("no") },
		"a yes with a but": func(h *hall) { h.says("yes, but only the first") },
		"a yes too late":   func(h *hall) { h.says("what?"); h.says("yes") },
		"somebody else's": func(h *hall) {
			h.hears(func(tx *store.Tx) error { return gallery.Answered(tx, h.Scope.Address, 8, typed("yes")) })
		},
		"a forwarded yes": func(h *hall) {
			h.hears(func(tx *store.Tx) error {
				return gallery.Answered(tx, h.Scope.Address, tooltest.Owner, gallery.Said{Text: "yes", Below: true, Begins: true})
			})
		},
		"a yes before the question was put": func(h *hall) {
			if err := h.DB.Update(func(tx *store.Tx) error {
				return gallery.Answered(tx, h.Scope.Address, tooltest.Owner, typed("yes"))
			}); err != nil {
				h.T.Fatal(err)
			}
		},
		"a no to a turn that runs, and a yes": func(h *hall) {
			h.hears(func(tx *store.Tx) error {
				return gallery.Answered(tx, h.Scope.Address, tooltest.Owner, gallery.Said{Text: "no", Plain: true, Below: true})
			})
			h.says("yes")
		},
		"a yes above the question": func(h *hall) {
			h.hears(func(tx *store.Tx) error {
				return gallery.Answered(tx, h.Scope.Address, tooltest.Owner, gallery.Said{Text: "yes", Plain: true, Begins: true})
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHall(t)
			h.Write("a.png", picture(400, 400, 1))
			h.try(tools.Completed, "Nothing is added yet", tools.GalleryAdd, args{"action": "prepare", "workspace_paths": []string{"a.png"}})
			say(h)
			h.try(tools.Failed, "", tools.GalleryAdd, args{"action": "confirm"})
			if _, found := h.list(); len(found) > 0 {
				t.Error("a picture was added")
			}
		})
	}
}

func TestPreparedAdditions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t)
		h.Write("a.png", picture(400, 400, 1))
		h.Write("b.png", picture(400, 400, 2))
		first := args{"action": "prepare", "workspace_paths": []string{"a.png"}}
		h.try(tools.Completed, "Nothing is added yet", tools.GalleryAdd, first)
		h.try(tools.Completed, "Nothing is added yet", tools.GalleryAdd, first) // the same again
		h.try(tools.Failed, "only one can wait", tools.GalleryAdd, args{"action": "prepare", "workspace_paths": []string{"b.png"}})
		h.says("yes")
		h.Write("a.png", picture(400, 400, 9))
		h.try(tools.Failed, "a picture has changed since the user was asked", tools.GalleryAdd, args{"action": "confirm"})
		h.Write("a.png", picture(400, 400, 1))
		h.try(tools.Failed, "not the pictures that the user was asked about", tools.GalleryAdd, args{"action": "confirm", "workspace_paths": []string{"b.png"}})
		time.Sleep(16 * time.Minute)
		h.try(tools.Failed, "older than 15 minutes", tools.GalleryAdd, args{"action": "confirm"})
		h.try(tools.Completed, "Nothing is added yet", tools.GalleryAdd, args{"action": "prepare", "workspace_paths": []string{"b.png"}})
		h.says("no")
		h.try(tools.Completed, "Nothing is added yet", tools.GalleryAdd, first) // a no makes room
	})
}

func TestAttachments(t *testing.T) {
	h := newHall(t)
	h.Write("uploads/1.png", picture(400, 400, 1))
	h.Write("uploads/2.png", picture(400, 400, 2))
	h.try(tools.Failed, "no files came with the user's latest message", tools.GalleryAdd, args{"action": "prepare"})
	h.brings("uploads/1.png", "uploads/2.png")
	h.try(tools.Failed, "there is no attachment 3", tools.GalleryAdd, args{"action": "prepare", "attachment_indices": []int{3}})
	h.try(tools.Completed, "Add 1 picture", tools.GalleryAdd, args{"action": "prepare", "attachment_indices": []int{2}})
	h.says("oui")
	h.brings()
	h.try(tools.Completed, "Added 1 picture", tools.GalleryAdd, args{"action": "confirm", "attachment_indices": []int{2}})
	if list, _ := h.list(); !strings.Contains(list, "1. 2.png") {
		t.Error(list)
	}
}

func TestWhatIsNoPictureForAGallery(t *testing.T) {
	h := newHall(t)
	h.Write("small.png", picture(319, 400, 1))
	h.Write("large.png", picture(4097, 400, 1))
	h.Write("text.png", "I am a text.")
	h.Write("bomb.png", bomb(15000, 15000))
	h.Write("heavy.png", picture(400, 400, 1)+strings.Repeat("x", 6<<20))
	h.Write("secrets/a.png", picture(400, 400, 1))
	h.Write("sub/a.png", picture(400, 400, 1))
	for link, to := range map[string]string{"link.png": "sub/a.png", "folder": "sub", "out.png": filepath.Join(t.TempDir(), "a.png")} {
		if err := os.Symlink(to, h.Path(link)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"small.png": "each side must have 320 to 4096", "large.png": "each side must have 320 to 4096", "bomb.png": "each side must have 320 to 4096",
		"text.png": "no JPEG, PNG, WebP or SVG", "heavy.png": "may have 5", "secrets/a.png": "", "link.png": "a link on the way", "folder/a.png": "a link on the way",
		"out.png": "a link on the way", "../a.png": "relative to the workspace", "missing.png": "there is no file", h.Path("sub/a.png"): "relative to the workspace",
	} {
		h.try(tools.Failed, want, tools.GalleryAdd, args{"action": "prepare", "workspace_paths": []string{path}})
	}
	h.try(tools.Failed, "named twice", tools.GalleryAdd, args{"action": "prepare", "workspace_paths": []string{"sub/a.png", "sub/a.png"}})
	h.try(tools.Failed, "not several", tools.GalleryAdd, args{"action": "prepare", "workspace_paths": []string{"sub/a.png"}, "image_ref": "x"})
	h.try(tools.Failed, "not valid here", tools.GalleryAdd, args{"action": "prepare", "image_ref": "picture_AAAA"})
	h.try(tools.Failed, "can't be a gallery's name", tools.GalleryAdd, args{"action": "prepare", "gallery": "../x", "workspace_paths": []string{"sub/a.png"}})
}

// bomb is a PNG whose header promises more than it holds.
func bomb(width, height uint32) string {
	raw := []byte(picture(1, 1, 0))
	for i, n := range []uint32{width, height} {
		raw[16+4*i], raw[17+4*i], raw[18+4*i], raw[19+4*i] = byte(n>>24), byte(n>>16), byte(n>>8), byte(n)
	}
	sum := crc32.ChecksumIEEE(raw[12:29])
	raw[29], raw[30], raw[31], raw[32] = byte(sum>>24), byte(sum>>16), byte(sum>>8), byte(sum)
	return string(raw)
}

func TestAGalleryHoldsTwenty(t *testing.T) {
	h := newHall(t)
	var paths []string
	for n := range gallery.MaxPictures + 1 {
		paths = append(paths, fmt.Sprintf("%02d.png", n))
		h.Write(paths[n], picture(320, 320, uint8(n)))
	}
	h.add(paths[:15]...)
	h.try(tools.Failed, "room for 5 pictures, and these are 6 new ones", tools.GalleryAdd, args{"action": "prepare", "workspace_paths": paths[10:21]})
	h.add(paths[10:20]...) // ten, of which five are there already
	h.try(tools.Completed, "20 pictures", tools.GallerySend, args{"caption": "all"})
	if len(h.sent) != 20 || h.sent[0].Caption != "all" || h.sent[10].Caption != "" {
		t.Errorf("sent: %v", h.sent)
	}
}

func TestDeletingAndReordering(t *testing.T) {
	h := newHall(t)
	h.OnCard = tooltest.Approve
	for n, name := range []string{"a", "b", "c"} {
		h.Write(name+".png", picture(320, 320, uint8(n)))
	}
	h.add("a.png", "b.png", "c.png")
	_, found := h.list()
	h.try(tools.Completed, "1. c.png", tools.GalleryReorder, args{"image_refs": []string{found[2], found[0], found[1]}})
	h.try(tools.Failed, "name all of them", tools.GalleryReorder, args{"image_refs": found[:2]})
	h.try(tools.Failed, "named twice", tools.GalleryReorder, args{"image_refs": []string{found[0], found[0], found[1]}})
	h.try(tools.Failed, "not valid here", tools.GalleryDelete, args{"image_refs": []string{found[0][:len(found[0])-3] + "AAA"}})
	h.try(tools.Completed, "revision 3, 2 pictures", tools.GalleryDelete, args{"image_refs": found[:1]})
	cards := h.Cards()
	if got := cards[len(cards)-1].Request.Subject.Text; got != "Delete from the gallery main:\n• 2. a.png" {
		t.Errorf("the card reads %s", got)
	}
	if entries, err := os.ReadDir(h.dir); err != nil || len(entries) != 2 {
		t.Errorf("copies: %v, %v", entries, err)
	}
	h.OnCard = nil
	// Another chat can't use what this one has.
	h.Scope.Address.Chat++
	h.try(tools.Failed, "not valid here", tools.GalleryAdd, args{"action": "prepare", "gallery": "stolen", "image_ref": found[1]})
}

// TestARejectedDeletionDeletesNothing, nor one of a gallery that has changed since the card.
func TestARejectedDeletionDeletesNothing(t *testing.T) {
	h := newHall(t)
	h.Write("a.png", picture(320, 320, 1))
	h.Write("b.png", picture(320, 320, 2))
	h.add("a.png", "b.png")
	_, found := h.list()
	h.OnCard = func(approvals.Pending) approvals.Decision { return approvals.Decision{Verb: approvals.VerbReject} }
	h.try(tools.Rejected, "User rejected", tools.GalleryDelete, args{"image_refs": found})
	if _, left := h.list(); len(left) != 2 {
		t.Error("a picture is gone")
	}
}

func TestDrawings(t *testing.T) {
	h := newHall(t)
	h.Write("a.svg", `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 50"><rect width="100" height="50" fill="#f00"/></svg>`)
	h.Write("evil.svg", `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><script>alert(1)</script></svg>`)
	h.try(tools.Failed, "it has scripts", tools.GalleryAdd, args{"action": "prepare", "workspace_paths": []string{"evil.svg"}})
	h.add("a.svg")
	if list, _ := h.list(); !strings.Contains(list, "1. a.svg, 1600 × 800") {
		t.Error(list)
	}
	h.try(tools.Completed, "1 picture", tools.GallerySend, args{})
	if len(h.sent) != 1 || h.sent[0].Name != "a.png" {
		t.Errorf("sent: %v", h.sent)
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if _, err := svg.Render(ctx, []byte(h.Read("a.svg")), 320, 4096); err == nil {
		t.Error("drawn after a stop")
	}
}

func TestPlainYes(t *testing.T) {
	for _, text := range []string{"yes", "YES!", " Ja. ", "oui", "Sí", "si\u0301", "Sì, grazie", "sim", "ja graag", "Tak!", "Да.", "Evet", "是的。", "はい", "👍", "👍🏿", "OK", "d’accord", "Onaylıyorum"} {
		if !gallery.PlainYes(text) {
			t.Errorf("%q is no yes", text)
		}
	}
	for _, text := range []string{"", "no", "yes and no", "yes?no", "nope", "don't", "ja nein", "not yes", "y e s", "是不是", strings.Repeat("yes ", 30), "/yes x", "yes: rm"} {
		if gallery.PlainYes(text) {
			t.Errorf("%q is a yes", text)
		}
	}
}
