package mcp

import (
	"encoding/json"
	"strings"
	"unicode"

	"nod/tools"
)

// Bounds of what a server says of a tool. What is longer is cut, and a schema that stays too large says nothing.
const (
	maxDescription = 2000     // bytes, of a tool
	maxRemark      = 300      // bytes, of a description or title within a schema
	maxSchema      = 16 << 10 // bytes
	maxSchemaDepth = 12
)

// openSchema takes any object: the server judges then.
var openSchema = json.RawMessage(`{"type":"object","properties":{}}`)

// topOnly are keywords that services of models refuse beside the type of a tool's arguments.
var topOnly = []string{"$schema", "$id", "$comment", "anyOf", "oneOf", "allOf", "not", "if", "then", "else", "enum", "const"}

// repairSchema makes a schema of arguments out of what a server gave: an object with properties, within bounds, in plain
// text. Servers send nil, true, lists of types and much else, and one bad schema fails a whole request.
func repairSchema(given any) json.RawMessage {
	top, ok := repaired(given, 0).(map[string]any)
	if !ok {
		return openSchema
	}
	for _, key := range topOnly {
		delete(top, key)
	}
	properties, _ := top["properties"].(map[string]any)
	if properties == nil {
		properties = map[string]any{}
	}
	for name, property := range properties {
		if _, ok := property.(map[string]any); !ok { // true, or something that is no schema
			properties[name] = map[string]any{}
		}
	}
	top["type"], top["properties"] = "object", properties
	raw, err := json.Marshal(top)
	if err != nil || len(raw) > maxSchema {
		return openSchema
	}
	return raw
}

// repaired copies a part of a schema without what is too deep, and with its texts made plain.
func repaired(given any, depth int) any {
	switch v := given.(type) {
	case map[string]any:
		if depth > maxSchemaDepth {
			return map[string]any{}
		}
		made := make(map[string]any, len(v))
		for key, value := range v {
			made[key] = repaired(value, depth+1)
			if text, ok := value.(string); ok && (key == "description" || key == "title") {
				made[key] = plain(text, maxRemark)
			}
		}
		return made
	case []any:
		if depth > maxSchemaDepth {
			return []any{}
		}
		made := make([]any, len(v))
		for i, value := range v {
			made[i] = repaired(value, depth+1)
		}
		return made
	case string:
		return tools.Sanitise(v)
	}
	return given
}

// plain is a server's text without what can't be seen, and not longer than limit bytes.
func plain(text string, limit int) string {
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) { // of no width: a hiding place for words to a model
			return -1
		}
		return r
	}, tools.Sanitise(text)))
	if len(text) <= limit {
		return text
	}
	return strings.TrimSpace(strings.ToValidUTF8(text[:limit], "")) + "…"
}
