package scripted

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// frame writes one server-sent event; name may be "".
func (p *player) frame(name string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic("scripted: encoding a frame: " + err.Error())
	}
	s := "data: " + string(b) + "\n\n"
	if p.quirks.Comments {
		s = ": PROCESSING\n\n" + s
	}
	if name != "" {
		s = "event: " + name + "\n" + s
	}
	p.write(s)
}

// chatStream speaks chat completion chunks.
type chatStream struct {
	*player
	calls int
}

func (c *chatStream) chunk(delta map[string]any, finish any) {
	var created any = 1
	if c.quirks.OddTypes {
		created = 1.5
	}
	c.frame("", map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": created, "model": c.req.Model,
		"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
	})
}

func (c *chatStream) begin() {
	if c.quirks.NullChoices {
		c.frame("", map[string]any{"id": "chatcmpl-1", "choices": nil})
	}
	c.chunk(map[string]any{"role": "assistant", "content": ""}, nil)
}

func (c *chatStream) text(s string) {
	var content any = s
	if c.quirks.ListContent {
		content = []any{map[string]any{"type": "text", "text": s}}
	}
	c.chunk(map[string]any{"content": content}, nil)
}

func (c *chatStream) think(s string) {
	field := "reasoning_content"
	if c.quirks.Thinks != "" {
		field = c.quirks.Thinks
	}
	c.chunk(map[string]any{field: s}, nil)
}

// call sends the name first and the arguments in two halves, as services do.
func (c *chatStream) call(id, name, args string) {
	fragments := 0
	delta := func(call map[string]any, named bool) {
		if !c.quirks.NoIndex {
			call["index"] = c.index()
		}
		if fragments++; !c.quirks.NoIDs && (named || c.quirks.FreshIDs) {
			call["id"] = id
			if !named {
				call["id"] = fmt.Sprintf("%s_%d", id, fragments)
			}
		}
		c.chunk(map[string]any{"tool_calls": []any{call}}, nil)
	}
	first := map[string]any{"name": name, "arguments": ""}
	rest := []string{args[:len(args)/2], args[len(args)/2:]}
	if c.quirks.ObjectArgs {
		first["arguments"], rest = json.RawMessage(args), nil
	}
	delta(map[string]any{"type": "function", "function": first}, true)
	for _, half := range rest {
		delta(map[string]any{"function": map[string]any{"arguments": half}}, false)
	}
	c.calls++
}

func (c *chatStream) index() int {
	switch {
	case c.quirks.SameIndex:
		return 0
	case c.quirks.IndexFromOne:
		return c.calls + 1
	}
	return c.calls
}

