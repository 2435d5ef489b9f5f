package bot

import (
	"strings"
	"testing"

	"nod/bot/keyboard"
	"nod/bot/render"
	"nod/store"
)

// TestEscapeMarkdown: what is escaped is shown as it was written.
func TestEscapeMarkdown(t *testing.T) {
	for _, s := range []string{
		"every 5 seconds (Etc/UTC)", "[a](http://b)", "*x* _y_ `z` ~~s~~", "1. one", "# no head", "- no list", "a \\(b\\) $c$", "<b>&amp;</b>", "|a|b|", "!",
	} {
		parts, _ := render.Answer("**x** " + escapeMarkdown(s))
		if len(parts) != 1 || parts[0].Plain != "x "+s {
			t.Errorf("%q is shown as %+v", s, parts)
		}
	}
}

// TestSEND2_TheKeyboardStandsOnTheLastPart: of 5,000 characters with a keyboard, the last message has it.
func TestSEND2_TheKeyboardStandsOnTheLastPart(t *testing.T) {
	kb := keyboard.Question("nonce", []string{"yes", "no"})
	items := replyItems(store.Address{Chat: 1}, 7, strings.Repeat("five! ", 5000/6), kb)
	if len(items) != 2 {
		t.Fatalf("there are %d messages", len(items))
	}
	if items[0].Keyboard != nil || items[1].Keyboard != kb {
		t.Errorf("keyboards: %v, %v", items[0].Keyboard, items[1].Keyboard)
	}
	if items[0].ReplyTo != 7 || items[1].ReplyTo != 0 || items[0].Silent || !items[1].Silent {
		t.Errorf("both parts refer or sound alike: %+v", items)
	}
	if got := replyItems(store.Address{Chat: 1}, 7, " ", kb); len(got) != 0 {
		t.Errorf("nothing to say becomes %+v", got)
	}
}
