package llm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/agent/llm"
	"nod/agent/llm/scripted"
)

// asked is what one Stream came to, in the bubble's time.
type asked struct {
	llm.Answer
	err     *llm.Error
	notices []string
	took    time.Duration
}

func ask(t *testing.T, ctx context.Context, c *llm.Client, req llm.Request) asked {
	t.Helper()
	if req.Messages == nil {
		req.Messages = []llm.Message{user("hi")}
	}
	var got asked
	start := time.Now()
	a, err := c.Stream(ctx, req, func(d llm.Delta) {
		if d.Notice != nil {
			got.notices = append(got.notices, d.Notice.String())
		}
	})
	got.Answer, got.took = a, time.Since(start)
	if err != nil {
		got.err, _ = errors.AsType[*llm.Error](err)
		if got.err == nil {
			t.Fatalf("error is a %T", err)
		}
	}
	return got
}

func TestMODEL7_WaitsAndRetries(t *testing.T) {
	ok := scripted.Say("ok")
	tests := []struct {
		name     string
		replies  []scripted.Reply
		text     string
		kind     llm.Kind // when text is ""
		min, max time.Duration
		notices  int
	}{
		{"429 with Retry-After", []scripted.Reply{scripted.Fail(429, "rate_limit_exceeded", "slow").Header("Retry-After", "7"), ok}, "ok", 0, 7 * time.Second, 7 * time.Second, 1},
		{"429 with Retry-After-Ms", []scripted.Reply{scripted.Fail(429, "", "slow").Header("Retry-After-Ms", "2500"), ok}, "ok", 0, 2500 * time.Millisecond, 2500 * time.Millisecond, 1},
		{"429 that asks for too much", []scripted.Reply{scripted.Fail(429, "", "slow").Header("Retry-After", "300")}, "", llm.KindRateLimited, 0, 0, 0},
		{"429 without a hint", []scripted.Reply{scripted.Fail(429, "", "slow"), ok}, "ok", 0, 750 * time.Millisecond, 1250 * time.Millisecond, 1},
		{"500, then 503", []scripted.Reply{scripted.Fail(500, "", "boom"), scripted.FailBody(503, "<h1>busy</h1>"), ok}, "ok", 0, 2250 * time.Millisecond, 3750 * time.Millisecond, 2},
		{"408, 409, 425", []scripted.Reply{scripted.Fail(408, "", "x"), scripted.Fail(409, "", "x"), scripted.Fail(425, "", "x"), ok}, "ok", 0, 5250 * time.Millisecond, 8750 * time.Millisecond, 3},
		{"529 for ever", []scripted.Reply{scripted.Fail(529, "", "x"), scripted.Fail(529, "", "x"), scripted.Fail(529, "", "x"), scripted.Fail(529, "", "x")}, "", llm.KindUnavailable, 5250 * time.Millisecond, 8750 * time.Millisecond, 3},
		{"cut before any text", []scripted.Reply{scripted.Think("hm").Cut(), scripted.Call("f", `{"a":1}`).Abort(), ok}, "ok", 0, 2250 * time.Millisecond, 3750 * time.Millisecond, 1},
		{"error frame before any text", []scripted.Reply{scripted.Raw("data: {\"error\":{\"message\":\"boom\"}}\n\n"), ok}, "ok", 0, 750 * time.Millisecond, 1250 * time.Millisecond, 1},
		{"400", []scripted.Reply{scripted.Fail(400, "", "bad")}, "", llm.KindBadRequest, 0, 0, 0},
		{"401", []scripted.Reply{scripted.Fail(401, "", "bad")}, "", llm.KindAuth, 0, 0, 0},
		{"insufficient_quota", []scripted.Reply{scripted.Fail(429, "insufficient_quota", "pay")}, "", llm.KindQuota, 0, 0, 0},
		{"too long", []scripted.Reply{scripted.Fail(400, "context_length_exceeded", "maximum context length is 8192 tokens")}, "", llm.KindOverflow, 0, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := scripted.New(scripted.Sequence(tt.replies...))
				got := ask(t, t.Context(), newClient(t, s), llm.Request{})
				if got.Text != tt.text || tt.text == "" && (got.err == nil || got.err.Kind != tt.kind) {
					t.Errorf("answer %+v, error %v", got.Answer, got.err)
				}
				if got.took < tt.min || got.took > tt.max {
					t.Errorf("took %s, want %s to %s", got.took, tt.min, tt.max)
				}
				if n := len(s.Requests()); n != len(tt.replies) {
					t.Errorf("%d requests, want %d", n, len(tt.replies))
				}
				if tt.name != "cut before any text" && len(got.notices) != tt.notices {
					t.Errorf("notices %q, want %d", got.notices, tt.notices)
				}
			})
		})
	}
}

