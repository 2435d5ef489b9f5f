package shell

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestSA3_Scripts(t *testing.T) {
	tests := []struct {
		line string
		want []string
	}{
		{"git status", nil},
		{"ls | sort", nil},
		{"sh build.sh", []string{"build.sh"}},
		{"sh -eux build.sh arg", []string{"build.sh"}},
		{"./run.sh --fast", []string{"./run.sh"}},
		{"bin/run", []string{"bin/run"}},
		{"python3 x.py data.csv", []string{"x.py"}},
		{"/usr/bin/python3.12 x.py", []string{"/usr/bin/python3.12", "x.py"}},
		{"cd sub && bash a.sh; node b.js", []string{"a.sh", "b.js"}},
		{"FOO=1 BAR='x y' sh a.sh", []string{"a.sh"}},
		{"nohup timeout 5m nice -n 5 ./slow.sh &", []string{"./slow.sh"}},
		{"sudo -E sh a.sh", []string{"a.sh"}},
		{". ./env.sh", []string{"./env.sh"}},
		{"source env.sh", []string{"env.sh"}},
		{"sh -c 'sh inner.sh && ./other'", []string{"inner.sh", "./other"}},
		{"if true; then sh a.sh; else ./b; fi", []string{"a.sh", "./b"}},
		{"x=$(sh a.sh)", []string{"a.sh"}},
		{"`./a.sh`", []string{"./a.sh"}},
		{`sh "my script.sh" 'it'\''s'`, []string{"my script.sh"}},
		{`sh my\ script.sh`, []string{"my script.sh"}},
		{"sh\nbuild.sh", nil},
		{"sh", nil},
		{"sh -c", nil},
		{"", nil},
		{"'unclosed ./x", []string{"unclosed ./x"}},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, scripts(tt.line), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("scripts (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzSA3_Scripts(f *testing.F) {
	f.Add("sh -c \"sh -c 'sh a'\" | ./b `c` $(d)")
	f.Fuzz(func(t *testing.T, line string) {
		for _, s := range scripts(line) {
			if len(s) > len(line)*3 { // a byte that is no UTF-8 becomes a rune of three
				t.Fatalf("%q is longer than its line", s)
			}
		}
	})
}

func TestSA3_Fingerprint(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	err := firstError(
		os.WriteFile(path("a"), []byte("echo 1"), 0o644), os.WriteFile(path("b"), []byte("echo 2"), 0o644),
		os.Symlink("a", path("link")), syscall.Mkfifo(path("fifo"), 0o644), os.WriteFile(path("big"), nil, 0o644),
		os.Truncate(path("big"), maxScript+1),
	)
	if err != nil {
		t.Fatal(err)
	}
	a, b := fingerprint(path("a")), fingerprint(path("b"))
	if a == b || a != fingerprint(path("link")) || !strings.HasPrefix(a, "SHA-256 ") {
		t.Errorf("fingerprints: %q, %q, of the link %q", a, b, fingerprint(path("link")))
	}
	for name, want := range map[string]string{"none": absent, "a/below": absent, "fifo": "not a regular file", ".": "not a regular file"} {
		if got := fingerprint(path(name)); got != want {
			t.Errorf("fingerprint of %s = %q, want %q", name, got, want)
		}
	}
	if got := fingerprint(path("big")); !strings.HasPrefix(got, "16777217 bytes, changed ") {
		t.Errorf("fingerprint of a big file = %q", got)
	}
}
