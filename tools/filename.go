package tools

import (
	"crypto/rand"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxName      = 120 // bytes of a safe name
	maxExtension = 16  // bytes of an ending that is kept when a name is cut, with its dot
	maxNamesakes = 50  // numbered ones, before random names
	namelessFile = "file"
)

// SafeName makes a file name of whatever a sender called it: one component of at most 120 bytes that keeps its ending,
// without control and invisible characters, characters that a shell or another system trips over, and dots, dashes or
// blanks at its beginning. It is never empty.
func SafeName(name string) string {
	name = strings.TrimRight(strings.ToValidUTF8(name, ""), `/\`)
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	name = strings.Map(safeRune, name)
	name = strings.Trim(strings.TrimLeft(name, ".- "), ". ")
	if name == "" {
		return namelessFile
	}
	return shorten(name, maxName)
}

func safeRune(r rune) rune {
	switch {
	case unicode.IsSpace(r) && r != '\u2028' && r != '\u2029':
		return ' '
	case unicode.Is(unicode.Variation_Selector, r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r),
		!unicode.IsPrint(r):
		return -1 // format, control, private and unassigned characters among them
	case strings.ContainsRune("/\\:*?\"<>|`$&;!'#%", r):
		return '_'
	}
	return r
}

// shorten cuts a name before its ending, at a rune's edge.
func shorten(name string, limit int) string {
	if len(name) <= limit {
		return name
	}
	ext := extension(name)
	stem := name[:limit-len(ext)]
	for len(stem) > 0 && !utf8.RuneStart(name[len(stem)]) {
		stem = stem[:len(stem)-1]
	}
	return strings.TrimRight(stem, ". ") + ext
}

// extension is a name's ending with its dot, or "" when it is too long to be one.
func extension(name string) string {
	ext := filepath.Ext(name)
	if len(ext) > maxExtension {
		return ""
	}
	return ext
}

// alternative is the n-th name for files that are called alike: report.pdf, report-2.pdf … and in the end random ones.
func alternative(name string, n int) string {
	if n == 1 {
		return name
	}
	suffix := "-" + strconv.Itoa(n)
	if n > maxNamesakes {
		suffix = "-" + strings.ToLower(rand.Text()[:10])
	}
	ext := extension(name)
	stem := strings.TrimSuffix(name, ext)
	return shorten(stem, maxName-len(ext)-len(suffix)) + suffix + ext
}
