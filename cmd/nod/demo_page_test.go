package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"nod/agent/llm/scripted"
	"nod/bot/emulator"
)

// shownDemo is `nod demo` as a person starts it: on a socket, in a folder for temporary files that holds nothing else.
type shownDemo struct {
	t    *testing.T
	out  *logBuffer
	errs *logBuffer
	dir  string
	page *url.URL // with the key
	end  func()   // as Ctrl-C does; checks that nothing is left
}

// demoTime bounds each thing that a test of the shown demo waits for.
const demoTime = 30 * time.Second

var pageForm = regexp.MustCompile(`open (http://127\.0\.0\.1:\d+/\?key=[0-9a-f]{32})\n`)

// showDemo starts the demo command and waits for the address that it prints.
func showDemo(t *testing.T, env map[string]string) *shownDemo {
	t.Helper()
	s := &shownDemo{t: t, out: &logBuffer{}, errs: &logBuffer{}, dir: t.TempDir()}
	t.Setenv("TMPDIR", s.dir)
	nothing := noEnv(t.TempDir())
	out := stdio{out: newlines{s.out, make(chan struct{}, 1)}, err: s.errs, env: func(name string) string {
		if value := env[name]; value != "" {
			return value
		}
		return nothing(name)
	}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- demoCommand(ctx, nil, out) }()
	s.end = func() {
		s.t.Helper()
		s.end = func() {}
		cancel()
		if err := <-done; err != nil {
			s.t.Errorf("ending the demo: %v", err)
		}
		if left, err := os.ReadDir(s.dir); err != nil || len(left) > 0 {
			s.t.Errorf("the demo left %v (%v)", left, err)
		}
		for line := range strings.Lines(s.errs.String()) {
			if !strings.Contains(line, "some messages will be sent after") { // the pace may have held them back
				s.t.Errorf("the demo logged: %s", line)
			}
		}
	}
	t.Cleanup(func() { s.end() })
	select {
	case <-out.out.(newlines).more:
	case err := <-done:
		t.Fatalf("starting the demo: %v", err)
	case <-time.After(demoTime):
		t.Fatal("the demo does not start")
	}
	m := pageForm.FindStringSubmatch(s.out.String())
	if m == nil {
		t.Fatalf("the demo printed no address:\n%s", s.out)
	}
	page, err := url.Parse(m[1])
	if err != nil {
		t.Fatal(err)
	}
	s.page = page
	return s
}

// newlines tells that something was written.
type newlines struct {
	*logBuffer
	more chan struct{}
}

func (n newlines) Write(p []byte) (int, error) {
	defer func() {
		select {
		case n.more <- struct{}{}:
		default:
		}
	}()
	return n.logBuffer.Write(p)
}

// key opens the page.
func (s *shownDemo) key() map[string]string {
	return map[string]string{"X-Nod-Key": s.page.Query().Get("key")}
}

// post sends a request to the page and gives the answer's status.
func (s *shownDemo) post(path, body string, headers map[string]string) int {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), demoTime)
	defer cancel()
	resp := s.do(ctx, http.MethodPost, path, body, headers)
	defer resp.Body.Close()
	return resp.StatusCode
}

func (s *shownDemo) do(ctx context.Context, method, path, body string, headers map[string]string) *http.Response {
	s.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, "http://"+s.page.Host+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for name, value := range headers {
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Set(name, value)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

// sees reads the page's events until a message of the bot matches, and gives that message.
func (s *shownDemo) sees(match func(emulator.Message) bool) (found emulator.Message) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), demoTime)
	defer cancel()
	resp := s.do(ctx, http.MethodGet, "/events", "", s.key())
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var state struct{ Messages []emulator.Message }
		if err := json.Unmarshal([]byte(data), &state); err != nil {
			s.t.Fatal(err)
		}
		for _, m := range state.Messages {
			if m.From != nil && m.From.IsBot && match(m) {
				return m
			}
		}
	}
	s.t.Fatalf("the page's events ended: %v\n%s", lines.Err(), s.errs)
	return found
}

func says(part string) func(emulator.Message) bool {
	return func(m emulator.Message) bool { return strings.Contains(m.Text, part) }
}

