package tools

import "encoding/json"

// DecodeStrict reads settings the way that a tool's arguments are read: by the schema of In, with all problems named.
func DecodeStrict[In any](raw json.RawMessage) (in In, err error) {
	schema, err := schemaFor[In]()
	if err != nil {
		return in, err
	}
	return decodeArgs[In](schema, raw)
}
