package render

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite testdata/*.golden")

// TestGolden renders whole answers: SEND-4 (typed), SEND-5 (typed), SEND-6 (review, unclosed), SEND-7 (report, tables,
// quotes).
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no answers in testdata: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, ".md")
		t.Run(filepath.Base(name), func(t *testing.T) {
			markdown, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			tg := newTelegram()
			for i, p := range checkParts(t, string(markdown)) {
				checkStyles(t, p, tg.send(t, p.HTML))
				fmt.Fprintf(&got, "===== %d: HTML\n%s\n===== %d: plain\n%s\n", i+1, p.HTML, i+1, p.Plain)
			}
			if *update {
				if err := os.WriteFile(name+".golden", []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(name + ".golden")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// checkStyles holds that Telegram neither split nor dropped a style: each tag is one entity.
func checkStyles(t *testing.T, p Part, m arrived) {
	t.Helper()
	for _, style := range []struct {
		tag   string
		types []string
	}{
		{"<b>", []string{"bold"}},
		{"<i>", []string{"italic"}},
		{"<s>", []string{"strikethrough"}},
		{"<code>", []string{"code"}},
		{"<a ", []string{"text_link"}},
		{"<pre>", []string{"pre"}},
		{"<blockquote", []string{"blockquote", "expandable_blockquote"}},
	} {
		n := 0
		for _, e := range m.Entities {
			if slices.Contains(style.types, e.Type) {
				n++
			}
		}
		if want := strings.Count(p.HTML, style.tag); n != want {
			t.Errorf("%d of %s were sent, %d arrived", want, style.tag, n)
		}
	}
}
