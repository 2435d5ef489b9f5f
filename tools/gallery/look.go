package gallery

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"

	"nod/store"
	"nod/tools"
	"nod/tools/svg"
)

// source says which pictures a call means: one of the three.
type source struct {
	Picture     string   `json:"picture,omitempty"`     // the id of one in a gallery of the chat
	Attachments []string `json:"attachments,omitempty"` // saved files of the latest direct message
	Paths       []string `json:"paths,omitempty"`       // in the workspace
}

// look is one picture as it was read.
type look struct {
	title   string
	print   string // SHA-256 of the bytes it came with
	stored  string // SHA-256 of content
	content []byte // as it is kept: a drawing as the picture made of it
	format  string
	width   int
	height  int
}

// read reads the pictures of a source, in its order, and refuses what can't be in a gallery.
func (d *Desk) read(ctx context.Context, w *tools.Workspace, at store.Address, src source) (looks []look, err error) {
	if src.Picture != "" {
		l, err := d.readCopy(at, src.Picture)
		return []look{l}, err
	}
	for _, path := range append(append([]string(nil), src.Attachments...), src.Paths...) {
		l, err := readFile(ctx, w, path)
		if errors.Is(err, fs.ErrNotExist) { // whose text would show where an upload lies
			err = errors.New("there is no file of this name any more; list_files shows what there is")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
		}
		looks = append(looks, l)
	}
	return looks, nil
}

// readCopy reads a picture that is in a gallery of the chat.
func (d *Desk) readCopy(at store.Address, id string) (look, error) {
	var p Picture
	var ok bool
	err := d.db.View(func(tx *store.Tx) (err error) {
		p, ok, err = byID(tx, at, id)
		return err
	})
	if err == nil && !ok {
		err = errors.New("the picture is in no gallery any more")
	}
	if err != nil {
		return look{}, err
	}
	f, err := d.folder.Open(p.Stored)
	if err != nil {
		return look{}, fmt.Errorf("opening the copy of a picture: %w", reason(err))
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return look{}, fmt.Errorf("reading the copy of a picture: %w", reason(err))
	}
	l, err := examine(p.Title, content)
	l.print = p.Print
	return l, err
}

// readFile reads a picture of the workspace; nothing on the way to it may be a link.
func readFile(ctx context.Context, w *tools.Workspace, path string) (look, error) {
	if err := checkWay(w, path); err != nil {
		return look{}, err
	}
	f, info, err := w.OpenInside(path)
	if err != nil {
		return look{}, err
	}
	defer f.Close()
	if info.Size() > maxBytes {
		return look{}, fmt.Errorf("it has %.1f MB, and a picture may have 5", float64(info.Size())/(1<<20))
	}
	content, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return look{}, fmt.Errorf("reading it: %w", reason(err))
	}
	title := tools.SafeName(filepath.Base(path))
	if strings.EqualFold(filepath.Ext(path), ".svg") {
		return examineDrawing(ctx, title, content)
	}
	return examine(title, content)
}

// checkWay refuses a path that leaves the workspace or goes over a link.
func checkWay(w *tools.Workspace, path string) error {
	if !filepath.IsLocal(path) {
		return errors.New("the path must be relative to the workspace and stay in it")
	}
	place, err := w.Resolve(path, tools.ForReading)
	if err != nil {
		return err
	}
	if place.Path.Canonical != filepath.Join(w.Dir(), path) {
		return errors.New("there is a link on the way to it; name the file itself")
	}
	return nil
}

// formats are the pictures that Telegram shows, by the type that their first bytes tell.
var formats = map[string]string{"image/jpeg": "jpeg", "image/png": "png", "image/webp": "webp"}

// examine looks at a picture's header.
func examine(title string, content []byte) (look, error) {
	l := look{title: title, content: content, print: hash(content), stored: hash(content)}
	if len(content) > maxBytes {
		return l, errors.New("it has more than 5 MB")
	}
	l.format = formats[http.DetectContentType(content)]
	if l.format == "" {
		return l, errors.New("it is no JPEG, PNG, WebP or SVG picture")
	}
	var err error
	if l.width, l.height, err = tools.PictureSize(bytes.NewReader(content), int64(len(content))); err != nil {
		return l, err
	}
	if short, long := min(l.width, l.height), max(l.width, l.height); short < minSide || long > maxSide {
		return l, fmt.Errorf("it has %d × %d points, and each side must have %d to %d", l.width, l.height, minSide, maxSide)
	}
	return l, nil
}

// examineDrawing makes a picture of a drawing. It is known by the drawing's own bytes.
func examineDrawing(ctx context.Context, title string, content []byte) (look, error) {
	png, err := svg.Render(ctx, content, minSide, maxSide)
	if err != nil {
		return look{}, err
	}
	l, err := examine(title, png)
	l.print = hash(content)
	return l, err
}

func hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
