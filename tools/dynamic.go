package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// DynamicSpec declares a tool whose schema is known only at run time, such as one of an MCP server. Its arguments stay
// JSON: an object that the schema allows, in canonical form.
type DynamicSpec struct {
	Name        string
	Description string
	Schema      json.RawMessage // of type object
	Traits      Traits

	Label func(args json.RawMessage, full bool) string
	Judge func(ctx context.Context, scope Scope, args json.RawMessage) (Judged, error)
	Run   func(ctx context.Context, call Call, args json.RawMessage) (Output, error)
	Halt  func(call Call, args json.RawMessage)
}

// NewDynamic makes a tool out of what is known at run time. Its error says what keeps it from working.
func NewDynamic(s DynamicSpec) (Tool, error) {
	schema, err := foreignSchema(s.Schema)
	spec := Spec[json.RawMessage]{
		Name: s.Name, Description: s.Description, Traits: s.Traits,
		Label: s.Label, Judge: s.Judge, Run: s.Run, Halt: s.Halt,
	}
	if err == nil {
		err = spec.check()
	}
	if err != nil {
		return nil, fmt.Errorf("declaring tool %q: %w", s.Name, err)
	}
	return &tool[json.RawMessage]{spec: spec, schema: schema}, nil
}

// foreignSchema reads a schema that others wrote. All of its keywords are heeded, by a general validator.
func foreignSchema(raw json.RawMessage) (*argSchema, error) {
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		return nil, fmt.Errorf("reading its schema: %w", err)
	}
	if schema.Type != "object" {
		return nil, errors.New("its schema must be of type object")
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("resolving its schema: %w", err)
	}
	return &argSchema{raw: slices.Clone(raw), schema: &schema, foreign: resolved}, nil
}

// check finds what is wrong with decoded arguments.
func (s *argSchema) check(object map[string]any) (found faults) {
	if s.foreign == nil {
		found.check(s.schema, "", object)
		slices.Sort(found)
		return found
	}
	plain, err := withPlainNumbers(object)
	if err == nil {
		err = s.foreign.Validate(plain)
	}
	if err != nil {
		found = faults{clipLabel(oneLine(strings.TrimPrefix(err.Error(), "validating root: ")), maxFault)}
	}
	return found
}

// maxFault bounds a foreign validator's words, in characters.
const maxFault = 400

// withPlainNumbers is the value as encoding/json reads it into an any: what the validator expects.
func withPlainNumbers(object map[string]any) (plain map[string]any, err error) {
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	return plain, json.Unmarshal(raw, &plain)
}
