package tools_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"

	"nod/tools"
)

// bomb is a PNG of one bit a point: a few kilobytes that unpack to gigabytes.
func bomb(t testing.TB, width, height int) []byte {
	t.Helper()
	var packed, out bytes.Buffer
	w, err := zlib.NewWriterLevel(&packed, zlib.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	row := make([]byte, 1+(width+7)/8)
	for range min(height, 2000) { // the rest is never looked at
		if _, err := w.Write(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	chunk := func(name string, data []byte) {
		body := append([]byte(name), data...)
		out.Write(binary.BigEndian.AppendUint32(nil, uint32(len(data))))
		out.Write(body)
		out.Write(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(body)))
	}
	out.WriteString("\x89PNG\r\n\x1a\n")
	head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(width)), uint32(height))
	chunk("IHDR", append(head, 1, 0, 0, 0, 0))
	chunk("IDAT", packed.Bytes())
	chunk("IEND", nil)
	return out.Bytes()
}

// webp is the header of a WebP picture of a kind.
func webp(kind string, width, height int) []byte {
	b := append([]byte("RIFF\x00\x00\x00\x00WEBP"+kind), make([]byte, 14)...)
	switch kind {
	case "VP8 ":
		binary.LittleEndian.PutUint16(b[26:], uint16(width))
		binary.LittleEndian.PutUint16(b[28:], uint16(height))
	case "VP8L":
		b[20] = 0x2f
		binary.LittleEndian.PutUint32(b[21:], uint32(width-1)|uint32(height-1)<<14)
	case "VP8X":
		for i := range 3 {
			b[24+i], b[27+i] = byte((width-1)>>(8*i)), byte((height-1)>>(8*i))
		}
	}
	return b
}

// TestSE1_PicturesAreRefusedByTheirHeader: none is unpacked, however many come at once.
func TestSE1_PicturesAreRefusedByTheirHeader(t *testing.T) {
	small := image.NewGray(image.Rect(0, 0, 40, 30))
	var asJPEG, asGIF, asPNG bytes.Buffer
	if err := jpeg.Encode(&asJPEG, small, nil); err != nil {
		t.Fatal(err)
	}
	if err := gif.Encode(&asGIF, small, nil); err != nil {
		t.Fatal(err)
	}
	if err := png.Encode(&asPNG, small); err != nil {
		t.Fatal(err)
	}
	wide := bytes.Clone(asGIF.Bytes())
	binary.LittleEndian.PutUint16(wide[6:], math.MaxUint16)
	binary.LittleEndian.PutUint16(wide[8:], math.MaxUint16)
	for _, tt := range []struct {
		name, want string
		data       []byte
		size       int64 // 0: that of data
	}{
		{name: "JPEG", data: asJPEG.Bytes()},
		{name: "GIF", data: asGIF.Bytes()},
		{name: "PNG", data: asPNG.Bytes()},
		{name: "WebP", data: webp("VP8 ", 640, 480)},
		{name: "lossless WebP", data: webp("VP8L", 640, 480)},
		{name: "WebP with parts", data: webp("VP8X", 640, 480)},
		{name: "40 million points", data: bomb(t, 8000, 5000)},
		{name: "one row more", data: bomb(t, 8000, 5001), want: "8000 × 5001 points"},
		{name: "15,000 by 15,000", data: bomb(t, 15_000, 15_000), want: "points"},
		{name: "all that fits a PNG", data: bomb(t, 1<<31-1, 1), want: "points"},
		{name: "a wide GIF", data: wide, want: "65535 × 65535 points"},
		{name: "a large WebP", data: webp("VP8X", 1<<24, 1<<24), want: "16777216 × 16777216 points"},
		{name: "a large lossless WebP", data: webp("VP8L", 1<<14, 1<<14), want: "16384 × 16384 points"},
		{name: "over 20 MB", data: asPNG.Bytes(), size: 20<<20 + 1, want: "20 MB"},
		{name: "SVG", data: []byte(`<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"></svg>`), want: "no JPEG"},
		{name: "text", data: []byte(strings.Repeat("no picture ", 10)), want: "no JPEG"},
		{name: "cut", data: asPNG.Bytes()[:20], want: "no JPEG"},
		{name: "empty", data: nil, want: "no JPEG"},
		{name: "no WebP", data: webp("ALPH", 1, 1), want: "no JPEG"},
	} {
		size := max(tt.size, int64(len(tt.data)))
		err := tools.CheckPicture(bytes.NewReader(tt.data), size)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}

	twenty := bomb(t, 15_000, 15_000)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if tools.CheckPicture(bytes.NewReader(twenty), int64(len(twenty))) == nil {
				t.Error(fmt.Sprint("bomb ", i, " is taken"))
			}
		})
	}
	all.Wait()
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
		t.Errorf("looking at 20 bombs took %d KiB", used>>10)
	}
}

func FuzzPicture(f *testing.F) {
	f.Add(webp("VP8X", 100, 100))
	f.Add([]byte("\x89PNG\r\n\x1a\n"))
	f.Fuzz(func(t *testing.T, data []byte) { _ = tools.CheckPicture(bytes.NewReader(data), int64(len(data))) })
}
