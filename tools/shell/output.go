package shell

import (
	"fmt"
	"io"
	"unicode/utf8"
)

const (
	// headSize is the share of MaxOutput for the beginning; the end, where errors stand, gets the rest.
	headSize = 40 << 10
	tailSize = MaxOutput - headSize
	pieceLen = 64 << 10 // a pipe's usual capacity
)

// capture keeps the beginning and the end of a command's cleaned output in bounded memory and hands all
// of it, up to MaxSpill, to the spill once there is more than MaxOutput.
type capture struct {
	open  func() (w io.Writer, name string, err error)
	spill io.Writer
	name  string // where people find the spill

	head, tail []byte // tail grows to twice tailSize and is then cut back
	cut        bool   // there was more than MaxOutput
	clean      int64  // bytes of cleaned output

	total    int64
	spilled  int64
	spillErr error
}

// drain reads r to its end, or to its deadline.
func (c *capture) drain(r io.Reader) {
	s := &sanitiser{sink: c.add}
	piece := make([]byte, pieceLen)
	for {
		n, err := r.Read(piece)
		c.total += int64(n)
		s.Write(piece[:n])
		if err != nil {
			break
		}
	}
	s.Close()
}

func (c *capture) add(p []byte) {
	c.clean += int64(len(p))
	if !c.cut {
		c.head = append(c.head, p...)
		if len(c.head) <= MaxOutput {
			return
		}
		c.cut = true
		c.begin()
		c.save(c.head)
		c.tail = append(make([]byte, 0, 2*tailSize+pieceLen), c.head[headSize:]...)
		c.head = c.head[:headSize:headSize]
	} else {
		c.save(p)
		c.tail = append(c.tail, p...)
	}
	if len(c.tail) > 2*tailSize {
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-tailSize:]...)
	}
}

func (c *capture) begin() {
	if c.open == nil {
		return
	}
	var err error
	if c.spill, c.name, err = c.open(); err != nil {
		c.spillErr = fmt.Errorf("opening the output's file: %w", err)
	}
}

func (c *capture) save(p []byte) {
	if c.spill == nil || c.spillErr != nil || c.spilled >= MaxSpill {
		return
	}
	if left := MaxSpill - c.spilled; int64(len(p)) > left {
		p = p[:runeFloor(p, int(left))]
		defer func() { c.spilled = MaxSpill }() // a rune that did not fit ends it
	}
	n, err := c.spill.Write(p)
	c.spilled += int64(n)
	if err != nil {
		c.spillErr = fmt.Errorf("writing the output's file: %w", err)
	}
}

// text joins what was kept, with a marker line between beginning and end where something lacks.
func (c *capture) text() (text string, omitted int64) {
	if !c.cut {
		return string(c.head), 0
	}
	head := c.head[:runeFloor(c.head, len(c.head))]
	tail := c.tail[max(0, len(c.tail)-tailSize):]
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	omitted = c.clean - int64(len(head)+len(tail))
	return fmt.Sprintf("%s\n[… %d of %d bytes left out here%s …]\n%s", head, omitted, c.clean, c.whereabouts(), tail), omitted
}

func (c *capture) whereabouts() string {
	switch {
	case c.spill == nil || c.spillErr != nil:
		return ""
	case c.spilled < c.clean:
		return fmt.Sprintf("; the first %d MiB are in %s, which read_file can page", MaxSpill>>20, c.name)
	}
	return fmt.Sprintf("; the whole is in %s, which read_file can page", c.name)
}

// runeFloor is the largest n ≤ limit that does not cut a rune of p in two. p is valid UTF-8 but for its end.
func runeFloor(p []byte, limit int) int {
	n := min(limit, len(p))
	for back := 1; back <= min(utf8.UTFMax, n); back++ {
		if i := n - back; utf8.RuneStart(p[i]) {
			if utf8.FullRune(p[i:n]) {
				return n
			}
			return i
		}
	}
	return n
}
