package fs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"nod/tools"
)

const (
	maxReadLines = 2000
	maxReadLine  = 2000      // characters of a line that are shown
	maxRead      = 256 << 20 // bytes of a file that are gone through to find its lines
)

type readIn struct {
	Path      string `json:"path" jsonschema:"file, relative to the workspace or absolute"`
	StartLine int    `json:"start_line,omitempty" jsonschema:"first line to show (default 1)"`
	EndLine   int    `json:"end_line,omitempty" jsonschema:"last line to show (default: as many as limit allows)"`
	Limit     int    `json:"limit,omitempty" jsonschema:"most lines to show (default and maximum 2000)"`
}

// Refine bounds the numbers.
func (readIn) Refine(p map[string]*jsonschema.Schema) {
	p["start_line"].Minimum = jsonschema.Ptr(1.0)
	p["end_line"].Minimum = jsonschema.Ptr(1.0)
	p["limit"].Minimum = jsonschema.Ptr(1.0)
	p["limit"].Maximum = jsonschema.Ptr(float64(maxReadLines))
}

func readFile(w *tools.Workspace) tools.Tool {
	return tools.New(tools.Spec[readIn]{
		Name: tools.ReadFile,
		Description: "Reads a text file. Each line comes as its number, a tab and the line itself; the number and the tab are not part " +
			"of the file, so leave them out of what you give to edit_file. Use this and not cat, head, tail or sed in execute_cmd.",
		Traits: reads,
		Check: func(in *readIn) error {
			in.StartLine = max(in.StartLine, 1)
			if in.Limit == 0 {
				in.Limit = maxReadLines
			}
			if in.EndLine != 0 && in.EndLine < in.StartLine {
				return fmt.Errorf("end_line (%d) is before start_line (%d)", in.EndLine, in.StartLine)
			}
			return needPath(in.Path)
		},
		Label: func(in readIn, full bool) string {
			label := tools.Quote(w.Shown(in.Path))
			if full && (in.StartLine > 1 || in.EndLine > 0) {
				label += fmt.Sprintf(" from line %d", in.StartLine)
			}
			return label
		},
		Target: func(in readIn) string { return w.Shown(in.Path) },
		Judge:  judgeRead(func(in readIn) string { return in.Path }),
		Run:    runReadFile,
	})
}

func runReadFile(ctx context.Context, call tools.Call, in readIn) (tools.Output, error) {
	held, err := hold(call, in.Path, tools.ForReading)
	if err != nil {
		return tools.Output{}, err
	}
	defer held.Close()
	f, info, err := held.OpenFile()
	if err != nil {
		return tools.Output{}, err
	}
	defer f.Close()
	limited, cut := reader(f, info.Size(), maxRead)
	r := bufio.NewReaderSize(limited, 64<<10)
	head, err := r.Peek(sniffed)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrDeadlineExceeded) {
		return tools.Output{}, fmt.Errorf("reading %s: %w", held.Path.Shown, reason(err))
	}
	if binary(head) {
		return tools.Output{Text: describeBinary(held.Path.Shown, head, info.Size())}, nil
	}
	page := page{in: in, last: in.StartLine + in.Limit - 1}
	if in.EndLine > 0 {
		page.last = min(page.last, in.EndLine)
	}
	if err := page.fill(ctx, r); err != nil {
		return tools.Output{}, fmt.Errorf("reading %s: %w", held.Path.Shown, reason(err))
	}
	text, err := page.text(held.Path.Shown, cut)
	return tools.Output{Text: text}, err
}

// page collects the wanted lines of a file while it counts all of them.
type page struct {
	in    readIn
	last  int // the last line that may be shown
	total int
	shown int
	out   strings.Builder
	full  bool // no more fits
}

func (p *page) fill(ctx context.Context, r *bufio.Reader) error {
	for {
		line, long, err := readLine(r)
		if err != nil {
			if errors.Is(err, io.EOF) || errors.Is(err, os.ErrDeadlineExceeded) {
				return nil
			}
			return err
		}
		if p.total++; p.total%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if p.total >= p.in.StartLine && p.total <= p.last && !p.full {
			p.add(line, long)
		}
	}
}

func (p *page) add(line []byte, long int) {
	text := fmt.Sprintf("%d\t%s\n", p.total, clipLine(line, long))
	if p.out.Len()+len(text) > maxText && p.shown > 0 {
		p.full = true
		return
	}
	p.out.WriteString(text)
	p.shown++
}

func (p *page) text(shown string, cut bool) (string, error) {
	total := strconv.Itoa(p.total)
	if cut {
		total = fmt.Sprintf("more than %d (only the first %d MiB were gone through)", p.total, maxRead>>20)
	}
	switch {
	case p.total == 0:
		return shown + " is empty.", nil
	case p.shown == 0:
		return "", fmt.Errorf("there is no line %d in %s; its last is line %s", p.in.StartLine, shown, total)
	}
	last := p.in.StartLine + p.shown - 1
	head := fmt.Sprintf("%s, lines %d–%d of %s:\n", shown, p.in.StartLine, last, total)
	if p.in.StartLine == 1 && last == p.total && !cut {
		head = fmt.Sprintf("%s, %s:\n", shown, count(p.total, "line"))
	}
	tail := ""
	if last < p.total {
		tail = fmt.Sprintf("[%d more; go on with start_line=%d]", p.total-last, last+1)
	}
	return head + p.out.String() + tail, nil
}

// keptLine is how many bytes of one line are kept, enough for maxReadLine characters.
const keptLine = maxReadLine * utf8.UTFMax

// readLine reads a line without its end. Of a very long one it keeps the beginning; long is its length in bytes then,
// and 0 otherwise.
func readLine(r *bufio.Reader) (line []byte, long int, err error) {
	part, err := r.ReadSlice('\n')
	if err == nil {
		return bytes.TrimSuffix(part[:len(part)-1], []byte("\r")), 0, nil
	}
	size := len(part)
	line = bytes.Clone(part[:min(len(part), keptLine)])
	for errors.Is(err, bufio.ErrBufferFull) {
		part, err = r.ReadSlice('\n')
		size += len(part)
	}
	if size == 0 {
		return nil, 0, err
	}
	if size <= keptLine {
		return bytes.TrimRight(line, "\r\n"), 0, nil
	}
	return line, size, nil
}

// clipLine cuts a line after maxReadLine characters and says so.
func clipLine(line []byte, long int) string {
	text := string(line)
	if long == 0 && utf8.RuneCountInString(text) <= maxReadLine {
		return text
	}
	n := 0
	for i := range text {
		if n == maxReadLine {
			text = text[:i]
			break
		}
		n++
	}
	return fmt.Sprintf("%s… [cut: the line has %d bytes]", text, max(long, len(line)))
}
