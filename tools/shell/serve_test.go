package shell

import (
	"bufio"
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// serveTest starts a service with pipes.
func serveTest(t *testing.T, ctx context.Context, r *Runner, args ...string) (*Served, io.WriteCloser, *bufio.Reader) {
	t.Helper()
	var ends [3][2]*os.File
	for i := range ends {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		ends[i] = [2]*os.File{r, w}
	}
	d, err := r.Serve(ctx, Service{Args: args, Dir: tempDir(t), Env: []string{"GIVEN=a b"}, Stdin: ends[0][0], Stdout: ends[1][1], Stderr: ends[2][1]})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []*os.File{ends[0][0], ends[1][1], ends[2][1]} {
		f.Close()
	}
	t.Cleanup(func() {
		for _, f := range []*os.File{ends[0][1], ends[1][0], ends[2][0]} {
			f.Close()
		}
	})
	return d, ends[0][1], bufio.NewReader(ends[1][0])
}

func TestServe(t *testing.T) {
	isolations(t, func(t *testing.T, _ int, rung rung) {
		if !rung.iso.walls.none() {
			t.Skip("services have no sandbox")
		}
		d, in, out := serveTest(t, t.Context(), rung.Runner, "sh", "-c", `echo "$GIVEN $1 $TELEGRAM_BOT_TOKEN."; cat; exit 3`, "sh", "it's $HOME `id`")
		if line, err := out.ReadString('\n'); err != nil || line != "a b it's $HOME `id` .\n" {
			t.Fatalf("got %q, %v", line, err)
		}
		if _, err := io.WriteString(in, "there and back\n"); err != nil {
			t.Fatal(err)
		}
		if line, err := out.ReadString('\n'); err != nil || line != "there and back\n" {
			t.Fatalf("got %q, %v", line, err)
		}
		in.Close()
		if _, err := out.ReadString('\n'); err != io.EOF {
			t.Errorf("its output ended with %v", err)
		}
		if end := d.End(); end != "it ended with exit status 3" {
			t.Errorf("the end was told as %q", end)
		}
		d.Stop()
	})
}

func TestServeEndsWithAllThatItStarted(t *testing.T) {
	const mark = "NOD_SERVE_TEST=987650322"
	isolations(t, func(t *testing.T, _ int, rung rung) {
		if !rung.iso.walls.none() {
			t.Skip("services have no sandbox")
		}
		ctx, cancel := context.WithCancel(t.Context())
		d, _, out := serveTest(t, ctx, rung.Runner, "sh", "-c", "export "+mark+"; trap '' TERM; sleep 600 & sleep 600 & echo up; wait")
		if line, err := out.ReadString('\n'); err != nil || line != "up\n" {
			t.Fatalf("got %q, %v", line, err)
		}
		until(t, "all run", func() bool { return len(marked(t, mark)) >= 2 })
		began := time.Now()
		cancel()
		<-d.Done()
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("it took %v", took)
		}
		if left := marked(t, mark); len(left) > 0 {
			t.Errorf("these are left: %q", left)
		}
	})
}

func TestServeRefuses(t *testing.T) {
	for _, args := range [][]string{nil, {""}, {"-x"}, {"a\x00b"}} {
		if _, err := (&Runner{}).Serve(t.Context(), Service{Args: args, Dir: tempDir(t)}); err == nil {
			t.Errorf("%q was started", args)
		}
	}
	_, err := (&Runner{}).Serve(t.Context(), Service{Args: []string{strings.Repeat("x", MaxLine+1)}, Dir: tempDir(t)})
	if err == nil {
		t.Error("an endless word was started")
	}
}
