package outline

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"nod/tools/confined"
)

func mustFind(t *testing.T, pool *confined.Pool, name, content, want string) {
	t.Helper()
	f, err := inChild(t.Context(), pool, name, []byte(content))
	if err != nil || len(f.Items) == 0 || f.Items[0].Text != want {
		t.Errorf("got %+v, %v; want %q", f, err, want)
	}
}

// limited is a pool with other limits than the tool's.
func limited(change func(*confined.Limits)) *confined.Pool {
	l := limits
	change(&l)
	return confined.NewPool(WorkName, l)
}

// TestMemoryLimit: real files are taken apart with less memory than it takes, in Go's heap and, where there are grammars, in C's.
func TestMemoryLimit(t *testing.T) {
	pool := limited(func(l *confined.Limits) { l.Memory = 16 << 20 })
	for name, line := range map[string]string{"x.go": "func F() {}\n", "x.c": "int f(void) { return 0; }\n"} {
		if variant(name[1:]) == "" && name == "x.c" {
			continue // its scanner needs little more than the file
		}
		content := "package x\n" + strings.Repeat(line, MaxFile/len(line))
		_, err := inChild(t.Context(), pool, name, []byte(content))
		if _, broken := errors.AsType[*confined.BrokenError](err); !broken || !strings.Contains(err.Error(), "more than 16 MiB of memory") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	mustFind(t, newPool(), "x.go", "package x\nfunc F() {}\n", "func F()")
}

// TestTimeLimit: the largest file, and no time for it.
func TestTimeLimit(t *testing.T) {
	pool := limited(func(l *confined.Limits) { l.Time = time.Millisecond })
	_, err := inChild(t.Context(), pool, "x.go", []byte("package x\n"+strings.Repeat("func F() {}\n", MaxFile/12)))
	if _, broken := errors.AsType[*confined.BrokenError](err); !broken || !strings.Contains(err.Error(), "longer than 1ms") {
		t.Errorf("got %v", err)
	}
}

// TestFoundIsNotTrusted: what a child says is bounded and on one line, whatever took it over.
func TestFoundIsNotTrusted(t *testing.T) {
	var said found
	for range maxItems + 5 {
		said.Items = append(said.Items, item{Line: 1, Depth: 1 << 30, Text: "a\nb" + strings.Repeat("x", 4*maxSign)})
	}
	said.Note = "one\ntwo"
	data, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	f, err := decode(data)
	if err != nil || len(f.Items) != maxItems || f.More != 5 || f.Items[0].Depth != maxNested || f.Note != "one two" {
		t.Errorf("got %d items, %d more, %+v, %v", len(f.Items), f.More, f.Items[0], err)
	}
	if strings.Contains(f.Items[0].Text, "\n") || len(f.text("x", 1)) > maxText+200 {
		t.Errorf("the text has %d bytes", len(f.text("x", 1)))
	}
	for _, bad := range []string{"", "{", "[]", `{"Items":[{"Line":"x"}]}`} {
		if _, err := decode([]byte(bad)); err == nil {
			t.Errorf("%q was taken for an answer", bad)
		}
	}
}

// hostile are texts of which a parser is given thousands in a row.
var hostile = []string{"(", "{", "<a>", "/*", "if x {\n"}

// sizeOf is how long hostile files are, in bytes: as long as the tool takes them, or enough for Go's parsers to give up.
func sizeOf() int {
	if testing.Short() {
		return 256 << 10
	}
	return MaxFile
}

// TestHostileFiles: nesting without end is an outline or an error, in every language, and never the end of this process.
func TestHostileFiles(t *testing.T) {
	pool := limited(func(l *confined.Limits) { l.Time = 100 * time.Millisecond })
	seen := map[language]bool{}
	for _, ending := range endings() {
		if seen[byEnding[ending]] {
			continue
		}
		seen[byEnding[ending]] = true
		t.Run(ending, func(t *testing.T) {
			t.Parallel()
			for i, text := range hostile {
				if i > 0 && testing.Short() {
					break
				}
				if _, err := inChild(t.Context(), pool, "x"+ending, []byte(strings.Repeat(text, 20000))); err != nil {
					t.Logf("%q: %v", text, err)
				}
			}
		})
	}
}

// TestDeepNesting: Go's own parsers bound how deep they go, and of the scanners none goes down.
func TestDeepNesting(t *testing.T) {
	pool := limited(func(l *confined.Limits) { l.Time, l.Memory = time.Minute, 2<<30 }) // the race detector takes its part
	for name, content := range map[string]string{
		"x.go": "package x\nvar x = " + strings.Repeat("(", sizeOf()), "x.json": strings.Repeat("[", sizeOf()), "x.md": strings.Repeat("> ", sizeOf()/2),
	} {
		f, err := inChild(t.Context(), pool, name, []byte(content))
		if err != nil || name != "x.md" && f.Note == "" {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
}

// TestSTOP2_Stopped: a call that is stopped says so, whether its child runs or waits for its turn.
func TestSTOP2_Stopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := inChild(ctx, newPool(), "x.go", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