func TestMODEL4_NoRetryAfterText(t *testing.T) {
	s := scripted.New(scripted.Sequence(scripted.Say("Hel").Cut()))
	got := ask(t, t.Context(), newClient(t, s), llm.Request{})
	if got.err == nil || got.err.Kind != llm.KindTruncated || !got.Truncated || got.Text != "Hel" {
		t.Errorf("answer %+v, error %v", got.Answer, got.err)
	}
	if n := len(s.Requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestMODEL6_EmptyIsAskedAgainOnce(t *testing.T) {
	usage := scripted.Usage{In: 10, Out: 1}
	empty := scripted.Say("").Usage(usage)
	t.Run("then text", func(t *testing.T) {
		s := scripted.New(scripted.Sequence(empty, scripted.Say("ok").Usage(usage)))
		got := ask(t, t.Context(), newClient(t, s), llm.Request{})
		if got.err != nil || got.Text != "ok" || got.Empty || got.Usage.In != 20 {
			t.Errorf("answer %+v, error %v", got.Answer, got.err)
		}
	})
	t.Run("twice", func(t *testing.T) {
		s := scripted.New(scripted.Sequence(empty, empty))
		got := ask(t, t.Context(), newClient(t, s), llm.Request{})
		if got.err != nil || !got.Empty {
			t.Errorf("answer %+v, error %v", got.Answer, got.err)
		}
	})
}

func TestMODEL7_Fallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := scripted.New(func(r scripted.Request) scripted.Reply {
			switch r.Model {
			case "first":
				return scripted.Fail(401, "invalid_api_key", "no")
			case "second":
				return scripted.Fail(503, "", "busy")
			}
			return scripted.Say("I am " + r.Model)
		})
		c := newClient(t, s, llm.Model{Name: "first"}, llm.Model{Name: "second"}, llm.Model{Name: "third"})
		got := ask(t, t.Context(), c, llm.Request{})
		if got.Text != "I am third" || got.Model != "third" {
			t.Fatalf("answer %+v, error %v", got.Answer, got.err)
		}
		if len(got.notices) != 5 ||
			got.notices[0] != "first: the model service refused the API key; going on with second" ||
			!strings.HasPrefix(got.notices[1], "second: the model service is unavailable; trying again in ") ||
			got.notices[4] != "second: the model service is unavailable; going on with third" {
			t.Errorf("notices %q", got.notices)
		}

		before := len(s.Requests())
		if got := ask(t, t.Context(), c, llm.Request{}); got.Text != "I am third" || got.notices != nil || len(s.Requests()) != before+1 {
			t.Errorf("right after: %+v %q, %d requests", got.Answer, got.notices, len(s.Requests())-before)
		}
		time.Sleep(11 * time.Minute)
		if got := ask(t, t.Context(), c, llm.Request{}); got.Text != "I am third" || len(got.notices) != 5 {
			t.Errorf("later: %+v %q", got.Answer, got.notices)
		}
		time.Sleep(11 * time.Minute)
		if got := ask(t, t.Context(), c, llm.Request{Model: "THIRD"}); got.Text != "I am third" || got.notices != nil {
			t.Errorf("by name: %+v %q", got.Answer, got.notices)
		}
	})
}

func TestOverflowTeachesTheWindow(t *testing.T) {
	s := scripted.New(scripted.Sequence(scripted.Fail(400, "context_length_exceeded", "This model's maximum context length is 8192 tokens.")))
	c := newClient(t, s, llm.Model{ContextWindow: 100_000}, llm.Model{Name: "other"})
	got := ask(t, t.Context(), c, llm.Request{})
	if got.err == nil || got.err.Window != 8192 || c.Describe("").ContextWindow != 8192 || c.Models()[0].ContextWindow != 8192 {
		t.Errorf("error %+v, models %+v", got.err, c.Models())
	}
}

