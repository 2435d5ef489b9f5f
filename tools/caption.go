package tools

import (
	"fmt"
	"unicode/utf16"
)

// maxCaption is the longest caption that Telegram takes, in UTF-16 units.
const maxCaption = 1024

// CheckCaption refuses a text that is too long to stand under a file.
func CheckCaption(caption string) error {
	if n := len(utf16.Encode([]rune(caption))); n > maxCaption {
		return fmt.Errorf("the caption has %d characters, and Telegram takes %d; say the rest in your answer", n, maxCaption)
	}
	return nil
}
