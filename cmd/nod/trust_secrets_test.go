package main

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"nod/agent/llm"
	"nod/agent/llm/scripted"
	"nod/bot/emulator"
	"nod/tools"
)

// canary is a secret that nod knows.
const canary = "Nod9/canary+5up3r=secret?&z"

// decoy travels the way of the nth probe and is no secret: it is the control, which has to be seen, since what nobody would
// see if it leaked proves nothing.
func decoy(n int) string { return fmt.Sprintf("Nod9/dec0y%02d+5up3r=noth?&z", n) }

// encodings are the forms in which a value travels.
var encodings = map[string]func(string) string{
	"plain":     func(v string) string { return v },
	"base64":    func(v string) string { return base64.StdEncoding.EncodeToString([]byte(v)) },
	"base64url": func(v string) string { return base64.RawURLEncoding.EncodeToString([]byte("k:" + v)) },
	"hex":       func(v string) string { return hex.EncodeToString([]byte(v)) },
	"HEX":       func(v string) string { return strings.ToUpper(hex.EncodeToString([]byte(v))) },
	"percent":   url.QueryEscape,
}

// traces are the parts of each encoding by which a value is recognised, wherever it stands in a longer text.
func traces(value string) (all []string) {
	raw := []byte(value)
	all = []string{value, html.EscapeString(value), hex.EncodeToString(raw), strings.ToUpper(hex.EncodeToString(raw)), url.QueryEscape(value), url.PathEscape(value)}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for offset := range 3 {
			text := enc.EncodeToString(append(make([]byte, offset), raw...))
			all = append(all, text[4:len(text)-4]) // without what depends on its neighbours
		}
	}
	return all
}

// probe is one way for a value to come to an exit: what the person says, and what the model answers to that.
type probe struct {
	what  string
	files map[string]string
	says  string
	reply scripted.Reply
	fail  string // of the next sendMessage
	user  string // the variable USER of nod's environment, which commands inherit
}

// probesOf are the ways of an encoded value. In the first half it comes from the machine, in the second from a model, a
// person or a service. text gives it for the nth of them.
func probesOf(name string, text func(n int) string) []probe {
	ways := waysOf(name, "")
	for n := range ways {
		ways[n] = waysOf(name, text(n))[n]
	}
	return ways
}

func waysOf(name, text string) []probe {
	file := map[string]string{name: "first line\nmarker " + text + " behind\nlast line\n"}
	half := len(text) / 2
	return []probe{
		{what: "a command's output", files: file, reply: scripted.Call(tools.ExecuteCmd, map[string]any{"command": "cat " + name})},
		{what: "a command's output in two writes", files: file, reply: scripted.Call(tools.ExecuteCmd, map[string]any{
			"command": fmt.Sprintf("head -c %d %s; sleep 0.01; tail -c +%d %s", 19+half, name, 20+half, name),
		})},
		{what: "a file", files: file, reply: scripted.Call(tools.ReadFile, map[string]any{"path": name})},
		{what: "a search in a file", files: file, reply: scripted.Call(tools.SearchFile, map[string]any{"path": name, "query": "marker"})},
		{what: "a search in files", files: file, reply: scripted.Call(tools.GrepFiles, map[string]any{"pattern": "marker.*", "path": "."})},
		{what: "a command's environment", user: text, reply: scripted.Call(tools.ExecuteCmd, map[string]any{"command": "env; tr '\\0' '\\n' </proc/$PPID/environ"})},
		{what: "a refused call", reply: scripted.Call(tools.ReadFile, map[string]any{"path": "none/" + text})},
		{what: "an answer", reply: scripted.Say("The key is " + text + ", they say.")},
		{what: "an answer in pieces", reply: scripted.Say("The key is ", text[:half], text[half:], ", they say.")},
		{what: "a person's words", says: " my key is " + text, reply: scripted.Say("I see.")},
		{what: "an error of the model's service", reply: scripted.Fail(http.StatusBadRequest, "invalid_request_error", "Incorrect key provided: "+text)},
		{what: "an error of Telegram", reply: scripted.Say("Something."), fail: "Bad Request: can't parse " + text},
	}
}

