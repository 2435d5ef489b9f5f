package image_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"nod/store"
	"nod/tools"
	drawing "nod/tools/image"
	"nod/tools/tooltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// easel makes what it is told to.
type easel struct {
	picture string
	err     error
	price   float64
	asked   []tools.ImageRequest
}

func (e *easel) Providers() []tools.ImageProvider {
	return []tools.ImageProvider{{ID: "easel", About: "paints", Extra: []string{"size"}, Price: e.price}}
}

func (e *easel) Generate(_ context.Context, r tools.ImageRequest) ([]byte, error) {
	e.asked = append(e.asked, r)
	return []byte(e.picture), e.err
}

// tray takes what is sent.
type tray struct{ sent []tools.File }

func (*tray) Keep(name string, r io.Reader, _ int64) (string, error) {
	_, err := io.Copy(io.Discard, r)
	return "kept-" + name, err
}

func (tr *tray) Send(_ *store.Tx, _ store.Address, f tools.File) error {
	tr.sent = append(tr.sent, f)
	return nil
}
func (*tray) SendAlbum(*store.Tx, store.Address, []tools.File) error { return nil }
func (*tray) Limit() int64                                           { return 50 << 20 }

func encoded(t *testing.T, width, height int, encode func(io.Writer, image.Image) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// claiming is the beginning of a PNG file that claims a size.
func claiming(width, height uint32) string {
	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte("IHDR"), width), height)
	head = append(head, 8, 0, 0, 0, 0)
	b := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), head...)
	return string(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(head)))
}

func TestImageGenerate_WhatIsKeptAndSentIsAPicture(t *testing.T) {
	asGIF := func(w io.Writer, m image.Image) error { return gif.Encode(w, m, nil) }
	asJPEG := func(w io.Writer, m image.Image) error { return jpeg.Encode(w, m, nil) }
	for name, c := range map[string]struct {
		easel easel
		kind  tools.FileKind
		want  string
	}{
		"PNG":            {easel{picture: encoded(t, 64, 48, png.Encode)}, tools.Photo, "image/png, 64 × 48 pixels"},
		"JPEG":           {easel{picture: encoded(t, 64, 48, asJPEG)}, tools.Photo, "image/jpeg"},
		"GIF":            {easel{picture: encoded(t, 8, 8, asGIF)}, tools.Document, "image/gif"},
		"too wide":       {easel{picture: encoded(t, 2100, 100, png.Encode)}, tools.Document, "sent it as a document"},
		"no picture":     {easel{picture: "<svg/>"}, "", "no PNG, JPEG or GIF"},
		"nothing":        {easel{}, "", "no PNG, JPEG or GIF"},
		"a claim":        {easel{picture: claiming(100_000, 100_000)}, "", "100000 × 100000 pixels"},
		"many pixels":    {easel{picture: claiming(16_000, 16_000)}, "", "16000 × 16000 pixels"},
		"too many bytes": {easel{picture: string(make([]byte, 21<<20))}, "", "more than 20 MB"},
		"a failure":      {easel{err: errors.New("out of paint")}, "", "making the picture: out of paint"},
	} {
		r := tooltest.New(t, func(*tools.Workspace) []tools.Tool { return drawing.Tools() })
		tr := &tray{}
		r.Scope.Ports.Files, r.Scope.Ports.Images = tr, &c.easel
		out := r.Call(tools.ImageGenerate, `{"provider_id":"easel","prompt":"a cat","extra_params":{"size":"s"}}`)
		if !strings.Contains(out.Text, c.want) {
			t.Errorf("%s: %s, %q; want %q", name, out.State, out.Text, c.want)
		}
		switch {
		case c.kind == "" && (out.State != tools.Failed || len(tr.sent) > 0):
			t.Errorf("%s: %s, and sent %v", name, out.State, tr.sent)
		case c.kind != "" && (len(tr.sent) != 1 || tr.sent[0].Kind != c.kind || len(out.Images) != 1 || r.Read(out.Images[0].Path) != c.easel.picture):
			t.Errorf("%s: sent %v, shown %v", name, tr.sent, out.Images)
		}
	}
}

func TestImageGenerate_KeepsNothingBeyondALink(t *testing.T) {
	r := tooltest.New(t, func(*tools.Workspace) []tools.Tool { return drawing.Tools() })
	r.Scope.Ports.Files, r.Scope.Ports.Images = &tray{}, &easel{picture: encoded(t, 8, 8, png.Encode)}
	r.Write("secrets/key", "x")
	r.Write("data/x", "x")
	if err := os.Symlink("../secrets", r.Path("data/images")); err != nil {
		t.Fatal(err)
	}
	if out := r.Call(tools.ImageGenerate, `{"provider_id":"easel","prompt":"a cat"}`); out.State != tools.Failed || !strings.Contains(out.Text, "is no folder") {
		t.Errorf("the call is %s: %s", out.State, out.Text)
	}
}

func TestImageGenerate_IsOfferedWithBothPortsOnly(t *testing.T) {
	r := tooltest.New(t, func(*tools.Workspace) []tools.Tool { return drawing.Tools() })
	has := func(tool string) bool {
		_, ok := r.Registry.Offer(tools.Visibility{Scope: r.Scope}).Find(tool)
		return ok
	}
	if has(tools.ImageGenerate) || has(tools.ImageGenerateProvidersList) {
		t.Error("it is offered without a port")
	}
	r.Scope.Ports.Images = &easel{}
	if has(tools.ImageGenerate) || !has(tools.ImageGenerateProvidersList) {
		t.Error("without files, only the providers are to be listed")
	}
	r.Scope.Ports.Files = &tray{}
	if !has(tools.ImageGenerate) {
		t.Error("it is not offered with both")
	}
}

// TestImageGenerate_Costs: a picture has its provider's price, also one that is of no use; a refusal is free.
func TestImageGenerate_Costs(t *testing.T) {
	for name, c := range map[string]struct {
		easel easel
		want  float64
	}{
		"a picture":   {easel{picture: encoded(t, 8, 8, png.Encode), price: 0.04}, 0.04},
		"a free one":  {easel{picture: encoded(t, 8, 8, png.Encode)}, 0},
		"no picture":  {easel{picture: "<svg/>", price: 0.04}, 0.04},
		"not painted": {easel{err: errors.New("out of paint"), price: 0.04}, 0},
	} {
		r := tooltest.New(t, func(*tools.Workspace) []tools.Tool { return drawing.Tools() })
		r.Scope.Ports.Files, r.Scope.Ports.Images = &tray{}, &c.easel
		if e := r.Record(tools.ImageGenerate, `{"provider_id":"easel","prompt":"a cat"}`); e.Cost != c.want {
			t.Errorf("%s: %s, and it cost %v, want %v", name, e.State, e.Cost, c.want)
		}
	}
}
