package fs_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/tools"
	"nod/tools/fs"
	"nod/tools/tooltest"
)

var bigTree = flag.Int("grep.files", 3_000, "files in the tree of the grep measurement; the aims are stated for 100,000")

// TestGrepBigTree measures the aim of the issue: on 100,000 files the first page within 0.5 s and all of it within 3 s,
// warm. The limits here leave room for a busy machine; the figures are printed. In full:
//
//	go test ./tools/fs -run GrepBigTree -v -grep.files 100000
func TestGrepBigTree(t *testing.T) {
	r := tooltest.New(t, fs.Tools)
	makeTree(t, r.Workspace.Dir(), *bigTree)
	measure := func(what string, limit time.Duration, a args, want string) {
		t.Helper()
		r.Call(tools.GrepFiles, a) // warms the caches
		start, cpu := time.Now(), cpuTime(t)
		out := r.Call(tools.GrepFiles, a)
		took := time.Since(start)
		t.Logf("%d files, %s: %v (%v of processor time)", *bigTree, what, took.Round(time.Millisecond), (cpuTime(t) - cpu).Round(time.Millisecond))
		if !strings.HasSuffix(out.Text, want) {
			t.Errorf("%s ends with %q", what, out.Text[max(0, len(out.Text)-120):])
		}
		if took > limit {
			t.Errorf("%s took %v", what, took)
		}
	}
	measure("first page", 2*time.Second, args{"path": ".", "pattern": "needle"}, "go on with offset=100]")
	measure("all, one match at the end", 12*time.Second, args{"path": ".", "pattern": "haystack_end$"}, "[1 match in 1 file]")
	measure("all, case-sensitive", 12*time.Second, args{"path": ".", "pattern": "HAYSTACK_END", "case_sensitive": true}, "[no match]")
	measure("all, counted", 12*time.Second, args{"path": ".", "pattern": "needle", "output_mode": "count", "max_results": 1000}, "]")
}

