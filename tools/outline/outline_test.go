package outline

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"nod/tools/confined"
)

var update = flag.Bool("update", false, "write the expected outlines of this build")

func TestMain(m *testing.M) {
	if confined.Dispatch(os.Args, map[string]confined.Work{WorkName: Work}) {
		return
	}
	flag.Parse()
	fuzzing := flag.Lookup("test.fuzz").Value.String() != "" // whose workers are children too
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != syscall.ECHILD && !fuzzing {
			fmt.Fprintf(os.Stderr, "a child process is left over: pid %d, %v\n", pid, err)
			code = 1
		}
		os.Exit(code)
	}))
}

// samples are the files of testdata that are outlined, one or more for each ending.
func samples(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/[sS]ample.*")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(files, func(name string) bool { return strings.Contains(name, ".outline") })
}

// TestGolden outlines a small file of every ending. What is expected is beside it, for builds with grammars and without;
// of an ending that has one parser there is one. Each file has definitions in comments and strings, which must not show.
func TestGolden(t *testing.T) {
	seen := map[string]bool{}
	pool := newPool()
	for _, file := range samples(t) {
		ext := filepath.Ext(file)
		seen[ext] = true
		t.Run(ext, func(t *testing.T) {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			f, err := inChild(t.Context(), pool, filepath.Base(file), content)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, file+".outline"+variant(ext), f.text(filepath.Base(file), lineCount(content)))
			for _, never := range []string{"comment", "in_string", "inString", "inText", "in_text", "not_a", "inner", "No "} {
				for _, it := range f.Items {
					if strings.Contains(it.Text, never) {
						t.Errorf("%q is no definition of the file", it.Text)
					}
				}
			}
		})
	}
	for _, ending := range endings() {
		if !seen[ending] {
			t.Errorf("there is no sample of %s", ending)
		}
	}
}

// variant tells the expected outlines of the builds apart.
func variant(ext string) string {
	if _, ok, _ := parse(byEnding[ext], nil); ok {
		return ".parsed"
	}
	return ""
}

func compare(t *testing.T, golden, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", golden, diff)
	}
}

// FuzzScan: whatever a file holds, the scanners end, find lines that are there, and blank no line's end.
func FuzzScan(f *testing.F) {
	for _, file := range samples(f) {
		content, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(filepath.Ext(file), content)
	}
	f.Fuzz(func(t *testing.T, ending string, content []byte) {
		lang, known := byEnding[ending]
		if !known || len(content) > 64<<10 {
			t.Skip()
		}
		lines := bytes.Count(content, []byte("\n")) + 1
		results := []found{outlineJSON(content)}
		if g, err := outlineGo("x.go", content); err == nil {
			results = append(results, g)
		}
		if lang != golang && lang != jsonText {
			results = append(results, scan(lang, string(content)))
		}
		for _, f := range results {
			for _, it := range f.Items {
				if it.Line < 1 || it.Line > lines || it.End > lines || it.Depth < 0 || strings.Contains(it.Text, "\n") {
					t.Errorf("%+v in %d lines", it, lines)
				}
			}
		}
		if fam := families[lang]; fam != nil {
			m := fam.syntax.mask(string(content))
			for i, b := range content {
				if (b == '\n') != (m.code[i] == '\n') || (b == '\n') != (m.text[i] == '\n') {
					t.Fatalf("byte %d was %q and is %q, %q", i, b, m.code[i], m.text[i])
				}
			}
		}
	})
}
