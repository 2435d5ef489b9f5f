package fs

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"nod/approvals"
	"nod/tools"
	"nod/tools/tooltest"
)

// brief ends after it was looked at so many times, as at a /stop in the middle of the work.
type brief struct {
	context.Context
	looks int
}

func (b *brief) Err() error {
	if b.looks--; b.looks < 0 {
		return context.Canceled
	}
	return nil
}

// TestSTOP1_ASearchEndsInTheMiddleOfAFile: one file with a pattern that is hard to match takes up to minutes, which nobody
// waits for after a stop.
func TestSTOP1_ASearchEndsInTheMiddleOfAFile(t *testing.T) {
	m, err := newMatcher("[a-z]", true)
	if err != nil {
		t.Fatal(err)
	}
	s := searched{data: bytes.Repeat([]byte("a line\n"), 1000)}
	if n := m.count(&brief{t.Context(), 10}, s, 1000, new([]byte)); n != 10 {
		t.Errorf("after a stop in the tenth line %d were counted", n)
	}
	var out strings.Builder
	e := excerpt{out: &out, take: 1000, room: maxText}
	if n := e.write(&brief{t.Context(), 10}, m, s); n != 10 {
		t.Errorf("after a stop in the tenth line %d were shown", n)
	}
}

// hardPattern is gone through state by state: some thousand of them for each letter.
const hardPattern = `(?:[ab]?[abc]?){900}[XY]`

// TestSTOP1_ASearchOfOneFileEnds at a stop within moments, though all of it would take minutes.
func TestSTOP1_ASearchOfOneFileEnds(t *testing.T) {
	r := tooltest.New(t, Tools)
	r.Write("a.txt", strings.Repeat(strings.Repeat("ab", 40)+"\n", 50_000))
	for _, path := range []string{"a.txt", "."} {
		place, err := r.Workspace.Resolve(path, tools.ForReading)
		if err != nil {
			t.Fatal(err)
		}
		held, err := r.Workspace.Hold(path, tools.ForReading, approvals.Subject{Facts: place.Facts()})
		if err != nil {
			t.Fatal(err)
		}
		m, err := newMatcher(hardPattern, true)
		if err != nil {
			t.Fatal(err)
		}
		g := &grep{in: grepIn{OutputMode: modeCount, MaxResults: 100}, matcher: m, walk: walk{guard: r.Workspace.Guard()}}
		g.page = grepPage{in: &g.in}
		ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
		began := time.Now()
		if held.IsFolder() {
			err = g.inFolder(ctx, held, r.Workspace)
		} else {
			err = g.inFile(ctx, held)
		}
		if took := time.Since(began); took > 10*time.Second || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("searching %s ends with %v after %s", path, err, took)
		}
		stop()
		if err := held.Close(); err != nil {
			t.Error(err)
		}
	}
}
