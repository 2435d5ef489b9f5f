package keyboard

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/go-telegram/bot/models"
	"github.com/google/go-cmp/cmp"
)

const id = "n0nce"

// drawn shows a keyboard as text: a line a row, each button with its data, style first.
func drawn(k *models.InlineKeyboardMarkup) string {
	var lines []string
	for _, r := range k.InlineKeyboard {
		var line []string
		for _, b := range r {
			line = append(line, strings.TrimPrefix(b.Style+":", ":")+"["+b.Text+"]"+b.CallbackData)
		}
		lines = append(lines, strings.Join(line, " "))
	}
	return strings.Join(lines, "\n")
}

func TestLayouts(t *testing.T) {
	for _, c := range []struct {
		name string
		got  *models.InlineKeyboardMarkup
		want []string
	}{
		{"approval", Approval(Card{ID: id}), []string{
			"success:[✅ Approve]1a.n0nce danger:[❌ Reject]1r.n0nce",
			"[⏱ 15 min]1f.n0nce [🔄 Session]1s.n0nce",
			"[♾ Always…]1w.n0nce",
		}},
		{"approval that no grant covers", Approval(Card{ID: id, Pages: 1, NoBypass: true}), []string{
			"success:[✅ Approve]1a.n0nce danger:[❌ Reject]1r.n0nce",
			"[♾ Always…]1w.n0nce",
		}},
		{"approval that is asked every time", Approval(Card{ID: id, NoBypass: true, NoAlways: true}), []string{
			"success:[✅ Approve]1a.n0nce danger:[❌ Reject]1r.n0nce",
		}},
		{"NOD-5 first of three pages", Approval(Card{ID: id, Pages: 3}), []string{"[to page 2 of 3 ▶]1p.n0nce.1", "danger:[❌ Reject]1r.n0nce"}},
		{"NOD-5 second of three pages", Approval(Card{ID: id, Page: 1, Pages: 3}), []string{
			"[◀ to page 1 of 3]1p.n0nce.0 [to page 3 of 3 ▶]1p.n0nce.2", "danger:[❌ Reject]1r.n0nce",
		}},
		{"NOD-5 last of three pages", Approval(Card{ID: id, Page: 2, Pages: 3}), []string{
			"[◀ to page 2 of 3]1p.n0nce.1",
			"success:[✅ Approve]1a.n0nce danger:[❌ Reject]1r.n0nce",
			"[⏱ 15 min]1f.n0nce [🔄 Session]1s.n0nce",
			"[♾ Always…]1w.n0nce",
		}},
		{"NOD-5 a page before the first", Approval(Card{ID: id, Page: -1, Pages: 2}), []string{"[to page 2 of 2 ▶]1p.n0nce.1", "danger:[❌ Reject]1r.n0nce"}},
		{"always", AlwaysConfirmation(id), []string{"success:[♾ Yes, always]1y.n0nce [↩ Back]1b.n0nce"}},
		{"question", Question(id, []string{"Yes", "No,\nnever", "\u200b"}), []string{"[Yes]1q.n0nce.0", "[No, never]1q.n0nce.1", "[…]1q.n0nce.2"}},
		{"question without answers", Question(id, nil), []string{}},
		{"interrupted", Interrupted(id), []string{"[🔁 Run again]1g.n0nce [⏭ Skip]1k.n0nce"}},
		{"job", Job("job1", JobPause), []string{"[▶ Run now]1J.job1 [⏸ Pause]1P.job1 danger:[🗑 Delete]1D.job1"}},
		{"paused job", Job("job1", JobResume), []string{"[▶ Run now]1J.job1 [▶ Resume]1R.job1 danger:[🗑 Delete]1D.job1"}},
		{"job without due times", Job("job1", 0), []string{"[▶ Run now]1J.job1 danger:[🗑 Delete]1D.job1"}},
		{"models", Models([]string{"gpt-5", "qwen"}, 2), []string{"[auto]1M.0", "[gpt-5]1M.1", "[✓ qwen]1M.2"}},
		{"grants", Grants([]Revocable{{"g1", false, "shell, 15 min"}, {"r1", true, "git status"}}), []string{
			"[🗑 shell, 15 min]1G.g1", "[🗑 git status]1U.r1",
		}},
		{"stranger", Stranger(42), []string{"success:[Allow]1A.42 [Ignore]1I.42"}},
		{"files", Files([]File{{"call1", "write_file notes.md"}}), []string{"[📎 write_file notes.md]1F.call1"}},
		{"an id that is none", Interrupted("No Id"), []string{"[🔁 Run again]1? [⏭ Skip]1?"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(strings.Join(c.want, "\n"), drawn(c.got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestNone: Telegram refuses a keyboard of null.
func TestNone(t *testing.T) {
	data, err := json.Marshal(None())
	if err != nil || string(data) != `{"inline_keyboard":[]}` {
		t.Errorf("%s, %v", data, err)
	}
}

func TestManyButtons(t *testing.T) {
	for _, answer := range []string{"", "yes", strings.Repeat("<", 80), strings.Repeat("👨‍👩‍👧‍👦", 80)} {
		k := Question(id, slices.Repeat([]string{answer}, 500))
		data, err := json.Marshal(k)
		if n := len(k.InlineKeyboard); err != nil || n < 5 || n > maxButtons || len(data) >= 10_000 {
			t.Errorf("%.9q: %d rows, %d bytes, %v", answer, n, len(data), err)
		}
	}
}

func TestLabel(t *testing.T) {
	family := "👨‍👩‍👧‍👦"
	for _, c := range []struct{ in, want string }{
		{"", "…"},
		{" \n\t", "…"},
		{"a\x00b\r\nc", "a b c"},
		{"\xff", "\uFFFD"},
		{strings.Repeat("x", 64), strings.Repeat("x", 64)},
		{strings.Repeat("x", 65), strings.Repeat("x", 63) + "…"},
		{strings.Repeat(family, 64), strings.Repeat(family, 64)},
		{strings.Repeat(family, 65), strings.Repeat(family, 63) + "…"},
		{strings.Repeat("e\u0301", 70), strings.Repeat("e\u0301", 63) + "…"},
	} {
		if got := label(c.in); got != c.want {
			t.Errorf("%q: want %q, got %q", c.in, c.want, got)
		}
	}
}