func (c *chatStream) end(finish string, u Usage) {
	if !c.quirks.NoFinish {
		if c.quirks.FinishStop {
			finish = "stop"
		}
		c.chunk(map[string]any{}, finish)
	}
	last := map[string]any{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": c.req.Model, "choices": []any{}}
	if !c.quirks.NoUsage {
		last["usage"] = chatUsage(u)
	}
	if c.quirks.NoLineEnd {
		b, err := json.Marshal(last)
		if err != nil {
			panic("scripted: encoding a frame: " + err.Error())
		}
		c.write("data: " + string(b))
		return
	}
	c.frame("", last)
	if !c.quirks.NoDone {
		c.write("data: [DONE]\n\n")
	}
}

func chatUsage(u Usage) map[string]any {
	return map[string]any{
		"prompt_tokens": u.In, "completion_tokens": u.Out, "total_tokens": u.In + u.Out,
		"prompt_tokens_details": map[string]any{"cached_tokens": u.Cached},
	}
}

// responseStream speaks the events of the Responses API.
type responseStream struct {
	*player
	seq    int
	output []any          // finished items
	open   map[string]any // the message that text goes to; nil if there is none
	said   string
}

func (r *responseStream) event(kind string, fields map[string]any) {
	fields["type"], fields["sequence_number"] = kind, r.seq
	r.seq++
	r.frame(kind, fields)
}

func (r *responseStream) response(status string) map[string]any {
	output := r.output
	if output == nil {
		output = []any{}
	}
	return map[string]any{
		"id": "resp_1", "object": "response", "created_at": 1, "model": r.req.Model, "status": status, "error": nil,
		"store": false, "output": output, "incomplete_details": nil,
	}
}

func (r *responseStream) begin() {
	r.event("response.created", map[string]any{"response": r.response("in_progress")})
}

func (r *responseStream) text(s string) {
	if r.open == nil {
		r.open = map[string]any{"id": r.id("msg"), "type": "message", "role": "assistant", "status": "in_progress", "content": []any{}}
		r.said = ""
		r.event("response.output_item.added", map[string]any{"output_index": len(r.output), "item": r.open})
	}
	r.said += s
	r.event("response.output_text.delta", map[string]any{
		"item_id": r.open["id"], "output_index": len(r.output), "content_index": 0, "delta": s,
	})
}

// closeText ends the message under way.
func (r *responseStream) closeText() {
	if r.open == nil {
		return
	}
	r.open["status"] = "completed"
	r.open["content"] = []any{map[string]any{"type": "output_text", "text": r.said, "annotations": []any{}}}
	r.item(r.open)
	r.open = nil
}

// item announces that an item is finished.
func (r *responseStream) item(item map[string]any) {
	r.event("response.output_item.done", map[string]any{"output_index": len(r.output), "item": item})
	r.output = append(r.output, item)
}

func (r *responseStream) think(s string) {
	r.closeText()
	id := r.id("rs")
	r.event("response.reasoning_summary_text.delta", map[string]any{
		"item_id": id, "output_index": len(r.output), "summary_index": 0, "delta": s,
	})
	r.item(reasoningItem(id, s))
}

func (r *responseStream) call(id, name, args string) {
	r.closeText()
	item := callItem(r.id("fc"), id, name, "")
	r.event("response.output_item.added", map[string]any{"output_index": len(r.output), "item": item})
	for _, half := range []string{args[:len(args)/2], args[len(args)/2:]} {
		r.event("response.function_call_arguments.delta", map[string]any{
			"item_id": item["id"], "output_index": len(r.output), "delta": half,
		})
	}
	item["arguments"] = args
	r.item(item)
}

func (r *responseStream) end(finish string, u Usage) {
	r.closeText()
	status := responseStatus(finish)
	resp := r.response(status)
	if !r.quirks.NoUsage {
		resp["usage"] = responseUsage(u)
	}
	if status == "incomplete" {
		resp["incomplete_details"] = map[string]any{"reason": incompleteReason(finish)}
	}
	r.event("response."+status, map[string]any{"response": resp})
}

func responseStatus(finish string) string {
	if finish == "length" || finish == "content_filter" {
		return "incomplete"
	}
	return "completed"
}

func incompleteReason(finish string) string {
	if finish == "length" {
		return "max_output_tokens"
	}
	return finish
}

func responseUsage(u Usage) map[string]any {
	return map[string]any{
		"input_tokens": u.In, "output_tokens": u.Out, "total_tokens": u.In + u.Out,
		"input_tokens_details": map[string]any{"cached_tokens": u.Cached}, "output_tokens_details": map[string]any{"reasoning_tokens": 0},
	}
}

func reasoningItem(id, thought string) map[string]any {
	return map[string]any{"id": id, "type": "reasoning", "summary": []any{}, "encrypted_content": "sealed:" + thought}
}

func callItem(itemID, id, name, args string) map[string]any {
	return map[string]any{"id": itemID, "type": "function_call", "status": "completed", "call_id": id, "name": name, "arguments": args}
}

// whole answers without a stream.
func (p *player) whole() {
	for _, st := range p.reply.steps {
		switch {
		case st.kind == stepPause && !p.sleep(st.pause):
			return
		case st.kind == stepAbort || st.kind == stepCut:
			panic(http.ErrAbortHandler)
		}
	}
	if p.req.Wire == Responses {
		p.wholeResponse()
		return
	}
	msg := map[string]any{"role": "assistant", "content": p.reply.text(stepText)}
	if t := p.reply.text(stepThink); t != "" {
		msg["reasoning_content"] = t
	}
	var calls []any
	for _, st := range p.reply.steps {
		if st.kind == stepCall {
			calls = append(calls, map[string]any{
				"id": st.id, "type": "function", "function": map[string]any{"name": st.name, "arguments": st.text},
			})
		}
	}
	if calls != nil {
		msg["tool_calls"] = calls
	}
	writeJSON(p.w, http.StatusOK, map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": p.req.Model,
		"choices": []any{map[string]any{"index": 0, "message": msg, "finish_reason": p.finish()}},
		"usage":   chatUsage(p.usage()),
	})
}

func (p *player) wholeResponse() {
	output := []any{}
	for _, st := range p.reply.steps {
		switch st.kind {
		case stepText:
			output = append(output, map[string]any{
				"id": p.id("msg"), "type": "message", "role": "assistant", "status": "completed",
				"content": []any{map[string]any{"type": "output_text", "text": st.text, "annotations": []any{}}},
			})
		case stepThink:
			output = append(output, reasoningItem(p.id("rs"), st.text))
		case stepCall:
			output = append(output, callItem(p.id("fc"), st.id, st.name, st.text))
		}
	}
	writeJSON(p.w, http.StatusOK, map[string]any{
		"id": "resp_1", "object": "response", "created_at": 1, "model": p.req.Model, "status": responseStatus(p.finish()),
		"error": nil, "output": output, "usage": responseUsage(p.usage()),
		"incomplete_details": map[string]any{"reason": incompleteReason(p.finish())},
	})
}
