package emulator

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Classes of entities: styles may overlap anything but code; code and links exclude each other; quotes do not nest.
var (
	styles = []string{"bold", "italic", "underline", "strikethrough", "spoiler"}
	codes  = []string{"code", "pre"}
	quotes = []string{"blockquote", "expandable_blockquote"}
)

// order breaks ties between entities of the same range: what comes first encloses the rest.
var order = slices.Concat(quotes, []string{"pre", "code"}, styles)

func rank(kind string) int {
	if i := slices.Index(order, kind); i >= 0 {
		return i
	}
	return len(order)
}

func byPlace(a, b Entity) int {
	return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(b.Length, a.Length), cmp.Compare(rank(a.Type), rank(b.Type)))
}

func (e Entity) end() int { return e.Offset + e.Length }

func overlap(a, b Entity) bool { return a.Offset < b.end() && b.Offset < a.end() }

// normalise makes the list legal for a text of that many units: sorted, in range, nothing nested that must not be, equal
// neighbouring styles merged.
func normalise(entities []Entity, units int) []Entity {
	var style, apart, quote []Entity
	sorted := slices.Clone(entities)
	slices.SortStableFunc(sorted, byPlace)
	for _, e := range sorted {
		e.Length = min(e.Length, units-e.Offset)
		if e.Offset < 0 || e.Length <= 0 {
			continue
		}
		switch {
		case slices.Contains(styles, e.Type):
			style = append(style, e)
		case slices.Contains(quotes, e.Type):
			quote = keepApart(quote, e)
		case known(e.Type):
			apart = keepApart(apart, e)
		}
	}
	quote = slices.DeleteFunc(quote, func(q Entity) bool {
		return slices.ContainsFunc(apart, func(e Entity) bool {
			return overlap(q, e) && !(q.Offset <= e.Offset && e.end() <= q.end())
		})
	})
	all := slices.Concat(quote, apart)
	for _, kind := range styles {
		all = append(all, spread(kind, style, all)...)
	}
	slices.SortStableFunc(all, byPlace)
	return all
}

func known(kind string) bool {
	return slices.Contains(codes, kind) || slices.Contains([]string{"text_link", "text_mention", "custom_emoji", "date_time"}, kind)
}

// keepApart adds e unless it meets one that is there already.
func keepApart(list []Entity, e Entity) []Entity {
	if slices.ContainsFunc(list, func(o Entity) bool { return overlap(o, e) }) {
		return list
	}
	return append(list, e)
}

// spread merges the ranges of one style, cuts code out of them, and splits them where they cross another entity.
func spread(kind string, style, others []Entity) []Entity {
	var merged []Entity
	for _, e := range style {
		if e.Type != kind {
			continue
		}
		if n := len(merged); n > 0 && e.Offset <= merged[n-1].end() {
			merged[n-1].Length = max(merged[n-1].end(), e.end()) - merged[n-1].Offset
			continue
		}
		merged = append(merged, Entity{Type: kind, Offset: e.Offset, Length: e.Length})
	}
	for _, o := range others {
		var parts []Entity
		for _, e := range merged {
			parts = append(parts, cut(e, o)...)
		}
		merged = parts
	}
	return merged
}

// cut removes from style what lies in code, and splits it where it crosses the border of a link or a quote.
func cut(style, o Entity) []Entity {
	if !overlap(style, o) || slices.Contains(styles, o.Type) {
		return []Entity{style}
	}
	isCode := slices.Contains(codes, o.Type)
	encloses := style.Offset <= o.Offset && o.end() <= style.end()
	inside := o.Offset <= style.Offset && style.end() <= o.end()
	if !isCode && (encloses || inside) {
		return []Entity{style}
	}
	var parts []Entity
	add := func(from, to int) {
		if from < to {
			parts = append(parts, Entity{Type: style.Type, Offset: from, Length: to - from})
		}
	}
	add(style.Offset, min(style.end(), o.Offset))
	if !isCode {
		add(max(style.Offset, o.Offset), min(style.end(), o.end()))
	}
	add(max(style.Offset, o.end()), style.end())
	return parts
}

var tgUser = regexp.MustCompile(`^tg:(?://)?user\?id=(\d+)$`)

// link makes e a text_link to address, or a text_mention of a user; false when the address is not usable.
func (e *Entity) link(address string) bool {
	if m := tgUser.FindStringSubmatch(address); m != nil {
		id, err := strconv.ParseInt(m[1], 10, 64)
		e.Type, e.URL, e.User = "text_mention", "", &User{ID: id, FirstName: "User " + m[1]}
		return err == nil && id > 0
	}
	checked := checkedLink(address)
	e.Type, e.URL = "text_link", checked
	return checked != ""
}

