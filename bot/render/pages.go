package render

import (
	"strings"
	"unicode/utf8"
)

// leastPage keeps pages useful, whatever a card's frame takes.
const leastPage = 256

// Pages cuts text that Visible made into pages for cards, so that each fits into a message inside of Pre beside budget
// code points of other text. Cuts fall behind a line end if one is near, else before a blank, and never into an escape
// or into what is seen as one character. The pages joined are the text; there is always one, be it empty.
func Pages(text string, budget int) []string {
	room := max(message.runes-budget, leastPage)
	var pages []string
	for {
		end := pageEnd(text, room)
		pages = append(pages, text[:end])
		if end == len(text) {
			return pages
		}
		text = text[end:]
	}
}

func pageEnd(text string, room int) int {
	most := 0
	for range room {
		_, size := utf8.DecodeRuneInString(text[most:])
		most += size
	}
	if most == len(text) {
		return most
	}
	page := text[:most]
	if at := strings.LastIndexByte(page, '\n') + 1; at > most/2 {
		return at
	}
	if at, ok := lastBlank([]byte(page), most/2, most-1); ok {
		return at
	}
	end := unitBorder([]byte(text[:min(len(text), most+utf8.UTFMax)]), 0, most)
	if at := strings.LastIndex(text[:end], string(escapeOpen)); at > 0 && !strings.Contains(text[at:end], string(escapeClose)) {
		return at
	}
	return end
}
