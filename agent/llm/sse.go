package llm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"time"
)

// maxFrame bounds one server-sent event; real ones stay far below, images apart, which no model of ours sends.
const maxFrame = 8 << 20

// sse rewrites an event stream into what go-openai's reader gets right: one "data: JSON" line a frame, no comments,
// no event names, the last frame with its line end. An error frame ends the stream with an *Error as the read error,
// which go-openai hands on untouched. Not safe for concurrent use.
type sse struct {
	r      *bufio.Reader
	body   io.ReadCloser
	refuse func(frame []byte) error // makes the error for an error frame
	out    bytes.Buffer             // whole lines for the reader
	data   []byte                   // lines of the frame so far
	done   bool                     // [DONE] was read
	err    error
}

func (s *sse) Read(p []byte) (int, error) {
	for s.out.Len() == 0 {
		if s.err != nil {
			return 0, s.err
		}
		s.err = s.line()
	}
	return s.out.Read(p)
}

// line reads one line and, where it ends a frame, moves the frame to out.
func (s *sse) line() error {
	line, err := s.readLine()
	line = bytes.TrimRight(line, "\r\n")
	if len(line) == 0 || err != nil && len(line) == 0 {
		if e := s.flush(); e != nil {
			return e
		}
		return err
	}
	if rest, ok := bytes.CutPrefix(line, []byte("data:")); ok {
		// Some services forget the blank line between frames.
		if len(s.data) > 0 && (json.Valid(s.data) || string(bytes.TrimSpace(s.data)) == "[DONE]") {
			if e := s.flush(); e != nil {
				return e
			}
		}
		s.data = append(s.data, bytes.TrimPrefix(rest, []byte(" "))...)
		if len(s.data) > maxFrame {
			return bufio.ErrTooLong
		}
	}
	if err != nil {
		if e := s.flush(); e != nil {
			return e
		}
	}
	return err
}

// readLine is ReadBytes('\n') with a bound.
func (s *sse) readLine() ([]byte, error) {
	line, err := s.r.ReadSlice('\n')
	if err != bufio.ErrBufferFull {
		return line, err
	}
	long := bytes.Clone(line)
	for err == bufio.ErrBufferFull && len(long) <= maxFrame {
		line, err = s.r.ReadSlice('\n')
		long = append(long, line...)
	}
	if err == bufio.ErrBufferFull {
		err = bufio.ErrTooLong
	}
	return long, err
}

func (s *sse) flush() error {
	d := bytes.TrimSpace(s.data)
	s.data = s.data[:0]
	if len(d) == 0 || string(d) == "null" {
		return nil
	}
	if string(d) == "[DONE]" {
		s.done = true
	} else if bytes.Contains(d, []byte(`"error"`)) {
		if err := s.refuse(d); err != nil {
			return err
		}
	}
	s.out.WriteString("data: ")
	s.out.Write(d)
	s.out.WriteString("\n\n")
	return nil
}

// drainTime is how long a finished stream may take to end, so that its connection can be used again.
const drainTime = 50 * time.Millisecond

func (s *sse) Close() error {
	if s.done && s.err == nil {
		stop := time.AfterFunc(drainTime, func() { _ = s.body.Close() })
		_, _ = io.CopyN(io.Discard, s.r, 4096)
		stop.Stop()
	}
	return s.body.Close()
}
