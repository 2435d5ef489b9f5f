package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	openai "github.com/sashabaranov/go-openai"
)

// offer is the last offer of tools as it travels. It is the longest part of most requests, and the same from round to
// round.
type offer struct {
	tools  []ToolDef
	quirks quirk
	raw    json.RawMessage
}

// encodeTools writes tools as the service takes them.
func (e *entry) encodeTools(tools []ToolDef, q quirk) (json.RawMessage, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.offer.raw != nil && e.offer.quirks == q && slices.EqualFunc(e.offer.tools, tools, ToolDef.equal) {
		return e.offer.raw, nil
	}
	var defs []openai.Tool
	for _, t := range tools {
		if q.wire(e.Wire) == WireResponses {
			defs = append(defs, responsesTool(t))
		} else {
			defs = append(defs, chatTool(t, q))
		}
	}
	raw, err := json.Marshal(defs)
	if err != nil {
		return nil, fmt.Errorf("encoding the tools: %w", err)
	}
	e.offer = offer{tools: tools, quirks: q, raw: raw}
	return raw, nil
}

func (t ToolDef) equal(u ToolDef) bool {
	return t.Name == u.Name && t.Description == u.Description && bytes.Equal(t.Schema, u.Schema)
}

func chatTool(t ToolDef, q quirk) openai.Tool {
	return openai.Tool{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
		Name: t.Name, Description: t.Description, Parameters: schemaFor(t.Schema, q.has(quirkGemini)),
	}}
}

func responsesTool(t ToolDef) openai.Tool {
	def := openai.NewResponseFunctionTool(openai.FunctionDefinition{
		Name: t.Name, Description: t.Description, Parameters: schemaFor(t.Schema, false),
	})
	def.Parameters["strict"] = false // this wire's default is true, which few schemas fit
	return def
}

// standIn is for go-openai, which looks only whether there are tools; exchange puts in the real ones.
func standIn(tools []ToolDef) []openai.Tool {
	if len(tools) == 0 {
		return nil
	}
	return []openai.Tool{{Type: openai.ToolTypeFunction}}
}
