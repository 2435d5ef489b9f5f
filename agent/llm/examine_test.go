package llm_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/agent/llm"
	"nod/agent/llm/scripted"
)

var update = flag.Bool("update", false, "rewrite testdata/*.golden")

const oddText = `a "b" \ ü€😀`

// examinee is a model that does what an examination asks for.
func examinee(r scripted.Request) scripted.Reply {
	last := r.LastUser()
	switch {
	case strings.Contains(last, "Call the tool ping"):
		return scripted.Call("ping", map[string]string{"word": "one", "text": oddText}).Call("ping", map[string]string{"word": "two", "text": oddText})
	case strings.Contains(last, "colour"):
		return scripted.Say("Red.")
	}
	return scripted.Say("done")
}

// aspects are the remarks, a line each.
func aspects(r llm.Report) (lines []string) {
	for _, m := range r.Remarks {
		lines = append(lines, fmt.Sprintf("%d %s: %s", m.Grade, m.Aspect, m.Text))
	}
	return lines
}

func examine(t *testing.T, s *scripted.Server, m llm.Model) llm.Report {
	t.Helper()
	if m.ID == "" {
		m.ID = "scripted"
	}
	report, err := newClient(t, s, m).Examine(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestExamineAGoodService(t *testing.T) {
	for _, wire := range []string{llm.WireChat, llm.WireResponses} {
		s := scripted.New(examinee)
		report := examine(t, s, llm.Model{Wire: wire, ContextWindow: 1000, Vision: true, PriceIn: 1, PriceOut: 2})
		if diff := cmp.Diff([]string(nil), aspects(report)); diff != "" {
			t.Error(diff)
		}
		if report.Wire != wire || !report.Tools || report.USD <= 0 || report.Usage.In > 1500 || report.Requests > 6 {
			t.Errorf("%+v", report)
		}
	}
}

// quirky is a service or a model that is peculiar.
type quirky struct {
	name   string
	quirks scripted.Quirks
	script func(scripted.Request) scripted.Reply // nil is the examinee
	model  llm.Model
	chat   bool // means something on the chat wire only
}

// peculiarities are those of MODELS.md that can be seen from outside.
var peculiarities = []quirky{
	{name: "whole", quirks: scripted.Quirks{Whole: true}},
	{name: "no [DONE]", quirks: scripted.Quirks{NoDone: true}, chat: true},
	{name: "no line end", quirks: scripted.Quirks{NoLineEnd: true}, chat: true},
	{name: "comments", quirks: scripted.Quirks{Comments: true}},
	{name: "no finish", quirks: scripted.Quirks{NoFinish: true}, script: pinging, chat: true}, // text without a finish reason counts as cut: MODEL-4
	{name: "finish stop", quirks: scripted.Quirks{FinishStop: true}, chat: true},
	{name: "no usage", quirks: scripted.Quirks{NoUsage: true}},
	{name: "null choices", quirks: scripted.Quirks{NullChoices: true}, chat: true},
	{name: "odd types", quirks: scripted.Quirks{OddTypes: true}, chat: true},
	{name: "reasoning", quirks: scripted.Quirks{Thinks: "reasoning"}, script: thinking, chat: true},
	{name: "same index", quirks: scripted.Quirks{SameIndex: true}, chat: true},
	{name: "no index", quirks: scripted.Quirks{NoIndex: true}, chat: true},
	{name: "index from 1", quirks: scripted.Quirks{IndexFromOne: true}, chat: true},
	{name: "no ids", quirks: scripted.Quirks{NoIDs: true}, chat: true},
	{name: "fresh ids", quirks: scripted.Quirks{FreshIDs: true}, chat: true},
	{name: "object", quirks: scripted.Quirks{ObjectArgs: true}, chat: true},
	{name: "max_tokens", quirks: scripted.Quirks{NoMaxTokens: true}, chat: true},
	{name: "options", quirks: scripted.Quirks{NoStreamOptions: true}, chat: true},
	{name: "short ids", quirks: scripted.Quirks{ShortIDs: true}},
	{name: "its reasoning", quirks: scripted.Quirks{WantsReasoning: true}, chat: true},
	{name: "any name", quirks: scripted.Quirks{AnyToolName: true}},
	{name: "no pictures", quirks: scripted.Quirks{NoImages: true}, model: llm.Model{Vision: true}},
	{name: "a short window", quirks: scripted.Quirks{Window: 900}},
	{name: "a larger window", quirks: scripted.Quirks{Window: 9000}},
}

// inabilities are what a model makes of the first request that shows that it can't be worked with, or not well.
var inabilities = []quirky{
	{name: "no tools", script: answering(scripted.Say("pong"))},
	{name: "calls as text", script: answering(scripted.Say(`<tool_call>{"name":"ping"}</tool_call>`))},
	{name: "cut arguments", script: answering(scripted.Call("ping", `{"word":"po`))},
	{name: "one cut", script: answering(scripted.Call("ping", `{"word":"po`).Call("ping", `{"word":"two"}`))},
	{name: "mangled", script: answering(scripted.Call("ping", `{"word":"one","text":"a ?"}`).Call("ping", `{"word":"two"}`))},
	{name: "one call", script: answering(scripted.Call("ping", `{"word":"one"}`))},
	{name: "thinks in text", script: answering(scripted.Say("<think>hm</think>").Call("ping", `{"word":"one"}`).Call("ping", `{"word":"two"}`)), chat: true},
	{name: "no words after a call", script: answering(scripted.Call("ping", `{"word":"one"}`).Call("ping", `{"word":"two"}`), scripted.Reply{})},
	{name: "unknown window", model: llm.Model{ContextWindow: -1}},
	{name: "told window", quirks: scripted.Quirks{Window: 9000}, model: llm.Model{ContextWindow: -1}},
	{name: "content as list", quirks: scripted.Quirks{ListContent: true}, script: answering(scripted.Say("pong")), chat: true},
	{name: "dead after the first request", script: dying, quirks: scripted.Quirks{AnyToolName: true}, model: llm.Model{Vision: true}},
	{name: "blind", script: blind, model: llm.Model{Vision: true}},
}

// wishes are what is learned from a refusal, where no wire is configured.
var wishes = []quirky{
	{name: "tools on /responses only", script: refusing(scripted.Fail(400, "", "Function tools with reasoning_effort are not supported in /v1/chat/completions. Use /v1/responses."), func(r scripted.Request) bool {
		return r.Wire == scripted.Chat && r.Offers("ping")
	})},
	{name: "no /responses", model: llm.Model{ID: "gpt-6-astra"}, script: refusing(scripted.FailBody(404, "404 page not found"), func(r scripted.Request) bool {
		return r.Wire == scripted.Responses
	})},
	{name: "a part of JSON Schema", script: refusing(scripted.Fail(400, "", `Unknown name "const" at 'tools[0].function_declarations[0].parameters': Cannot find field.`), func(r scripted.Request) bool {
		return r.N == 0
	})},
	{name: "no reasoning", script: refusing(scripted.Fail(400, "", "Extra inputs are not permitted: reasoning_content"), func(r scripted.Request) bool {
		return strings.Contains(string(r.Body), `"reasoning_content":`)
	})},
	{name: "no reason", script: refusing(scripted.FailBody(400, ""), func(r scripted.Request) bool {
		return strings.Contains(string(r.Body), "100000000")
	})},
}

// refusing is a model that thinks, whose service refuses some requests.
func refusing(with scripted.Reply, what func(scripted.Request) bool) func(scripted.Request) scripted.Reply {
	return func(r scripted.Request) scripted.Reply {
		if what(r) {
			return with
		}
		return thinking(r)
	}
}

// pinging calls as it is told to, whatever it is asked.
func pinging(scripted.Request) scripted.Reply {
	return scripted.Call("ping", `{"word":"one"}`).Call("ping", `{"word":"two"}`)
}

func thinking(r scripted.Request) scripted.Reply {
	if len(r.Results()) == 0 && r.Offers("ping") {
		return scripted.Think("hm").Call("ping", `{"word":"one"}`).Call("ping", `{"word":"two"}`)
	}
	return examinee(r)
}

func blind(r scripted.Request) scripted.Reply {
	if strings.Contains(r.LastUser(), "colour") {
		return scripted.Say("I can't see pictures.")
	}
	return examinee(r)
}

func dying(r scripted.Request) scripted.Reply {
	if r.N > 0 {
		return scripted.Fail(500, "", "the engine is gone")
	}
	return examinee(r)
}

// answering begins with other answers than the examinee's.
func answering(first ...scripted.Reply) func(scripted.Request) scripted.Reply {
	return func(r scripted.Request) scripted.Reply {
		if r.N < len(first) {
			return first[r.N]
		}
		return examinee(r)
	}
}

// remarksOn lists what an examination says about each, as a file has it.
func remarksOn(t *testing.T, title, wire string, all []quirky) string {
	var b strings.Builder
	for _, q := range all {
		if q.chat && wire != llm.WireChat {
			continue
		}
		if q.script == nil {
			q.script = examinee
		}
		q.model.Wire = wire
		switch q.model.ContextWindow {
		case 0:
			q.model.ContextWindow = 1000
		case -1:
			q.model.ContextWindow = 0
		}
		report := examine(t, scripted.New(q.script).WithQuirks(q.quirks), q.model)
		fmt.Fprintf(&b, "== %s, %s: %s\n", title, wire, q.name)
		for _, line := range aspects(report) {
			fmt.Fprintln(&b, line)
		}
		if report.Requests > 8 {
			t.Errorf("%s, %s: %d requests", q.name, wire, report.Requests)
		}
		if title == "peculiar" && !report.Tools {
			t.Errorf("%s, %s: it calls tools: %+v", q.name, wire, report)
		}
	}
	return b.String()
}

// TestMODELQuirksAreNamed shows on both wires everything of MODELS.md that can be seen from outside, with all that is said
// about it: what it is, and what nod does or the operator may. A number is the Grade.
func TestMODELQuirksAreNamed(t *testing.T) {
	var got string
	for _, wire := range []string{llm.WireChat, llm.WireResponses} {
		got += remarksOn(t, "peculiar", wire, peculiarities) + remarksOn(t, "unable", wire, inabilities)
	}
	got += remarksOn(t, "wishes", llm.WireAuto, wishes)
	path := filepath.Join("testdata", "remarks.golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

// TestMODEL5ExamineTellsWhatTheServiceSays: when the first request fails, that is all there is to say.
func TestMODEL5ExamineTellsWhatTheServiceSays(t *testing.T) {
	for name, s := range map[string]*scripted.Server{
		"a refusal":           scripted.New(scripted.Sequence(scripted.Fail(401, "", "the engine is gone"))),
		"an error in between": scripted.New(examinee).WithQuirks(scripted.Quirks{ErrorFrame: "the engine is gone"}),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newClient(t, s).Examine(t.Context(), "")
			if err == nil || !strings.Contains(err.Error(), "the engine is gone") {
				t.Errorf("%v", err)
			}
			if n := len(s.Requests()); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}
