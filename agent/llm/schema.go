package llm

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

var noArguments = json.RawMessage(`{"type":"object","properties":{}}`)

// schemaFor fits a tool's schema to what a service accepts: always an object with properties and without $schema; for
// Gemini also within its subset.
func schemaFor(raw json.RawMessage, gemini bool) json.RawMessage {
	var s map[string]any
	if json.Unmarshal(raw, &s) != nil || s == nil {
		return noArguments
	}
	plain := s["type"] == "object" && s["properties"] != nil && s["$schema"] == nil
	if plain && !gemini {
		return raw
	}
	delete(s, "$schema")
	s["type"] = "object"
	if _, ok := s["properties"].(map[string]any); !ok {
		s["properties"] = map[string]any{}
	}
	if gemini {
		g := geminiSchema{root: s, left: maxSchemaNodes}
		s = g.fit(s, 0)
	}
	b, err := json.Marshal(s)
	if err != nil {
		return noArguments
	}
	return b
}

// geminiSchema rewrites a schema for Gemini, which refuses unknown keywords with a 400.
type geminiSchema struct {
	root map[string]any
	left int // schemas that may still be written
}

// geminiKeywords are those of JSON schema that Gemini's Schema message has too.
var geminiKeywords = []string{
	"type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems", "properties", "required",
	"minProperties", "maxProperties", "minLength", "maxLength", "pattern", "anyOf", "items", "minimum", "maximum", "default",
}

// Recursive schemas, which Gemini cannot express, end at maxSchemaDepth; maxSchemaNodes stops references that multiply.
const (
	maxSchemaDepth = 16
	maxSchemaNodes = 2000
)

func (g *geminiSchema) fit(s map[string]any, depth int) map[string]any {
	if g.left--; depth > maxSchemaDepth || g.left < 0 {
		return map[string]any{"type": "object"}
	}
	if ref, ok := s["$ref"].(string); ok {
		if target := g.resolve(ref); target != nil {
			merged := maps.Clone(target)
			for k, v := range s {
				if k != "$ref" {
					merged[k] = v
				}
			}
			return g.fit(merged, depth+1)
		}
	}
	s = maps.Clone(s)
	foldBounds(s)
	foldTypes(s)
	if c, ok := s["const"].(string); ok {
		s["enum"] = []any{c}
	}
	if of, ok := s["oneOf"]; ok && s["anyOf"] == nil {
		s["anyOf"] = of
	}
	out := map[string]any{}
	for _, k := range geminiKeywords {
		if v, ok := s[k]; ok {
			out[k] = g.child(k, v, depth)
		}
	}
	if f, ok := out["format"].(string); ok && !slices.Contains([]string{"date-time", "enum", "int32", "int64", "float", "double"}, f) {
		delete(out, "format")
	}
	if enum, ok := out["enum"].([]any); ok && out["type"] != "string" && !allStrings(enum) {
		delete(out, "enum") // only strings may be listed
	}
	return out
}

func (g *geminiSchema) child(keyword string, v any, depth int) any {
	switch keyword {
	case "properties":
		props, _ := v.(map[string]any)
		out := map[string]any{}
		for name, p := range props {
			if m, ok := p.(map[string]any); ok {
				out[name] = g.fit(m, depth+1)
			} else {
				out[name] = map[string]any{"type": "string"}
			}
		}
		return out
	case "items":
		if m, ok := v.(map[string]any); ok {
			return g.fit(m, depth+1)
		}
		return map[string]any{"type": "string"}
	case "anyOf":
		var out []any
		list, _ := v.([]any)
		for _, e := range list {
			if m, ok := e.(map[string]any); ok {
				out = append(out, g.fit(m, depth+1))
			}
		}
		return out
	}
	return v
}

// resolve follows a reference within the schema, "#/$defs/name".
func (g *geminiSchema) resolve(ref string) map[string]any {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	at := g.root
	for part := range strings.SplitSeq(path, "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		if at, ok = at[part].(map[string]any); !ok {
			return nil
		}
	}
	return at
}

// foldBounds turns exclusive bounds into inclusive ones; the tool itself checks the exact value.
func foldBounds(s map[string]any) {
	for from, to := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		v, ok := s[from].(float64)
		if !ok || s[to] != nil {
			continue
		}
		if s["type"] == "integer" && v == float64(int64(v)) {
			if to == "minimum" {
				v++
			} else {
				v--
			}
		}
		s[to] = v
	}
}

// foldTypes turns a list of types into the first that is not null, and nullable.
func foldTypes(s map[string]any) {
	list, ok := s["type"].([]any)
	if !ok {
		return
	}
	delete(s, "type")
	for _, t := range list {
		switch {
		case t == "null":
			s["nullable"] = true
		case s["type"] == nil:
			s["type"] = t
		}
	}
}

func allStrings(list []any) bool {
	for _, v := range list {
		if _, ok := v.(string); !ok {
			return false
		}
	}
	return true
}
