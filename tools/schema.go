package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"
)

// Refiner lets an argument type add to its derived schema what Go's types can't say: enumerations, bounds, defaults.
type Refiner interface {
	Refine(properties map[string]*jsonschema.Schema)
}

// argSchema is the schema of a tool's arguments: as the model is shown it, and compiled.
type argSchema struct {
	raw      json.RawMessage
	schema   *jsonschema.Schema
	compiled *validator.Schema
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
	raw, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("writing its schema: %w", err)
	}
	compiled, err := CompileSchema(raw)
	if err != nil {
		return nil, err
	}
	return &argSchema{raw: raw, schema: schema, compiled: compiled}, nil
}

// CompileSchema makes a validator that loads nothing from outside.
func CompileSchema(raw json.RawMessage) (*validator.Schema, error) {
	doc, err := validator.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("reading a schema: %w", err)
	}
	c := validator.NewCompiler()
	c.UseLoader(noLoader{})
	if err := c.AddResource("args.json", doc); err != nil {
		return nil, fmt.Errorf("reading a schema: %w", err)
	}
	compiled, err := c.Compile("args.json")
	if err != nil {
		return nil, fmt.Errorf("compiling a schema: %w", err)
	}
	return compiled, nil
}

type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("the schema refers to %s, and references to other files are not followed", url)
}