// trustSecrets sends a secret on its way to every exit, and looks for it there.
func trustSecrets(t *testing.T, table *trustTable) {
	t.Setenv("OPENAI_API_KEY", canary)
	var known, unknown sightings
	names := slices.Sorted(maps.Keys(encodings))
	if testing.Short() {
		names = names[:2]
	}
	t.Run("known", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { known = sight(t, func(int) string { return canary }, names) })
	})
	t.Run("unknown", func(t *testing.T) { synctest.Test(t, func(t *testing.T) { unknown = sight(t, decoy, names) }) })
	for exit, seen := range known.at {
		t.Errorf("the secret is seen in %s: %q", exit, seen)
	}
	for n, seen := range unknown.of {
		if !seen {
			t.Errorf("what is no secret is seen nowhere when it comes in %s, so that a secret could not be", unknown.ways[n])
		}
	}
	var seen []string
	all := true
	for _, exit := range secretExits {
		seen = append(seen, fmt.Sprintf("%s %d", exit, len(unknown.at[exit])))
		all = all && len(unknown.at[exit]) > 0
	}
	ours, naive := redirected(t)
	table.add(t, trustRow{
		"10. a secret seen in requests to the model, chat, log, database", fmt.Sprintf("%d of %d probes (%d ways, %d encodings)", known.count(), len(known.ways), len(known.ways)/len(names), len(names)), "0",
		fmt.Sprintf("a word that nod does not know to be secret, in each of %d probes: %s", unknown.probes(), join(seen)),
	}, known.count() == 0 && len(known.ways) == len(names)*len(waysOf("", "")), all && unknown.probes() == len(unknown.ways))
	table.add(t, trustRow{
		"    the token sent elsewhere after a redirect (address or Referer)", fmt.Sprint(ours), "0", fmt.Sprintf("Go's default client: %d", naive),
	}, ours == 0, naive > 0)
}

// secretExits are the ways out of nod.
var secretExits = []string{"model", "chat", "log", "database"}

// sightings are where a value was seen, with some text around it.
type sightings struct {
	ways []string // of each probe
	of   []bool   // whether the value of a probe was seen at all
	at   map[string][]string

	requests, calls, logged int // how much of each was looked at
}

func (s *sightings) count() (n int) {
	for _, seen := range s.at {
		n += len(seen)
	}
	return n
}

// probes is of how many probes a value was seen.
func (s *sightings) probes() (n int) {
	for _, seen := range s.of {
		if seen {
			n++
		}
	}
	return n
}

// look looks for the value of the nth probe in a text at an exit, and says whether it is there.
func (s *sightings) look(exit, text string, n int, traces []string) bool {
	for _, trace := range traces {
		if at := strings.Index(text, trace); at >= 0 {
			s.of[n] = true
			s.at[exit] = append(s.at[exit], s.ways[n]+": "+text[max(0, at-80):min(len(text), at+len(trace)+20)])
			return true
		}
	}
	return false
}

var probeForm = regexp.MustCompile(`probe-(\d+)`)

// sight sends values through all probes in some encodings, and looks at all exits.
func sight(t *testing.T, value func(n int) string, names []string) (s sightings) {
	var probes []probe
	var values [][]string // the traces of each
	s.at = map[string][]string{}
	for i, name := range names {
		first := len(probes)
		probes = append(probes, probesOf(fmt.Sprintf("leak-%d.txt", i), func(n int) string { return encodings[name](value(first + n)) })...)
		for n, p := range probes[first:] {
			values, s.ways = append(values, traces(value(first+n))), append(s.ways, p.what+", in "+name)
		}
	}
	s.of = make([]bool, len(probes))
	w := newWorld(t)
	w.config = func(c *Config) { c.Models[0].APIKey = llm.Secret(canary) }
	w.service = scripted.New(func(r scripted.Request) scripted.Reply {
		found := probeForm.FindAllStringSubmatch(r.LastUser(), -1)
		if len(found) == 0 || len(r.Results()) > 0 {
			return scripted.Say("Done.")
		}
		n, err := strconv.Atoi(found[len(found)-1][1])
		if err != nil || n >= len(probes) {
			return scripted.Say("Done.")
		}
		return probes[n].reply
	})
	w.start()
	for n, p := range probes {
		w.probe(n, p)
		w.lookOut(&s, n, values[n])
	}
	w.end()
	for _, row := range w.rows() {
		for n := range probes {
			if s.look("database", row, n, values[n]) {
				break // where all values are one, the others would see it too
			}
		}
	}
	return s
}

