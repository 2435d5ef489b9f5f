package outline

import (
	"strings"
)

// scanMarkdown lists the headings, but for those in code.
func scanMarkdown(f *found, src string) {
	src = (&syntax{blocks: [][2]string{{"<!--", "-->"}}}).mask(src).code
	fence, last := "", "" // the code block that is open; the paragraph's line before
	front := strings.HasPrefix(src, "---\n")
	at, n := 0, 1
	for ; at < len(src); n++ {
		end := lineEnd(src, at)
		line := strings.TrimRight(src[at:end], " \t\r")
		at = end + 1
		if front {
			front = n == 1 || line != "---"
			continue
		}
		if m := fenceForm.FindStringSubmatch(line); m != nil && (fence == "" || strings.HasPrefix(m[1], fence) && m[2] == "") {
			if fence == "" {
				fence = m[1]
			} else {
				fence = ""
			}
			last = ""
			continue
		}
		if fence != "" {
			continue
		}
		if m := headingForm.FindStringSubmatch(line); m != nil {
			f.add(item{Line: n, Depth: len(m[1]) - 1, Text: m[1] + " " + m[2]})
			line = ""
		} else if m := underlineForm.FindString(line); m != "" && last != "" {
			level := 1 + strings.Count(m[:1], "-")
			f.add(item{Line: n - 1, Depth: level - 1, Text: strings.Repeat("#", level) + " " + last})
			line = ""
		}
		if last = line; notParagraph.MatchString(line) {
			last = ""
		}
	}
	f.endSections(n - 1)
}

// endSections gives headings the last lines of what stands under them; lines is how many the file has.
func (f *found) endSections(lines int) {
	var open []int
	for i, it := range f.Items {
		for len(open) > 0 && f.Items[open[len(open)-1]].Depth >= it.Depth {
			f.Items[open[len(open)-1]].End = it.Line - 1
			open = open[:len(open)-1]
		}
		open = append(open, i)
	}
	for _, i := range open {
		f.Items[i].End = lines
	}
}

var (
	fenceForm     = formOf("^ {0,3}(```+|~~~+)(.*)$")
	headingForm   = formOf(`^ {0,3}(#{1,6})[ \t]+(.*?)(?:[ \t]+#+)?$`)
	underlineForm = formOf(`^(?:=+|-+)$`)
	notParagraph  = formOf(`^(?:\s|[-*+>|]|\d+[.)])`)
)

// yamlDepth is how many levels of keys are listed.
const yamlDepth = 2

// scanYAML lists the keys of the outer mappings, and the first key of each element of an outer list.
func scanYAML(f *found, src string) {
	var open []int // the indentation of the keys that are open
	scalar := -1   // the indentation of the key whose lines of text are being passed by, or -1
	at := 0
	for n := 1; at < len(src); n++ {
		end := lineEnd(src, at)
		line := strings.TrimRight(src[at:end], " \t\r")
		at = end + 1
		text := strings.TrimLeft(line, " ")
		indent := len(line) - len(text)
		if text == "" || scalar >= 0 && indent > scalar {
			continue
		}
		if scalar = -1; text[0] == '#' || strings.HasPrefix(text, "--- ") || text == "---" || text == "..." {
			continue
		}
		m := keyForm.FindStringSubmatch(text[:min(len(text), maxHead)])
		for len(open) > 0 && open[len(open)-1] >= indent {
			open = open[:len(open)-1]
		}
		if m == nil {
			continue
		}
		dash, key, value := m[1], m[2], m[3]
		if scalarForm.MatchString(value) {
			scalar = indent
		}
		switch {
		case dash != "" && indent == 0:
			f.add(item{Line: n, Text: text})
		case dash == "" && len(open) < yamlDepth:
			f.add(item{Line: n, Depth: len(open), Text: key})
		}
		open = append(open, indent)
		if dash != "" && len(open) < yamlDepth { // its other keys lie too deep
			open = append(open, indent+1)
		}
	}
}

var (
	keyForm    = formOf(`^((?:- +)*)("[^"]*"|'[^']*'|[^\s#:'"\[\]{}&*!|>%@` + "`" + `-](?:[^:#]|:\S)*?|-[^\s:]+)\s*:(?:\s+(.*))?$`)
	scalarForm = formOf(`^(?:[!&]\S+\s+)*[|>][0-9+-]*(?:\s+#.*)?$`)
)

