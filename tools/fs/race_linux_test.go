package fs

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"nod/approvals"
	"nod/tools"
	"nod/tools/tooltest"
)

var (
	raceReads  = flag.Int("race.reads", 20_000, "reads under the swap race; 200000 in full")
	raceWrites = flag.Int("race.writes", 500, "writes under the swap race; 2000 in full")
)

const raceSecret = "must-not-be-reached"

// TestSC3SwapRace reads and writes while the last component and the folder before it are exchanged, as fast as it goes, with
// links to secrets/ and to a folder outside. In full:
//
//	go test ./tools/fs -run SC3 -v -race.reads 200000 -race.writes 2000
func TestSC3SwapRace(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "work")
	w, err := tools.OpenWorkspace(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	files := map[string]string{
		"work/in/slot/x": "public", "work/in/file": "public", "work/secrets/x": raceSecret, "outside/x": raceSecret,
	}
	for name, content := range files {
		tooltest.WriteFile(t, filepath.Join(base, name), content)
	}
	for name, target := range map[string]string{
		"in/slot-secrets": "../secrets", "in/slot-outside": "../../outside", "in/file-secrets": "../secrets/x", "in/file-outside": "../../outside/x",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	var stop atomic.Bool
	var swaps atomic.Int64
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for !stop.Load() {
			for _, pair := range [][2]string{{"slot", "slot-secrets"}, {"slot", "slot-outside"}, {"file", "file-secrets"}, {"file", "file-outside"}} {
				exchange(t, filepath.Join(dir, "in", pair[0]), filepath.Join(dir, "in", pair[1]))
				swaps.Add(1)
				exchange(t, filepath.Join(dir, "in", pair[0]), filepath.Join(dir, "in", pair[1]))
			}
		}
	})
	paths := []string{"in/slot/x", "in/file"}
	leaks, reached := 0, 0
	for i := range *raceReads {
		text, ok := raceRead(w, paths[i%2])
		if ok {
			reached++
		}
		if strings.Contains(text, raceSecret) {
			leaks++
		}
	}
	control := 0
	for i := 0; i < *raceReads*10 && control == 0; i++ {
		if strings.Contains(checkThenUse(dir, paths[i%2]), raceSecret) {
			control++
		}
	}
	wrote := 0
	for i := range *raceWrites {
		if raceWrite(w, paths[i%2]) {
			wrote++
		}
	}
	stop.Store(true)
	swapping.Wait()
	for _, name := range []string{"work/secrets/x", "outside/x"} {
		if data, err := os.ReadFile(filepath.Join(base, name)); err != nil || string(data) != raceSecret {
			t.Errorf("%s is %q, %v", name, data, err)
		}
	}
	for _, folder := range []string{"work/secrets", "outside"} {
		if entries, err := os.ReadDir(filepath.Join(base, folder)); err != nil || len(entries) != 1 {
			t.Errorf("%s holds %v, %v", folder, entries, err)
		}
	}
	t.Logf("%d swaps: %d reads, %d reached the file, %d leaked; %d writes, %d done; check-then-use leaked: %v",
		swaps.Load(), *raceReads, reached, leaks, *raceWrites, wrote, control > 0)
	if leaks > 0 {
		t.Errorf("%d of %d reads leaked", leaks, *raceReads)
	}
	if reached == 0 || wrote == 0 || control == 0 {
		t.Error("the race shows nothing: nothing was read, nothing was written, or the control never leaked")
	}
}

func exchange(t *testing.T, a, b string) {
	if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
		t.Error(err)
	}
}

// raceRead is what a reading tool does, with the rules in short: what is private is not let through.
func raceRead(w *tools.Workspace, path string) (string, bool) {
	place, err := w.Resolve(path, tools.ForReading)
	if err != nil || place.Private {
		return "", false
	}
	held, err := w.Hold(path, tools.ForReading, approvals.Subject{Facts: place.Facts()})
	if err != nil {
		return "", false
	}
	defer held.Close()
	f, _, err := held.OpenFile()
	if err != nil {
		return "", false
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	return string(data), err == nil
}

// raceWrite is what a writing tool does.
func raceWrite(w *tools.Workspace, path string) bool {
	place, err := w.Resolve(path, tools.ForWriting)
	if err != nil || place.Private {
		return false
	}
	held, err := w.Hold(path, tools.ForWriting, approvals.Subject{Facts: place.Facts()})
	if err != nil {
		return false
	}
	defer held.Close()
	old, err := load(held)
	if err != nil {
		return false
	}
	return replace(held.Folder(), held.Name(), []byte("written"), old.info) == nil
}

// checkThenUse is the control: links resolved, the prefix compared, the path opened.
func checkThenUse(dir, path string) string {
	real, err := filepath.EvalSymlinks(filepath.Join(dir, path))
	if err != nil || !strings.HasPrefix(real, filepath.Join(dir, "in")) {
		return ""
	}
	data, err := os.ReadFile(filepath.Join(dir, path))
	if err != nil {
		return ""
	}
	return string(data)
}
