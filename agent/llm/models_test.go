package llm_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nod/agent/llm"
	"nod/agent/llm/scripted"
)

// whatServicesDo says for each row of the tables of MODELS.md, sections 1 and 2, which tests hold what nod does about it. The
// table of section 4 compares libraries, not services.
var whatServicesDo = []struct{ row, tests string }{
	{"no [DONE], clean close after finish_reason", "TestServiceBehaviour/no DONE after finish_reason; TestMODELQuirksAreNamed/no [DONE]"},
	{"closes after 1 chunk, no finish_reason", "TestServiceBehaviour/MODEL-4 closes after one chunk"},
	{"last data line without newline", "TestServiceBehaviour/last line without newline; TestMODELQuirksAreNamed/no line end"},
	{"error frame mid-stream", "TestServiceBehaviour/error frame; TestMODEL5ExamineTellsWhatTheServiceSays/an error in between"},
	{"the same after a comment or an event line", "TestServiceBehaviour/MODEL-5 error frame after a comment; TestServiceBehaviour/MODEL-5 error frame after an event line"},
	{"error with a space, or not the first key", "TestServiceBehaviour/error frame with a space; TestServiceBehaviour/error not the first key"},
	{"error is a string, or without message", "TestServiceBehaviour/error is a string; TestServiceBehaviour/error without message"},
	{"200 with a JSON error, a completion, HTML", "TestServiceBehaviour/200 with a JSON error; TestServiceBehaviour/200 with a whole completion; TestServiceBehaviour/200 with HTML; TestMODELQuirksAreNamed/whole"},
	{"more than 300 lines that are no data", "TestServiceBehaviour/151 comments in a row"},
	{"arguments as object, content as list, float created", "TestServiceBehaviour/arguments as an object; TestServiceBehaviour/content as a list; TestServiceBehaviour/float and string where an int is due; TestMODELQuirksAreNamed/object"},
	{"choices null or missing, data: null", "TestServiceBehaviour/MODEL-6 choices null, missing, empty; null frame; content null"},
	{"choices empty and usage", "TestServiceBehaviour/MODEL-6 choices null, missing, empty; null frame; content null"},
	{"CRLF, data: without space", "TestServiceBehaviour/CRLF and no space after data:"},
	{"tool calls without index or id", "TestServiceBehaviour/MODEL-3 calls without an index, finish_reason stop; TestMODEL3_CallsAreKeptApart/no index, no ids"},
	{"reasoning in four fields", "TestWireBlob/reasoning_content; TestWireBlob/reasoning; TestWireBlob/reasoning_details"},
	{"usage extras", "TestServiceBehaviour/usage extras of DeepSeek and OpenRouter"},

	{"Ollama: parallel calls with one index, or none", "TestMODEL3_CallsAreKeptApart/both at index 0 (Ollama); TestMODEL3_CallsAreKeptApart/no index, ids; TestMODELQuirksAreNamed/finish stop"},
	{"Gemini: one index; finish_reason stop with calls", "TestMODEL3_CallsAreKeptApart/both at index 0, arguments later (Gemini); TestMODELQuirksAreNamed/same index"},
	{"Gemini: thought_signature; errors in a list", "TestWireBlob/reasoning_content; TestServiceErrors/Gemini's list"},
	{"Gemini: a part of JSON Schema; names up to 63", "TestGeminiSchema/unknown keywords; TestTools/gemini-3-flash; TestMODELQuirksAreNamed/a part of JSON Schema"},
	{"GLM-4: a fresh id in every fragment", "TestMODEL3_CallsAreKeptApart/a fresh id in every fragment (GLM-4)"},
	{"GLM: 1214 after compaction; minutes of reasoning only", "TestServiceErrors/GLM's 1214; TestMODEL1_AnyCutIsLegal; TestWatchdog/reasoning"},
	{"SGLang, Bedrock: indexes from 1, or below 0", "TestMODEL3_CallsAreKeptApart/indices that start at 1, or below 0; TestMODELQuirksAreNamed/index from 1"},
	{"DeepSeek: reasoning in all later requests; a content", "TestPeculiaritiesAreLearned/DeepSeek wants reasoning; TestPeculiaritiesAreLearned/DeepSeek wants a content; TestWireBlob/reasoning_content"},
	{"Kimi K2.5: reasoning; no tool_choice, no temperature", "TestMODELQuirksAreNamed/its reasoning; TestRequestsHoldWhatAllServicesTake"},
	{"Kimi K2: ids come back unchanged", "TestPeculiaritiesAreLearned/Kimi's ids stay"},
	{"Mistral: ids of nine; flat errors", "TestPeculiaritiesAreLearned/Mistral's ids, learned; TestMODELQuirksAreNamed/short ids; TestServiceErrors/flat, as by vLLM"},
	{"vLLM: the field reasoning", "TestWireBlob/reasoning; TestMODELQuirksAreNamed/reasoning"},
	{"OpenRouter: comments, errors within, 402, Retry-After", "TestMODELQuirksAreNamed/comments; TestServiceBehaviour/error not the first key; TestServiceErrors/402; TestServiceErrors/429 with Retry-After; TestServiceErrors/OpenRouter quotes the service behind it"},
	{"Groq: tool_use_failed", "TestServiceErrors/Groq's tool_use_failed may work next time"},
	{"llama.cpp: overflow; two assistant messages; Jinja", "TestServiceErrors/llama.cpp; TestServiceErrors/llama.cpp as a 500; TestServiceErrors/llama.cpp's assistant messages; TestServiceErrors/llama.cpp's template as a 500 fails again; TestSanitize/trailing assistant; TestSanitize/several system messages"},
	{"NVIDIA NIM: calls without a finish_reason", "TestServiceBehaviour/complete calls without finish_reason; TestMODELQuirksAreNamed/no finish"},
	{"Anthropic: what is ignored or capped is not sent; one system message", "TestRequestsHoldWhatAllServicesTake; TestSanitize/several system messages"},
	{"any: results right after their calls", "TestMODEL1_AnyCutIsLegal; TestSanitize/MODEL-1 stopped between the results"},
	{"any: no pictures in results", "TestImages; TestSanitize/images of a tool"},
	{"any: names of tools", "TestTools; TestMODELQuirksAreNamed/any name; TestNamesAndSchemas"},
	{"OpenAI strict: not set; at most 128 tools", "TestRequestsHoldWhatAllServicesTake"},
	{"any: finish reasons are not gone by alone", "TestMODEL2_TruncatedArguments/eos; TestServiceBehaviour/a finish_reason of its own; TestServiceBehaviour/finish_reason error and nothing else"},
	{"rate limits: x-ratelimit, Retry-After(-Ms), Anthropic, Azure", "TestRetryAfter/used up window; TestRetryAfter/milliseconds go first; TestRetryAfter/Anthropic's date; TestRetryAfter/Azure's -1; TestServiceErrors/Anthropic's window"},
}

