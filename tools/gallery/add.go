package gallery

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"nod/store"
	"nod/tools"
	"nod/tools/refs"
)

const (
	prepare = "prepare"
	confirm = "confirm"

	defaultGallery = "main"
)

type addIn struct {
	Action            string   `json:"action" jsonschema:"prepare: look at the pictures and get the question for the user; confirm: add them, after the user has said yes"`
	Gallery           string   `json:"gallery,omitempty" jsonschema:"the gallery's name (default main)"`
	ImageRef          string   `json:"image_ref,omitempty" jsonschema:"a picture of another gallery of this chat, from gallery_list"`
	AttachmentIndices []int    `json:"attachment_indices,omitempty" jsonschema:"pictures of the user's latest message by their place in it, from 1"`
	WorkspacePaths    []string `json:"workspace_paths,omitempty" jsonschema:"picture files, relative to the workspace"`
}

// Refine lists the actions and bounds the lists.
func (addIn) Refine(p map[string]*jsonschema.Schema) {
	p["action"].Enum = []any{prepare, confirm}
	p["attachment_indices"].MaxItems = jsonschema.Ptr(MaxPictures)
	p["workspace_paths"].MaxItems = jsonschema.Ptr(MaxPictures)
}

func (d *Desk) galleryAdd() tools.Tool {
	return tools.New(tools.Spec[addIn]{
		Name: tools.GalleryAdd,
		Description: "Adds pictures to a gallery of this chat, in two steps. First prepare, with one of image_ref, attachment_indices (all pictures of the " +
			"user's latest message when none of the three is given) or workspace_paths: it adds nothing and gives you a question. Put the question to the user " +
			"in your answer, in the user's language, and end your turn. When the user's next message is a plain yes, call confirm; without that it is refused.",
		Traits: tools.Traits{Category: tools.Chat, Effect: tools.Write, Interactive: true, RootOnly: true},
		Check:  (*addIn).check,
		Label:  func(in addIn, _ bool) string { return in.Action + " → " + in.Gallery },
		Run: func(ctx context.Context, call tools.Call, in addIn) (tools.Output, error) {
			if in.Action == prepare {
				return d.runPrepare(ctx, call, in)
			}
			return d.runConfirm(ctx, call, in)
		},
	})
}

func (in *addIn) check() error {
	if in.Gallery == "" {
		in.Gallery = defaultGallery
	}
	given := 0
	for _, is := range []bool{in.ImageRef != "", len(in.AttachmentIndices) > 0, len(in.WorkspacePaths) > 0} {
		if is {
			given++
		}
	}
	switch {
	case given > 1:
		return errors.New("give one of image_ref, attachment_indices and workspace_paths, not several")
	case repeats(in.AttachmentIndices) || repeats(in.WorkspacePaths):
		return errors.New("a picture is named twice; name each once")
	case slices.ContainsFunc(in.AttachmentIndices, func(i int) bool { return i < 1 }):
		return errors.New("attachment_indices count from 1")
	}
	return checkName(in.Gallery)
}

func repeats[T comparable](list []T) bool {
	seen := map[T]bool{}
	for _, v := range list {
		if seen[v] {
			return true
		}
		seen[v] = true
	}
	return false
}

// source finds out which pictures a call means.
func (d *Desk) source(s tools.Scope, in addIn) (source, error) {
	switch {
	case in.ImageRef != "":
		id, err := d.box.Open(refs.Picture, binding(s.Address), in.ImageRef)
		if err != nil {
			return source{}, fmt.Errorf("image_ref: %w", err)
		}
		return source{Picture: id}, nil
	case len(in.WorkspacePaths) > 0:
		return source{Paths: in.WorkspacePaths}, nil
	}
	var l latest
	err := d.db.View(func(tx *store.Tx) (err error) {
		l, _, err = latests.Get(tx, talk(s.Address, s.By))
		return err
	})
	if err != nil {
		return source{}, fmt.Errorf("reading what came with the latest message: %w", err)
	}
	if len(l.Files) == 0 {
		return source{}, errors.New("no files came with the user's latest message; name pictures by workspace_paths or image_ref")
	}
	if len(in.AttachmentIndices) == 0 {
		return source{Attachments: l.Files}, nil
	}
	var chosen []string
	for _, i := range in.AttachmentIndices {
		if i > len(l.Files) {
			return source{}, fmt.Errorf("there is no attachment %d: %d came with the user's latest message", i, len(l.Files))
		}
		chosen = append(chosen, l.Files[i-1])
	}
	return source{Attachments: chosen}, nil
}

func (d *Desk) runPrepare(ctx context.Context, call tools.Call, in addIn) (tools.Output, error) {
	s := call.Scope
	src, err := d.source(s, in)
	if err != nil {
		return tools.Output{}, err
	}
	looks, err := d.read(ctx, s.Workspace, s.Address, src)
	if err != nil {
		return tools.Output{}, err
	}
	w := waiting{Gallery: in.Gallery, Source: src, Prints: prints(looks), Turn: s.Turn, Expires: time.Now().Add(prepareLife)}
	var fresh []look
	err = d.db.View(func(tx *store.Tx) error {
		if err := d.mayPrepare(tx, s, w); err != nil {
			return err
		}
		g, err := get(tx, s.Address, in.Gallery)
		if err != nil {
			return err
		}
		fresh, err = missing(g, looks)
		return err
	})
	if err != nil {
		return tools.Output{}, err
	}
	if len(fresh) == 0 {
		return tools.Output{Text: fmt.Sprintf("All of these pictures are in the gallery %s already; there is nothing to add.", in.Gallery)}, nil
	}
	return tools.Output{
		Text: fmt.Sprintf("Nothing is added yet. Put this question to the user in your answer and end your turn: “Add %s to the gallery %s?” (%s). "+
			"Call confirm only after the user's next message is a plain yes, within 15 minutes.", pictures(len(fresh)), in.Gallery, titles(fresh)),
		Commit: func(tx *store.Tx) error { return waitings.Put(tx, talk(s.Address, s.By), w) },
	}, nil
}

