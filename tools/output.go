package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// OutcomeLimit is the most of a call's text that the model is given, in bytes; the rest is in a file that read_file pages.
const OutcomeLimit = 100 << 10

// noOutput stands for an empty text, which some services refuse as a tool's result.
const noOutput = "(no output)"

// Sanitise makes any bytes safe to put before a model and into JSON: valid UTF-8, no control characters but newlines
// and tabs.
func Sanitise(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
}

// Clip keeps the head and the tail of a long text, cut at rune edges, with a line between that says how much is left
// out and what to do about it.
func Clip(s string, limit int, hint string) string {
	if len(s) <= limit {
		return s
	}
	head, tail := s[:limit*2/3], s[len(s)-limit/3:]
	for len(head) > 0 && !utf8.RuneStart(s[len(head)]) {
		head = head[:len(head)-1]
	}
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return fmt.Sprintf("%s\n[… %d bytes left out%s …]\n%s", head, len(s)-len(head)-len(tail), hint, tail)
}

// outputFile is the file for the whole of one call's output, made when first asked for.
type outputFile struct {
	mu      sync.Mutex
	shown   string
	made    *os.File
	settled bool // the call is over
}

// outputsDir is where whole outputs are kept, within the workspace so that read_file can page them.
const outputsDir = "data/outputs"

func (o *outputFile) create(c Call) (*os.File, string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.settled:
		return nil, "", errors.New("making a file for the output: the call is over")
	case o.made != nil:
		return o.made, o.shown, nil
	}
	root := c.Scope.Workspace.Root()
	if err := root.MkdirAll(outputsDir, 0o700); err != nil {
		return nil, "", fmt.Errorf("making a folder for outputs: %w", err)
	}
	shown := filepath.Join(outputsDir, string(c.ID)+".txt")
	// There may be one from before a crash, when this call is run again from its intent.
	if err := root.Remove(shown); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", fmt.Errorf("removing an old output: %w", err)
	}
	f, err := root.OpenFile(shown, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, "", fmt.Errorf("making a file for the output: %w", err)
	}
	o.made, o.shown = f, shown
	return f, shown, nil
}

// settle closes the file, and removes it when the call's text does not point to it.
func (o *outputFile) settle(c Call, text string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.settled = true; o.made == nil {
		return nil
	}
	err := o.made.Close()
	if !strings.Contains(text, o.shown) {
		err = errors.Join(err, c.Scope.Workspace.Root().Remove(o.shown))
	}
	return err
}

// outcomeText is what the model reads of an output that worked.
func outcomeText(c Call, text string) (string, error) {
	text = Sanitise(text)
	if strings.TrimSpace(text) == "" {
		return noOutput, nil
	}
	if len(text) <= OutcomeLimit {
		return text, nil
	}
	f, shown, err := c.OutputFile()
	if err != nil {
		return Clip(text, OutcomeLimit, ""), err
	}
	if _, err := f.WriteString(text); err != nil {
		return Clip(text, OutcomeLimit, ""), fmt.Errorf("writing a long output: %w", err)
	}
	return Clip(text, OutcomeLimit, "; the whole is in "+shown+", which read_file can page"), nil
}
