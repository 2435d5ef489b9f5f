package llm

import (
	"slices"
	"strings"
)

// prepare makes the request legal and fit for the model.
func prepare(m *Model, req Request) Request {
	h := req.Messages
	if req.System != "" {
		h = append([]Message{{Role: RoleSystem, Text: req.System}}, h...)
	}
	if !m.Vision {
		h = withoutImages(h)
	}
	req.Messages = Sanitize(h)
	return req
}

const imageNote = "(an image stood here, which this model cannot see)"

// withoutImages replaces images by a note, in a copy.
func withoutImages(h []Message) []Message {
	h = slices.Clone(h)
	for i, m := range h {
		if len(m.Images) > 0 {
			h[i].Images = nil
			h[i].Text = joinText(m.Text, imageNote)
		}
	}
	return h
}

// legalTools sorts a copy by name, for the sake of services' prompt caches, and leaves out tools whose name would make
// the service refuse the whole request.
func (c *Client) legalTools(tools []ToolDef) []ToolDef {
	tools = slices.DeleteFunc(slices.Clone(tools), func(t ToolDef) bool {
		if ValidToolName(t.Name) {
			return false
		}
		c.log.Warn("leaving out a tool that has a name no service accepts", "tool", t.Name)
		return true
	})
	slices.SortFunc(tools, func(a, b ToolDef) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(tools, func(a, b ToolDef) bool { return a.Name == b.Name })
}
