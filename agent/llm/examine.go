package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Grade is how much of a fault a Remark tells of.
type Grade int

const (
	Repaired Grade = iota // a peculiarity that costs nothing: nod goes about it
	Lacking               // something is less good than it could be
	Failing               // it can't be worked with so
)

// Remark is something about a service that differs from what OpenAI's interface promises, with what nod does about it or
// what to do.
type Remark struct {
	Aspect string // such as "parallel calls"
	Grade  Grade
	Text   string
}

// Report is what an examination of a model and its service has shown.
type Report struct {
	Wire     string        // the wire that worked: WireChat or WireResponses
	First    time.Duration // until the first answer was complete
	Requests int
	Usage    Usage
	USD      float64 // by the model's prices
	Tools    bool    // it called the tools that it was told to call
	Remarks  []Remark
}

// examineTime bounds each request of an examination.
const examineTime = 30 * time.Second

// Examine looks at what the named model ("" is the first) and its service do, with at most six small requests that have
// some 1,500 tokens together: no waiting, no retries, no other model. The error, an *Error, is that of the first request:
// then nothing else was asked.
func (c *Client) Examine(ctx context.Context, model string) (Report, error) {
	e := c.first(model)
	x := &examination{client: *c, entry: e, tape: &tape{base: c.http.Transport}}
	x.client.http = x.tape.client(c.http)
	call, err := x.calls(ctx)
	if err != nil {
		return x.report, err
	}
	x.results(ctx, call)
	x.names(ctx)
	x.limits(ctx)
	x.pictures(ctx)
	x.window(ctx)
	x.learned()
	x.report.Wire = e.known().wire(e.Wire)
	x.report.USD = Cost(x.report.Usage, e.Model)
	return x.report, nil
}

// examination is an Examine under way.
type examination struct {
	client Client // that of the caller, over the tape
	entry  *entry
	tape   *tape
	report Report
}

func (x *examination) remark(aspect string, g Grade, format string, args ...any) {
	x.report.Remarks = append(x.report.Remarks, Remark{aspect, g, fmt.Sprintf(format, args...)})
}

// ask makes one request.
func (x *examination) ask(ctx context.Context, req Request) (Answer, *Error) {
	ctx, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()
	x.tape.rewind()
	a, _, err := x.client.once(ctx, x.entry, req, func(Delta) {})
	x.report.Requests += x.tape.requests
	x.report.Usage = x.report.Usage.Plus(a.Usage)
	return a, err
}

const (
	examineCalls = "This is a connection test. Call the tool ping two times in the same answer, first with the word one, then with the word two, " +
		"and with the text %s both times. Write nothing else."
	// oddText has what goes wrong when arguments are cut, escaped twice or encoded wrongly.
	oddText = `a "b" \ ü€😀`
	// hardName is as long and as odd as names get that nod gives to tools.
	hardName = "mcp__a-server_with-a_long_name__a_tool-with_a_long_name_of_9_aa"
	// looseName is what other programs call tools; few services take it.
	looseName = "a.server/tool:name"
)

var pingTool = ToolDef{
	Name: "ping", Description: "Shows that tool calls work.",
	Schema: json.RawMessage(`{"type":"object","properties":{"word":{"type":"string"},"text":{"type":"string"}},"required":["word"]}`),
}

func namedTool(name string) ToolDef {
	return ToolDef{Name: name, Description: "Is not needed.", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}
}

func userSays(text string) []Message { return []Message{{Role: RoleUser, Text: text}} }

// calls has the model call a tool two times at once, and looks at everything about the stream.
func (x *examination) calls(ctx context.Context) (Answer, error) {
	start := time.Now()
	a, err := x.ask(ctx, Request{Messages: userSays(fmt.Sprintf(examineCalls, oddText)), Tools: []ToolDef{pingTool, namedTool(hardName)}})
	if err != nil {
		return a, err
	}
	x.report.First = time.Since(start)
	x.report.Remarks = append(x.report.Remarks, x.tape.observe()...)
	if a.Usage.In == 0 {
		x.remark("usage", Lacking, "it reports no usage, so /cost, /context and caps on spending go by guesses")
	}
	whole, same := 0, 0
	for _, c := range a.Calls {
		if c.Problem == "" && c.Name == pingTool.Name {
			whole++
		}
		var args struct{ Word, Text string }
		if json.Unmarshal([]byte(c.Args), &args) == nil && (args.Text == oddText || args.Text == "") {
			same++
		}
	}
	x.report.Tools = whole > 0
	switch {
	case whole == 0 && looksLikeCall(a.Text):
		x.remark("tools", Failing, "it writes calls as text instead of making them: choose a server or a template that understands this model's calls")
	case whole == 0 && len(a.Calls) > 0:
		x.remark("arguments", Failing, "the arguments of its calls are no JSON objects, so nothing can be run: choose another model or server")
	case whole == 0:
		x.remark("tools", Lacking, "it answers, but did not call the tool it was told to call: choose a model that can use tools")
	case whole < len(a.Calls):
		x.remark("arguments", Lacking, "arguments of some calls are cut or no JSON objects; such calls are not run, and the model is told")
	case same < len(a.Calls):
		x.remark("arguments", Lacking, "quotes, backslashes or letters beyond ASCII do not arrive as they were sent; look at each card")
	}
	if len(a.Calls) == 1 && whole == 1 {
		x.remark("parallel calls", Repaired, "it makes one call at a time, which takes more rounds")
	}
	return a, nil
}

