package svg_test

import (
	"bytes"
	"fmt"
	"image/png"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"nod/tools/confined"
	"nod/tools/svg"
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

func drawing(attributes, inner string) []byte {
	return []byte(`<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 100 80" ` + attributes + `>` + inner + `</svg>`)
}

func TestRender(t *testing.T) {
	out, err := svg.Render(t.Context(), drawing("", `<rect width="50" height="80" fill="#ff0000"/><circle cx="75" cy="40" r="20" style="fill:blue"/>`), 320, 4096)
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	if size := img.Bounds().Size(); size.X != 1600 || size.Y != 1280 {
		t.Errorf("it has %v points", size)
	}
	for _, at := range []struct {
		x, y int
		want string
	}{{400, 640, "ff0000"}, {1200, 640, "0000ff"}, {1590, 10, "ffffff"}} {
		r, g, b, _ := img.At(at.x, at.y).RGBA()
		if got := fmt.Sprintf("%02x%02x%02x", r>>8, g>>8, b>>8); got != at.want {
			t.Errorf("at %d, %d: %s, want %s", at.x, at.y, got, at.want)
		}
	}
}

// TestSE3_OnlyPlainDrawings: nothing that runs, and nothing from elsewhere.
func TestSE3_OnlyPlainDrawings(t *testing.T) {
	for name, source := range map[string][]byte{
		"a script":           drawing("", `<script>alert(1)</script>`),
		"a handler":          drawing(`onload="alert(1)"`, ``),
		"foreign content":    drawing("", `<foreignObject><p/></foreignObject>`),
		"a picture by URL":   drawing("", `<image href="http://169.254.169.254/x"/>`),
		"a file":             drawing("", `<use xlink:href="file:///etc/passwd"/>`),
		"another drawing":    drawing("", `<use href="other.svg#a"/>`),
		"a style from a URL": drawing("", `<style>@import url(http://x/y.css);</style>`),
		"a fill from a URL":  drawing("", `<rect style="fill: url( 'http://x/y#z' )"/>`),
		"an escaped URL":     drawing("", `<rect style="fill: u\72l(http://x)"/>`),
		"an entity":          []byte(`<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]><svg viewBox="0 0 9 9">&x;</svg>`),
		"entities in bulk":   []byte(`<!DOCTYPE svg [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><svg viewBox="0 0 9 9">&b;</svg>`),
		"a style sheet":      []byte(`<?xml-stylesheet href="http://x/y.css"?><svg viewBox="0 0 9 9"/>`),
		"no drawing":         []byte(`<html/>`),
		"nothing":            nil,
		"no XML":             []byte("\x89PNG"),
		"too deep":           []byte(`<svg viewBox="0 0 9 9">` + strings.Repeat("<g>", 100)),
		"too many":           drawing("", strings.Repeat("<g/>", 30_000)),
		"too long":           drawing("", strings.Repeat(" ", 2<<20)),
		"a thread":           []byte(`<svg viewBox="0 0 100 1"/>`),
	} {
		t.Run(name, func(t *testing.T) {
			if out, err := svg.Render(t.Context(), source, 320, 4096); err == nil {
				t.Errorf("%d bytes were drawn", len(out))
			}
		})
	}
	if err := svg.Check(drawing("", `<defs><linearGradient id="a"/></defs><rect fill="url(#a)"/><use href="#a"/>`)); err != nil {
		t.Errorf("a plain drawing is refused: %v", err)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(drawing("", `<rect fill="url(#a)"/>`))
	f.Add(drawing(`onload="x"`, `<script/>`))
	f.Fuzz(func(t *testing.T, source []byte) {
		if svg.Check(source) != nil {
			return
		}
		if folded := bytes.ToLower(source); bytes.Contains(folded, []byte("<script")) && !bytes.Contains(folded, []byte("<!--")) && !bytes.Contains(folded, []byte("<![cdata[")) {
			t.Errorf("a script passes: %q", source)
		}
	})
}
