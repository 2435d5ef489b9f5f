package agent

import (
	"encoding/json"
	"slices"

	"nod/agent/llm"
	"nod/store"
	"nod/tools"
)

// line is one message of a history.
type line struct {
	llm.Message
	pictures []tools.Image // not read yet
	cost     int           // estimated, in tokens
	opens    bool          // a turn begins with it
}

// history is the transcript as the model is shown it.
type history struct {
	lines   []line
	total   int  // of their costs
	summary bool // the first line is the summary of what was before
}

const (
	// maxPictures is how many of the latest pictures are shown to the model again in every request.
	maxPictures = 6
	// pictureCost is what a picture costs about, in tokens.
	pictureCost = 1000
	// shrunk stands in for an old tool result that no longer fits.
	shrunk = "[this old result was left out to save room; make the call again only if you need it]"
	// shrunkArg stands in for a long argument, as JSON.
	shrunkArg = `"[left out to save room]"`
	// shrinkAbove is the size from which a result or an argument is worth making smaller, in bytes.
	shrinkAbove = 400
)

// newHistory is the summary, then every entry, with the results of a batch right after it and in the order of its calls.
func newHistory(record Session, entries []Entry) *history {
	h := &history{summary: record.Summary != ""}
	if h.summary {
		h.add(line{Message: llm.Message{Role: llm.RoleUser, Text: summaryHead + record.Summary}})
	}
	results := map[store.CallID]line{}
	lines := withPictures(entries)
	for i, e := range entries {
		if e.Message.Role == llm.RoleTool {
			results[e.Call] = lines[i]
		}
	}
	for i, e := range entries {
		if e.Message.Role == llm.RoleTool {
			continue
		}
		lines[i].opens = i == 0 || entries[i-1].Turn != e.Turn
		h.add(lines[i])
		for _, id := range e.Calls {
			if r, ok := results[id]; ok {
				h.add(r)
			}
		}
	}
	return h
}

// withPictures makes lines of entries. The latest pictures go with them.
func withPictures(entries []Entry) []line {
	lines := make([]line, len(entries))
	left := maxPictures
	for i := len(entries) - 1; i >= 0; i-- {
		all := entries[i].Images
		shown := min(left, len(all))
		left -= shown
		lines[i] = line{Message: entries[i].Message, cost: entries[i].tokens, pictures: all[len(all)-shown:]}
	}
	return lines
}

func (h *history) add(l line) {
	if l.cost == 0 {
		l.cost = llm.EstimateMessages([]llm.Message{l.Message})
	}
	l.cost += pictureCost * len(l.pictures)
	h.lines, h.total = append(h.lines, l), h.total+l.cost
}

// fit makes the history fit a budget of tokens. What hurts least goes first: old results of tools, then whole turns from
// the oldest on, then parts of the newest results. When nothing else is left, the turn under way is cut before a later
// message of a person. The last such message always stays with what follows it, and the summary stays.
func (h *history) fit(budget int) []line {
	for i := range h.answered() {
		if h.total <= budget {
			break
		}
		h.shorten(i, 0)
	}
	h.cut(budget, func(l line) bool { return l.opens })
	for limit := tools.OutcomeLimit; limit > shrinkAbove && h.total > budget; limit /= 2 {
		for i := range h.lines {
			h.shorten(i, limit)
		}
	}
	h.cut(budget, func(l line) bool { return l.Role == llm.RoleUser })
	return h.lines
}

// answered is how many lines the model has read and answered.
func (h *history) answered() int {
	for i := len(h.lines) - 1; i > 0; i-- {
		if h.lines[i].Role == llm.RoleAssistant {
			return i
		}
	}
	return 0
}

// shorten clips a tool's result, and the arguments of calls, to a limit in bytes, or leaves them out when that is 0.
func (h *history) shorten(i, limit int) {
	l := &h.lines[i]
	size, least := len(l.Text), max(limit, shrinkAbove)
	if l.Role == llm.RoleAssistant {
		size = longestArgs(l.Calls)
	}
	if l.Role == llm.RoleUser || size <= least {
		return
	}
	h.total -= l.cost
	switch {
	case l.Role == llm.RoleAssistant:
		l.Calls = shortArgs(l.Calls, least)
	case limit == 0:
		l.Text, l.pictures = shrunk, nil
	default:
		l.Text = tools.Clip(l.Text, limit, "")
	}
	l.cost = llm.EstimateMessages([]llm.Message{l.Message}) + pictureCost*len(l.pictures)
	h.total += l.cost
}

func longestArgs(calls []llm.Call) (longest int) {
	for _, c := range calls {
		longest = max(longest, len(c.Args))
	}
	return longest
}

// shortArgs gives calls without those of their arguments that are longer than a limit in bytes.
func shortArgs(calls []llm.Call, limit int) []llm.Call {
	calls = slices.Clone(calls)
	for i, c := range calls {
		var members map[string]json.RawMessage
		if len(c.Args) <= limit || json.Unmarshal([]byte(c.Args), &members) != nil {
			continue
		}
		for name, value := range members {
			if len(value) > limit {
				members[name] = json.RawMessage(shrunkArg)
			}
		}
		if short, err := json.Marshal(members); err == nil {
			calls[i].Args = string(short)
		}
	}
	return calls
}

// cut drops the oldest lines, but for the summary, as long as the history is too long and there is a later place to
// begin.
func (h *history) cut(budget int, begins func(line) bool) {
	kept := 0
	if h.summary {
		kept = 1
	}
	from := kept
	for i := kept + 1; i < len(h.lines) && h.total > budget; i++ {
		if !begins(h.lines[i]) {
			continue
		}
		for _, l := range h.lines[from:i] {
			h.total -= l.cost
		}
		from = i
	}
	h.lines = append(h.lines[:kept:kept], h.lines[from:]...)
}
