package fs

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var numberedLine = regexp.MustCompile(`^\s*\d+\t`)

// nearMiss says why a text was not found, as far as that can be seen: line numbers copied along, other white space, or a
// later line that differs.
func nearMiss(text, old string) string {
	want := lines(strings.Trim(strings.ReplaceAll(old, "\r\n", "\n"), "\n"))
	if len(want) == 0 {
		return "; it is made of empty lines only"
	}
	if !slices.ContainsFunc(want, func(line string) bool { return !numberedLine.MatchString(line) }) {
		return "; leave out the line numbers that read_file puts before the lines"
	}
	have := lines(text)
	squeezed := make([]string, len(have))
	for i, line := range have {
		squeezed[i] = squeeze(line)
	}
	for i := range want {
		want[i] = squeeze(want[i])
	}
	if i := window(squeezed, want); i >= 0 {
		return fmt.Sprintf("; with other white space it stands at line %d, as:\n%s", i+1, strings.Join(clipLines(have[i:i+len(want)]), ""))
	}
	if i := furthest(squeezed, want); i >= 0 {
		same := agreement(squeezed[i:], want)
		return fmt.Sprintf("; its first %s as at line %d, but then the file has:\n%s",
			agreeing(same), i+1, strings.Join(clipLines(have[min(i+same, len(have)):min(i+same+1, len(have))]), ""))
	}
	return "; read the file again and copy the text from there"
}

func agreeing(n int) string {
	if n == 1 {
		return "line is"
	}
	return fmt.Sprintf("%d lines are", n)
}

func squeeze(line string) string { return strings.Join(strings.Fields(line), " ") }

// window finds want as consecutive lines of have; a single line may be part of one.
func window(have, want []string) int {
	for i := range have {
		if len(want) == 1 && want[0] != "" && strings.Contains(have[i], want[0]) {
			return i
		}
		if len(want) > 1 && i+len(want) <= len(have) && slices.Equal(have[i:i+len(want)], want) {
			return i
		}
	}
	return -1
}

// furthest finds where the most lines of want agree with have, from its first line on.
func furthest(have, want []string) int {
	best, most := -1, 0
	for i := range have {
		if n := agreement(have[i:], want); n > most {
			best, most = i, n
		}
	}
	return best
}

func agreement(have, want []string) int {
	n := 0
	for n < len(have) && n < len(want) && have[n] == want[n] && want[0] != "" {
		n++
	}
	return n
}

const (
	maxHintLines = 8
	maxHintLine  = 200 // bytes
)

func clipLines(found []string) []string {
	var out []string
	for _, line := range found[:min(len(found), maxHintLines)] {
		if line = strings.TrimRight(line, "\r\n"); len(line) > maxHintLine {
			line = strings.ToValidUTF8(line[:maxHintLine], "") + "…"
		}
		out = append(out, line+"\n")
	}
	return out
}
