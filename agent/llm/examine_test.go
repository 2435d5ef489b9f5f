package llm_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/agent/llm"
	"nod/agent/llm/scripted"
)

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

// TestMODELQuirksAreNamed shows every peculiarity of MODELS.md that can be seen from outside, with what is done about it.
func TestMODELQuirksAreNamed(t *testing.T) {
	think := func(r scripted.Request) scripted.Reply {
		if reply := examinee(r); len(r.Results()) == 0 && r.Offers("ping") {
			return scripted.Think("hm").Call("ping", `{"word":"one"}`).Call("ping", `{"word":"two"}`)
		} else {
			return reply
		}
	}
	for name, tt := range map[string]struct {
		quirks scripted.Quirks
		script func(scripted.Request) scripted.Reply
		model  llm.Model
		want   []string
	}{
		"whole":         {quirks: scripted.Quirks{Whole: true}, want: []string{"1 streaming: it sends the answer whole"}},
		"no [DONE]":     {quirks: scripted.Quirks{NoDone: true}, want: []string{"0 end of the answer: there is no [DONE]"}},
		"no line end":   {quirks: scripted.Quirks{NoLineEnd: true}, want: []string{"0 stream: its last line has no end", "0 end of the answer: there is no [DONE]"}},
		"comments":      {quirks: scripted.Quirks{Comments: true}, want: []string{"0 stream: lines that are no data"}},
		"no finish":     {quirks: scripted.Quirks{NoFinish: true}, want: nil}, // see below
		"finish stop":   {quirks: scripted.Quirks{FinishStop: true}, want: []string{"0 end of the answer: the finish reason of calls is stop"}},
		"no usage":      {quirks: scripted.Quirks{NoUsage: true}, want: []string{"1 usage: it reports no usage"}},
		"null choices":  {quirks: scripted.Quirks{NullChoices: true}, want: []string{"0 frames: some have no choices"}},
		"odd types":     {quirks: scripted.Quirks{OddTypes: true}, want: []string{"0 frames: some fields are of other types"}},
		"reasoning":     {quirks: scripted.Quirks{Thinks: "reasoning"}, script: think, want: []string{"0 reasoning: it comes in the field reasoning;"}},
		"same index":    {quirks: scripted.Quirks{SameIndex: true}, want: []string{"0 parallel calls: several have the same index"}},
		"no index":      {quirks: scripted.Quirks{NoIndex: true}, want: []string{"0 parallel calls: they come without an index"}},
		"index from 1":  {quirks: scripted.Quirks{IndexFromOne: true}, want: []string{"0 parallel calls: their indexes do not begin with 0"}},
		"no ids":        {quirks: scripted.Quirks{NoIDs: true}, want: []string{"0 call ids: there are none"}},
		"fresh ids":     {quirks: scripted.Quirks{FreshIDs: true}, want: []string{"0 call ids: they change within a call"}},
		"object":        {quirks: scripted.Quirks{ObjectArgs: true}, want: []string{"0 arguments: they come as an object"}},
		"max_tokens":    {quirks: scripted.Quirks{NoMaxTokens: true}, want: []string{"0 requests: it wants max_completion_tokens"}},
		"options":       {quirks: scripted.Quirks{NoStreamOptions: true}, want: []string{"0 requests: it refuses stream_options"}},
		"short ids":     {quirks: scripted.Quirks{ShortIDs: true}, want: []string{"0 requests: it wants call ids of nine"}},
		"its reasoning": {quirks: scripted.Quirks{WantsReasoning: true}, want: []string{"0 requests: it must be shown its reasoning"}},
		"any name":      {quirks: scripted.Quirks{AnyToolName: true}, want: []string{"0 tool names: it takes dots, slashes and 128 characters"}},
		"no pictures":   {quirks: scripted.Quirks{NoImages: true}, model: llm.Model{Vision: true}, want: []string{"2 vision: it takes no pictures; set vision: false"}},
		"a short window": {
			quirks: scripted.Quirks{Window: 900}, want: []string{"1 context length: context_window is 1000 in nod.yaml, and the service tells 900"},
		},
		"a larger window": {quirks: scripted.Quirks{Window: 9000}, want: nil},
	} {
		t.Run(name, func(t *testing.T) {
			script := tt.script
			if script == nil {
				script = examinee
			}
			if name == "no finish" { // text without a finish reason counts as cut: MODEL-4
				script = func(scripted.Request) scripted.Reply {
					return scripted.Call("ping", `{"word":"one"}`).Call("ping", `{"word":"two"}`)
				}
				tt.want = []string{"0 end of the answer: there is no finish reason"}
			}
			tt.model.ContextWindow, tt.model.Wire = 1000, llm.WireChat
			report := examine(t, scripted.New(script).WithQuirks(tt.quirks), tt.model)
			got := aspects(report)
			if len(got) != len(tt.want) {
				t.Fatalf("remarks:\n%s", strings.Join(got, "\n"))
			}
			for i, want := range tt.want {
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("%q, not %q", got[i], want)
				}
			}
			if !report.Tools || report.Requests > 8 {
				t.Errorf("%+v", report)
			}
		})
	}
}

