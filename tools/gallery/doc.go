// Package gallery is named collections of pictures that belong to a chat: gallery_list, gallery_add, gallery_delete,
// gallery_reorder and gallery_send.
//
// It owns the records of galleries, the copies of their pictures in a folder of NOD_HOME, and additions that wait for a
// person's yes. A picture is known by the SHA-256 of the bytes that it came with. It leaves to others how files reach a chat
// (tools.FilePort) and what a message is: package agent tells it of messages (Received, Answered) and of questions that were
// put (Asked).
//
// To add pictures takes two calls. prepare looks at them, writes nothing into the gallery and gives a question back, which
// the agent puts to the person in its answer. The person's next message decides: only a plain yes lets confirm read the same
// pictures again and add them, if not a byte has changed.
package gallery

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"nod/store"
	"nod/tools"
	"nod/tools/refs"
)

// Bounds of a gallery and its pictures.
const (
	MaxPictures = 20
	minSide     = 320 // points
	maxSide     = 4096
	maxBytes    = 5 << 20
	maxName     = 40 // characters
)

// prepareLife is how long a prepared addition waits for a yes.
const prepareLife = 15 * time.Minute

// Desk makes the tools. New opens it.
type Desk struct {
	db     *store.DB
	box    *refs.Box
	folder *os.Root // of the copies
	log    *slog.Logger
}

// New opens the folder of the copies, and deletes those that belong to no gallery any more.
func New(db *store.DB, box *refs.Box, dir string, log *slog.Logger) (*Desk, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of galleries: %w", err)
	}
	folder, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the folder of galleries: %w", err)
	}
	d := &Desk{db: db, box: box, folder: folder, log: log}
	d.sweep(time.Hour)
	return d, nil
}

// Close lets the folder go.
func (d *Desk) Close() error { return d.folder.Close() }

// Tools are the tools of this package.
func (d *Desk) Tools() []tools.Tool {
	return []tools.Tool{d.galleryList(), d.galleryAdd(), d.galleryDelete(), d.galleryReorder(), d.gallerySend()}
}

// Gallery is one collection, in its order.
type Gallery struct {
	Name     string    `json:"name"`
	Revision uint64    `json:"revision"` // goes up by one with each change
	Pictures []Picture `json:"pictures"`
}

// Picture is one picture of a gallery.
type Picture struct {
	ID     string    `json:"id"`
	Print  string    `json:"print"`  // SHA-256 of the bytes it came with, in hex
	Stored string    `json:"stored"` // SHA-256 of the copy, its file's name; another one where it was normalised
	Title  string    `json:"title"`  // what people see: the name that its file had
	Format string    `json:"format"` // jpeg, png or webp
	Width  int       `json:"width"`
	Height int       `json:"height"`
	Bytes  int64     `json:"bytes"`
	Added  time.Time `json:"added"`
}

var galleries = store.NewTable[store.Text, Gallery]("galleries", store.ParseText[store.Text])

// key files a gallery under its chat. A topic has its own.
func key(at store.Address, name string) store.Text { return store.Join(at.String(), name) }

func chatPrefix(at store.Address) []byte { return key(at, "").Bytes() }

var nameForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[\p{L}\p{N}][\p{L}\p{N} _-]*$`)
})

// checkName refuses a gallery's name that is not short and plain.
func checkName(name string) error {
	if len([]rune(name)) > maxName || !nameForm().MatchString(name) {
		return fmt.Errorf("%q can't be a gallery's name: it takes up to %d letters, digits, spaces, _ and -", name, maxName)
	}
	return nil
}

// get reads a gallery; one that is not there is empty.
func get(tx *store.Tx, at store.Address, name string) (Gallery, error) {
	g, ok, err := galleries.Get(tx, key(at, name))
	if err != nil {
		return g, fmt.Errorf("reading the gallery %s: %w", name, err)
	}
	if !ok {
		g.Name = name
	}
	return g, nil
}

// put files a changed gallery under its next revision. An empty one stays, so that its revision does.
func put(tx *store.Tx, at store.Address, g *Gallery) error {
	g.Revision++
	if err := galleries.Put(tx, key(at, g.Name), *g); err != nil {
		return fmt.Errorf("keeping the gallery %s: %w", g.Name, err)
	}
	return nil
}

// binding is what references to pictures are bound to: the chat, so that no other can use them.
func binding(at store.Address) string { return at.String() }

func (d *Desk) ref(at store.Address, p Picture) string {
	return d.box.Seal(refs.Picture, binding(at), p.ID)
}

// byID finds a picture in the galleries of a chat.
func byID(tx *store.Tx, at store.Address, id string) (p Picture, ok bool, err error) {
	err = galleries.Scan(tx, chatPrefix(at), func(_ store.Text, g Gallery) (bool, error) {
		if i := slices.IndexFunc(g.Pictures, func(q Picture) bool { return q.ID == id }); i >= 0 {
			p, ok = g.Pictures[i], true
		}
		return !ok, nil
	})
	return p, ok, err
}

// open gives back the ids of references to pictures of one gallery, each named once.
func (d *Desk) open(at store.Address, g Gallery, given []string) (ids []string, err error) {
	for i, ref := range given {
		id, err := d.box.Open(refs.Picture, binding(at), ref)
		if err != nil {
			return nil, fmt.Errorf("image_refs[%d]: %w", i, err)
		}
		if !slices.ContainsFunc(g.Pictures, func(p Picture) bool { return p.ID == id }) {
			return nil, fmt.Errorf("image_refs[%d]: the gallery %s does not have this picture; gallery_list shows what it has", i, g.Name)
		}
		if slices.Contains(ids, id) {
			return nil, fmt.Errorf("image_refs[%d]: this picture is named twice", i)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// text shows a gallery in its order, with references.
func (d *Desk) text(at store.Address, g Gallery) string {
	text := fmt.Sprintf("Gallery %s, revision %d, %s.\n", g.Name, g.Revision, pictures(len(g.Pictures)))
	for i, p := range g.Pictures {
		text += fmt.Sprintf("%d. %s, %d × %d: image_ref %s\n", i+1, p.Title, p.Width, p.Height, d.ref(at, p))
	}
	return text
}

func pictures(n int) string {
	if n == 1 {
		return "1 picture"
	}
	return strconv.Itoa(n) + " pictures"
}

// Migrate moves the galleries of a group that became a supergroup. A group without topics is all that can.
func Migrate(tx *store.Tx, from, to store.ChatID) error {
	before, after := store.Address{Chat: from}, store.Address{Chat: to}
	moved, err := galleries.All(tx, chatPrefix(before))
	for _, g := range moved {
		if err == nil {
			err = errors.Join(galleries.Put(tx, key(after, g.Name), g), galleries.Delete(tx, key(before, g.Name)))
		}
	}
	if err != nil {
		return fmt.Errorf("moving galleries: %w", err)
	}
	return nil
}
