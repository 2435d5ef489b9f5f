package llm

import (
	"fmt"
	"unicode/utf8"
)

// Bounds of an answer, in bytes unless said otherwise. The longest answers that models give, of 128,000 tokens, have
// about half a megabyte; what is longer comes of a model or a service that has run away.
const (
	maxText   = 1 << 20   // visible text
	maxArgs   = 256 << 10 // arguments of a call
	maxAnswer = 4 << 20   // all that is kept of an answer, with reasoning and what the service wants back
	maxCalls  = 128       // how many calls
	keptArgs  = 1 << 10   // how much is kept of arguments that are too long
)

// excess is the error of an answer that outgrew its bounds, and nil before. The same question would bring the like again,
// so that it is not asked once more.
func (d *draft) excess(m *Model) error {
	var what string
	switch {
	case d.longText:
		what = fmt.Sprintf("its text is longer than %d MiB", maxText>>20)
	case len(d.calls) > maxCalls:
		what = fmt.Sprintf("it makes more than %d calls", maxCalls)
	case d.kept > maxAnswer:
		what = fmt.Sprintf("it is larger than %d MiB, reasoning included", maxAnswer>>20)
	default:
		return nil
	}
	return tooMuch(m, what)
}

func tooMuch(m *Model, what string) *Error {
	return &Error{Kind: KindTruncated, Model: m.Name, Message: "nod cut it: " + what, final: true}
}

// grow adds a fragment to a call's arguments. Of those that are too long only the beginning is kept.
func (c *callDraft) grow(args string) {
	if c.long || len(c.args)+len(args) > maxArgs {
		c.long = true
		c.args = c.args[:min(len(c.args), keptArgs)]
		return
	}
	c.args = append(c.args, args...)
}

// whole takes all of a call's arguments in place of what came before.
func (c *callDraft) whole(args string) {
	if len(args) > maxArgs {
		c.long = true
		args = args[:keptArgs]
	}
	c.args = []byte(args)
}

// clipText cuts a text to at most n bytes, at a rune's edge.
func clipText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
