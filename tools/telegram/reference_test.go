package telegram

import (
	"testing"

	"nod/tools"
)

func TestParseReference(t *testing.T) {
	for text, want := range map[string]tools.MessageRef{
		"": {}, "latest": {}, "the latest": {}, " Latest ": {}, "1": {}, "3": {Back: 2}, "20": {Back: 19},
		"sent": {Own: true}, "sent latest": {Own: true}, "SENT 2": {Own: true, Back: 1},
	} {
		if got, err := parseReference(text); err != nil || got != want {
			t.Errorf("%q is %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"0", "21", "-1", "1.5", "first", "sent 0", "sent 2 3", "4213377", "-1001234567890", "1 2"} {
		if got, err := parseReference(text); err == nil {
			t.Errorf("%q was taken as %+v", text, got)
		}
	}
}

func TestReactions_AreTelegrams73(t *testing.T) {
	seen := map[string]bool{}
	for _, emoji := range reactions {
		seen[emoji] = true
	}
	if len(seen) != 73 || seen["✅"] || !seen["👍"] {
		t.Errorf("there are %d reactions", len(seen))
	}
}