// scanHTML lists headings, the parts of a page, and elements that have an id.
func scanHTML(f *found, src string) {
	src = (&syntax{blocks: [][2]string{{"<!--", "-->"}}, special: pageCode}).mask(src).code
	line, seen := 1, 0
	for _, at := range tagForm.FindAllStringSubmatchIndex(src, -1) {
		if !isPart(src, at) {
			continue
		}
		line += strings.Count(src[seen:at[0]], "\n")
		seen = at[0]
		it := item{Line: line}
		if len(f.Items) < maxItems {
			it.Text = htmlText(src, at)
		}
		f.add(it)
	}
}

// maxElement is how much of an element is looked at, in bytes.
const maxElement = 2000

// isPart says whether an element whose tag matched at an index is listed.
func isPart(src string, at []int) bool {
	name, attributes := strings.ToLower(src[at[2]:at[3]]), src[at[4]:at[5]]
	return headingTag.MatchString(name) || partTag.MatchString(name) || idForm.MatchString(attributes)
}

// htmlText is the tag, and the text of a heading.
func htmlText(src string, at []int) string {
	name, tag := strings.ToLower(src[at[2]:at[3]]), src[at[0]:at[1]]
	if !headingTag.MatchString(name) {
		return tag
	}
	inner := src[at[1]:min(at[1]+maxElement, len(src))]
	if end := strings.Index(strings.ToLower(inner), "</"+name); end >= 0 {
		inner = inner[:end]
	}
	return tag + " " + anyTag.ReplaceAllString(inner, " ")
}

var (
	tagForm    = formOf(`<([a-zA-Z][a-zA-Z0-9-]*)\b((?:[^<>"']|"[^"]*"|'[^']*')*)>`)
	headingTag = formOf(`^(?:h[1-6]|title)$`)
	partTag    = formOf(`^(?:head|body|header|nav|main|section|article|aside|footer|form|template|dialog)$`)
	idForm     = formOf(`(?i)\bid\s*=`)
	anyTag     = formOf(`<[^<>]*>`)
	codeTag    = formOf(`(?i)^<(script|style)\b[^<>]*>`)
	codeEnds   = map[string]*form{"script": formOf(`(?i)</script`), "style": formOf(`(?i)</style`)}
)

// pageCode is what stands between the tags of scripts and styles.
func pageCode(src string, i int) (end int, text bool) {
	if before(src, i) != '>' {
		return i, false
	}
	start := strings.LastIndexByte(src[max(i-500, 0):i], '<')
	if start < 0 {
		return i, false
	}
	m := codeTag.FindStringSubmatch(src[max(i-500, 0)+start : i])
	if m == nil {
		return i, false
	}
	if at := codeEnds[strings.ToLower(m[1])].FindStringIndex(src[i:]); at != nil {
		return i + at[0], false
	}
	return len(src), false
}

// scanCSS lists selectors, and what rules that hold other rules hold.
func scanCSS(f *found, src string) {
	m := (&syntax{blocks: [][2]string{{"/*", "*/"}}, quotes: []quote{double, single}}).mask(src)
	depth, leaf := 0, 0 // leaf is the depth of a rule that holds declarations, plus one
	head, line, seen := 0, 1, 0
	for i := 0; i < len(m.code); i++ {
		switch m.code[i] {
		case ';':
			head = i + 1
		case '{':
			text := strings.TrimLeft(m.text[head:i], " \t\r\n")
			if leaf == 0 && text != "" {
				start := i - len(text)
				line += strings.Count(src[seen:start], "\n")
				seen = start
				f.add(item{Line: line, Depth: depth, Text: text})
			}
			if depth++; leaf == 0 && !groupForm.MatchString(text) {
				leaf = depth
			}
			head = i + 1
		case '}':
			if depth == leaf {
				leaf = 0
			}
			depth, head = max(depth-1, 0), i+1
		}
	}
}

var groupForm = formOf(`(?i)^@(?:media|supports|layer|container|scope|document)\b`)
