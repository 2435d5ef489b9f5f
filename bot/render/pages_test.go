package render

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// checkPages holds what is promised of every subject on a card.
func checkPages(t *testing.T, text string, budget int) []string {
	t.Helper()
	pages := Pages(text, budget)
	if strings.Join(pages, "") != text {
		t.Errorf("the pages of %q joined are %q", text, pages)
	}
	for i, page := range pages {
		if page == "" && len(pages) > 1 {
			t.Errorf("page %d of %d is empty", i+1, len(pages))
		}
		if n := utf8.RuneCountInString(page); n > max(4096-budget, leastPage) {
			t.Errorf("page %d has %d code points beside %d of the frame", i+1, n, budget)
		}
		if strings.LastIndex(page, "⟪") > strings.LastIndex(page, "⟫") && strings.Contains(text, "⟫") && i < len(pages)-1 {
			t.Errorf("an escape is cut: %q", page)
		}
	}
	return pages
}

func TestNOD5_SA4_Pages(t *testing.T) {
	tg := newTelegram()
	for n := 1; n <= 8192; n += 301 { // S-A4: every length, escaped at every character
		text, _ := Visible(strings.Repeat("&<\u202e", n/3+1)[:n/3*5+1] + "; rm -rf /")
		for i, page := range checkPages(t, text, 600) {
			got := tg.send(t, strings.Repeat("f", 600)+Pre(page, ""))
			if want := strings.TrimRight(page, "\n "); !strings.HasSuffix(got.Text, want) {
				t.Fatalf("page %d of a text of %d: want the end %q, got %q", i+1, n, want, got.Text)
			}
		}
	}
}

func TestPagesCut(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"empty", "", []string{""}},
		{"behind a line end", strings.Repeat(line, 50), []string{strings.Repeat(line, 39), strings.Repeat(line, 11)}},
		{"before a blank", strings.Repeat("w", 3900) + " " + strings.Repeat("v", 300), []string{strings.Repeat("w", 3900), " " + strings.Repeat("v", 300)}},
		{"before an escape", strings.Repeat("w", 3985) + "⟪U+202E⟫x", []string{strings.Repeat("w", 3985), "⟪U+202E⟫x"}},
		{"not in a flag", strings.Repeat("w", 3989) + "🇩🇪", []string{strings.Repeat("w", 3989), "🇩🇪"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := checkPages(t, c.text, 100); fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("want %d pages %.60q…, got %d %.60q…", len(c.want), c.want, len(got), got)
			}
		})
	}
}

func FuzzPages(f *testing.F) {
	for _, s := range hostile {
		f.Add(s, uint8(90), 600)
	}
	f.Add("\u202e\u202d", uint8(255), 4096)
	f.Fuzz(func(t *testing.T, s string, times uint8, budget int) {
		shown, _ := Visible(strings.Repeat(s, int(times)))
		checkPages(t, shown, max(0, min(budget, 8192)))
	})
}
