package tools

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// checkable refuses a schema with a keyword that faults does not look at: what the model is told must be what holds.
func checkable(place string, s *jsonschema.Schema) error {
	rest := *s
	rest.Title, rest.Description, rest.Default, rest.Examples, rest.PropertyOrder = "", "", nil, nil, nil
	rest.Type, rest.Types, rest.Enum = "", nil, nil
	rest.Minimum, rest.Maximum, rest.MinLength, rest.MaxLength, rest.MinItems, rest.MaxItems = nil, nil, nil, nil, nil, nil
	rest.Required, rest.Properties, rest.AdditionalProperties, rest.Items = nil, nil, nil, nil
	if !reflect.ValueOf(rest).IsZero() {
		return fmt.Errorf("its schema has a keyword that is not checked, at %q", place)
	}
	below := maps.Clone(s.Properties)
	if below == nil {
		below = map[string]*jsonschema.Schema{}
	}
	if s.Items != nil {
		below["0"] = s.Items
	}
	if s.AdditionalProperties != nil && !refusesAll(s.AdditionalProperties) {
		below["*"] = s.AdditionalProperties
	}
	for name, child := range below {
		if err := checkable(path.Join(place, name), child); err != nil {
			return err
		}
	}
	return nil
}

// refusesAll recognises the schema "false".
func refusesAll(s *jsonschema.Schema) bool {
	return s.Not != nil && reflect.ValueOf(*s.Not).IsZero()
}

// faults is everything that is wrong with a value, each fault with its place. A general validator would stop at the
// first, or cost every start of the program milliseconds for what no schema of ours has.
type faults []string

func (f *faults) add(place, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if place != "" {
		text = place + ": " + text
	}
	*f = append(*f, text)
}

// check looks at a decoded JSON value whose numbers are json.Number.
func (f *faults) check(s *jsonschema.Schema, place string, value any) {
	allowed := s.Types
	if s.Type != "" {
		allowed = []string{s.Type}
	}
	is := typeOf(value)
	if len(allowed) > 0 && !slices.Contains(allowed, is) && (is != "integer" || !slices.Contains(allowed, "number")) {
		if is == "integer" {
			is = "number"
		}
		f.add(place, "got %s, want %s", is, strings.Join(allowed, " or "))
		return
	}
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(e any) bool { return fmt.Sprint(e) == fmt.Sprint(value) }) {
		f.add(place, "value must be one of %s", listed(s.Enum))
	}
	switch value := value.(type) {
	case json.Number:
		n, err := value.Float64()
		if err == nil {
			f.bound(place, "minimum", "maximum", n, s.Minimum, s.Maximum)
		}
	case string:
		f.bound(place, "minLength", "maxLength", float64(utf8.RuneCountInString(value)), float(s.MinLength), float(s.MaxLength))
	case []any:
		f.bound(place, "minItems", "maxItems", float64(len(value)), float(s.MinItems), float(s.MaxItems))
		for i, item := range value {
			if s.Items != nil {
				f.check(s.Items, path.Join(place, strconv.Itoa(i)), item)
			}
		}
	case map[string]any:
		f.object(s, place, value)
	}
}

func (f *faults) object(s *jsonschema.Schema, place string, object map[string]any) {
	for _, name := range s.Required {
		if _, ok := object[name]; !ok {
			f.add(place, "missing property '%s'", name)
		}
	}
	for name, value := range object {
		switch property := s.Properties[name]; {
		case property != nil:
			f.check(property, path.Join(place, name), value)
		case s.AdditionalProperties == nil:
		case refusesAll(s.AdditionalProperties):
			f.add(place, "additional properties '%s' not allowed", name)
		default:
			f.check(s.AdditionalProperties, path.Join(place, name), value)
		}
	}
}

func (f *faults) bound(place, least, most string, n float64, from, to *float64) {
	if from != nil && n < *from {
		f.add(place, "%s: got %v, want %v", least, n, *from)
	}
	if to != nil && n > *to {
		f.add(place, "%s: got %v, want %v", most, n, *to)
	}
}

func float(n *int) *float64 {
	if n == nil {
		return nil
	}
	return jsonschema.Ptr(float64(*n))
}

// typeOf is a value's type in a schema's words; a whole number is an integer however it is written.
func typeOf(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case json.Number:
		if !strings.ContainsAny(string(value), ".eE") {
			return "integer"
		}
		if n, err := value.Float64(); err == nil && n == math.Trunc(n) {
			return "integer"
		}
		return "number"
	}
	return "object"
}

func listed(values []any) string {
	var words []string
	for _, v := range values {
		words = append(words, fmt.Sprintf("'%v'", v))
	}
	return strings.Join(words, ", ")
}
