package render

import (
	"os"
	"path/filepath"
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
	text := everything(b)
	return strings.Repeat(text, n/len(text)+1)[:n]
}

// everything is all answers of testdata in one.
func everything(t testing.TB) string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no answers in testdata: %v", err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(append(text, "\n\n"...))
	}
	return all.String()
}
