package llm

import (
	"net/url"
	"regexp"
	"strings"
	"unicode"
)

var (
	keyShapes = regexp.MustCompile(`\b(?:sk|gsk|xai|pplx|nvapi|AIza|hf)[-_][A-Za-z0-9_\-]{12,}|AIza[A-Za-z0-9_\-]{20,}|(?i:bearer)\s+[A-Za-z0-9._~+/\-]{8,}=*`)
	urlTails  = regexp.MustCompile(`(https?://)(?:[^\s/@"']+@)?([^\s?#"']*)[?#][^\s"']*`)
)

// redact makes a service's words fit to be shown: without the given secrets, anything shaped like a key and the query
// of addresses; on one line, at most limit characters.
func redact(s string, secrets []string, limit int) string {
	for _, k := range secrets {
		if len(k) < 8 { // too short for a key; it would blot out ordinary words
			continue
		}
		s = strings.ReplaceAll(s, k, redacted)
		if e := url.QueryEscape(k); e != k {
			s = strings.ReplaceAll(s, e, redacted)
		}
	}
	s = keyShapes.ReplaceAllString(s, redacted)
	s = urlTails.ReplaceAllString(s, "$1$2")
	s = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "�"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	if r := []rune(s); len(r) > limit {
		s = string(r[:limit-1]) + "…"
	}
	return s
}
