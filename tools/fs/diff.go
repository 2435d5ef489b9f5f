package fs

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// diff is a change as people read it, and notes on what a diff can't show.
func diff(old file, data []byte) (text string, notes []string, err error) {
	before, after, from := string(old.data), string(data), old.shown
	switch {
	case old.info == nil:
		from = "/dev/null"
	case binary(old.data):
		notes = append(notes, fmt.Sprintf("Replaces a binary file of %d bytes.", len(old.data)))
		before = ""
	}
	if onlyCRLF(before) && onlyCRLF(after) {
		before, after = strings.ReplaceAll(before, "\r\n", "\n"), strings.ReplaceAll(after, "\r\n", "\n")
		notes = append(notes, "Lines end with CRLF, before and after.")
	}
	// Not udiff.Unified, which ends the program on a fault of its own.
	text, err = udiff.ToUnified(from, old.shown, before, udiff.Lines(before, after), udiff.DefaultContextLines)
	if err != nil {
		return "", nil, fmt.Errorf("comparing %s with what it would become: %w", old.shown, err)
	}
	if text == "" {
		text = fmt.Sprintf("--- %s\n+++ %s\n(an empty file)\n", from, old.shown)
	}
	return text, notes, nil
}
