package gallery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"nod/approvals"
	"nod/store"
	"nod/tools"
)

type listIn struct {
	Gallery string `json:"gallery,omitempty" jsonschema:"the gallery's name; all galleries of this chat when left out"`
}

func (d *Desk) galleryList() tools.Tool {
	return tools.New(tools.Spec[listIn]{
		Name:        tools.GalleryList,
		Description: "Lists the galleries of this chat and their pictures in order, with a reference for each picture.",
		Traits:      tools.Traits{Category: tools.Chat, Effect: tools.Read},
		Label:       func(in listIn, _ bool) string { return in.Gallery },
		Run: func(_ context.Context, call tools.Call, in listIn) (out tools.Output, err error) {
			at := call.Scope.Address
			var b strings.Builder
			err = d.db.View(func(tx *store.Tx) error {
				return galleries.Scan(tx, chatPrefix(at), func(_ store.Text, g Gallery) (bool, error) {
					if in.Gallery == "" || in.Gallery == g.Name {
						b.WriteString(d.text(at, g))
					}
					return true, nil
				})
			})
			if out.Text = b.String(); out.Text == "" {
				out.Text = "This chat has no such gallery. gallery_add makes one."
			}
			return out, err
		},
	})
}

type changeIn struct {
	Gallery   string   `json:"gallery,omitempty" jsonschema:"the gallery's name (default main)"`
	ImageRefs []string `json:"image_refs" jsonschema:"references of pictures, from gallery_list"`
}

func (in *changeIn) check() error {
	if in.Gallery == "" {
		in.Gallery = defaultGallery
	}
	if len(in.ImageRefs) == 0 {
		return errors.New("image_refs is empty; gallery_list gives them")
	}
	return checkName(in.Gallery)
}

func (d *Desk) galleryDelete() tools.Tool {
	return tools.New(tools.Spec[changeIn]{
		Name:        tools.GalleryDelete,
		Description: "Deletes pictures from a gallery of this chat.",
		Traits:      tools.Traits{Category: tools.Chat, Effect: tools.Write},
		Check:       (*changeIn).check,
		Label: func(in changeIn, _ bool) string {
			return fmt.Sprintf("%s from %s", pictures(len(in.ImageRefs)), in.Gallery)
		},
		Judge: func(_ context.Context, s tools.Scope, in changeIn) (tools.Judged, error) {
			return d.judge(s, in, "Delete from the gallery "+in.Gallery+":")
		},
		Run: func(_ context.Context, call tools.Call, in changeIn) (tools.Output, error) {
			return d.change(call, in, func(g *Gallery, ids []string) error {
				g.Pictures = slices.DeleteFunc(g.Pictures, func(p Picture) bool { return slices.Contains(ids, p.ID) })
				return nil
			})
		},
	})
}

func (d *Desk) galleryReorder() tools.Tool {
	return tools.New(tools.Spec[changeIn]{
		Name:        tools.GalleryReorder,
		Description: "Puts the pictures of a gallery of this chat into another order. image_refs names all of them, in the new order.",
		Traits:      tools.Traits{Category: tools.Chat, Effect: tools.Write},
		Check:       (*changeIn).check,
		Label:       func(in changeIn, _ bool) string { return in.Gallery },
		Judge: func(_ context.Context, s tools.Scope, in changeIn) (tools.Judged, error) {
			return d.judge(s, in, "New order of the gallery "+in.Gallery+":")
		},
		Run: func(_ context.Context, call tools.Call, in changeIn) (tools.Output, error) {
			return d.change(call, in, reorder)
		},
	})
}

func reorder(g *Gallery, ids []string) error {
	if len(ids) != len(g.Pictures) {
		return fmt.Errorf("the gallery has %s, and image_refs names %d; name all of them in the new order", pictures(len(g.Pictures)), len(ids))
	}
	before := g.Pictures
	g.Pictures = make([]Picture, 0, len(before))
	for _, id := range ids {
		i := slices.IndexFunc(before, func(p Picture) bool { return p.ID == id })
		g.Pictures = append(g.Pictures, before[i]) // open has found each of them
	}
	return nil
}

// judge shows the pictures by number and name. The nod is bound to the gallery's revision: what another call changes
// meanwhile is asked about anew.
func (d *Desk) judge(s tools.Scope, in changeIn, head string) (tools.Judged, error) {
	g, ids, err := d.named(s.Address, in)
	if err != nil {
		return tools.Judged{}, err
	}
	lines := []string{head}
	for _, id := range ids {
		i := slices.IndexFunc(g.Pictures, func(p Picture) bool { return p.ID == id })
		lines = append(lines, fmt.Sprintf("• %d. %s", i+1, g.Pictures[i].Title))
	}
	return tools.Judged{Subject: approvals.Subject{
		Kind: approvals.Words, Text: strings.Join(lines, "\n"),
		Facts: []approvals.Fact{{Name: "revision", Value: fmt.Sprint(g.Revision)}},
	}}, nil
}

