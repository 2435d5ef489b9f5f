package llm

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"

	openai "github.com/sashabaranov/go-openai"
)

// chatMessage is a message of the chat wire. go-openai's own type leaves out empty contents, which DeepSeek refuses,
// and has no fields for reasoning and signatures; so messages are encoded here and put into its request by exchange.
type chatMessage struct {
	Role             string            `json:"role"`
	Content          any               `json:"content"` // a string or []chatPart
	ReasoningContent string            `json:"reasoning_content,omitempty"`
	Reasoning        string            `json:"reasoning,omitempty"`
	Details          []json.RawMessage `json:"reasoning_details,omitempty"`
	ToolCalls        []chatCall        `json:"tool_calls,omitempty"`
	ToolCallID       string            `json:"tool_call_id,omitempty"`
}

type chatPart struct {
	Type  string     `json:"type"`
	Text  string     `json:"text,omitempty"`
	Image *chatImage `json:"image_url,omitempty"`
}

type chatImage struct {
	URL string `json:"url"`
}

type chatCall struct {
	ID       string              `json:"id"`
	Type     string              `json:"type"`
	Function openai.FunctionCall `json:"function"`
	Extra    json.RawMessage     `json:"extra_content,omitempty"`
}

// fillReasoning stands where a service demands reasoning that another model did or that was lost; an empty string
// counts as missing (DeepSeek, Kimi).
const fillReasoning = "(not recorded)"

func chatMessages(m *Model, q quirk, h []Message) []chatMessage {
	out := make([]chatMessage, len(h))
	for i, msg := range h {
		out[i] = chatMessage{Role: string(msg.Role), Content: chatContent(msg), ToolCallID: q.callID(msg.CallID)}
		if msg.Role == RoleAssistant {
			echo(&out[i], m, q, msg)
		}
	}
	return out
}

func chatContent(m Message) any {
	if len(m.Images) == 0 {
		return m.Text
	}
	var parts []chatPart
	if m.Text != "" {
		parts = append(parts, chatPart{Type: "text", Text: m.Text})
	}
	for _, img := range m.Images {
		parts = append(parts, chatPart{Type: "image_url", Image: &chatImage{dataURL(img)}})
	}
	return parts
}

func dataURL(i Image) string {
	return "data:" + i.MIME + ";base64," + base64.StdEncoding.EncodeToString(i.Data)
}

// echo writes an assistant message's calls, and gives back what its own model wants to see again.
func echo(out *chatMessage, m *Model, q quirk, msg Message) {
	w := wireFor(m, msg.Wire)
	for _, c := range msg.Calls {
		out.ToolCalls = append(out.ToolCalls, chatCall{
			ID: q.callID(c.ID), Type: "function", Function: openai.FunctionCall{Name: c.Name, Arguments: c.Args}, Extra: w.Extra[c.ID],
		})
	}
	if !q.has(quirkNoReasoning) {
		switch {
		case w.Field == "reasoning_content":
			out.ReasoningContent = w.Reasoning
		case w.Field == "reasoning":
			out.Reasoning = w.Reasoning
		case w.Field == "think" && w.Reasoning != "" && len(msg.Calls) > 0: // interleaved thinking goes on from its own words
			out.Content = "<think>" + w.Reasoning + "</think>\n" + msg.Text
		}
		out.Details = mergeDetails(w.Details)
	}
	if q.has(quirkNeedReasoning) && out.ReasoningContent == "" && len(msg.Calls) > 0 {
		out.ReasoningContent = cmp.Or(w.Reasoning, fillReasoning)
	}
}

// callID is a call's id as the service takes it.
func (q quirk) callID(id string) string {
	if id == "" || !q.has(quirkShortIDs) {
		return id
	}
	return shortID(id)
}

// shortID maps a call id to nine alphanumerics, the same for the same id.
func shortID(id string) string {
	const digits = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	sum := sha256.Sum256([]byte(id))
	out := make([]byte, 9)
	for i := range out {
		out[i] = digits[int(sum[i])%len(digits)]
	}
	return string(out)
}

// unchecked is the name under which go-openai does not look into what a model can do; exchange puts in the real one.
const unchecked = "unchecked"

// openChat starts a stream on the chat wire. The quirk of an error says what else to try.
func (t *try) openChat(ctx context.Context) (frames, error) {
	m, q := t.model, t.quirks
	req := openai.ChatCompletionRequest{Model: m.ID, Tools: standIn(t.req.Tools)}
	if m.Wire == WireChat || q.has(quirkChatOnly) {
		req.Model = unchecked
	}
	if !q.has(quirkNoStreamOpts) {
		req.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	t.exchange.fields["model"] = m.ID
	t.exchange.fields["messages"] = chatMessages(m, q, t.req.Messages)
	if t.req.MaxOutput > 0 {
		name := "max_tokens"
		if q.has(quirkMaxCompletion) {
			name = "max_completion_tokens"
		}
		t.exchange.fields[name] = t.req.MaxOutput
	}
	stream, err := t.client.CreateChatCompletionStream(ctx, req)
	if errors.Is(err, openai.ErrReasoningToolsRequireResponses) {
		return nil, &Error{Kind: KindBadRequest, Model: m.Name, Message: err.Error(), fix: quirkResponses}
	}
	if err != nil {
		return nil, t.refused(err)
	}
	return stream, nil
}
