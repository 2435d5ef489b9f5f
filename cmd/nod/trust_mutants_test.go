package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// mutant is a patch that breaks one guard, and the test that has to notice.
type mutant struct {
	name, guard   string
	pkg, test     string
	file, mutated string // a file of the tree, and what it is with the patch
}

// TestTrustMutants breaks one guard after the other and runs the test that must notice. The tree stays as it is: the
// changed file is laid over it (go help build, -overlay). All patches must apply; of their tests one is run, another every
// day, and with -trust.long all.
func TestTrustMutants(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("testdata", "mutants", "*.patch"))
	if err != nil || len(paths) < 12 {
		t.Fatalf("there are %d mutants, want at least 12 (%v)", len(paths), err)
	}
	day := int(time.Now().Unix() / (24 * 60 * 60))
	for i, path := range paths {
		m := readMutant(t, path)
		today := (i+day)%len(paths) == 0 && !testing.Short()
		if m.test == "" || !today && !*trustLong {
			continue
		}
		t.Run(m.name, func(t *testing.T) { m.mustBeCaught(t) })
	}
}

// readMutant reads a patch and applies it in memory. A hunk's place is found by its lines: they must occur once.
func readMutant(t *testing.T, path string) (m mutant) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m.name = strings.TrimSuffix(filepath.Base(path), ".patch")
	var before, after strings.Builder
	apply := func() {
		if n := strings.Count(m.mutated, before.String()); n != 1 {
			t.Errorf("%s: its lines occur %d times in %s, want once; write the patch anew:\n%s", m.name, n, m.file, before.String())
		}
		m.mutated = strings.Replace(m.mutated, before.String(), after.String(), 1)
		before.Reset()
		after.Reset()
	}
	for line := range strings.Lines(string(raw)) {
		head, rest := line[:1], line[1:]
		switch {
		case strings.HasPrefix(line, "Guard: "):
			m.guard = strings.TrimSpace(line[len("Guard: "):])
		case strings.HasPrefix(line, "Test: "):
			m.pkg, m.test, _ = strings.Cut(strings.TrimSpace(line[len("Test: "):]), " ")
		case strings.HasPrefix(line, "+++ b/"):
			m.file = strings.TrimSpace(line[len("+++ b/"):])
			source, err := os.ReadFile(filepath.Join("..", "..", m.file))
			if err != nil {
				t.Fatalf("%s: %v", m.name, err)
			}
			m.mutated = string(source)
		case strings.HasPrefix(line, "--- "):
		case head == "@":
			if before.Len() > 0 {
				apply()
			}
		case head == " ":
			before.WriteString(rest)
			after.WriteString(rest)
		case head == "-":
			before.WriteString(rest)
		case head == "+":
			after.WriteString(rest)
		}
	}
	apply()
	if m.guard == "" || m.test == "" {
		t.Errorf("%s names no guard or no test", m.name)
	}
	return m
}

// mustBeCaught runs the mutant's test, which must be there and fail.
func (m mutant) mustBeCaught(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	changed, overlay := filepath.Join(dir, filepath.Base(m.file)), filepath.Join(dir, "overlay.json")
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, m.file): changed}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{changed: []byte(m.mutated), overlay: list} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-overlay", overlay, "-vet=off", "-count=1", "-timeout=5m", m.pkg, "-run", m.test)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	name, _, _ := strings.Cut(strings.Trim(m.test, "^"), "$")
	switch {
	case err == nil:
		t.Errorf("the mutant lives: %s\nis broken in %s, and %s %s passes\n%s", m.guard, m.file, m.pkg, m.test, out)
	case !bytes.Contains(out, fmt.Appendf(nil, "--- FAIL: %s", name)):
		t.Errorf("%s %s was not run: %v\n%s", m.pkg, m.test, err, out)
	default:
		t.Logf("caught: %s", m.guard)
	}
}
