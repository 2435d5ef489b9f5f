package fs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode"
)

const (
	// maxEdit is the largest file that the writing tools change, in bytes: the whole of a diff must fit on a card.
	maxEdit = 16 << 20
	// sniffed is how much of a file is looked at to tell text from other data, in bytes.
	sniffed = 8 << 10
	// maxUnsized is how much is read of a file that says it is empty and is not, as in /proc, in bytes; unsizedWait is how
	// long that may take.
	maxUnsized  = 64 << 10
	unsizedWait = 2 * time.Second
)

// reader reads a file up to the size that it had when it was opened and not beyond limit bytes, so that one which grows
// meanwhile ends. cut says that limit, and not the file, ends it.
func reader(f *os.File, size, limit int64) (r io.Reader, cut bool) {
	if size == 0 {
		// Only what the poller watches can wait for data, and only that takes a deadline.
		_ = f.SetReadDeadline(time.Now().Add(unsizedWait))
		return io.LimitReader(f, min(maxUnsized, limit)), false
	}
	return io.LimitReader(f, min(size, limit)), size > limit
}

// binary says whether the head of a file is not text.
func binary(head []byte) bool { return bytes.IndexByte(head[:min(len(head), sniffed)], 0) >= 0 }

// describeBinary says what a file is that can't be shown as text.
func describeBinary(shown string, head []byte, size int64) string {
	kind := http.DetectContentType(head)
	if kind == "application/octet-stream" {
		kind = "binary data"
	}
	return fmt.Sprintf("%s is not text but %s, %d bytes. send_attachment sends it to the user.", shown, kind, size)
}

// lines splits a text and leaves each line its end. An empty text has none.
func lines(text string) []string {
	all := strings.SplitAfter(text, "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

// lineEnd is how a text ends its lines: with CRLF when most of them do.
func lineEnd(text string) string {
	crlf := strings.Count(text, "\r\n")
	if crlf > 0 && 2*crlf >= strings.Count(text, "\n") {
		return "\r\n"
	}
	return "\n"
}

// onlyCRLF says whether every line of a text ends with CRLF.
func onlyCRLF(text string) bool {
	crlf := strings.Count(text, "\r\n")
	return crlf > 0 && crlf == strings.Count(text, "\n")
}

func toCRLF(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
}

// withEnds is content as lines that end as those of a file do, the last one too. An empty content is one empty line.
func withEnds(content, end string) []string {
	all := lines(content)
	if len(all) == 0 {
		all = []string{""}
	}
	for i, line := range all {
		all[i] = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r") + end
	}
	return all
}

const byteOrderMark = "\ufeff"

// cutMark takes a byte order mark off a text, so that nothing is put before it.
func cutMark(text string) (mark, rest string) {
	if rest, ok := strings.CutPrefix(text, byteOrderMark); ok {
		return byteOrderMark, rest
	}
	return "", text
}

// readAll reads a file that is to be changed.
func readAll(f *os.File, size int64, shown string) ([]byte, error) {
	if size > maxEdit {
		return nil, fmt.Errorf("%s has %d bytes, and files over %d bytes are not changed here; use execute_cmd", shown, size, maxEdit)
	}
	r, _ := reader(f, size, maxEdit)
	data, err := io.ReadAll(r)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, fmt.Errorf("reading %s: %w", shown, err)
	}
	return data, nil
}

// printable is a name for a line of output: what would break the line or hide is written as an escape.
func printable(name string) string {
	if !strings.ContainsFunc(name, unicode.IsControl) {
		return name
	}
	return fmt.Sprintf("%q", name)
}