// cpuTime is what this process has used, which tells a slow search from a busy machine.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// makeTree makes files of about 1 KiB in folders of 100; every tenth holds a needle, the last the end of the haystack.
func makeTree(t *testing.T, dir string, files int) {
	t.Helper()
	filler := strings.Repeat("the quick brown fox jumps over the lazy dog\n", 20)
	for i := range files {
		folder := filepath.Join(dir, fmt.Sprintf("d%02d/e%02d", i/10_000, i/100%100))
		if i%100 == 0 {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		text := filler
		if i%10 == 0 {
			text += "a needle\n"
		}
		if i == files-1 {
			text += "haystack_end\n"
		}
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("f%02d.txt", i%100)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestGrepStops(t *testing.T) {
	r := tooltest.New(t, fs.Tools)
	makeTree(t, r.Workspace.Dir(), 2000)
	ctx, stop := context.WithCancelCause(t.Context())
	stop(tools.ErrStopped)
	if out := r.CallContext(ctx, tools.GrepFiles, args{"path": ".", "pattern": "fox"}); out.State != tools.Cancelled {
		t.Errorf("a stopped search is %s: %s", out.State, out.Text)
	}
}

func TestGrepFiles(t *testing.T) {
	r := tooltest.New(t, fs.Tools)
	r.Write("src/a.go", "package a\n\nfunc Foo() {}\n// foo again\nvar x = 1\n")
	r.Write("src/b/b.go", "package b\nfunc foo() {}\n")
	r.Write("src/b/b.txt", "foo in text\r\nbar\r\n")
	r.Write("src/bin", "foo\x00")
	r.Write("src/z/long.txt", strings.Repeat("-", 1000)+"foo"+strings.Repeat("=", 1000)+"\n")
	tests := []struct {
		name string
		args args
		want string
	}{
		{
			"content",
			args{"path": "src", "pattern": "func foo"},
			"a.go\n3: func Foo() {}\n\nb/b.go\n2: func foo() {}\n[2 matches in 2 files]",
		},
		{"case", args{"path": "src", "pattern": "Foo", "case_sensitive": true}, "a.go\n3: func Foo() {}\n[1 match in 1 file]"},
		{"files", args{"path": "src", "pattern": "foo", "output_mode": "files_only"}, "a.go\nb/b.go\nb/b.txt\nz/long.txt\n[4 files]"},
		{"count", args{"path": "src", "pattern": "foo", "output_mode": "count", "include_glob": "*.go"}, "a.go: 2\nb/b.go: 1\n[2 files]"},
		{"glob on the path", args{"path": "src", "pattern": "foo", "output_mode": "count", "include_glob": "b/**/*.{go,txt}"}, "b/b.go: 1\nb/b.txt: 1\n[2 files]"},
		{
			"context",
			args{"path": "src/a.go", "pattern": "package|again", "context_lines": 1},
			"a.go\n1: package a\n2- \n3- func Foo() {}\n4: // foo again\n5- var x = 1\n[2 matches in 1 file]",
		},
		{
			"context with a gap",
			args{"path": "src/a.go", "pattern": "package|var x", "context_lines": 1},
			"a.go\n1: package a\n2- \n--\n4- // foo again\n5: var x = 1\n[2 matches in 1 file]",
		},
		{"end of a CRLF line", args{"path": "src", "pattern": "text$"}, "b/b.txt\n1: foo in text\n[1 match in 1 file]"},
		{
			"long line",
			args{"path": "src/z", "pattern": "foo"},
			"long.txt\n1: …" + strings.Repeat("-", 100) + "foo" + strings.Repeat("=", 297) + "…\n[1 match in 1 file]",
		},
		{"page 1", args{"path": "src", "pattern": "foo", "max_results": 1}, "a.go\n3: func Foo() {}\n[results 1–1, and there are more; go on with offset=1]"},
		{
			"page 2",
			args{"path": "src", "pattern": "foo", "max_results": 2, "offset": 1},
			"a.go\n4: // foo again\n\nb/b.go\n2: func foo() {}\n[results 2–3, and there are more; go on with offset=3]",
		},
		{"last page", args{"path": "src", "pattern": "foo", "max_results": 1, "offset": 4, "include_glob": "*.txt"}, "[there are only 2 results, all before offset=4]"},
		{"nothing", args{"path": "src", "pattern": "zebra"}, "[no match]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(done(tt.want), r.Call(tools.GrepFiles, tt.args)); diff != "" {
				t.Error(diff)
			}
		})
	}
	for pattern, want := range map[string]string{
		"a(b": "missing closing )", `(?=x)`: "RE2: no look-around", "": "pattern is empty", strings.Repeat("x", 2000): "longer than",
	} {
		if out := r.Call(tools.GrepFiles, args{"path": ".", "pattern": pattern}); out.State != tools.Failed || !strings.Contains(out.Text, want) {
			t.Errorf("pattern %.20q is %s: %s", pattern, out.State, out.Text)
		}
	}
}

// TestGrepPagesAddUp: the pages together are the whole, whatever their size.
func TestGrepPagesAddUp(t *testing.T) {
	r := tooltest.New(t, fs.Tools)
	makeTree(t, r.Workspace.Dir(), 300)
	for _, mode := range []string{"content", "files_only", "count"} {
		var paged []string
		for offset := 0; ; offset += 7 {
			out := r.Call(tools.GrepFiles, args{"path": ".", "pattern": "needle|end", "output_mode": mode, "max_results": 7, "offset": offset})
			body := out.Text[:strings.LastIndex(out.Text, "[")]
			for line := range strings.Lines(body) {
				if line != "\n" {
					paged = append(paged, line)
				}
			}
			if !strings.Contains(out.Text, "there are more") {
				break
			}
		}
		whole := r.Call(tools.GrepFiles, args{"path": ".", "pattern": "needle|end", "output_mode": mode}).Text
		for line := range strings.Lines(whole[:strings.LastIndex(whole, "[")]) {
			if line != "\n" {
				if len(paged) == 0 || paged[0] != line {
					t.Fatalf("%s: a page has %q where the whole has %q", mode, paged[:min(1, len(paged))], line)
				}
				paged = paged[1:]
			}
		}
		if len(paged) > 0 {
			t.Errorf("%s: the pages have more than the whole: %q", mode, paged)
		}
	}
}

func TestSearchFile(t *testing.T) {
	r := tooltest.New(t, fs.Tools)
	r.Write("a.txt", "one\ntwo (x)\nthree\nfour\nTWO (X)\n")
	r.Write("many.txt", strings.Repeat("hit\n", 500))
	tests := []struct {
		name string
		args args
		want tools.Outcome
	}{
		{
			"no pattern",
			args{"path": "a.txt", "query": "two (x)", "context_lines": 1},
			done("2 matches in a.txt:\n1- one\n2: two (x)\n3- three\n4- four\n5: TWO (X)\n"),
		},
		{"without neighbours", args{"path": "a.txt", "query": "four", "context_lines": 0}, done("1 match in a.txt:\n4: four\n")},
		{"nothing", args{"path": "a.txt", "query": "five"}, done(`"five" does not stand in a.txt.`)},
		{"line break", args{"path": "a.txt", "query": "one\ntwo"}, failed("The call was not run: query holds a line break, and lines are searched one by one; look for a part that stands in one line")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, r.Call(tools.SearchFile, tt.args)); diff != "" {
				t.Error(diff)
			}
		})
	}
	out := r.Call(tools.SearchFile, args{"path": "many.txt", "query": "hit"})
	if want := "[the first 100 of them; read_file shows the rest from line 100 on]\n"; !strings.HasSuffix(out.Text, want) {
		t.Errorf("many matches end with %q", out.Text[len(out.Text)-80:])
	}
}

