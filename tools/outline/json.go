package outline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// jsonDepth is how many levels of keys are listed.
const jsonDepth = 2

// maxJSONNesting is where encoding/json gives up, but for the stream of tokens that is read here.
const maxJSONNesting = 10_000

// outlineJSON lists the keys of a JSON text and what stands under them.
func outlineJSON(content []byte) found {
	j := jsonOutline{src: content, line: 1, dec: json.NewDecoder(bytes.NewReader(content))}
	j.dec.UseNumber()
	if err := j.read(); err != nil {
		j.Note = syntaxNote(j.lineAt(j.dec.InputOffset()))
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			j.Note = syntaxNote(j.lineAt(syntax.Offset))
		}
	}
	return j.found
}

type jsonOutline struct {
	found
	src  []byte
	dec  *json.Decoder
	seen int64 // how far lines are counted
	line int   // the line there
	open []jsonLevel
}

// jsonLevel is an object or array that is being read.
type jsonLevel struct {
	array bool
	count int
	item  int  // of the key that it stands under, -1 for none
	key   bool // a key was read, and not yet its value
	under int  // the item of that key, or -1
}

func (j *jsonOutline) read() error {
	for {
		t, err := j.dec.Token()
		if errors.Is(err, io.EOF) && len(j.open) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		if j.token(t); len(j.open) > maxJSONNesting {
			return errors.New("nested too deeply")
		}
	}
}

func (j *jsonOutline) token(t json.Token) {
	switch t {
	case json.Delim('}'), json.Delim(']'):
		j.end()
		return
	}
	item := -1
	if n := len(j.open); n > 0 {
		top := &j.open[n-1]
		if !top.array && !top.key { // a key
			top.key = true
			top.count++
			top.under = j.key(t)
			return
		}
		if top.array {
			top.count++
		} else {
			top.key, item = false, top.under
		}
	}
	if d, ok := t.(json.Delim); ok {
		j.open = append(j.open, jsonLevel{array: d == '[', item: item})
		return
	}
	j.describe(item, kindOf(t))
}

// key adds the item of a key, unless it lies too deep or in one of an array's many elements, and gives back its index or -1.
func (j *jsonOutline) key(t json.Token) int {
	depth := len(j.open) - 1
	if depth >= jsonDepth || slices.ContainsFunc(j.open, func(l jsonLevel) bool { return l.array }) {
		return -1
	}
	j.add(item{Line: j.lineAt(j.dec.InputOffset()), Depth: depth, Text: fmt.Sprintf("%q", t)})
	if j.More > 0 {
		return -1
	}
	return len(j.Items) - 1
}

func (j *jsonOutline) end() {
	level := j.open[len(j.open)-1]
	j.open = j.open[:len(j.open)-1]
	text := "object of " + count(level.count, "key")
	if level.array {
		text = "array of " + count(level.count, "element")
	}
	if len(j.open) == 0 && level.array {
		j.Note = "the whole is an " + text
	}
	if j.describe(level.item, text); level.item >= 0 {
		j.Items[level.item].End = j.lineAt(j.dec.InputOffset())
	}
}

func (j *jsonOutline) describe(at int, text string) {
	if at >= 0 {
		j.Items[at].Text = signature(j.Items[at].Text + ": " + text)
	}
}

func kindOf(t json.Token) string {
	switch t.(type) {
	case string:
		return "string"
	case json.Number:
		return "number"
	case bool:
		return "boolean"
	}
	return "null"
}

// lineAt counts lines up to an offset, which never goes back.
func (j *jsonOutline) lineAt(offset int64) int {
	offset = min(offset, int64(len(j.src)))
	if offset > j.seen {
		j.line += bytes.Count(j.src[j.seen:offset], []byte("\n"))
		j.seen = offset
	}
	return j.line
}
