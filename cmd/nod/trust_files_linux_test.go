package main

import (
	"fmt"
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
	"nod/tools/fs"
	"nod/tools/tooltest"
)

// What lies where tools must not reach without a nod, and what they may read.
const (
	outsideText = "must-not-be-reached"
	insideText  = "free to be read"
)

// trustFiles has the file tools try to leave the workspace while nobody nods, and while paths change under them.
func trustFiles(t *testing.T, table *trustTable) {
	y := newYard(t)
	tried, escaped := y.corpus()
	reads, writes := trustSize(500, 4_000, 200_000), trustSize(20, 100, 2_000)
	race := y.race(reads, writes)
	table.add(t, trustRow{
		"7. paths that left the workspace without a nod",
		fmt.Sprintf("%d of %d hostile paths; in a swap race %d of %s reads and %d of %s writes", escaped, tried, race.leaked, count(reads), race.strayed, count(writes)), "0",
		fmt.Sprintf("check, then open: %s of %s reads", count(race.control), count(race.controls)),
	}, escaped+race.leaked+race.strayed == 0 && race.reached > 0 && race.wrote > 0, race.control > 0)
}

// yard is a workspace with secrets in it and a sibling outside. Nobody nods.
type yard struct {
	*tooltest.Rig
	t    *testing.T
	base string
}

func newYard(t *testing.T) *yard {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	y := &yard{t: t, base: base, Rig: tooltest.NewIn(t, filepath.Join(base, "work"), fs.Tools)}
	y.OnCard = func(approvals.Pending) approvals.Decision { return approvals.Decision{Verb: approvals.VerbReject} }
	for name, text := range map[string]string{
		"work/in/a.txt": insideText, "work/data/slot/x": insideText, "work/data/file": insideText,
		"work/secrets/x": outsideText, "outside/x": outsideText, "workx/x": outsideText,
	} {
		tooltest.WriteFile(t, filepath.Join(base, name), text)
	}
	for name, target := range map[string]string{
		"in/link": "../../outside/x", "in/folder": "../../outside", "in/chain": "link", "in/absolute": filepath.Join(base, "outside/x"),
		"in/dangling": "../../outside/new", "in/private": "../secrets", "data/dangling": "../../outside/new", "data/link": "../../outside/x",
		"data/folder": "../../outside", "data/slot-secrets": "../secrets", "data/slot-outside": "../../outside",
		"data/file-secrets": "../secrets/x", "data/file-outside": "../../outside/x", "in/proc": "/proc/self/root" + base + "/outside/x",
	} {
		if err := os.Symlink(target, y.Path(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(base, "outside/x"), y.Path("data/hard")); err != nil {
		t.Fatal(err)
	}
	return y
}

// corpus tries paths one by one.
func (y *yard) corpus() (tried, escaped int) {
	outside := filepath.Join(y.base, "outside")
	reads := []string{
		"../outside/x", "in/../../outside/x", "./in/./../../outside/x", outside + "/x", "../workx/x", y.Workspace.Dir() + "x/x", "in/link", "in/link/", "in/folder/x",
		"in/chain", "in/absolute", "in/private/x", "secrets/x", "in/../secrets/x", "secrets//x", "in/proc", "/proc/self/root" + outside + "/x",
		"/proc/self/cwd/../../../../../../.." + outside + "/x", "data/hard", "in/folder/../outside/x", "in/a.txt/../../secrets/x", "in\x00/../../outside/x",
	}
	for _, path := range reads {
		for _, call := range []struct {
			tool string
			args map[string]any
		}{
			{tools.ReadFile, map[string]any{"path": path}},
			{tools.SearchFile, map[string]any{"path": path, "query": "must"}},
			{tools.GrepFiles, map[string]any{"path": path, "pattern": "must-not.*"}},
		} {
			tried++
			if out := y.Call(call.tool, call.args); strings.Contains(out.Text, outsideText) {
				escaped++
				y.t.Errorf("%s %q gave %q", call.tool, path, out.Text)
			}
		}
	}
	writes := []string{
		"data/../../outside/new", "data/dangling", "data/link", "data/folder/new", "data/hard", outside + "/new", "data/../secrets/new", "data/../../workx/new",
		"/proc/self/root" + outside + "/new", "data/folder/", "data/dangling/",
	}
	for _, path := range writes {
		tried++
		y.Call(tools.WriteFile, map[string]any{"path": path, "content": "strayed"})
		if stray := y.strays(); stray != "" {
			escaped++
			y.t.Errorf("writing %q: %s", path, stray)
		}
	}
	return tried, escaped
}

// strays says what is not as it was outside of the workspace and in secrets.
func (y *yard) strays() string {
	for _, folder := range []string{"work/secrets", "outside", "workx"} {
		entries, err := os.ReadDir(filepath.Join(y.base, folder))
		if err != nil || len(entries) != 1 {
			return fmt.Sprintf("%s holds %v, %v", folder, entries, err)
		}
		if text, err := os.ReadFile(filepath.Join(y.base, folder, "x")); err != nil || string(text) != outsideText {
			return fmt.Sprintf("%s/x holds %q, %v", folder, text, err)
		}
	}
	return ""
}

// swapRace is what came of reading and writing while names were exchanged.
type swapRace struct {
	reached, leaked   int // reads
	wrote, strayed    int // writes
	controls, control int // reads of the control, and those that leaked
}

// race exchanges a folder and a file with links to what lies outside, as fast as it goes, while they are used.
func (y *yard) race(reads, writes int) (r swapRace) {
	var stop atomic.Bool
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for !stop.Load() {
			for _, pair := range [][2]string{{"slot", "slot-secrets"}, {"slot", "slot-outside"}, {"file", "file-secrets"}, {"file", "file-outside"}} {
				for range 2 {
					a, b := y.Path("data/"+pair[0]), y.Path("data/"+pair[1])
					if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
						y.t.Error(err)
					}
				}
			}
		}
	})
	defer swapping.Wait()
	defer stop.Store(true)
	paths := []string{"data/slot/x", "data/file"}
	for i := range reads {
		switch text := y.read(paths[i%2]); {
		case strings.Contains(text, outsideText):
			r.leaked++
		case text != "":
			r.reached++
		}
	}
	for ; r.controls < reads || r.control == 0 && r.controls < 20*reads; r.controls++ {
		if strings.Contains(y.checkThenOpen(paths[r.controls%2]), outsideText) {
			r.control++
		}
	}
	for i := range writes {
		if out := y.Call(tools.WriteFile, map[string]any{"path": paths[i%2], "content": "written"}); out.State == tools.Completed {
			r.wrote++
		}
		if y.strays() != "" {
			r.strayed++
		}
	}
	return r
}

// read is what a reading tool does. Private places are the rules' to refuse.
func (y *yard) read(path string) string {
	place, err := y.Workspace.Resolve(path, tools.ForReading)
	if err != nil || place.Private {
		return ""
	}
	held, err := y.Workspace.Hold(path, tools.ForReading, approvals.Subject{Facts: place.Facts()})
	if err != nil {
		return ""
	}
	defer held.Close()
	f, _, err := held.OpenFile()
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return ""
	}
	return string(text)
}

// checkThenOpen is the control: links resolved, the folder compared, and then the path opened.
func (y *yard) checkThenOpen(path string) string {
	path = y.Path(path)
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !strings.HasPrefix(real, y.Path("data")) {
		return ""
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(text)
}
