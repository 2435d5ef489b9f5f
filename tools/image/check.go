package image

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	_ "image/gif" // formats that are looked for
	_ "image/jpeg"
	_ "image/png"
)

// Bounds of a picture.
const (
	maxBytes  = 20 << 20
	maxSide   = 16_384
	maxPixels = 64_000_000
)

// checked is a picture of which the header was read.
type checked struct {
	bytes         []byte
	format        string // png, jpeg or gif
	width, height int
}

// check reads a picture's header: what it says counts, not what anybody calls the file.
func check(raw []byte) (checked, error) {
	if len(raw) > maxBytes {
		return checked{}, fmt.Errorf("the picture has more than %d MB", maxBytes>>20)
	}
	config, format, err := image.DecodeConfig(bytes.NewReader(raw))
	switch {
	case err != nil:
		return checked{}, errors.New("what came back is no PNG, JPEG or GIF picture")
	case config.Width < 1 || config.Height < 1 || config.Width > maxSide || config.Height > maxSide || config.Width*config.Height > maxPixels:
		return checked{}, fmt.Errorf("the picture claims to have %d × %d pixels, which is more than is taken", config.Width, config.Height)
	}
	return checked{raw, format, config.Width, config.Height}, nil
}

func (c checked) mime() string { return "image/" + c.format }

func (c checked) ending() string {
	if c.format == "jpeg" {
		return ".jpg"
	}
	return "." + c.format
}
