package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Reasons why arguments cannot be used, worded for the model.
var (
	errArgsCut  = errors.New("the arguments were cut off before their end; send the call again, with shorter arguments if they are long")
	errArgsMany = errors.New("the arguments hold more than one JSON object; send one object a call")
	errArgsLong = fmt.Errorf("the arguments are longer than %d KiB, so that they were not taken; do it in several calls with less in each", maxArgs>>10)
	errArgsBad  = errors.New("the arguments are not a JSON object; send the call again with valid JSON")
)

// Args finds the JSON object that a model meant as a call's arguments: the text itself, the content of a JSON string,
// or the one object inside prose or a code fence. Nothing means {}. It never completes what is cut off and never
// chooses between two objects.
func Args(raw string) (string, error) {
	s := strings.TrimSpace(raw)
	if s == "" || s == "null" {
		return "{}", nil
	}
	if isObject(s) {
		return s, nil
	}
	var inner string
	if s[0] == '"' && json.Unmarshal([]byte(s), &inner) == nil && isObject(inner) {
		return strings.TrimSpace(inner), nil
	}
	start := strings.IndexByte(s, '{')
	if start < 0 || strings.ContainsAny(s[:start], `["`) {
		return "", errArgsBad
	}
	end := objectEnd(s[start:])
	if end < 0 {
		return "", errArgsCut
	}
	object, rest := s[start:start+end], s[start+end:]
	switch {
	case strings.ContainsRune(rest, '{'):
		return "", errArgsMany
	case !isObject(object):
		return "", errArgsBad
	}
	return object, nil
}

func isObject(s string) bool {
	s = strings.TrimSpace(s)
	return len(s) > 1 && s[0] == '{' && s[len(s)-1] == '}' && json.Valid([]byte(s))
}

// objectEnd gives the length of the balanced {…} at the start of s, or -1 if it does not end.
func objectEnd(s string) int {
	depth, quoted, escaped := 0, false, false
	for i := range len(s) {
		c := s[i]
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}