func TestListFiles(t *testing.T) {
	r := tooltest.New(t, fs.Tools)
	r.Write("a/b/c/d/e.txt", "")
	r.Write("a/x.txt", "")
	for i := range 400 {
		r.Write(fmt.Sprintf("many/%03d", i), "")
	}
	tests := []struct {
		name string
		args any
		want string
	}{
		{"folders", args{"dirs_only": true}, "a/\na/b/\na/b/c/\nmany/\n"},
		{"one level", args{"path": "a", "depth": 1}, "b/\nx.txt\n"},
		{"all levels", args{"path": "a", "depth": 9}, "b/\nb/c/\nb/c/d/\nb/c/d/e.txt\nx.txt\n"},
		{"absolute", args{"path": r.Path("a"), "depth": 1}, "b/\nx.txt\n"},
		{"empty arguments", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := r.Call(tools.ListFiles, tt.args)
			if tt.want == "" {
				if !strings.Contains(out.Text, "many/… (100 more)\n") {
					t.Errorf("a big folder is listed as %.100q", out.Text)
				}
			} else if diff := cmp.Diff(done(tt.want), out); diff != "" {
				t.Error(diff)
			}
		})
	}
	for path, want := range map[string]string{"a/x.txt": "a/x.txt is a file, not a folder; read_file shows it", "none": "there is no folder none"} {
		if diff := cmp.Diff(failed(want), r.Call(tools.ListFiles, args{"path": path})); diff != "" {
			t.Error(diff)
		}
	}
}

func TestLabels(t *testing.T) {
	r := tooltest.New(t, fs.Tools)
	tests := []struct{ tool, args, short, full, target string }{
		{tools.ReadFile, `{"path":"` + r.Path("in/a.txt") + `","start_line":3}`, "read_file `in/a.txt`", "read_file `in/a.txt` from line 3", "in/a.txt"},
		{tools.WriteFile, `{"path":"a","content":"x"}`, "write_file `a`", "write_file `a`", "a"},
		{tools.ListFiles, `{}`, "list_files `.`", "list_files `.`", ""},
		{tools.GrepFiles, `{"path":"src","pattern":"x y"}`, "grep_files `x y`", "grep_files `x y` in src", ""},
		{tools.EditFile, `{"path":"` + strings.Repeat("x", 100) + `","old":"a","new":"b"}`, "edit_file `" + strings.Repeat("x", 47) + "…`", "edit_file `" + strings.Repeat("x", 100) + "`", strings.Repeat("x", 100)},
	}
	for _, tt := range tests {
		tool, _ := r.Registry.Find(tt.tool)
		inv, err := tool.Decode([]byte(tt.args))
		if err != nil {
			t.Fatal(err)
		}
		got := []string{inv.Label(tools.LabelShort), inv.Label(tools.LabelFull), inv.TargetPath()}
		if diff := cmp.Diff([]string{tt.short, tt.full, tt.target}, got); diff != "" {
			t.Error(diff)
		}
	}
}
