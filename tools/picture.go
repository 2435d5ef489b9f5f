package tools

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	_ "image/gif" // sizes of pictures
	_ "image/jpeg"
	_ "image/png"
	"io"
)

// Bounds of a picture that anything is done with. A file of a megabyte can unpack to gigabytes, which is seen in its
// header.
const (
	MaxPictureBytes  = 20 << 20
	maxPicturePoints = 40_000_000
)

var errNoPicture = errors.New("it is no JPEG, PNG, GIF or WebP picture that can be read")

// CheckPicture refuses what is no picture, or too large a one, by its header alone: nothing is unpacked. The error says
// what is wrong with "it".
func CheckPicture(f io.ReaderAt, size int64) error {
	if size > MaxPictureBytes {
		return fmt.Errorf("it has %d MB, and pictures may have %d", size>>20, MaxPictureBytes>>20)
	}
	width, height, err := pictureSize(f, size)
	switch {
	case err != nil:
		return errNoPicture
	case width <= 0 || height <= 0:
		return errNoPicture
	case int64(width)*int64(height) > maxPicturePoints:
		return fmt.Errorf("it has %d × %d points, and pictures may have %d million", width, height, maxPicturePoints/1_000_000)
	}
	return nil
}

// PictureSize reads a picture's width and height, in points, from its header.
func PictureSize(f io.ReaderAt, size int64) (width, height int, err error) {
	if width, height, err = pictureSize(f, size); err != nil || width <= 0 || height <= 0 {
		return 0, 0, errNoPicture
	}
	return width, height, nil
}

func pictureSize(f io.ReaderAt, size int64) (width, height int, err error) {
	head := make([]byte, 30)
	if n, err := f.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) || n < len(head) {
		return 0, 0, errNoPicture
	}
	if bytes.Equal(head[:4], []byte("RIFF")) && bytes.Equal(head[8:12], []byte("WEBP")) {
		width, height = webpSize(head)
		return width, height, nil
	}
	config, _, err := image.DecodeConfig(io.NewSectionReader(f, 0, size))
	return config.Width, config.Height, err
}

// webpSize reads a WebP header (RFC 9649): of a lossy picture, a lossless one, or one with parts. It is 0 × 0 for anything else.
func webpSize(head []byte) (width, height int) {
	const sides = 1<<14 - 1
	switch string(head[12:16]) {
	case "VP8 ":
		return int(binary.LittleEndian.Uint16(head[26:])) & sides, int(binary.LittleEndian.Uint16(head[28:])) & sides
	case "VP8L":
		bits := binary.LittleEndian.Uint32(head[21:])
		return int(bits&sides) + 1, int(bits>>14&sides) + 1
	case "VP8X":
		three := func(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
		return three(head[24:]) + 1, three(head[27:]) + 1
	}
	return 0, 0
}