func looksLikeCall(text string) bool {
	return hasAny(text, "<tool_call>", "<function", "[TOOL_CALLS]", "<|python_tag|>", "<|tool_call", "functions.ping") || strings.Contains(text, `"name"`) && strings.Contains(text, "ping")
}

// results sends the calls back with their results, as every turn does.
func (x *examination) results(ctx context.Context, call Answer) {
	if len(call.Calls) == 0 {
		return
	}
	h := append(userSays(fmt.Sprintf(examineCalls, oddText)), call.Message())
	for _, c := range call.Calls {
		h = append(h, Message{Role: RoleTool, Text: "pong", CallID: c.ID})
	}
	a, err := x.ask(ctx, Request{Messages: append(h, userSays("Answer with the word done.")...), Tools: []ToolDef{pingTool}})
	switch {
	case err != nil:
		x.remark("results of calls", Failing, "it does not go on after a call: %s", err.Words())
	case a.Text == "" && len(a.Calls) == 0:
		x.remark("results of calls", Lacking, "it gives an empty answer after a call; nod asks once more, then says so")
	}
}

// names asks whether names are taken that nod never sends.
func (x *examination) names(ctx context.Context) {
	_, err := x.ask(ctx, Request{Messages: userSays("Answer with the word done."), Tools: []ToolDef{namedTool(looseName), namedTool(strings.Repeat("n", 128))}})
	switch {
	case err == nil:
		x.remark("tool names", Repaired, "it takes dots, slashes and 128 characters; nod keeps to letters, digits, _ and -, at most 63, all the same")
	case err.Kind != KindBadRequest:
		x.remark("tool names", Lacking, "what it takes is not known: %s", err.Words())
	}
}

// limits asks for an answer longer than any, which most services refuse and some explain with the size of the window.
func (x *examination) limits(ctx context.Context) {
	_, err := x.ask(ctx, Request{Messages: userSays("Answer with the word done."), MaxOutput: 100_000_000})
	if err != nil && err.Message == "" {
		x.remark("errors", Lacking, "it refuses without a reason (HTTP %d), so that nod can't tell what to do about it", err.Status)
	}
}

// pictures shows a model that is said to see one of a single colour.
func (x *examination) pictures(ctx context.Context) {
	if !x.entry.Vision {
		return
	}
	a, err := x.ask(ctx, Request{Messages: []Message{{
		Role: RoleUser, Text: "Which colour is this picture? Answer with one word.", Images: []Image{{MIME: "image/png", Data: redPicture()}},
	}}})
	switch {
	case err != nil && err.Kind == KindBadRequest:
		x.remark("vision", Failing, "it takes no pictures; set vision: false for this model: %s", err.Words())
	case err != nil:
		x.remark("vision", Lacking, "whether it takes pictures is not known: %s", err.Words())
	case !strings.Contains(strings.ToLower(a.Text), "red"):
		x.remark("vision", Lacking, "it was shown a red picture and did not see it; set vision: false for this model")
	}
}

// window compares what is configured with what the service tells.
func (x *examination) window(ctx context.Context) {
	x.entry.mu.Lock()
	told := x.entry.window
	x.entry.mu.Unlock()
	if told == 0 {
		told = x.listed(ctx)
	}
	stated := x.entry.ContextWindow
	switch {
	case stated == 0 && told > 0:
		x.remark("context length", Lacking, "the service tells %d tokens; set context_window: %d in nod.yaml, 128000 are assumed", told, told)
	case stated == 0:
		x.remark("context length", Lacking, "set context_window in nod.yaml, 128000 tokens are assumed and the service does not tell")
	case told > 0 && told < stated:
		x.remark("context length", Lacking, "context_window is %d in nod.yaml, and the service tells %d; set it to that", stated, told)
	}
}

// learned says what the service wants written differently.
func (x *examination) learned() {
	known := x.entry.known()
	if known.has(quirkChatOnly) { // which has the last word
		known &^= quirkResponses
	}
	for _, q := range []struct {
		quirk quirk
		text  string
	}{
		{quirkResponses, "it takes tools on /responses only; nod uses that"},
		{quirkChatOnly, "it has no /responses; nod uses /chat/completions"},
		{quirkNoStreamOpts, "it refuses stream_options; nod leaves them out"},
		{quirkMaxCompletion, "it wants max_completion_tokens; nod writes that"},
		{quirkShortIDs, "it wants call ids of nine letters and digits; nod rewrites them"},
		{quirkGemini, "it knows a part of JSON Schema only; nod keeps to that"},
		{quirkNoReasoning, "it refuses to be shown its reasoning; nod leaves it out"},
		{quirkNeedReasoning, "it must be shown its reasoning; nod sends it back"},
	} {
		if known.has(q.quirk) {
			x.remark("requests", Repaired, "%s", q.text)
		}
	}
}

// Words is the error for a line that names the model already. Why no answer came says that there is none.
func (e *Error) Words() string {
	if e.Kind == KindUnavailable && e.Status == 0 && e.Message != "" {
		return e.Message
	}
	text := e.Kind.String()
	if e.Status != 0 {
		text += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}