func TestWatchdog(t *testing.T) {
	tests := []struct {
		name  string
		reply scripted.Reply
		text  string
		took  time.Duration
	}{
		{"no header", scripted.Reply{}.Sleep(time.Hour).Say("late"), "", 2 * time.Minute},
		{"silence within", scripted.Say("Hel").Sleep(time.Hour).Say("lo"), "Hel", 2 * time.Minute},
		{"slow but alive", scripted.Say("a").Sleep(110 * time.Second).Say("b").Sleep(110 * time.Second).Say("c"), "abc", 220 * time.Second},
		{"reasoning", scripted.Think("a").Sleep(110 * time.Second).Think("b").Sleep(110 * time.Second).Say("c"), "c", 220 * time.Second},
		{"comments", scripted.Raw(": ping\n\n").Sleep(110 * time.Second).Raw(": ping\n\n").Sleep(110 * time.Second).Raw(frame(`{"content":"c"}`, "stop")), "c", 220 * time.Second},
		{"half lines", scripted.Raw("da").Sleep(110 * time.Second).Raw("ta: ").Sleep(110 * time.Second).Raw(frame(`{"content":"c"}`, "stop")[6:]), "c", 220 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := scripted.New(scripted.Sequence(tt.reply))
				c, err := llm.New(llm.Options{Models: []llm.Model{{Name: "m"}}, Transport: scripted.Transport(s), Tries: 1})
				if err != nil {
					t.Fatal(err)
				}
				got := ask(t, t.Context(), c, llm.Request{})
				if got.Text != tt.text || got.took != tt.took {
					t.Errorf("text %q after %s, error %v", got.Text, got.took, got.err)
				}
				silent := tt.took == 2*time.Minute
				if silent != (got.err != nil) || silent && (got.err.Kind != llm.KindUnavailable || got.err.Message != "nothing was heard for 2m0s") {
					t.Errorf("error %v", got.err)
				}
			})
		})
	}
}

// STOP-1: a cancel ends a stream and a wait at once, and reaches the service.
func TestSTOP1_Cancel(t *testing.T) {
	replies := map[string]scripted.Reply{
		"before the header": scripted.Reply{}.Sleep(time.Minute).Say("late"),
		"within the answer": scripted.Say("Hel").Sleep(time.Minute).Say("lo"),
		"while it waits":    scripted.Fail(503, "", "busy").Header("Retry-After", "50"),
	}
	for name, reply := range replies {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gone := make(chan struct{})
				inner := scripted.New(scripted.Sequence(reply, scripted.Say("never")))
				h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					defer close(gone)
					inner.ServeHTTP(w, r)
				})
				c, err := llm.New(llm.Options{Models: []llm.Model{{Name: "m"}, {Name: "n"}}, Transport: scripted.Transport(h)})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				got := ask(t, ctx, c, llm.Request{})
				if got.err == nil || got.err.Kind != llm.KindCanceled || !errors.Is(got.err, context.DeadlineExceeded) || got.took != 10*time.Second {
					t.Errorf("error %v after %s", got.err, got.took)
				}
				<-gone
			})
		})
	}
}

// S-D5: no way of failing tells the key, in an error, a notice or the log.
func TestSD5_KeysStaySecret(t *testing.T) {
	const key, header = "sk-verysecretkey123456", "another/secret=value"
	leak := fmt.Sprintf("bad key %s (Bearer %s) at https://u:p@x.test/v1?key=%s and %s", key, key, key, header)
	services := map[string]http.RoundTripper{
		"refused":     roundTripper(func(*http.Request) (*http.Response, error) { return nil, errors.New(leak) }),
		"401 echo":    scripted.Transport(serve{status: 401, body: leak}),
		"500 echo":    scripted.Transport(serve{status: 500, body: `{"error":{"message":` + quote(leak) + `}}`}),
		"stream echo": scripted.Transport(serve{body: `data: {"error":` + quote(leak) + "}\n\n"}),
		"200 echo":    scripted.Transport(serve{typ: "text/html", body: leak}),
		"redirect":    scripted.Transport(serve{status: 307, header: map[string]string{"Location": "http://evil.test/?k=" + key}}),
	}
	for name, rt := range services {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				m := llm.Model{Name: "m", BaseURL: "http://model.test/v1", APIKey: key, Headers: map[string]llm.Secret{"X-Key": header}}
				next := m
				next.Name = "n"
				c, err := llm.New(llm.Options{Models: []llm.Model{m, next}, Transport: rt, Log: slog.New(slog.NewTextHandler(&out, nil))})
				if err != nil {
					t.Fatal(err)
				}
				got := ask(t, t.Context(), c, llm.Request{})
				all := fmt.Sprintf("%v %+v %q %s %+v %#v", got.err, got.err, got.notices, out.String(), m, m)
				for _, secret := range []string{key, header, "u:p@", "?k"} {
					if strings.Contains(all, secret) {
						t.Errorf("%q leaks in %s", secret, all)
					}
				}
				if got.err == nil {
					t.Error("no error")
				}
			})
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestSD5_SecretPrintsNothing(t *testing.T) {
	secret := llm.Secret("sk-verysecret")
	j, err := json.Marshal(map[string]any{"key": secret})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "key", secret, "model", llm.Model{APIKey: secret})
	if all := fmt.Sprintf("%s %v %+v %#v %q %s", j, secret, secret, secret, secret, log.String()); strings.Contains(all, "verysecret") {
		t.Error(all)
	}
}

