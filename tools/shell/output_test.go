package shell

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func sanitised(pieces ...string) string {
	var b strings.Builder
	s := &sanitiser{sink: func(p []byte) { b.Write(p) }}
	for _, p := range pieces {
		s.Write([]byte(p))
	}
	s.Close()
	return b.String()
}

func TestSTOP4_Sanitise(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", "a\tb\nc", "a\tb\nc"},
		{"unicode", "żółć 漢字 👩‍💻 é\n", "żółć 漢字 👩‍💻 é\n"},
		{"colours", "\x1b[1;31mred\x1b[0m \x1b[38;5;12mblue\x1b[m\n", "red blue\n"},
		{"hyperlink", "\x1b]8;;https://x.y/\x1b\\text\x1b]8;;\x1b\\\n", "text\n"},
		{"title with bell", "\x1b]0;title\x07after\n", "after\n"},
		{"title without end", "\x1b]0;title\nafter\n", "\nafter\n"},
		{"string ended by another sequence", "\x1b]0;title\x1b[1mafter\n", "after\n"},
		{"device control", "\x1bPq#0;2\x1b\\x\n", "x\n"},
		{"character set", "\x1b(Bx\x1b=y\x1bM\n", "xy\n"},
		{"escape at the end", "x\x1b", "x"},
		{"escape before text of other scripts", "\x1bé", "é"},
		{"sequence broken by text of other scripts", "\x1b[1é", "é"},
		{"eight-bit controls", "a\u009b1mb\u0085c\u009dtitle\x07d", "abcd"},
		{"NUL and bells", "a\x00\x00b\x07\x7fc", "abc"},
		{"vertical tab, form feed", "a\vb\fc", "abc"},
		{"windows lines", "a\r\nb\r\r\n", "a\nb\n"},
		{"progress", "10%\r20%\r100%\ndone\n", "100%\ndone\n"},
		{"progress that erases", "10%\r\x1b[K20%\r\x1b[K", "20%"},
		{"return before the end", "kept\r", "kept"},
		{"return at the beginning", "\rx\n", "x\n"},
		{"overstruck", "N\bNA\bA_\bM\n", "NAM\n"},
		{"backspace over a line's beginning", "a\n\b\bb", "a\nb"},
		{"backspace over a wide rune", "漢\bx", "x"},
		{"bad bytes", "a\xff\xfe\xffb\x80", "a\uFFFDb\uFFFD"},
		{"bad bytes apart", "\xffa\xff", "\uFFFDa\uFFFD"},
		{"rune cut off at the end", "a\xe6\xbc", "a\uFFFD"},
		{"a real replacement rune", "\uFFFD\uFFFD", "\uFFFD\uFFFD"},
		{"surrogate", "\xed\xa0\x80", "\uFFFD"},
		{"overlong", "\xc0\xaf", "\uFFFD"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, sanitised(tt.in)); diff != "" {
				t.Errorf("at once (-want +got):\n%s", diff)
			}
			var bytewise []string
			for i := range len(tt.in) {
				bytewise = append(bytewise, tt.in[i:i+1])
			}
			if diff := cmp.Diff(tt.want, sanitised(bytewise...)); diff != "" {
				t.Errorf("byte by byte (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSTOP4_LongLinesArePassedOn(t *testing.T) {
	long := strings.Repeat("x", keptLine+1)
	if got, want := sanitised(long, "\rnew\n"), long+"\nnew\n"; got != want {
		t.Errorf("a line that can't be taken back ends as …%q", got[len(got)-10:])
	}
	if got, want := sanitised("\x1b]"+strings.Repeat("x", 2*maxControl), "end\n"), "end\n"; !strings.HasSuffix(got, want) {
		t.Errorf("an endless escape sequence swallowed what came after: %q", got)
	}
}

func FuzzSanitise(f *testing.F) {
	f.Add([]byte("a\x1b[1mb\r\nc\rd\be\xff\x1b]0;t\x07"), 5)
	f.Add([]byte("漢\u009b1m\x1bP\x1b\\"), 2)
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		got := sanitised(string(in))
		if !utf8.ValidString(got) {
			t.Fatalf("%q is no UTF-8", got)
		}
		if i := strings.IndexFunc(got, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }); i >= 0 {
			t.Fatalf("%q holds a control character at %d", got, i)
		}
		if cut = min(max(cut, 0), len(in)); len(in) < keptLine {
			if split := sanitised(string(in[:cut]), string(in[cut:])); split != got {
				t.Fatalf("in two pieces %q, at once %q", split, got)
			}
		}
	})
}

