package main

import (
	"strings"
	"testing"
	"testing/synctest"

	"nod/bot/emulator"
)

// story holds a conversation that a dialog can't say, because what is said is too long or has to be counted.
func story(t *testing.T, tell func(d *dialog)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := newDialog(t, newWorld(t))
		d.start()
		tell(d)
		d.settle()
		d.end()
	})
}

// said are the bot's messages in Ann's chat, oldest first.
func (d *dialog) said() (list []emulator.Message) {
	for _, m := range d.ann.Messages() {
		if m.From != nil && m.From.IsBot {
			list = append(list, m)
		}
	}
	return list
}

// words are numbered words, so that a missing or a moved one is seen.
func words(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		b.WriteString("word")
		for range i % 7 {
			b.WriteByte('a' + byte(i%26))
		}
		b.WriteByte(' ')
	}
	return b.String()[:n-1] + "."
}

// unspaced is a text without its white space, which a cut between two messages may take.
func unspaced(s string) string { return strings.Join(strings.Fields(s), "") }
