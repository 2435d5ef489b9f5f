package bot

import (
	"strings"
	"testing"
	"time"

	"nod/approvals"
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

// TestAgo: how long ago something was is said as people say it.
func TestAgo(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "just now", 0: "just now", 4900 * time.Millisecond: "just now", 12400 * time.Millisecond: "12 s ago",
		59 * time.Second: "59 s ago", 3*time.Minute + 50*time.Second: "3 min ago", 50 * time.Hour: "50 h ago",
	} {
		if got := agoText(d); got != want {
			t.Errorf("%s is %q, want %q", d, got, want)
		}
	}
}

// TestGrantWords: what a grant is of, and where it holds, is said in the words of the buttons that gave it.
func TestGrantWords(t *testing.T) {
	v := &View{zone: time.UTC}
	until := time.Date(2026, 7, 1, 9, 15, 0, 0, time.UTC)
	for _, c := range []struct {
		grant approvals.Grant
		want  string
	}{
		{approvals.Grant{Session: "here", Category: "shell"}, "commands, for this session"},
		{approvals.Grant{Session: "here", Category: "filesystem", Until: until}, "files, for this session until 09:15"},
		{approvals.Grant{Session: "there", Category: "MCP notes"}, "MCP notes, for a session elsewhere"},
	} {
		if got := kindWords(c.grant.Category) + ", " + v.grantTime(c.grant, "here"); got != c.want {
			t.Errorf("%+v: %q", c.grant, got)
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