// mayPrepare refuses to put another addition in the place of one that waits for its answer.
func (d *Desk) mayPrepare(tx *store.Tx, s tools.Scope, w waiting) error {
	before, ok, err := waitings.Get(tx, talk(s.Address, s.By))
	switch {
	case err != nil:
		return err
	case !ok, before.expired(), before.Answer == denied:
		return nil
	case before.Gallery == w.Gallery && slices.Equal(before.Prints, w.Prints) && reflect.DeepEqual(before.Source, w.Source):
		return nil
	}
	return fmt.Errorf("an addition of %s to the gallery %s waits for the user's yes until %s; only one can wait: confirm it, or let the user say no",
		pictures(len(before.Prints)), before.Gallery, before.Expires.Format("15:04"))
}

func (d *Desk) runConfirm(ctx context.Context, call tools.Call, in addIn) (tools.Output, error) {
	s := call.Scope
	w, err := d.confirmed(s, in)
	if err != nil {
		return tools.Output{}, err
	}
	looks, err := d.read(ctx, s.Workspace, s.Address, w.Source)
	if err != nil {
		return tools.Output{}, fmt.Errorf("nothing was added: %w", err)
	}
	if !slices.Equal(prints(looks), w.Prints) {
		return tools.Output{}, errors.New("nothing was added: a picture has changed since the user was asked; prepare again and ask again")
	}
	for _, l := range looks {
		if err := d.keep(l); err != nil {
			return tools.Output{}, err
		}
	}
	var g Gallery
	out := tools.Output{Commit: func(tx *store.Tx) error { return d.commitAdd(tx, s, w, looks) }}
	err = d.db.View(func(tx *store.Tx) (err error) {
		g, err = get(tx, s.Address, w.Gallery)
		return err
	})
	if err != nil {
		return tools.Output{}, err
	}
	fresh, err := missing(g, looks)
	if err != nil {
		return tools.Output{}, err
	}
	out.Text = fmt.Sprintf("Added %s to the gallery %s, which now has %s at revision %d. gallery_list shows them.",
		pictures(len(fresh)), g.Name, pictures(len(g.Pictures)+len(fresh)), g.Revision+1)
	return out, nil
}

// confirmed is the addition that the user has said yes to.
func (d *Desk) confirmed(s tools.Scope, in addIn) (w waiting, err error) {
	var ok bool
	err = d.db.View(func(tx *store.Tx) error {
		w, ok, err = waitings.Get(tx, talk(s.Address, s.By))
		return err
	})
	switch {
	case err != nil:
		return w, err
	case !ok:
		return w, errors.New("nothing is prepared; call prepare first")
	case w.expired():
		return w, errors.New("what was prepared is older than 15 minutes; prepare again and ask again")
	case w.Answer == denied:
		return w, errors.New("the user's answer was no plain yes, so nothing is added; ask again only if the user wants it")
	case w.Answer == open:
		return w, errors.New("the user has not answered yet; put the question in your answer and end your turn")
	case w.Gallery != in.Gallery:
		return w, fmt.Errorf("the user was asked about the gallery %s, not %s", w.Gallery, in.Gallery)
	}
	if in.ImageRef == "" && len(in.WorkspacePaths) == 0 { // attachments are those of an earlier message now
		return w, nil
	}
	if again, err := d.source(s, in); err != nil || !reflect.DeepEqual(again, w.Source) {
		return w, errors.New("these are not the pictures that the user was asked about; leave them out")
	}
	return w, nil
}

// commitAdd adds what is missing, if the gallery still has room and every copy is in its place.
func (d *Desk) commitAdd(tx *store.Tx, s tools.Scope, w waiting, looks []look) error {
	g, err := get(tx, s.Address, w.Gallery)
	if err != nil {
		return err
	}
	fresh, err := missing(g, looks)
	if err != nil {
		return err
	}
	for _, l := range fresh {
		if err := d.there(l.stored); err != nil {
			return err
		}
		g.Pictures = append(g.Pictures, Picture{
			ID: string(store.NewCallID()), Print: l.print, Stored: l.stored, Title: l.title, Format: l.format,
			Width: l.width, Height: l.height, Bytes: int64(len(l.content)), Added: time.Now(),
		})
	}
	return errors.Join(put(tx, s.Address, &g), waitings.Delete(tx, talk(s.Address, s.By)))
}

// missing are the pictures that a gallery does not have, by their content, each once; it is an error when they don't fit.
func missing(g Gallery, looks []look) (fresh []look, err error) {
	have := map[string]bool{}
	for _, p := range g.Pictures {
		have[p.Print], have[p.Stored] = true, true
	}
	for _, l := range looks {
		if have[l.print] || have[l.stored] {
			continue
		}
		have[l.print], have[l.stored] = true, true
		fresh = append(fresh, l)
	}
	if room := MaxPictures - len(g.Pictures); len(fresh) > room {
		return nil, fmt.Errorf("the gallery %s has room for %s, and these are %d new ones; a gallery holds %d", g.Name, pictures(room), len(fresh), MaxPictures)
	}
	return fresh, nil
}

func prints(looks []look) (all []string) {
	for _, l := range looks {
		all = append(all, l.print)
	}
	return all
}

func titles(looks []look) string {
	var all []string
	for _, l := range looks {
		all = append(all, l.title)
	}
	return strings.Join(all, ", ")
}