func TestExamineAModelThatCannot(t *testing.T) {
	answering := func(first scripted.Reply) func(scripted.Request) scripted.Reply {
		return func(r scripted.Request) scripted.Reply {
			if r.N == 0 {
				return first
			}
			return examinee(r)
		}
	}
	for name, tt := range map[string]struct {
		first scripted.Reply
		model llm.Model
		want  string
	}{
		"no tools":        {scripted.Say("pong"), llm.Model{ContextWindow: 1}, "1 tools: it answers, but did not call"},
		"calls as text":   {scripted.Say(`<tool_call>{"name":"ping"}</tool_call>`), llm.Model{ContextWindow: 1}, "2 tools: it writes calls as text"},
		"cut arguments":   {scripted.Call("ping", `{"word":"po`), llm.Model{ContextWindow: 1}, "2 arguments: the arguments of its calls are no JSON objects"},
		"one cut":         {scripted.Call("ping", `{"word":"po`).Call("ping", `{"word":"two"}`), llm.Model{ContextWindow: 1}, "1 arguments: arguments of some calls are cut"},
		"mangled":         {scripted.Call("ping", `{"word":"one","text":"a ?"}`).Call("ping", `{"word":"two"}`), llm.Model{ContextWindow: 1}, "1 arguments: quotes, backslashes"},
		"one call":        {scripted.Call("ping", `{"word":"one"}`), llm.Model{ContextWindow: 1}, "0 parallel calls: it makes one call at a time"},
		"thinks in text":  {scripted.Say("<think>hm</think>").Call("ping", `{"word":"one"}`).Call("ping", `{"word":"two"}`), llm.Model{ContextWindow: 1}, "0 reasoning: it stands in the text"},
		"unknown window":  {examinee(scripted.Request{Messages: []scripted.Message{{Role: "user", Text: "Call the tool ping"}}}), llm.Model{}, "1 context length: set context_window in nod.yaml"},
		"content as list": {scripted.Raw("data: {\"choices\":[{\"delta\":{\"content\":[{\"type\":\"text\",\"text\":\"pong\"}]},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":5}}\n\ndata: [DONE]\n\n"), llm.Model{ContextWindow: 1}, "0 frames: content is a list of parts"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.model.Wire = llm.WireChat
			got := aspects(examine(t, scripted.New(answering(tt.first)), tt.model))
			if len(got) == 0 || !strings.HasPrefix(got[0], tt.want) {
				t.Errorf("remarks:\n%s", strings.Join(got, "\n"))
			}
		})
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
	dead := scripted.New(func(r scripted.Request) scripted.Reply {
		if r.N > 0 {
			return scripted.Fail(500, "", "the engine is gone")
		}
		return examinee(r)
	}).WithQuirks(scripted.Quirks{AnyToolName: true})
	got := strings.Join(aspects(examine(t, dead, llm.Model{ContextWindow: 1000, Vision: true, Wire: llm.WireChat})), "\n")
	for _, want := range []string{"2 results of calls: it does not go on after a call: ", "1 tool names: what it takes is not known: ", "1 vision: whether it takes pictures is not known"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in:\n%s", want, got)
		}
	}
}