// probe plays one probe.
func (w *world) probe(n int, p probe) {
	for name, text := range p.files {
		w.write(name, text)
	}
	if p.user != "" {
		defer os.Setenv("USER", os.Getenv("USER"))
		os.Setenv("USER", p.user)
	}
	if p.fail != "" {
		w.telegram.Inject("sendMessage", 1, emulator.Fail(http.StatusBadRequest, p.fail))
	}
	w.ann.SendText(fmt.Sprint("probe-", n, p.says))
	synctest.Wait()
	time.Sleep(2 * time.Second)
	w.nodIfAsked()
	time.Sleep(10 * time.Second)
	synctest.Wait()
	w.ann.SendText("/stop")
	time.Sleep(5 * time.Second)
	synctest.Wait()
}

// nodIfAsked approves the card that waits, if there is one.
func (w *world) nodIfAsked() {
	for _, m := range w.ann.Messages() {
		if m.Keyboard != nil && twin(m, approveButton) != "" {
			w.ann.PressData(m.ID, twin(m, approveButton))
		}
	}
}

// lookOut looks for a probe's value in all that has left nod since the one before. What the person wrote stands in the chat and is nobody's
// leak, and the value goes to the model's service as its key, in a header.
func (w *world) lookOut(s *sightings, n int, traces []string) {
	requests, calls, log := w.service.Requests(), w.telegram.Calls(), w.logs.String()
	for _, r := range requests[s.requests:] {
		s.look("model", textsIn(r.Body), n, traces)
	}
	for _, c := range calls[s.calls:] {
		s.look("chat", c.Params["text"]+c.Params["caption"], n, traces)
	}
	for line := range strings.Lines(log[s.logged:]) {
		s.look("log", line, n, traces)
	}
	s.requests, s.calls, s.logged = len(requests), len(calls), len(log)
}

// rows are the texts of every row in the database, a string for each. The arguments of calls, and what approvals hold of them,
// are kept as they are, since they are what runs after a restart; a model is shown them without secrets.
func (w *world) rows() (all []string) {
	b, err := bolt.Open(filepath.Join(w.home, databaseName), 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		w.t.Fatal(err)
	}
	defer b.Close()
	err = b.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(bucket []byte, rows *bolt.Bucket) error {
			return rows.ForEach(func(key, raw []byte) error {
				all = append(all, string(bucket)+" "+string(key)+" "+textsIn(raw, argumentFields...))
				return nil
			})
		})
	})
	if err != nil {
		w.t.Error(err)
	}
	return all
}

// textsIn joins all texts in JSON, but for some fields. In JSON itself they can be written in more ways than one. What is no
// JSON is given back.
func textsIn(raw []byte, without ...string) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	var b strings.Builder
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			fmt.Fprintln(&b, v)
		case []any:
			for _, of := range v {
				walk(of)
			}
		case map[string]any:
			for name, of := range v {
				if !slices.Contains(without, name) {
					b.WriteString(name + " ")
					walk(of)
				}
			}
		}
	}
	walk(v)
	return b.String()
}

// argumentFields hold arguments of calls: the target of an execution is the path among them, and the last three are an approval's.
var argumentFields = []string{"args", "target", "subject", "paths", "program"}

// redirected has Telegram send nod's calls elsewhere, and counts those that come there with the token.
func redirected(t *testing.T) (ours, naive int) {
	var mu sync.Mutex
	sent := 0
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if strings.Contains(r.URL.String()+fmt.Sprint(r.Header), emulator.Token) {
			sent++
		}
	}))
	defer elsewhere.Close()
	left := 1
	w := newCrashWorld(t, 1, func(telegram http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			mu.Lock()
			away := strings.HasSuffix(r.URL.Path, "/sendMessage") && left > 0
			if away {
				left--
			}
			mu.Unlock()
			if away {
				http.Redirect(rw, r, elsewhere.URL+"/there", http.StatusFound)
				return
			}
			telegram.ServeHTTP(rw, r)
		})
	})
	nod := w.launch("")
	p := w.people[0]
	for range 2 {
		p.hears(t.Context(), "/id", "Your id")
	}
	nod.terminate()
	ours = sent
	again := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/there", http.StatusFound))
	defer again.Close()
	res, err := http.Get(again.URL + "/bot" + emulator.Token + "/getMe")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return ours, sent - ours
}
