// Package svg makes pictures of drawings. A drawing is a small program that somebody else wrote, so only plain ones are
// taken: no scripts, no references to anything outside of the file, no foreign content; and they are drawn in a confined
// child process (tools/confined).
package svg

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"strings"
	"time"

	"github.com/fyne-io/oksvg"
	"github.com/srwiley/rasterx"

	"nod/tools/confined"
)

// WorkName is what the child's work is called, and Work what it does: see confined.Dispatch.
const WorkName = "svg"

// Bounds of a drawing.
const (
	maxSource   = 1 << 20 // bytes
	maxElements = 20_000
	maxDepth    = 64
)

var pool = confined.NewPool(WorkName, confined.Limits{Time: 5 * time.Second, Memory: 512 << 20, SideBySide: 2})

// Render makes a PNG of a drawing on white. Its longer side has most points where it can, its shorter one at least least.
func Render(ctx context.Context, source []byte, least, most int) ([]byte, error) {
	if err := Check(source); err != nil {
		return nil, err
	}
	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(least)), uint32(most))
	out, err := pool.Run(ctx, WorkName, append(head, source...))
	if err != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("drawing it: %w", err)
	}
	return out, err
}

// refusedElements run something or bring something in from elsewhere.
var refusedElements = map[string]string{
	"script": "scripts", "foreignobject": "foreign content", "iframe": "foreign content", "embed": "foreign content", "object": "foreign content",
	"image": "pictures within it", "feimage": "pictures within it", "audio": "sound", "video": "video", "handler": "scripts", "listener": "scripts",
	"set": "animation", "animate": "animation", "animatetransform": "animation", "animatemotion": "animation",
}

// Check refuses a drawing that is not plain. It reads the whole of it, in this process: Go's XML decoder knows no external
// entities, and depth and number are bounded.
func Check(source []byte) error {
	if len(source) > maxSource {
		return fmt.Errorf("it has %d KB, and a drawing may have %d", len(source)>>10, maxSource>>10)
	}
	d := xml.NewDecoder(bytes.NewReader(source))
	elements, depth := 0, 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			if elements == 0 {
				return errors.New("it is no SVG drawing")
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("it is no well-formed SVG drawing: %w", err)
		}
		switch t := token.(type) {
		case xml.Directive: // a document type may declare entities
			if !strings.HasPrefix(strings.ToUpper(string(t)), "DOCTYPE SVG") || bytes.ContainsAny(t, "[") {
				return errors.New("it has declarations of its own, which are not taken")
			}
		case xml.ProcInst:
			if t.Target != "xml" {
				return errors.New("it refers to a style sheet, which is not taken")
			}
		case xml.StartElement:
			if elements++; elements == 1 && !strings.EqualFold(t.Name.Local, "svg") {
				return errors.New("it is no SVG drawing")
			}
			if depth++; elements > maxElements || depth > maxDepth {
				return fmt.Errorf("it has more than %d elements, or more than %d within each other", maxElements, maxDepth)
			}
			if err := checkElement(t); err != nil {
				return err
			}
		case xml.EndElement:
			depth--
		case xml.CharData:
			if reachesOut(string(t)) {
				return errors.New("its styles refer to something outside of it, which is not taken")
			}
		}
	}
}

func checkElement(t xml.StartElement) error {
	if what, refused := refusedElements[strings.ToLower(t.Name.Local)]; refused {
		return fmt.Errorf("it has %s, which are not taken", what)
	}
	for _, a := range t.Attr {
		name, value := strings.ToLower(a.Name.Local), strings.TrimSpace(a.Value)
		switch {
		case a.Name.Space == "xmlns" || name == "xmlns":
		case strings.HasPrefix(name, "on"):
			return errors.New("it has scripts, which are not taken")
		case (name == "href" || name == "src") && value != "" && !strings.HasPrefix(value, "#"):
			return errors.New("it refers to something outside of it, which is not taken")
		case reachesOut(value):
			return errors.New("it refers to something outside of it, which is not taken")
		}
	}
	return nil
}

// reachesOut says whether a style brings in something that is not in the file.
func reachesOut(style string) bool {
	folded := strings.ToLower(strings.Join(strings.Fields(style), ""))
	if strings.Contains(folded, "@import") || strings.Contains(folded, "javascript:") || strings.ContainsRune(folded, '\\') {
		return true
	}
	for _, part := range strings.Split(folded, "url(")[1:] {
		if part = strings.TrimLeft(part, `"'`); !strings.HasPrefix(part, "#") {
			return true
		}
	}
	return false
}

// Work draws in the child.
func Work(input []byte) ([]byte, error) {
	if len(input) < 8 {
		return nil, errors.New("the input is too short")
	}
	least, most := int(binary.BigEndian.Uint32(input)), int(binary.BigEndian.Uint32(input[4:]))
	icon, err := oksvg.ReadIconStream(bytes.NewReader(input[8:]), oksvg.StrictErrorMode)
	if err != nil {
		return nil, err
	}
	width, height := sides(icon.ViewBox.W, icon.ViewBox.H, most)
	if width < least || height < least {
		return nil, fmt.Errorf("it would have %d × %d points: it is too long and thin", width, height)
	}
	picture := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.Draw(picture, picture.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	icon.SetTarget(0, 0, float64(width), float64(height))
	icon.Draw(rasterx.NewDasher(width, height, rasterx.NewScannerGV(width, height, picture, picture.Bounds())), 1)
	var out bytes.Buffer
	err = png.Encode(&out, picture)
	return out.Bytes(), err
}

// sides are a drawing's in points, of which the longer has target.
func sides(w, h float64, most int) (width, height int) {
	const target = 1600 // enough for a phone
	long := float64(min(most, target))
	if w <= 0 || h <= 0 {
		return 0, 0
	}
	scale := long / max(w, h)
	return int(w*scale + 0.5), int(h*scale + 0.5)
}
