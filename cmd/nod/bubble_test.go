package main

import (
	"bytes"
	"image"
	"image/png"
	"testing"
	"time"
)

// bubbleStart is when the clock of every testing/synctest bubble begins.
var bubbleStart = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// inBubble says whether a test runs on the fake clock.
func inBubble(*testing.T) bool { return time.Since(bubbleStart) < 5*365*24*time.Hour }

// tinyPNG is a picture.
var tinyPNG = func() []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewRGBA(image.Rect(0, 0, 64, 48))); err != nil {
		panic(err)
	}
	return b.Bytes()
}()