func TestSE6_CaptureKeepsHeadAndTail(t *testing.T) {
	whole := strings.Repeat("0123456789abcde\n", MaxOutput/16)
	tests := []struct {
		name, in string
		omitted  bool
	}{
		{"nothing", "", false},
		{"one byte", "x", false},
		{"just all", whole, false},
		{"one byte more", whole + "!", true},
		{"much more", strings.Repeat(whole, 5) + "end", true},
		{"wide runes", strings.Repeat("漢", MaxOutput), true},
		{"wide runes, shifted", "x" + strings.Repeat("😀", MaxOutput) + "y", true},
	}
	for _, tt := range tests {
		for name, wrap := range map[string]func(io.Reader) io.Reader{"whole": func(r io.Reader) io.Reader { return r }, "halves": iotest.HalfReader} {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				var spill bytes.Buffer
				c := &capture{open: func() (io.Writer, string, error) { return &spill, "spill.txt", nil }}
				c.drain(wrap(strings.NewReader(tt.in)))
				text, omitted := c.text()
				if (omitted > 0) != tt.omitted || !utf8.ValidString(text) || strings.Contains(text, "\uFFFD") {
					t.Fatalf("omitted = %d, valid = %v", omitted, utf8.ValidString(text))
				}
				if c.total != int64(len(tt.in)) {
					t.Errorf("total = %d, want %d", c.total, len(tt.in))
				}
				if !tt.omitted {
					if text != tt.in || spill.Len() > 0 {
						t.Errorf("text is changed or spilled")
					}
					return
				}
				head, tail, found := strings.Cut(text, "\n[… ")
				marker, tail, _ := strings.Cut(tail, "…]\n")
				if !found || !strings.HasPrefix(tt.in, head) || !strings.HasSuffix(tt.in, tail) {
					t.Errorf("head or tail is not the input's: marker %q", marker)
				}
				if kept := len(head) + len(tail); kept > MaxOutput || kept < MaxOutput-2*utf8.UTFMax || int64(len(tt.in)-kept) != omitted {
					t.Errorf("kept %d, omitted %d of %d", kept, omitted, len(tt.in))
				}
				if spill.String() != tt.in || c.spilled != int64(len(tt.in)) || c.spillErr != nil {
					t.Errorf("spill has %d bytes, %v", spill.Len(), c.spillErr)
				}
				if !strings.Contains(marker, "the whole is in spill.txt") {
					t.Errorf("marker = %q", marker)
				}
			})
		}
	}
}

// failing is a spill that breaks at its first write.
type failing struct{ err error }

func (f failing) Write(p []byte) (int, error) { return len(p) / 2, f.err }

func TestSE6_SpillFailures(t *testing.T) {
	broken := errors.New("disk full")
	tests := map[string]func() (io.Writer, string, error){
		"open":  func() (io.Writer, string, error) { return nil, "", broken },
		"write": func() (io.Writer, string, error) { return failing{broken}, "spill.txt", nil },
	}
	for name, open := range tests {
		t.Run(name, func(t *testing.T) {
			c := &capture{open: open}
			c.drain(strings.NewReader(strings.Repeat("x", 3*MaxOutput)))
			if !errors.Is(c.spillErr, broken) {
				t.Errorf("err = %v", c.spillErr)
			}
			text, omitted := c.text()
			if omitted != 2*MaxOutput || len(text) < MaxOutput || strings.Contains(text, "spill.txt") {
				t.Errorf("omitted = %d, text promises a file: %v", omitted, strings.Contains(text, "spill.txt"))
			}
		})
	}
}

