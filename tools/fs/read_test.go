package fs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/tools"
	"nod/tools/fs"
	"nod/tools/tooltest"
)

type args = map[string]any

func TestReadFile(t *testing.T) {
	r := tooltest.New(t, fs.Tools)
	r.Write("a.txt", "one\ntwo\r\nthree")
	r.Write("empty.txt", "")
	r.Write("long.txt", strings.Repeat("x", 50_000)+"\nafter\n")
	r.Write("pic.png", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
	r.Write("many.txt", strings.Repeat("line\n", 2500))
	tests := []struct {
		name string
		args args
		want tools.Outcome
	}{
		{"whole", args{"path": "a.txt"}, done("a.txt, 3 lines:\n1\tone\n2\ttwo\n3\tthree\n")},
		{"absolute inside", args{"path": r.Path("a.txt")}, done("a.txt, 3 lines:\n1\tone\n2\ttwo\n3\tthree\n")},
		{"part", args{"path": "a.txt", "start_line": 2, "end_line": 2}, done("a.txt, lines 2–2 of 3:\n2\ttwo\n[1 more; go on with start_line=3]")},
		{"limit", args{"path": "a.txt", "limit": 1}, done("a.txt, lines 1–1 of 3:\n1\tone\n[2 more; go on with start_line=2]")},
		{"empty", args{"path": "empty.txt"}, done("empty.txt is empty.")},
		{"past the end", args{"path": "a.txt", "start_line": 9}, failed("there is no line 9 in a.txt; its last is line 3")},
		{"binary", args{"path": "pic.png"}, done("pic.png is not text but image/png, 16 bytes. send_attachment sends it to the user.")},
		{"missing", args{"path": "no/such"}, failed("there is no file no/such; list_files shows what there is")},
		{"folder", args{"path": "."}, failed(". is a folder; list_files shows what is in it")},
		{"long line", args{"path": "long.txt"}, done("long.txt, 2 lines:\n1\t" + strings.Repeat("x", 2000) + "… [cut: the line has 50000 bytes]\n2\tafter\n")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, r.Call(tools.ReadFile, tt.args)); diff != "" {
				t.Error(diff)
			}
		})
	}
	out := r.Call(tools.ReadFile, args{"path": "many.txt"})
	if !strings.HasSuffix(out.Text, "[500 more; go on with start_line=2001]") {
		t.Errorf("a long file ends with %q", out.Text[len(out.Text)-60:])
	}
	if len(r.Cards()) > 0 {
		t.Errorf("reading in the workspace asked: %v", r.Cards())
	}
}

func TestReadFileEndsBeforeTheOutcomeLimit(t *testing.T) {
	r := tooltest.New(t, fs.Tools)
	var b strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&b, "%d %s\n", i+1, strings.Repeat("y", 100))
	}
	r.Write("wide.txt", b.String())
	seen, next := 0, 1
	for page := 0; next > 0; page++ {
		out := r.Call(tools.ReadFile, args{"path": "wide.txt", "start_line": next})
		if len(out.Text) > tools.OutcomeLimit || page > 5 {
			t.Fatalf("page %d has %d bytes", page, len(out.Text))
		}
		seen += strings.Count(out.Text, "\t")
		next = 0
		if i := strings.LastIndex(out.Text, "start_line="); i >= 0 {
			fmt.Sscanf(out.Text[i:], "start_line=%d", &next)
		}
	}
	if seen != 1500 {
		t.Errorf("the pages show %d lines", seen)
	}
}

func done(text string) tools.Outcome   { return tools.Outcome{State: tools.Completed, Text: text} }
func failed(text string) tools.Outcome { return tools.Outcome{State: tools.Failed, Text: text} }
