package llm

import (
	"crypto/rand"
	"encoding/json"
	"strings"
)

// draft is an answer that is being put together, of either wire. The zero value with a sink is ready.
type draft struct {
	sink    func(Delta)
	think   thinkFilter
	text    strings.Builder
	thought strings.Builder
	calls   []*callDraft
	finish  string // the service's word; "" while it has said none
	usage   Usage
	wire    wireBlob

	kept     int  // bytes of all of it
	longText bool // the text was cut, see excess
}

// callDraft is a call whose arguments are still coming in.
type callDraft struct {
	id, name string
	args     []byte
	extra    json.RawMessage
	index    int    // the service's; -1 if it gave none
	key      string // Responses: the item's id
	done     bool   // Responses: the item is complete
	told     bool   // the sink knows the name
	long     bool   // the arguments were too long, and only their beginning is kept
}

// say takes visible text in which think tags may hide.
func (d *draft) say(s string) { d.put(d.think.add(s)) }

func (d *draft) put(p piece) {
	if p.retract {
		d.thought.WriteString(d.text.String())
		d.text.Reset()
		d.sink(Delta{Retract: true})
	}
	if p.thought != "" {
		d.reason("think", p.thought)
	}
	if room := maxText - d.text.Len(); len(p.text) > room {
		d.longText = true
		p.text = clipText(p.text, room)
	}
	if p.text != "" {
		d.kept += len(p.text)
		d.text.WriteString(p.text)
		d.sink(Delta{Text: p.text})
	}
}

// reason takes reasoning text that came in the named field.
func (d *draft) reason(field, s string) {
	if d.wire.Field == "" {
		d.wire.Field = field
	}
	d.kept += len(s)
	d.thought.WriteString(s)
	d.sink(Delta{Reasoning: true})
}

// tell lets the sink know of a call as soon as its name stands.
func (d *draft) tell(c *callDraft) {
	if !c.told && c.name != "" && len(c.args) > 0 {
		c.told = true
		d.sink(Delta{Call: c.name})
	}
}

// answer closes the draft. An error is a *Error of KindTruncated or KindUnavailable; the answer then holds what came.
func (d *draft) answer(m *Model) (Answer, error) {
	d.put(d.think.end())
	a := Answer{Text: d.text.String(), Usage: d.usage, Model: m.Name, Calls: d.finishCalls()}
	if strings.TrimSpace(a.Text) == "" {
		a.Text = ""
	}
	d.wire.Origin = m.origin()
	d.wire.Reasoning = d.thought.String()
	a.Wire = d.wire.encode()

	broken := false
	for _, c := range a.Calls {
		broken = broken || c.Problem != ""
	}
	switch d.finish {
	case "error":
		return a, &Error{Kind: KindUnavailable, Model: m.Name, Message: "the service ended the answer with an error"}
	case "":
		if broken || len(a.Calls) == 0 {
			a.Truncated = true
			return a, &Error{Kind: KindTruncated, Model: m.Name, Message: "the stream ended before the answer did"}
		}
		a.Finish = FinishCalls
	case "length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded":
		a.Finish = FinishLength
	case "content_filter":
		a.Finish = FinishFilter
	default:
		a.Finish = FinishStop
		if len(a.Calls) > 0 {
			a.Finish = FinishCalls
		}
	}
	return a, nil
}

// finishCalls judges each call by its content and gives ids to those without an own one.
func (d *draft) finishCalls() []Call {
	var calls []Call
	seen := map[string]bool{}
	for _, c := range d.calls {
		raw := string(c.args)
		if c.name == "" && strings.TrimSpace(raw) == "" {
			continue
		}
		if c.id == "" || seen[c.id] {
			c.id = newCallID()
		}
		seen[c.id] = true
		call := Call{ID: c.id, Name: c.name, Args: raw}
		args, err := Args(raw)
		switch {
		case c.long:
			call.Args, call.Problem = raw+"…", errArgsLong.Error() // the mark keeps it from being an object
		case err != nil:
			call.Problem = err.Error()
		case c.name == "":
			call.Problem = "the call names no tool; send it again with the tool's name"
		default:
			call.Args = args
		}
		if len(c.extra) > 0 {
			d.wire.extra(c.id, c.extra)
		}
		calls = append(calls, call)
	}
	return calls
}

// newCallID makes nine alphanumerics, which every service accepts.
func newCallID() string { return "nod" + strings.ToLower(rand.Text()[:6]) }
