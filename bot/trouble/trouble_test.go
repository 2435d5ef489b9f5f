package trouble_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/bot/trouble"
)

// play notes what happens at the given minutes, and gives the words that were said with theirs.
func play(p trouble.Patience, minutes int, fails func(minute int) bool) map[int]trouble.Word {
	var s trouble.Spell
	said := map[int]trouble.Word{}
	start := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	for m := range minutes {
		now := start.Add(time.Duration(m) * time.Minute)
		word := s.Fine
		if fails(m) {
			word = s.Failed
		}
		if w := word(now, p); w != trouble.Nothing {
			said[m] = w
		}
	}
	return said
}

func TestTroubleIsToldOnceAndItsEndToo(t *testing.T) {
	for name, tt := range map[string]struct {
		patience trouble.Patience
		fails    func(minute int) bool
		want     map[int]trouble.Word
	}{
		"none":        {trouble.Patience{}, func(int) bool { return false }, map[int]trouble.Word{}},
		"an hour":     {trouble.Patience{}, func(m int) bool { return m >= 10 && m < 70 }, map[int]trouble.Word{10: trouble.Begun, 70: trouble.Over}},
		"with delays": {trouble.Patience{After: 2 * time.Minute, Calm: 5 * time.Minute}, func(m int) bool { return m >= 10 && m < 70 }, map[int]trouble.Word{12: trouble.Begun, 74: trouble.Over}},
		"a short one": {trouble.Patience{After: 5 * time.Minute}, func(m int) bool { return m >= 10 && m < 14 }, map[int]trouble.Word{}},
		"far apart":   {trouble.Patience{}, func(m int) bool { return m == 10 || m == 90 }, map[int]trouble.Word{10: trouble.Begun, 11: trouble.Over, 90: trouble.Begun, 91: trouble.Over}},
		"flapping for two hours": {
			trouble.Patience{},
			func(m int) bool { return m < 120 && m%2 == 0 },
			map[int]trouble.Word{0: trouble.Begun, 1: trouble.Over, 2: trouble.Returned, 178: trouble.Over},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, play(tt.patience, 600, tt.fails)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAClockThatIsSetBackDoesNotHideTheEnd(t *testing.T) {
	p := trouble.Patience{Calm: time.Minute}
	var s trouble.Spell
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	s.Failed(now, p)
	now = now.Add(-24 * time.Hour)
	if w := s.Fine(now, p); w != trouble.Nothing {
		t.Errorf("at once: %v", w)
	}
	if w := s.Fine(now.Add(time.Minute), p); w != trouble.Over {
		t.Errorf("a minute later: %v", w)
	}
}
