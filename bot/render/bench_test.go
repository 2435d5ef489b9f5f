package render

import (
	"os"
	"strings"
	"testing"
)

func BenchmarkParts4kB(b *testing.B) {
	markdown := sample(b, 4<<10)
	b.SetBytes(int64(len(markdown)))
	b.ReportAllocs()
	for b.Loop() {
		Parts(markdown)
	}
}

func BenchmarkParts100kB(b *testing.B) {
	markdown := sample(b, 100<<10)
	b.SetBytes(int64(len(markdown)))
	b.ReportAllocs()
	for b.Loop() {
		Parts(markdown)
	}
}

func BenchmarkPreview100kB(b *testing.B) {
	markdown := sample(b, 100<<10)
	b.ReportAllocs()
	for b.Loop() {
		Preview(markdown)
	}
}

func BenchmarkVisible4kB(b *testing.B) {
	text := sample(b, 4<<10)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		Visible(text)
	}
}

// sample is an answer of n bytes with all kinds of Markdown in it.
func sample(b *testing.B, n int) string {
	b.Helper()
	text, err := os.ReadFile("testdata/everything.md")
	if err != nil {
		b.Fatal(err)
	}
	return strings.Repeat(string(text)+"\n", n/len(text)+1)[:n]
}
