package agent

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/agent/llm"
	"nod/store"
	"nod/tools"
)

// talk writes transcripts for tests.
type talk struct {
	entries []Entry
	turn    store.TurnID
}

func (k *talk) add(e Entry) *talk {
	e.Turn = k.turn
	e.seq = uint64(len(k.entries) + 1)
	e.tokens = llm.EstimateMessages([]llm.Message{e.Message})
	k.entries = append(k.entries, e)
	return k
}

// user begins a turn; more is said within it.
func (k *talk) user(text string) *talk {
	k.turn = store.TurnID(fmt.Sprintf("turn%d", len(k.entries)))
	return k.more(text)
}

func (k *talk) more(text string) *talk {
	return k.add(Entry{Message: llm.Message{Role: llm.RoleUser, Text: text}})
}

func (k *talk) answer(text string, calls ...string) *talk {
	e := Entry{Message: llm.Message{Role: llm.RoleAssistant, Text: text}}
	for _, id := range calls {
		e.Calls = append(e.Calls, store.CallID(id))
		e.Message.Calls = append(e.Message.Calls, llm.Call{ID: id, Name: "read_it", Args: "{}"})
	}
	return k.add(e)
}

func (k *talk) result(id, text string) *talk {
	return k.add(Entry{Call: store.CallID(id), Message: llm.Message{Role: llm.RoleTool, CallID: id, Text: text}})
}

// brief is one word a line: who speaks, and the beginning of what.
func brief(lines []line) (out []string) {
	for _, l := range lines {
		text := l.Text
		switch {
		case text == shrunk:
			text = "(shrunk)"
		case strings.Contains(text, "left out"):
			text = "(clipped)"
		case len(text) > 12:
			text = text[:12] + "…"
		}
		out = append(out, string(l.Role)+" "+text)
	}
	return out
}

func TestHistoryMODEL1ResultsFollowTheirCallsInOrder(t *testing.T) {
	k := (&talk{}).user("look").answer("I look", "a", "b", "c").result("c", "C").result("a", "A").result("gone", "orphan").
		more("and this").result("b", "B").answer("done")
	want := []string{"user look", "assistant I look", "tool A", "tool B", "tool C", "user and this", "assistant done"}
	if diff := cmp.Diff(want, brief(newHistory(Session{}, k.entries).lines)); diff != "" {
		t.Error(diff)
	}
	k = (&talk{}).user("look").answer("", "a", "b").result("b", "B")
	got := newHistory(Session{Summary: "before"}, k.entries)
	if diff := cmp.Diff([]string{"user [Summary of …", "user look", "assistant ", "tool B"}, brief(got.lines)); diff != "" {
		t.Error(diff)
	}
	// What is sent has a result for the open call too.
	var messages []llm.Message
	for _, l := range got.lines {
		messages = append(messages, l.Message)
	}
	sent := llm.Sanitize(messages)
	if n := len(sent); n != 4 || sent[2].CallID != "a" || sent[3].CallID != "b" {
		t.Errorf("sent: %+v", sent)
	}
}