// TestDemoDoor: through the demo's own listener, nobody but who has the key presses Approve; then it works.
func TestDemoDoor(t *testing.T) {
	s := showDemo(t, nil)
	if !strings.Contains(s.out.String(), "scripted demo model") {
		t.Errorf("the demo does not say what answers:\n%s", s.out)
	}
	s.sees(says("script"))
	if code := s.post("/send", `{"text":"Write me a note"}`, s.key()); code != http.StatusOK {
		t.Fatalf("sending: %d", code)
	}
	card := s.sees(func(m emulator.Message) bool { return m.Keyboard != nil })
	press, err := json.Marshal(map[string]any{"id": card.ID, "data": card.Keyboard.Rows[0][0].Data})
	if err != nil {
		t.Fatal(err)
	}
	key, own := s.page.Query().Get("key"), "http://"+s.page.Host
	for name, headers := range map[string]map[string]string{
		"no key":                 {"Origin": own},
		"a wrong key":            {"X-Nod-Key": strings.Repeat("0", 32)},
		"a foreign page":         {"X-Nod-Key": key, "Origin": "https://evil.test"},
		"another local port":     {"X-Nod-Key": key, "Origin": "http://127.0.0.1:1"},
		"a foreign page's fetch": {"X-Nod-Key": key, "Sec-Fetch-Site": "cross-site"},
		"a rebound name":         {"X-Nod-Key": key, "Host": "evil.test", "Origin": "http://evil.test"},
		"a name without a port":  {"X-Nod-Key": key, "Host": "127.0.0.1"},
	} {
		if code := s.post("/press", string(press), headers); code != http.StatusForbidden {
			t.Errorf("%s presses Approve: %d", name, code)
		}
	}
	notes := filepath.Join(s.dir, "nod-demo-*", "workspace", "notes", "hello.md")
	if found, err := filepath.Glob(notes); err != nil || len(found) > 0 {
		t.Errorf("the note was written: %v (%v)", found, err)
	}
	if code := s.post("/press", string(press), s.key()); code != http.StatusOK {
		t.Errorf("the person presses Approve: %d", code)
	}
	s.sees(says("Written to"))
	if found, err := filepath.Glob(notes); err != nil || len(found) != 1 {
		t.Errorf("the note was not written: %v (%v)", found, err)
	}
	s.end()
}

// TestDemoRealModel: with a model service in the environment the demo says which, and asks it.
func TestDemoRealModel(t *testing.T) {
	server := httptest.NewServer(scripted.New(func(r scripted.Request) scripted.Reply {
		return scripted.Say("I am " + r.Model + ", and you said " + r.LastUser())
	}))
	defer server.Close()
	s := showDemo(t, map[string]string{"OPENAI_BASE_URL": server.URL + "/v1", "NOD_MODEL": "the-real-one"})
	if !strings.Contains(s.out.String(), "The model is the-real-one.") {
		t.Errorf("the demo does not say which model answers:\n%s", s.out)
	}
	s.sees(says("the-real-one"))
	if code := s.post("/send", `{"text":"good morning"}`, s.key()); code != http.StatusOK {
		t.Fatalf("sending: %d", code)
	}
	s.sees(says("I am the-real-one, and you said good morning"))
	s.end()
}

// TestDemoTwice: a second demo runs beside the first.
func TestDemoTwice(t *testing.T) {
	first := showDemo(t, nil)
	second := showDemo(t, nil)
	if first.page.Host == second.page.Host || first.page.RawQuery == second.page.RawQuery {
		t.Errorf("both demos are at %s", first.page)
	}
	second.end()
	first.sees(says("script"))
	first.end()
}

// TestDemoRefusesBadConfiguration: what is wrong is told before anything starts.
func TestDemoRefusesBadConfiguration(t *testing.T) {
	err := demoCommand(t.Context(), nil, stdio{out: io.Discard, err: io.Discard, env: func(name string) string {
		return map[string]string{"NOD_HOME": t.TempDir(), "NOD_TIMEZONE": "Mars/Olympus"}[name]
	}})
	if err == nil || !strings.Contains(err.Error(), "NOD_TIMEZONE") {
		t.Errorf("the error is %v", err)
	}
}
