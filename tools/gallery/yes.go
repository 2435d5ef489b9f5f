package gallery

import (
	"strings"
	"unicode"
)

// yesWords are what counts as a plain yes, folded: in English, German, French, Spanish, Italian, Portuguese, Dutch, Polish,
// Russian, Turkish, Chinese and Japanese. Anything else is a no.
var yesWords = set(
	"yes", "y", "yep", "yeah", "ok", "okay", "sure", "confirm", "confirmed", "go ahead", "do it", "yes please",
	"ja", "jawohl", "ja bitte", "gerne", "bestatigt", "bestatigen", "in ordnung", "passt",
	"oui", "d'accord", "dac", "oui merci", "confirme", "je confirme", "vas y", "allez y",
	"si", "vale", "de acuerdo", "confirmo", "claro", "adelante",
	"si grazie", "va bene", "certo", "d'accordo", "procedi", "confermo",
	"sim", "pode", "pode ser", "confirmado", "esta bem",
	"ja graag", "akkoord", "prima", "doe maar", "bevestig",
	"tak", "dobrze", "zgoda", "jasne", "potwierdzam",
	"да", "ага", "ок", "хорошо", "подтверждаю", "давай", "конечно",
	"evet", "tamam", "olur", "onayliyorum", "tabii",
	"是", "是的", "好", "好的", "可以", "行", "确认", "確認", "对", "嗯",
	"はい", "うん", "ええ", "お願いします", "確認しました", "いいよ", "了解",
	"👍", "👍👍", "✅", "👌",
)

func set(words ...string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}

// PlainYes says whether a message is nothing but a yes. Case, accents, punctuation and white space don't count.
func PlainYes(text string) bool {
	if len(text) > 100 {
		return false
	}
	return yesWords[fold(text)]
}

// plainLetters are the letters with marks that the words have, without them.
var plainLetters = strings.NewReplacer("á", "a", "à", "a", "ä", "a", "â", "a", "é", "e", "è", "e", "ê", "e", "í", "i", "ì", "i", "ı", "i",
	"ó", "o", "ò", "o", "ö", "o", "ú", "u", "ü", "u", "ą", "a", "ę", "e", "ć", "c", "ł", "l", "ś", "s", "ż", "z", "ź", "z", "ğ", "g", "ş", "s", "’", "'")

// fold reduces a text to what its words are told by.
func fold(text string) string {
	lower := plainLetters.Replace(strings.ToLower(text))
	var b strings.Builder
	for _, r := range lower {
		switch {
		case r == '\'':
			b.WriteRune(r)
		case unicode.Is(unicode.Mn, r), r >= 0x1F3FB && r <= 0x1F3FF, r == 0xFE0F, r == 0x200D: // marks, skin tones, how an emoji is drawn
		case unicode.IsSpace(r), unicode.IsPunct(r):
			b.WriteRune(' ')
		default:
			b.WriteRune(r)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
