package bot

import (
	"testing"

	"nod/bot/render"
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