func TestOpenCallsAreThoseOfTheTurnAlone(t *testing.T) {
	for name, tt := range map[string]struct {
		talk *talk
		want []store.CallID
	}{
		"none":                 {(&talk{}).user("x").answer("y"), nil},
		"one of two":           {(&talk{}).user("x").answer("", "a", "b").result("b", "B"), []store.CallID{"a"}},
		"of the last answer":   {(&talk{}).user("x").answer("", "a").result("a", "A").answer("", "b"), []store.CallID{"b"}},
		"left by another turn": {(&talk{}).user("x").answer("", "a").user("y"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []store.CallID
			for _, c := range openCalls(tt.talk.entries, tt.talk.turn) {
				got = append(got, c.id)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFitGivesUpWhatHurtsLeastFirst(t *testing.T) {
	long := strings.Repeat("word ", 400) // 500 tokens
	build := func() *history {
		k := (&talk{}).user("first").answer("", "a").result("a", long).answer("one").
			user("second").answer("two "+long).
			user("third").answer("", "b").result("b", long).answer("", "c", "d").result("c", long).result("d", long).more("hurry")
		return newHistory(Session{Summary: "what was before"}, k.entries)
	}
	const summary = "user [Summary of …"
	for _, tt := range []struct {
		name   string
		budget int
		want   []string
	}{
		{"all fits", 3000, []string{
			summary, "user first", "assistant ", "tool word word wo…", "assistant one", "user second", "assistant two word wor…",
			"user third", "assistant ", "tool word word wo…", "assistant ", "tool word word wo…", "tool word word wo…", "user hurry",
		}},
		{"the oldest result shrinks", 2400, []string{
			summary, "user first", "assistant ", "tool (shrunk)", "assistant one", "user second", "assistant two word wor…",
			"user third", "assistant ", "tool word word wo…", "assistant ", "tool word word wo…", "tool word word wo…", "user hurry",
		}},
		{"old turns go, the summary stays", 1300, []string{
			summary, "user third", "assistant ", "tool (shrunk)", "assistant ", "tool word word wo…", "tool word word wo…", "user hurry",
		}},
		{"new results are clipped", 800, []string{
			summary, "user third", "assistant ", "tool (shrunk)", "assistant ", "tool (clipped)", "tool (clipped)", "user hurry",
		}},
		{"nothing is enough", 0, []string{summary, "user hurry"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := build()
			if diff := cmp.Diff(tt.want, brief(h.fit(tt.budget))); diff != "" {
				t.Error(diff)
			}
			if tt.budget > 0 && h.total > tt.budget {
				t.Errorf("it has %d tokens, and %d fit", h.total, tt.budget)
			}
		})
	}
}

// TestFitKeepsTheRules takes random transcripts to random budgets.
func TestFitKeepsTheRules(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		k, record := randomTalk(random)
		budget := random.IntN(4000)
		h := newHistory(record, k.entries)
		whole := h.total
		lines := h.fit(budget)
		least := newHistory(record, k.entries)
		leastTotal := cost(least.fit(-1))
		switch total := cost(lines); {
		case total != h.total:
			t.Fatalf("the total is %d and said to be %d: %v", total, h.total, brief(lines))
		case whole <= budget && total != whole:
			t.Fatalf("%d tokens fitted into %d, yet %d are left", whole, budget, total)
		case total > budget && total > leastTotal:
			t.Fatalf("%d tokens do not fit %d, though %d were possible", total, budget, leastTotal)
		}
		checkLegal(t, record, k.entries, lines)
	}
}

func randomTalk(random *rand.Rand) (*talk, Session) {
	words := func() string { return strings.Repeat("word ", random.IntN(1000)) + "end" }
	var record Session
	if random.IntN(2) == 0 {
		record.Summary = words()
	}
	k := &talk{}
	for range 1 + random.IntN(6) {
		k.user(words())
		for range random.IntN(4) {
			switch random.IntN(3) {
			case 0:
				k.more(words())
			default:
				id := fmt.Sprint("call", len(k.entries))
				k.answer(words(), id, id+"b").result(id+"b", words()).result(id, words())
			}
		}
		if random.IntN(4) > 0 {
			k.answer(words())
		}
	}
	return k, record
}

func cost(lines []line) (n int) {
	for _, l := range lines {
		n += llm.EstimateMessages([]llm.Message{l.Message})
	}
	return n
}

func checkLegal(t *testing.T, record Session, entries []Entry, lines []line) {
	t.Helper()
	if lines[0].Role != llm.RoleUser {
		t.Fatalf("it begins with %s", lines[0].Role)
	}
	if record.Summary != "" && lines[0].Text != summaryHead+record.Summary {
		t.Fatal("the summary is gone")
	}
	last := ""
	for _, e := range entries {
		if e.Message.Role == llm.RoleUser {
			last = e.Message.Text
		}
	}
	open, found := map[string]bool{}, false
	for _, l := range lines {
		found = found || l.Role == llm.RoleUser && l.Text == last
		for _, c := range l.Calls {
			open[c.ID] = true
		}
		if l.Role == llm.RoleTool {
			if !open[l.CallID] {
				t.Fatalf("a result without its call: %v", brief(lines))
			}
			delete(open, l.CallID)
		}
	}
	if !found || len(open) > 0 {
		t.Fatalf("the last message is there: %v; calls without a result: %v; %v", found, open, brief(lines))
	}
}

func TestLatestPicturesGoWithTheirMessages(t *testing.T) {
	album := func(n int) (all []tools.Image) {
		for i := range n {
			all = append(all, tools.Image{MIME: "image/png", Path: fmt.Sprint(i)})
		}
		return all
	}
	k := (&talk{}).user("old").user("album").user("new")
	k.entries[0].Images, k.entries[1].Images, k.entries[2].Images = album(1), album(10), album(2)
	var got []int
	for _, l := range newHistory(Session{}, k.entries).lines {
		got = append(got, len(l.pictures))
	}
	if diff := cmp.Diff([]int{0, 4, 2}, got); diff != "" {
		t.Error(diff)
	}
	if first := newHistory(Session{}, k.entries).lines[1].pictures[0].Path; first != "6" {
		t.Errorf("of an album the last are shown, not from %s on", first)
	}
}

func TestCutBeforeKeepsWholeTurns(t *testing.T) {
	k := (&talk{}).user("1").answer("", "a").result("a", "A").answer("x").user("2").answer("y").user("3").answer("z")
	for _, tt := range []struct {
		keep     int
		underWay store.TurnID
		want     int
	}{
		{2, "", 4},
		{1, "", 6},
		{0, "", 8},
		{3, "", 0},
		{9, "", 0},
		{2, k.turn, 0},
		{1, k.turn, 4},
		{0, k.turn, 6},
	} {
		if got := cutBefore(k.entries, tt.keep, tt.underWay); got != tt.want {
			t.Errorf("keeping %d of it with %q under way cuts before %d, want %d", tt.keep, tt.underWay, got, tt.want)
		}
	}
	if got := cutBefore(nil, 0, ""); got != 0 {
		t.Errorf("nothing is cut before %d", got)
	}
}

// TestFitShortensArguments: what a model wrote into calls in this turn gives way too, and the calls stay legal.
func TestFitShortensArguments(t *testing.T) {
	long := `{"path":"a.txt","content":"` + strings.Repeat("word ", 10_000) + `","mode":7}`
	k := (&talk{}).user("write")
	for i := range 8 {
		id := fmt.Sprint(i)
		k.answer("", id)
		k.entries[len(k.entries)-1].Message.Calls[0].Args = long
		k.entries[len(k.entries)-1].tokens = 0
		k.result(id, "done")
	}
	h := newHistory(Session{}, k.entries)
	lines := h.fit(1000)
	if len(lines) != 17 || h.total > 1000 || cost(lines) != h.total {
		t.Fatalf("%d lines of %d tokens are left, said to be %d", len(lines), cost(lines), h.total)
	}
	for _, l := range lines {
		for _, c := range l.Calls {
			if want := `{"content":"[left out to save room]","mode":7,"path":"a.txt"}`; c.Args != want {
				t.Errorf("arguments %s", c.Args)
			}
		}
	}
	if k.entries[1].Message.Calls[0].Args != long {
		t.Error("the transcript itself was changed")
	}
}
