package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// decodeArgs reads a model's arguments strictly: one object, no duplicate, unknown or differently cased keys (Go's
// decoder would fold the case and take the last duplicate, so that a card could show another value than the one that runs),
// valid by the schema. The error names all problems.
func decodeArgs[In any](s *argSchema, args json.RawMessage) (in In, err error) {
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage("{}")
	}
	doc, err := parse(args)
	if err != nil {
		return in, fmt.Errorf("the arguments are not usable: %w", err)
	}
	object, ok := doc.(map[string]any)
	if !ok {
		return in, errors.New("the arguments must be one JSON object")
	}
	coerce(s.schema, object)
	if found := s.check(object); len(found) > 0 {
		return in, fmt.Errorf("the arguments are not valid: %s. The schema is %s", strings.Join(found, "; "), s.raw)
	}
	exact, err := json.Marshal(object)
	if err != nil {
		return in, fmt.Errorf("reading the arguments: %w", err)
	}
	if err := json.Unmarshal(exact, &in); err != nil {
		return in, fmt.Errorf("the arguments don't fit: %w", err)
	}
	return in, nil
}

// coerce repairs what models commonly get slightly wrong at the top level, where the meaning is plain: null for "not
// given", a number or boolean in a string, one value for a list of them, JSON in a string.
func coerce(s *jsonschema.Schema, object map[string]any) {
	for name, value := range object {
		property := s.Properties[name]
		if property == nil {
			continue
		}
		if value == nil && !slices.Contains(s.Required, name) {
			delete(object, name)
			continue
		}
		object[name] = coerceValue(property, value)
	}
}

func coerceValue(s *jsonschema.Schema, value any) any {
	want := s.Type
	if want == "" && len(s.Types) > 0 {
		want = s.Types[len(s.Types)-1] // jsonschema-go writes a slice as ["null","array"]
	}
	text, isText := value.(string)
	switch want {
	case "integer", "number":
		if isText && isNumber(text) {
			value = json.Number(text)
		}
		if want == "integer" {
			return whole(value)
		}
	case "boolean":
		if b, err := strconv.ParseBool(text); isText && err == nil && len(text) > 1 {
			return b
		}
	case "array", "object":
		return coerceNested(s, want, value)
	}
	return value
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil && json.Valid([]byte(text)) && checkNumber(json.Number(text)) == nil
}

// whole writes 3.0 and 3e0 as 3: to a schema all of them are integers, to Go's decoder only the last is.
func whole(value any) any {
	number, isNumber := value.(json.Number)
	f, err := number.Float64()
	if !isNumber || err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<53 {
		return value
	}
	return json.Number(strconv.FormatInt(int64(f), 10))
}

func coerceNested(s *jsonschema.Schema, want string, value any) any {
	if text, ok := value.(string); ok {
		if parsed, err := parse([]byte(text)); err == nil {
			switch parsed.(type) {
			case []any, map[string]any:
				value = parsed
			}
		}
	}
	_, isText := value.(string)
	if want == "array" && isText && s.Items != nil && s.Items.Type == "string" {
		return []any{value}
	}
	return value
}

// parse reads one JSON value that is within bounds and names no key twice.
func parse(raw []byte) (any, error) {
	if err := walk(raw); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var doc any
	if err := dec.Decode(&doc); err != nil {
		return nil, fmt.Errorf("the JSON is broken or cut off: %w", err)
	}
	return doc, nil
}

// walk looks at the tokens: no object may name a key twice, and no number or nesting may be out of bounds.
func walk(raw []byte) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := walkValue(dec, 0); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON; give one object and nothing else")
	}
	return nil
}

const maxDepth = 64

func walkValue(dec *json.Decoder, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("the JSON is nested deeper than %d levels", maxDepth)
	}
	token, err := dec.Token()
	if err != nil {
		return fmt.Errorf("the JSON is broken or cut off: %w", err)
	}
	if number, ok := token.(json.Number); ok {
		return checkNumber(number)
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return nil
	}
	seen := map[string]bool{}
	for dec.More() {
		if delim == '{' {
			key, err := dec.Token()
			if err != nil {
				return fmt.Errorf("the JSON is broken or cut off: %w", err)
			}
			name, _ := key.(string) // inside an object the decoder yields only text here
			if seen[name] {
				return fmt.Errorf("the key %q stands twice", name)
			}
			seen[name] = true
		}
		if err := walkValue(dec, depth+1); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return fmt.Errorf("the JSON is broken or cut off: %w", err)
	}
	return nil
}

// maxExponent and maxDigits bound numbers: what lies beyond is no number that anybody means, and whoever computes with
// it exactly takes long.
const (
	maxExponent = 400
	maxDigits   = 400
)

func checkNumber(n json.Number) error {
	digits, exponent, found := strings.Cut(strings.ToLower(string(n)), "e")
	if found {
		if e, err := strconv.Atoi(exponent); err != nil || max(e, -e) > maxExponent {
			return fmt.Errorf("the number %s is out of range", clipLabel(string(n), LabelShort))
		}
	}
	if len(digits) > maxDigits {
		return fmt.Errorf("the number %s has too many digits", clipLabel(string(n), LabelShort))
	}
	return nil
}

// canonicalJSON writes decoded arguments the one way that rules, digests and cards compare; without HTML escapes, since
// people read these bytes.
func canonicalJSON(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return json.RawMessage(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}
