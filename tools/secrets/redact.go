package secrets

import (
	"encoding/base64"
	"encoding/hex"
	"iter"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Mask stands in the place of a secret.
const Mask = "[secret]"

// minSecret is the length, in bytes, below which a value is not looked for: it would be found in innocent words.
const minSecret = 6

// Redactor takes secrets out of texts: the exact values it was told, in the forms in which they travel, then what has
// the shape of a key. The zero value is ready and knows no values.
type Redactor struct {
	mu     sync.Mutex
	values []string
	known  atomic.Pointer[known]
}

// known is what is looked for: every form of every value.
type known struct {
	forms    []string
	replacer *strings.Replacer
	begins   [1 << 16 / 64]uint64 // a bit for each pair of bytes with which a form begins
}

func newKnown(forms []string) *known {
	k := &known{forms: forms}
	pairs := make([]string, 0, 2*len(forms))
	for _, form := range forms {
		pairs = append(pairs, form, Mask)
		word, bit := pair(form)
		k.begins[word] |= bit
	}
	k.replacer = strings.NewReplacer(pairs...)
	return k
}

// Add makes the redactor know a value, and each line of it that is long enough.
func (r *Redactor) Add(value string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for line := range strings.Lines(value) {
		r.add(strings.TrimRight(line, "\r\n"))
	}
	r.add(strings.TrimSpace(value))
	r.rebuild()
}

func (r *Redactor) add(value string) {
	if len(value) >= minSecret && !slices.Contains(r.values, value) {
		r.values = append(r.values, value)
	}
}

// rebuild makes one replacer of all forms of all values, the longest first: a value may be a part of another.
func (r *Redactor) rebuild() {
	var all []string
	for _, v := range r.values {
		all = append(all, forms(v)...)
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	all = slices.Compact(all)
	r.known.Store(newKnown(all))
}

// replace masks what is known. Most texts hold none of it, which is found out many times faster than a Replacer does.
func (k *known) replace(s string) string {
	for i := range len(s) - 1 {
		if word, bit := pair(s[i:]); k.begins[word]&bit != 0 && k.beginsAt(s[i:]) {
			return k.replacer.Replace(s)
		}
	}
	return s
}

func (k *known) beginsAt(s string) bool {
	return slices.ContainsFunc(k.forms, func(form string) bool { return strings.HasPrefix(s, form) })
}

// pair is where the first two bytes of a text have their bit.
func pair(s string) (word int, bit uint64) {
	n := int(s[0])<<8 | int(s[1])
	return n >> 6, 1 << (n & 63)
}

// forms are the ways in which a value travels: as it is, in base64 (also when it does not begin at a multiple of three
// bytes), base64url, hex, percent-encoded, and in a JSON or Go string.
func forms(value string) []string {
	raw := []byte(value)
	all := []string{
		value, url.QueryEscape(value), url.PathEscape(value), hex.EncodeToString(raw), strings.ToUpper(hex.EncodeToString(raw)),
		strings.ReplaceAll(strings.ReplaceAll(value, `\`, `\\`), `"`, `\"`),
	}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for offset := range 3 {
			all = append(all, inner(enc, raw, offset))
		}
	}
	return slices.DeleteFunc(all, func(s string) bool { return len(s) < minSecret })
}

// inner is the part of a base64 text that depends on the value alone, when offset other bytes stand before it.
func inner(enc *base64.Encoding, raw []byte, offset int) string {
	padded := append(make([]byte, offset), raw...)
	text := enc.EncodeToString(padded)
	head := []int{0, 2, 3}[offset]
	tail := len(padded) * 8 / 6
	return text[min(head, tail):tail]
}

// shapes are keys that are recognised without being known. A Telegram token has no word boundary before it: it stands
// right behind "bot" in a URL. Few texts need them, and a start of the program should not pay for them.
var shapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(strings.Join([]string{
		`[0-9]{8,12}:[A-Za-z0-9_-]{35}`,                                      // Telegram
		`\bsk-[A-Za-z0-9_-]{20,}`,                                            // OpenAI and its relatives
		`\bgh[pousr]_[A-Za-z0-9]{36,}`,                                       // GitHub
		`\bgithub_pat_[A-Za-z0-9_]{22,}`,                                     //
		`\bglpat-[A-Za-z0-9_-]{20,}`,                                         // GitLab
		`\bxox[abprs]-[A-Za-z0-9-]{10,}`,                                     // Slack
		`\bAKIA[0-9A-Z]{16}\b`,                                               // AWS
		`\bAIza[0-9A-Za-z_-]{35}`,                                            // Google
		`\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`, // JSON Web Token
		`-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----`,
	}, "|"))
})

// Redact takes secrets out of a text.
func (r *Redactor) Redact(s string) string {
	if k := r.known.Load(); k != nil {
		s = k.replace(s)
	}
	if !suspicious(s) {
		return s
	}
	return shapes().ReplaceAllString(s, Mask)
}

// marks begin the shapes, each at the beginning of a word: most texts have none, and need no regular expression.
var marks = []string{"sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "AKIA", "AIza", "eyJ"}

func suspicious(s string) bool {
	for _, mark := range marks {
		for at := range occurrences(s, mark) {
			if at == 0 || !isWord(s[at-1]) {
				return true
			}
		}
	}
	for at := range occurrences(s, ":") { // of a Telegram token
		if at >= 8 && len(s) > at+35 && strings.Trim(s[at-8:at], "0123456789") == "" {
			return true
		}
	}
	return strings.Contains(s, "PRIVATE KEY")
}

// occurrences are the places of part in s.
func occurrences(s, part string) iter.Seq[int] {
	return func(yield func(int) bool) {
		for at := 0; ; at += len(part) {
			next := strings.Index(s[at:], part)
			if next < 0 || !yield(at+next) {
				return
			}
			at += next
		}
	}
}

// isWord says whether a byte is of a word as \b in a regular expression means it.
func isWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// begun is a shape that has begun at the end of a text.
var begun = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:\b(?:` + strings.Join(marks, "|") + `)[A-Za-z0-9_.-]*|[0-9]{8,12}:[A-Za-z0-9_-]*|-----BEGIN [A-Z ]*(?:PRIVATE KEY[\s\S]*)?)$`)
})

// Growing is Redact for a text that is still being written: it leaves off an end that may be the beginning of a secret.
func (r *Redactor) Growing(s string) string {
	s = r.Redact(s)
	if at := begun().FindStringIndex(s); at != nil {
		s = s[:at[0]]
	}
	k := r.known.Load()
	if k == nil {
		return s
	}
	keep := len(s)
	for _, form := range k.forms {
		for n := min(len(form)-1, len(s)); n > 0; n-- {
			if strings.HasSuffix(s, form[:n]) {
				keep = min(keep, len(s)-n)
				break
			}
		}
	}
	return s[:keep]
}
