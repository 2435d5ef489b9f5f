package tools

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

// Refiner lets an argument type add to its derived schema what Go's types can't say: enumerations, bounds, defaults.
type Refiner interface {
	Refine(properties map[string]*jsonschema.Schema)
}

// argSchema is the schema of a tool's arguments, also as the model is shown it.
type argSchema struct {
	raw     json.RawMessage
	schema  *jsonschema.Schema
	foreign *jsonschema.Resolved // set where others wrote the schema
}

// schemaFor derives the schema of In, a struct. Fields without omitempty are required, others are unknown to it.
func schemaFor[In any]() (*argSchema, error) {
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		return nil, fmt.Errorf("deriving its schema: %w", err)
	}
	if schema.Type != "object" {
		return nil, errors.New("its arguments must be a struct")
	}
	if schema.Properties == nil {
		schema.Properties = map[string]*jsonschema.Schema{}
	}
	var in In
	if r, ok := any(&in).(Refiner); ok {
		r.Refine(schema.Properties)
	}
	if err := checkable("", schema); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("writing its schema: %w", err)
	}
	return &argSchema{raw: raw, schema: schema}, nil
}