// checkedLink returns the address as Telegram keeps it, with its scheme and a path, or "".
func checkedLink(address string) string {
	address = strings.TrimSpace(address)
	if !strings.Contains(address, ":") || hostPort.MatchString(address) {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	switch strings.ToLower(u.Scheme) {
	case "tg", "ton", "mailto", "tel":
		return address
	case "http", "https":
		host := u.Hostname()
		if !strings.Contains(strings.Trim(host, "."), ".") && host != "localhost" || strings.ContainsAny(host, " <>\"") {
			return ""
		}
		if u.Path == "" && u.RawQuery == "" && u.Fragment == "" {
			address += "/"
		}
		return address
	}
	return ""
}

var hostPort = regexp.MustCompile(`^[\w.-]+\.[\w-]+:\d+(?:[/?#]|$)`)

func isHTTPS(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "https" && u.Host != ""
}

// Top-level domains of addresses that are linked without a scheme; Telegram knows all, these are the ones that meet a
// programmer: file names such as README.md and main.py are links too.
const linkedTLDs = `com|org|net|edu|gov|io|dev|app|ai|me|co|info|biz|xyz|site|online|tech|test|` +
	`uk|de|fr|it|es|nl|pl|ru|ua|us|eu|in|cn|jp|br|ch|at|se|no|fi|md|py|rs|sh|so|ps|pl|pm|mk|cc|tv`

// detector finds what Telegram marks by itself.
type detector struct {
	kind string
	find *regexp.Regexp
}

// detectors stand in the order in which they win. They are compiled at first use, since a program that has the
// emulator in it for its demo would pay for them at every start.
var detectors = sync.OnceValue(func() []detector {
	return []detector{
		{"url", regexp.MustCompile(`(?i)\b(?:https?|ftp|tg|ton)://[^\s<>"«»]*[^\s<>"«».,:;!?'()\[\]{}*_~` + "`" + `]`)},
		{"email", regexp.MustCompile(`\b[\w.+-]{1,64}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}\b`)},
		{"url", regexp.MustCompile(`(?i)\b(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+(?:` + linkedTLDs + `)\b(?::\d+)?(?:[/?#][^\s<>"«»]*[^\s<>"«».,:;!?'()\[\]{}*_~` + "`" + `]|/)?`)},
		{"bot_command", regexp.MustCompile(`/[A-Za-z0-9_]{1,64}(?:@[A-Za-z0-9_]{3,32})?`)},
		{"mention", regexp.MustCompile(`@[A-Za-z0-9_]{3,32}`)},
		{"hashtag", regexp.MustCompile(`#[\pL\pN_]*[\pL_][\pL\pN_]*`)},
		{"cashtag", regexp.MustCompile(`\$[A-Z]{3,8}`)},
	}
})

// detect adds the entities that Telegram finds by itself outside code and links.
func detect(text string, entities []Entity) []Entity {
	if !strings.ContainsAny(text, "/@#$.") {
		return entities
	}
	all := slices.Clone(entities)
	at := offsets(text)
	for _, d := range detectors() {
		for _, m := range d.find.FindAllStringIndex(text, -1) {
			e := Entity{Type: d.kind, Offset: at(m[0]), Length: at(m[1]) - at(m[0])}
			taken := func(o Entity) bool { return solid(o) && overlap(o, e) }
			if standsAlone(text, m[0], m[1], d.kind) && !slices.ContainsFunc(all, taken) {
				all = append(all, e)
			}
		}
	}
	slices.SortStableFunc(all, byPlace)
	return all
}

// solid tells that nothing is detected inside e: it is code, or a link of some kind.
func solid(e Entity) bool {
	return !slices.Contains(styles, e.Type) && !slices.Contains(quotes, e.Type)
}

// standsAlone tells that a match is not the middle of a longer word.
func standsAlone(text string, begin, end int, kind string) bool {
	word := func(c byte) bool { return isAlnum(c) || c == '_' || c >= 0x80 }
	before, after := byte(' '), byte(' ')
	if begin > 0 {
		before = text[begin-1]
	}
	if end < len(text) {
		after = text[end]
	}
	switch kind {
	case "bot_command":
		return !word(before) && !strings.ContainsRune("/<>", rune(before)) && !word(after) && !strings.ContainsRune("/<>", rune(after))
	case "mention", "hashtag", "cashtag":
		return !word(before) && before != '/' && !word(after)
	case "url":
		return before != '@' && before != '/'
	}
	return true
}

// offsets returns a function from byte offsets of text to UTF-16 offsets.
func offsets(text string) func(int) int {
	if len(text) == unitsOf(text) {
		return func(i int) int { return i } // all ASCII
	}
	at := make([]int, len(text)+1)
	units := 0
	for i, r := range text {
		at[i] = units
		units += utf16Len(r)
	}
	at[len(text)] = units
	return func(i int) int { return at[i] }
}
