package tools

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a label, in characters.
const (
	LabelShort = 60
	LabelFull  = 120
)

// Quote puts a label's subject between backticks; joinLabel keeps the closing one when it cuts.
func Quote(subject string) string { return "`" + subject + "`" }

// joinLabel is the tool's name and what it acts on, on one line and within limit characters.
func joinLabel(name, about string, limit int) string {
	label := strings.TrimSpace(name + " " + oneLine(about))
	if utf8.RuneCountInString(label) <= limit {
		return label
	}
	cut := clipLabel(label, limit)
	kept := len(cut) - len("…")
	first, last := strings.Index(label, "`"), strings.LastIndex(label, "`")
	if first < 0 || first >= kept || last < kept {
		return cut // not within the backticks
	}
	cut = clipLabel(label, limit-1)
	if first < len(cut)-len("…") {
		cut += "`"
	}
	return cut
}

// clipLabel cuts at a rune's edge and says so with an ellipsis.
func clipLabel(label string, limit int) string {
	if utf8.RuneCountInString(label) <= limit {
		return label
	}
	return string([]rune(label)[:limit-1]) + "…"
}

// maxGist bounds a tool's line in a list, in characters.
const maxGist = 70

// Gist is the first sentence of a description, or as much of it as fits a line or two.
func Gist(description string) string {
	first, _, _ := strings.Cut(strings.Join(strings.Fields(description), " "), ". ")
	first, _, _ = strings.Cut(first, ": ")
	first = strings.TrimSuffix(first, ".")
	if utf8.RuneCountInString(first) <= maxGist {
		return first
	}
	kept := string([]rune(first)[:maxGist-1])
	if end := strings.LastIndexByte(kept, ' '); end > 0 {
		kept = kept[:end]
	}
	return strings.TrimRight(kept, " ,;:") + "…"
}

// oneLine folds white space and drops what can't be seen: a label is a hint, the card shows the real thing.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	return strings.Join(strings.Fields(s), " ")
}

// indent writes canonical arguments for people.
func indent(args json.RawMessage) string {
	var v any
	if json.Unmarshal(args, &v) != nil {
		return string(args)
	}
	return encodeJSON(v, "  ")
}

// encodeJSON is JSON as people write it: without HTML escapes and without a final newline.
func encodeJSON(v any, indent string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	if enc.Encode(v) != nil {
		return ""
	}
	return strings.TrimSuffix(b.String(), "\n")
}