func (d *Desk) named(at store.Address, in changeIn) (g Gallery, ids []string, err error) {
	err = d.db.View(func(tx *store.Tx) error {
		g, err = get(tx, at, in.Gallery)
		return err
	})
	if err == nil {
		ids, err = d.open(at, g, in.ImageRefs)
	}
	return g, ids, err
}

// change applies a change to the gallery as it is at the commit, and shows what comes of it.
func (d *Desk) change(call tools.Call, in changeIn, apply func(*Gallery, []string) error) (tools.Output, error) {
	at := call.Scope.Address
	g, ids, err := d.named(at, in)
	if err != nil {
		return tools.Output{}, err
	}
	seen := g.Revision
	if err := apply(&g, ids); err != nil {
		return tools.Output{}, err
	}
	after := g
	after.Revision++
	return tools.Output{Text: d.text(at, after), Commit: func(tx *store.Tx) error {
		now, err := get(tx, at, in.Gallery)
		if err != nil {
			return err
		}
		if now.Revision != seen {
			return errors.New("the gallery was changed meanwhile; list it and try again")
		}
		tx.OnCommit(func() { d.sweep(0) })
		return put(tx, at, &g)
	}}, nil
}

type sendIn struct {
	Gallery string `json:"gallery,omitempty" jsonschema:"the gallery's name (default main)"`
	Caption string `json:"caption,omitempty" jsonschema:"text under the pictures (Markdown)"`
}

// maxAlbum is how many pictures Telegram shows as one album, and how many it takes at least (Bot API, sendMediaGroup).
const maxAlbum = 10

func (d *Desk) gallerySend() tools.Tool {
	return tools.New(tools.Spec[sendIn]{
		Name:        tools.GallerySend,
		Description: "Sends the pictures of a gallery of this chat into the chat, as albums of up to 10 in their order.",
		Traits:      tools.Traits{Category: tools.Chat, Effect: tools.Write, Needs: tools.FilesPort},
		Check: func(in *sendIn) error {
			if in.Gallery == "" {
				in.Gallery = defaultGallery
			}
			return errors.Join(checkName(in.Gallery), tools.CheckCaption(in.Caption))
		},
		Label: func(in sendIn, _ bool) string { return in.Gallery },
		Run:   d.runSend,
	})
}

func (d *Desk) runSend(_ context.Context, call tools.Call, in sendIn) (tools.Output, error) {
	at, files := call.Scope.Address, call.Scope.Ports.Files
	var g Gallery
	err := d.db.View(func(tx *store.Tx) (err error) {
		g, err = get(tx, at, in.Gallery)
		return err
	})
	if err != nil {
		return tools.Output{}, err
	}
	if len(g.Pictures) == 0 {
		return tools.Output{}, fmt.Errorf("the gallery %s is empty; gallery_add adds pictures", g.Name)
	}
	var albums [][]tools.File
	for chunk := range slices.Chunk(g.Pictures, maxAlbum) {
		var album []tools.File
		for _, p := range chunk {
			file, err := d.keepForSending(files, p)
			if err != nil {
				return tools.Output{}, err
			}
			album = append(album, file)
		}
		albums = append(albums, album)
	}
	albums[0][0].Caption = in.Caption
	return tools.Output{
		Text: fmt.Sprintf("Sent the gallery %s at revision %d: %s.", g.Name, g.Revision, pictures(len(g.Pictures))),
		Commit: func(tx *store.Tx) error {
			for _, album := range albums {
				if err := files.SendAlbum(tx, at, album); err != nil {
					return err
				}
			}
			return nil
		},
	}, nil
}

func (d *Desk) keepForSending(files tools.FilePort, p Picture) (tools.File, error) {
	f, err := d.folder.Open(p.Stored)
	if err != nil {
		return tools.File{}, fmt.Errorf("opening the copy of %s: %w", p.Title, reason(err))
	}
	defer f.Close()
	name := strings.TrimSuffix(p.Title, ".svg") + "." + map[string]string{"jpeg": "jpg", "png": "png", "webp": "webp"}[p.Format]
	handle, err := files.Keep(name, f, p.Bytes)
	if err != nil {
		return tools.File{}, fmt.Errorf("copying %s for sending: %w", p.Title, reason(err))
	}
	return tools.File{Handle: handle, Name: name, Kind: tools.Photo}, nil
}