// TestMODELEveryRowHasATest: each test that a row names is there, and so is its case.
func TestMODELEveryRowHasATest(t *testing.T) {
	words := map[string][]string{} // of each test and of the tables that it goes through, by the test's name
	for _, dir := range []string{".", "../../tools/mcp"} {
		maps.Copy(words, testsIn(t, dir))
	}
	for _, r := range whatServicesDo {
		for _, test := range strings.Split(r.tests, "; Test") {
			name, row, isCase := strings.Cut("Test"+strings.TrimPrefix(test, "Test"), "/")
			said, ok := words[name]
			if !ok || isCase && !slices.Contains(said, row) {
				t.Errorf("%s: there is no %s %q", r.row, name, row)
			}
		}
	}
}

// testsIn finds the tests of a folder, with all literal texts in each, in the tables of the file and in its other functions.
func testsIn(t *testing.T, dir string) map[string][]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatal("no tests in ", dir, err)
	}
	tests := map[string][]string{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		var shared []string
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Test") {
				tests[f.Name.Name] = texts(f)
			} else {
				shared = append(shared, texts(d)...)
			}
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Test") {
				tests[f.Name.Name] = append(tests[f.Name.Name], shared...)
			}
		}
	}
	return tests
}

func texts(n ast.Node) (all []string) {
	ast.Inspect(n, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if s, err := strconv.Unquote(lit.Value); err == nil {
				all = append(all, s)
			}
		}
		return true
	})
	return all
}

// TestRequestsHoldWhatAllServicesTake: a field that is only sometimes wanted, such as temperature, tool_choice or strict, makes
// some service refuse the whole request.
func TestRequestsHoldWhatAllServicesTake(t *testing.T) {
	for wire, want := range map[string][]string{
		llm.WireChat:      {"max_tokens", "messages", "model", "stream", "stream_options", "tools"},
		llm.WireResponses: {"include", "input", "max_output_tokens", "model", "store", "stream", "tools"},
	} {
		s := scripted.New(scripted.Sequence(scripted.Say("ok")))
		c := newClient(t, s, llm.Model{Wire: wire})
		if got := ask(t, t.Context(), c, llm.Request{Tools: []llm.ToolDef{ping}, MaxOutput: 100}); got.err != nil {
			t.Fatal(got.err)
		}
		var body map[string]json.RawMessage
		if err := json.Unmarshal(s.Requests()[0].Body, &body); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, slices.Sorted(maps.Keys(body))); d != "" {
			t.Errorf("%s: %s", wire, d)
		}
		if text := string(body["tools"]); strings.Contains(text, "strict") && !strings.Contains(text, `"strict":false`) {
			t.Errorf("%s: %s", wire, text)
		}
	}
}
