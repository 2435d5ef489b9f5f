package plugins_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/tools/plugins"
)

func TestWords(t *testing.T) {
	for line, want := range map[string][]string{
		`flite -f {in} -o {out}`:                         {"flite", "-f", "{in}", "-o", "{out}"},
		`  say   "two words" 'and $HOME;' a"b"c `:        {"say", "two words", "and $HOME;", "abc"},
		`sh -c 'flite -f "$1" | x > "$2"' sh {in} {out}`: {"sh", "-c", `flite -f "$1" | x > "$2"`, "sh", "{in}", "{out}"},
		`x "a \"quoted\" \\ b\n" ''`:                     {"x", `a "quoted" \ b\n`, ""},
		"x\ty":                                           {"x", "y"},
		`größe --in={in}`:                                {"größe", "--in={in}"},
	} {
		got, err := plugins.Words(line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", line, diff)
		}
	}
	for _, line := range []string{
		"", "  ", `""`, "a | b", "a; b", "a & b", "a > {out}", "a < {in}", "$HOME/x", "a $(b)", "a `b`", "a *.ogg", "a 'b", `a "b`, `a "$b"`, "a\nb", `a \b`, "~/x", "a # b",
	} {
		if got, err := plugins.Words(line); err == nil {
			t.Errorf("%q was taken as %q", line, got)
		}
	}
}

// FuzzWords holds a line of quoted words against what they were quoted from.
func FuzzWords(f *testing.F) {
	f.Add("a", "b c", "it's")
	f.Add("x", "$HOME", "\n")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		want := []string{"p", a, b, c}
		var quoted []string
		for _, w := range want {
			quoted = append(quoted, "'"+strings.ReplaceAll(w, "'", `'"'"'`)+"'")
		}
		got, err := plugins.Words(strings.Join(quoted, " "))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if words, err := plugins.Words(a); err == nil && strings.ContainsAny(a, "|;&<>`") && !strings.ContainsAny(a, `'"`) {
			t.Errorf("%q was taken as %q", a, words)
		}
	})
}