// Reported usage calibrates the estimates of the model that reported it.
func TestRatio(t *testing.T) {
	s := scripted.New(scripted.Sequence(scripted.Say("ok").Usage(scripted.Usage{In: 2000, Out: 1})))
	c := newClient(t, s, llm.Model{Name: "m"}, llm.Model{Name: "n"})
	h := []llm.Message{user(strings.Repeat("word ", 800))}
	if c.Ratio("m") != 1 {
		t.Errorf("ratio %v at first", c.Ratio("m"))
	}
	if got := ask(t, t.Context(), c, llm.Request{Messages: h}); got.err != nil {
		t.Fatal(got.err)
	}
	if got, want := c.Ratio(""), 2000/float64(llm.EstimateMessages(h)); math.Abs(got-want) > 0.01 || c.Ratio("n") != 1 {
		t.Errorf("ratio %v, want %v; of the other %v", got, want, c.Ratio("n"))
	}
}

func TestManyAtOnce(t *testing.T) {
	s := scripted.New(func(r scripted.Request) scripted.Reply { return scripted.Say("re: ", r.LastUser()) })
	c := newClient(t, s)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			text := fmt.Sprint("question ", i)
			a, err := c.Stream(t.Context(), llm.Request{Messages: []llm.Message{user(text)}}, nil)
			if err != nil || a.Text != "re: "+text {
				t.Errorf("%q, %v", a.Text, err)
			}
		})
	}
	wg.Wait()
}

func TestNewReportsAllProblems(t *testing.T) {
	_, err := llm.New(llm.Options{Models: []llm.Model{
		{Name: "a", BaseURL: "ftp://x"},
		{Name: "b", BaseURL: "https://x/v1?key=topsecret"},
		{Name: "c", Wire: "smoke"},
		{Name: "d", PriceIn: -1},
		{Name: "g", PriceIn: math.NaN()},
		{Name: "h", PriceOut: math.Inf(1)},
		{},
		{Name: "f", Body: map[string]any{"stream": false}},
		{Name: "i", BaseURL: "ftp://x", Wire: "smoke", PriceIn: -1, Body: map[string]any{"model": "j", "store": true}},
		{Name: "e"},
		{Name: "E"},
	}})
	if err == nil {
		t.Fatal("no error")
	}
	want := []string{
		"checking model a: base_url must be an http or https address such as https://api.openai.com/v1",
		"checking model b: base_url must hold no password or query; put keys into api_key",
		`checking model c: wire is "smoke", want auto, chat or responses`,
		"checking model d: context_window and prices must not be negative",
		"checking model g: price_in and price_out must be sums in USD",
		"checking model h: price_in and price_out must be sums in USD",
		"checking a model: it has no name",
		"checking model f: body must not set stream, which nod sets itself",
		"checking model i: base_url must be an http or https address such as https://api.openai.com/v1",
		`checking model i: wire is "smoke", want auto, chat or responses`,
		"checking model i: context_window and prices must not be negative",
		"checking model i: body must not set model, which nod sets itself",
		"checking model i: body must not set store, which nod sets itself",
		"checking model E: the name is used twice; give one a name and an id",
	}
	if d := cmp.Diff(want, strings.Split(err.Error(), "\n")); d != "" {
		t.Error(d)
	}
	if _, err := llm.New(llm.Options{}); err == nil {
		t.Error("no models, no error")
	}
}