// count is a spill that only counts.
type count struct{ n int64 }

func (c *count) Write(p []byte) (int, error) { c.n += int64(len(p)); return len(p), nil }

func TestSE6_SpillIsBounded(t *testing.T) {
	var spill count
	c := &capture{open: func() (io.Writer, string, error) { return &spill, "spill.txt", nil }}
	c.drain(io.LimitReader(endless("é"), MaxSpill+4))
	if text, _ := c.text(); spill.n != MaxSpill || !strings.Contains(text, "the first 64 MiB are in spill.txt") {
		t.Errorf("spilled %d bytes of %d", spill.n, c.clean)
	}
}

// endless repeats itself, as long as it is read in pieces that it fits in.
type endless string

func (e endless) Read(p []byte) (int, error) {
	n := 0
	for n+len(e) <= len(p) {
		n += copy(p[n:], e)
	}
	return n, nil
}

var floodBytes = flag.Int64("flood.bytes", 400<<20, "how much a command prints at most in TestSE6_FloodsStayBounded")

// In full, with 10 GB:
//
//	go test ./tools/shell -run SE6_Floods -v -flood.bytes 10000000000
func TestSE6_FloodsStayBounded(t *testing.T) {
	tests := []struct {
		name, line string
		timeout    time.Duration
		ends       bool
	}{
		{"lines", "yes", time.Second, false},
		{"one endless line", "yes | tr -d '\\n'", time.Second, false},
		{"NUL bytes", fmt.Sprintf("head -c %d /dev/zero", *floodBytes), MaxTimeout, true},
		{"zeros as text", fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x", *floodBytes/8), MaxTimeout, true},
		{"noise", "head -c 8M /dev/urandom", time.Minute, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spill := &count{}
			c := Command{Line: tt.line, Dir: tempDir(t), Timeout: tt.timeout, Spill: func() (io.Writer, string, error) { return spill, "x", nil }}
			var r Runner
			var base, now runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&base)
			done := make(chan Result)
			go func() {
				res, err := r.Run(t.Context(), c)
				if err != nil {
					t.Error(err)
				}
				done <- res
			}()
			var res Result
			var peak uint64
			for tick := time.NewTicker(5 * time.Millisecond); res.Duration == 0; {
				select {
				case res = <-done:
				case <-tick.C:
				}
				runtime.ReadMemStats(&now)
				peak = max(peak, now.HeapAlloc)
			}
			if peak -= min(peak, base.HeapAlloc); peak > 16<<20 {
				t.Errorf("heap grew by %d MiB", peak>>20)
			}
			if res.TimedOut == tt.ends || res.Total < 1<<20 {
				t.Errorf("timed out %v after %v and %d bytes", res.TimedOut, res.Duration, res.Total)
			}
			if len(res.Output) > MaxOutput+200 || !utf8.ValidString(res.Output) {
				t.Errorf("output has %d bytes, valid %v", len(res.Output), utf8.ValidString(res.Output))
			}
			if spill.n != res.Spilled || spill.n > MaxSpill {
				t.Errorf("spilled %d, counted %d", res.Spilled, spill.n)
			}
			t.Logf("%d MiB in %v, heap +%d KiB", res.Total>>20, res.Duration.Round(time.Millisecond), peak>>10)
		})
	}
}

func TestSTOP4_BinaryProgramAsOutput(t *testing.T) {
	res := run(t, new(Runner), "cat /bin/ls; printf '\\377\\n'")
	if res.Exit != 0 || res.Total < 1000 || !utf8.ValidString(res.Output) || strings.ContainsRune(res.Output, 0) {
		t.Errorf("exit %d, total %d", res.Exit, res.Total)
	}
}
