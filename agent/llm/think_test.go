package llm

import (
	"strings"
	"testing"
)

// filter runs chunks through a thinkFilter and gives what a reader ends up with.
func filter(chunks []string) (text, thought string) {
	var f thinkFilter
	take := func(p piece) {
		if p.retract {
			thought, text = thought+text, ""
		}
		thought, text = thought+p.thought, text+p.text
	}
	for _, c := range chunks {
		take(f.add(c))
	}
	take(f.end())
	return text, thought
}

func FuzzThink(f *testing.F) {
	f.Add("<think>a</think> b", uint8(3))
	f.Add("a</think>b</thinking><THINK>", uint8(1))
	f.Add("`<think>` <thin", uint8(2))
	f.Add("<<think>>x<</think>", uint8(5))
	f.Fuzz(func(t *testing.T, s string, size uint8) {
		text, thought := filter([]string{s})
		var chunks []string
		step := int(size%16) + 1
		for rest := s; rest != ""; {
			n := min(step, len(rest))
			chunks, rest = append(chunks, rest[:n]), rest[n:]
		}
		splitText, splitThought := filter(chunks)
		if text != splitText || thought != splitThought {
			t.Fatalf("whole: %q %q; in pieces of %d: %q %q", text, thought, step, splitText, splitThought)
		}
		if !strings.Contains(strings.ToLower(s), "think") && (text != s || thought != "") {
			t.Fatalf("text without tags changed: %q to %q", s, text)
		}
		if len(text)+len(thought) > len(s) {
			t.Fatalf("%q grew to %q and %q", s, text, thought)
		}
	})
}
