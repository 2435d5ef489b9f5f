package render

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestVisible(t *testing.T) {
	type result struct {
		Shown   string
		Changed bool
	}
	for _, c := range []struct {
		name, in, shown string
		changed         bool
	}{
		{"NOD-8 bidi override", "rm \u202etxt.exe", "rm ⟪U+202E⟫txt.exe", true},
		{"NOD-8 zero width", "/tmp/a\u200bb", "/tmp/a⟪U+200B⟫b", true},
		{"S-A5 supplementary default-ignorables", "a\U000E0100\U0001D173b", "a⟪U+E0100⟫⟪U+1D173⟫b", true},
		{"S-A5 Hangul filler, braille blank", "a\u3164\u2800b", "a⟪U+3164⟫⟪U+2800⟫b", true},
		{"S-A5 no-break space", "rm\u00a0-rf", "rm⟪U+00A0⟫-rf", true},
		{"S-A5 combining mark", "e\u0301", "e⟪U+0301⟫", true},
		{"S-A5 carriage return", "safe\rrm", "safe⟪U+000D⟫rm", true},
		{"S-A5 escape sequence", "\x1b[8mhid", "⟪U+001B⟫[8mhid", true},
		{"S-A5 tab between words", "ls\trm", "ls⟪U+0009⟫rm", true},
		{"S-A5 padding", "ls" + strings.Repeat(" ", 300) + "; rm", "ls⟪U+0020×300⟫; rm", true},
		{"S-A5 eight blanks stay", "a        b", "a        b", false},
		{"S-A5 empty lines", "ls\n" + strings.Repeat("\n", 40) + "rm", "ls⟪U+000A×40⟫\nrm", true},
		{"S-A5 blank lines", "a" + strings.Repeat("\n ", 9) + "b", "a" + strings.Repeat("\n ", 8) + "⟪U+000A⟫ b", true},
		{"S-A5 private use, unassigned", "\ue000\u0378", "⟪U+E000⟫⟪U+0378⟫", true},
		{"bytes that are not UTF-8", "a\xff\xc3", "a⟪0xFF⟫⟪0xC3⟫", true},
		{"the same many times", strings.Repeat("\u200b", 6000), "⟪U+200B×6000⟫", true},
		{"an escape as text", "⟪U+202E⟫", "⟪U+27EA⟫U+202E⟫", true},
		{"marks as text", "⇥∙", "⟪U+21E5⟫⟪U+2219⟫", true},
		{"indentation by tabs", "if x {\n\t\treturn\n}", "if x {\n⇥⇥return\n}", false},
		{"indentation in a diff", "+\tadd\n-\t\tdel\n \tkeep", "+⇥add\n-⇥⇥del\n ⇥keep", false},
		{"deep indentation by spaces", "a:\n" + strings.Repeat(" ", 12) + "b", "a:\n" + strings.Repeat("∙", 12) + "b", false},
		{"indentation beyond reason", strings.Repeat(" ", 65) + "x", "⟪U+0020×65⟫x", true},
		{"other scripts", "日本 שלום Ünïcode 🙂", "日本 שלום Ünïcode 🙂", false},
		{"nothing", "", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			shown, changed := Visible(c.in)
			if diff := cmp.Diff(result{c.shown, c.changed}, result{shown, changed}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			checkVisible(t, c.in)
		})
	}
}

// TestS_A5_AllOfUnicode puts every code point between two letters, a few hundred at a time. Of the ten planes in which
// nothing is assigned and the two that are private, it takes a sample.
func TestSA5_AllOfUnicode(t *testing.T) {
	const step = 0x200
	for first := rune(0); first <= unicode.MaxRune; first += step {
		if (0x40000 <= first && first < 0xE0000 || first >= 0xF0000) && first%0x4000 != 0 {
			continue
		}
		var in strings.Builder
		for r := first; r < first+step; r++ {
			in.WriteString("a" + string(r)) // a surrogate half becomes U+FFFD
		}
		checkVisible(t, in.String())
		shown, _ := Visible(in.String())
		asItIs := map[rune]bool{}
		for _, r := range shown {
			asItIs[r] = true
		}
		for r := first; r < first+step; r++ {
			if mustHide(r) && asItIs[r] {
				t.Errorf("%U is shown as it is", r)
			}
		}
	}
}

// mustHide is S-A5's list, word for word.
func mustHide(r rune) bool {
	if r == ' ' || r == '\n' || !utf8.ValidRune(r) {
		return false
	}
	return unicode.In(r, unicode.Cf, unicode.Cc, unicode.Co, unicode.Zs, unicode.Zl, unicode.Zp, unicode.Mn, unicode.Me) ||
		!unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.C) // Cn
}

// checkVisible holds what is promised of every text.
func checkVisible(t *testing.T, in string) {
	t.Helper()
	shown, changed := Visible(in)
	back, err := Original(shown)
	if err != nil || back != in {
		t.Errorf("%q is shown as %q and comes back as %q, %v", in, shown, back, err)
	}
	if !changed && strings.Contains(shown, string(escapeOpen)) {
		t.Errorf("%q is shown as %q without a warning", in, shown)
	}
	if strings.Contains(shown, strings.Repeat(" ", maxBlanks+1)) || strings.Contains(shown, strings.Repeat("\n", maxBlanks+1)) {
		t.Errorf("%q is shown as %q, with a long run of blanks", in, shown)
	}
	for _, r := range shown {
		if r != '\n' && r != escapeOpen && r != tabMark && r != spaceMark && hidden(r) {
			t.Errorf("%q is shown as %q, in which %U can't be seen", in, shown, r)
		}
	}
}

func TestOriginalRefuses(t *testing.T) {
	for _, shown := range []string{
		"⟪", "⟪U+202E", "⟪⟫", "⟪x⟫", "⟪U+⟫", "⟪U+202e⟫", "⟪U+0202E⟫", "⟪U+D800⟫", "⟪U+110000⟫", "⟪0xfF⟫", "⟪0x100⟫",
		"⟪U+0020×⟫", "⟪U+0020×-9⟫", "⟪U+0020×3⟫", "⟪U+0020×99999999999⟫", "⟪U+0020× 9⟫",
	} {
		if got, err := Original(shown); err == nil {
			t.Errorf("%q is read as %q", shown, got)
		}
	}
}

func FuzzVisible(f *testing.F) {
	for _, s := range append(hostile, "a\t\tb\n\t c", "\n \n \n", "+ \t-") {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		checkVisible(t, s)
		_, _ = Original(s) // any text may be given; it must not panic
	})
}
