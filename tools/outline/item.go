package outline

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	maxItems  = 2000 // definitions of a file that are kept
	maxNested = 8    // levels of definitions in definitions that are shown
	maxSign   = 200  // characters of a definition that are shown
)

// item is one definition.
type item struct {
	Line  int    // where it begins, from 1
	End   int    `json:",omitempty"` // its last line; 0 when it is not known
	Depth int    `json:",omitempty"` // how many definitions it lies in
	Text  string // its signature, on one line
}

// found is what was found in a file.
type found struct {
	Items []item `json:",omitempty"`
	More  int    `json:",omitempty"` // definitions beyond maxItems
	// Note says what to keep in mind about the items, such as a syntax error in the file.
	Note string `json:",omitempty"`
}

func (f *found) add(it item) {
	if len(f.Items) == maxItems {
		f.More++
		return
	}
	it.Depth = min(max(it.Depth, 0), maxNested)
	it.Text = signature(it.Text)
	f.Items = append(f.Items, it)
}

// signature is the head of a definition on one line.
func signature(head string) string {
	if len(head) > 16*maxSign { // what follows would be cut anyway
		head = head[:16*maxSign]
	}
	head = strings.Join(strings.Fields(strings.ToValidUTF8(head, "�")), " ")
	head = strings.NewReplacer("( ", "(", " )", ")", ",)", ")").Replace(head)
	if utf8.RuneCountInString(head) > maxSign {
		head = string([]rune(head)[:maxSign-1]) + "…"
	}
	return head
}

// maxText is where an outline ends, in bytes. It stays below tools.OutcomeLimit.
const maxText = 90 << 10

// text is the outline of a file as the model reads it.
func (f found) text(shown string, lines int) string {
	if len(f.Items) == 0 {
		return strings.TrimSuffix(fmt.Sprintf("%s, %s: no definitions were found (%s)", shown, count(lines, "line"), f.Note), " ()")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s, %s", shown, count(lines, "line"), count(len(f.Items)+f.More, "definition"))
	if f.Note != "" {
		fmt.Fprintf(&b, " (%s)", f.Note)
	}
	b.WriteString(":\n")
	for i, it := range f.Items {
		place := fmt.Sprint(it.Line)
		if it.End > it.Line {
			place = fmt.Sprintf("%d–%d", it.Line, it.End)
		}
		line := fmt.Sprintf("%s\t%s%s\n", place, strings.Repeat("  ", it.Depth), it.Text)
		if b.Len()+len(line) > maxText {
			f.More += len(f.Items) - i
			break
		}
		b.WriteString(line)
	}
	if f.More > 0 {
		fmt.Fprintf(&b, "[%d more; search_file and read_file show them]\n", f.More)
	}
	return b.String()
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
