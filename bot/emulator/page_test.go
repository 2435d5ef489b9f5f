package emulator_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/bot/emulator"
)

const (
	pageHost = "127.0.0.1:8080"
	pageKey  = "00112233445566778899aabbccddeeff"
)

func newPage(tg *emulator.Server) (*emulator.Person, http.Handler) {
	p := tg.Private(ann)
	return p, emulator.NewPage(p, emulator.PageOptions{Key: pageKey, Hosts: []string{pageHost, "localhost:8080"}, Notice: "demo"})
}

// ask builds a request to the page as the headers say; "" as a value leaves the header out.
func ask(method, target, body string, headers map[string]string) *http.Request {
	r := httptest.NewRequest(method, "http://"+pageHost+target, strings.NewReader(body))
	for name, value := range headers {
		switch {
		case name == "Host":
			r.Host = value
		case value != "":
			r.Header.Set(name, value)
		}
	}
	return r
}

// visit opens the page and returns the cookie that it sets.
func visit(t *testing.T, page http.Handler) string {
	t.Helper()
	w := httptest.NewRecorder()
	page.ServeHTTP(w, ask("GET", "/?key="+pageKey, "", nil))
	set := w.Header().Get("Set-Cookie")
	if w.Code != http.StatusOK || !strings.Contains(set, "HttpOnly") || !strings.Contains(set, "SameSite=Strict") {
		t.Fatalf("opening the page: %d, cookie %q", w.Code, set)
	}
	cookie, _, _ := strings.Cut(set, ";")
	return cookie
}

// TestPageDoor: nothing gets in but the person's own browser, and nobody else can press a button.
func TestPageDoor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := emulator.New(emulator.Options{})
		_, page := newPage(tg)
		cookie := visit(t, page)
		must(t, call(t, tg, "sendMessage", params{"chat_id": 101, "text": "?", "reply_markup": params{"inline_keyboard": [][]params{{{"text": "Approve", "callback_data": "yes"}}}}}))
		own := map[string]string{"Cookie": cookie, "Origin": "http://" + pageHost, "Sec-Fetch-Site": "same-origin"}
		with := func(changes ...string) map[string]string {
			h := map[string]string{}
			for name, value := range own {
				h[name] = value
			}
			for i := 0; i < len(changes); i += 2 {
				h[changes[i]] = changes[i+1]
			}
			return h
		}
		const press, send = `{"id":1,"data":"yes"}`, `{"text":"hi"}`
		for _, row := range []struct {
			name, method, target, body string
			headers                    map[string]string
			want                       int
		}{
			{"own send", "POST", "/send", send, own, 200},
			{"own send from localhost", "POST", "/send", send, with("Host", "localhost:8080", "Origin", "http://localhost:8080"), 200},
			{"own send, an old browser", "POST", "/send", send, with("Sec-Fetch-Site", ""), 200},
			{"own send, Sec-Fetch-Site alone", "POST", "/send", send, with("Origin", ""), 200},
			{"program with the header", "POST", "/send", send, map[string]string{"X-Nod-Key": pageKey}, 200},
			{"reload", "GET", "/", "", map[string]string{"Cookie": cookie, "Sec-Fetch-Site": "none"}, 200},
			{"link followed from another site", "GET", "/?key=" + pageKey, "", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "document"}, 200},
			{"script", "GET", "/static/app.js", "", own, 200},
			{"no key", "GET", "/", "", nil, 403},
			{"no key, script", "GET", "/static/app.js", "", nil, 403},
			{"no key, file", "GET", "/file/x", "", nil, 403},
			{"no key, events", "GET", "/events", "", nil, 403},
			{"wrong key", "GET", "/?key=" + strings.Repeat("0", 32), "", nil, 403},
			{"key in the address of a POST", "POST", "/send?key=" + pageKey, send, map[string]string{"Origin": "http://" + pageHost}, 403},
			{"wrong cookie", "POST", "/press", press, with("Cookie", cookie+"0"), 403},
			{"foreign page", "POST", "/press", press, with("Origin", "https://evil.test", "Sec-Fetch-Site", "cross-site"), 403},
			{"foreign page that hides", "POST", "/press", press, with("Origin", "null", "Sec-Fetch-Site", ""), 403},
			{"neither Origin nor Sec-Fetch-Site", "POST", "/press", press, with("Origin", "", "Sec-Fetch-Site", ""), 403},
			{"another port of this machine", "POST", "/press", press, with("Origin", "http://127.0.0.1:9090", "Sec-Fetch-Site", "same-site"), 403},
			{"https Origin", "POST", "/press", press, with("Origin", "https://"+pageHost), 403},
			{"rebound name", "POST", "/press", press, with("Host", "evil.test:8080", "Origin", "http://evil.test:8080"), 403},
			{"rebound name with the key", "GET", "/?key=" + pageKey, "", map[string]string{"Host": "evil.test:8080"}, 403},
			{"host without port", "GET", "/?key=" + pageKey, "", map[string]string{"Host": "127.0.0.1"}, 403},
			{"header key from a foreign page", "POST", "/press", press, map[string]string{"X-Nod-Key": pageKey, "Origin": "https://evil.test"}, 403},
			{"foreign picture tag", "GET", "/?key=" + pageKey, "", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "image"}, 403},
			{"unknown path", "GET", "/nowhere", "", own, 404},
			{"wrong method", "GET", "/send", "", own, 405},
		} {
			w := httptest.NewRecorder()
			page.ServeHTTP(w, ask(row.method, row.target, row.body, row.headers))
			if w.Code != row.want {
				t.Errorf("%s: %d, want %d: %s", row.name, w.Code, row.want, w.Body)
			}
			policy := w.Header().Get("Content-Security-Policy")
			if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") || strings.Contains(policy, "unsafe") {
				t.Errorf("%s: policy %q", row.name, policy)
			}
		}
		if got, want := tg.PendingUpdates(), 5; got != want {
			t.Errorf("%d updates reached the bot, want the %d sends that were let in and no press", got, want)
		}
	})
}

func TestNewKey(t *testing.T) {
	a, b := emulator.NewKey(), emulator.NewKey()
	if a == b || !regexp.MustCompile(`^[0-9a-f]{32}$`).MatchString(a) {
		t.Errorf("keys %q and %q", a, b)
	}
}

// An empty key must not be a key that everybody has.
func TestPageWithoutKeyStaysShut(t *testing.T) {
	page := emulator.NewPage(emulator.New(emulator.Options{}).Private(ann), emulator.PageOptions{Hosts: []string{pageHost}})
	w := httptest.NewRecorder()
	page.ServeHTTP(w, ask("GET", "/?key=", "", map[string]string{"X-Nod-Key": ""}))
	if w.Code != http.StatusForbidden {
		t.Errorf("got %d", w.Code)
	}
}

// browser is a client of the page through the in-memory transport.
type browser struct {
	t      *testing.T
	client *http.Client
}

func (b browser) post(path, kind string, body io.Reader) (int, string) {
	b.t.Helper()
	r, err := http.NewRequest(http.MethodPost, "http://"+pageHost+path, body)
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("X-Nod-Key", pageKey)
	r.Header.Set("Content-Type", kind)
	resp, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(answer))
}

func (b browser) do(path, body string) string {
	b.t.Helper()
	code, answer := b.post(path, "application/json", strings.NewReader(body))
	if code != http.StatusOK {
		b.t.Fatalf("%s: %d %s", path, code, answer)
	}
	return answer
}

type event struct {
	Messages []struct {
		ID   int `json:"message_id"`
		Text string
		Mine bool
	}
	Gone []int
	Chat struct {
		Action   string
		Commands []emulator.Command
	}
}

// listen opens the event stream and returns a function that reads the next event.
func (b browser) listen(ctx context.Context, last string) func() (event, string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+pageHost+"/events", nil)
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("X-Nod-Key", pageKey)
	r.Header.Set("Last-Event-ID", last)
	resp, err := b.client.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { resp.Body.Close() })
	lines := bufio.NewScanner(resp.Body)
	return func() (e event, id string) {
		b.t.Helper()
		for lines.Scan() {
			if rest, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
				id = rest
			}
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				if err := json.Unmarshal([]byte(data), &e); err != nil {
					b.t.Fatal(err)
				}
				return e, id
			}
		}
		b.t.Fatalf("the stream ended: %v", lines.Err())
		return e, id
	}
}

func texts(e event) string {
	var list []string
	for _, m := range e.Messages {
		list = append(list, m.Text)
	}
	return strings.Join(list, "|")
}

// TestPageChat: what happens in the chat reaches the page, also over a reload and a lost connection, and the other way.
func TestPageChat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := emulator.New(emulator.Options{})
		p, page := newPage(tg)
		b := browser{t, &http.Client{Transport: emulator.Transport(page)}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		b.do("/send", `{"text":"hello"}`)
		next := b.listen(ctx, "")
		e, seen := next()
		if texts(e) != "hello" || !e.Messages[0].Mine {
			t.Errorf("at first: %+v", e)
		}
		bot := sent(t, tg)
		if e, _ := next(); texts(e) != "hi" {
			t.Errorf("then: %+v", e)
		}
		must(t, call(t, tg, "sendChatAction", params{"chat_id": 101, "action": "typing"}))
		if e, _ := next(); e.Chat.Action != "typing" || len(e.Messages) != 0 {
			t.Errorf("typing: %+v", e)
		}
		must(t, call(t, tg, "editMessageText", params{"chat_id": 101, "message_id": bot, "text": "edited"}))
		if e, _ := next(); texts(e) != "edited" {
			t.Errorf("edited: %+v", e)
		}
		b.do("/delete", `{"id":1}`)
		if e, _ := next(); !cmp.Equal(e.Gone, []int{1}) {
			t.Errorf("deleted: %+v", e)
		}
		if e, _ := b.listen(ctx, "")(); texts(e) != "edited" || e.Gone != nil {
			t.Errorf("after a reload: %+v", e)
		}
		if e, _ := b.listen(ctx, seen)(); texts(e) != "edited" || !cmp.Equal(e.Gone, []int{1}) {
			t.Errorf("after a lost connection: %+v", e)
		}
		m := p.SendText("typo")
		b.do("/edit", `{"id":3,"text":"fixed"}`)
		b.do("/react", `{"id":2,"emoji":"👍"}`)
		if diff := cmp.Diff("nod: edited\n  (👍)\nAnn: fixed\n", p.Transcript()); diff != "" || m.ID != 3 {
			t.Error(diff)
		}
		b.do("/react", `{"id":2,"emoji":"👍"}`)
		if got := p.Reactions(2); len(got) != 0 {
			t.Errorf("reactions %v", got)
		}
		for path, body := range map[string]string{"/send": `{"text":" "}`, "/edit": `{"id":2,"text":"x"}`, "/react": `{"id":2,"emoji":"✅"}`, "/press": `{"id":2,"data":"x"}`} {
			if code, answer := b.post(path, "application/json", strings.NewReader(body)); code != http.StatusUnprocessableEntity {
				t.Errorf("%s %s: %d %s", path, body, code, answer)
			}
		}
	})
}

func TestPagePress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := emulator.New(emulator.Options{})
		p, page := newPage(tg)
		b := browser{t, &http.Client{Transport: emulator.Transport(page)}}
		must(t, call(t, tg, "sendMessage", params{"chat_id": 101, "text": "?", "reply_markup": params{"inline_keyboard": [][]params{{{"text": "A", "callback_data": "a"}}}}}))
		go func() {
			time.Sleep(2 * time.Second)
			must(t, call(t, tg, "answerCallbackQuery", params{"callback_query_id": "4000000001", "text": "done", "show_alert": true}))
		}()
		start := time.Now()
		if got := b.do("/press", `{"id":1,"data":"a"}`); got != `{"text":"done","alert":true}` || time.Since(start) != 2*time.Second {
			t.Errorf("got %s after %v", got, time.Since(start))
		}
		start = time.Now()
		if got := b.do("/press", `{"id":1,"data":"a"}`); got != `{}` || time.Since(start) != 30*time.Second {
			t.Errorf("a press without an answer: got %s after %v", got, time.Since(start))
		}
		if p.StopDraft() {
			t.Error("stopped a draft that is not there")
		}
		if got := b.do("/stop", `{}`); got != `{"stopped":false}` {
			t.Errorf("got %s", got)
		}
	})
}

func TestPageFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tg := emulator.New(emulator.Options{})
		p, page := newPage(tg)
		b := browser{t, &http.Client{Transport: emulator.Transport(page)}}
		send := func(plain bool, caption string, files map[string][]byte, order ...string) {
			t.Helper()
			var body bytes.Buffer
			form := multipart.NewWriter(&body)
			for _, name := range order {
				part, err := form.CreateFormFile("file", name)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := part.Write(files[name]); err != nil {
					t.Fatal(err)
				}
			}
			fields := map[string]string{"caption": caption}
			if plain {
				fields["plain"] = "1"
			}
			for name, value := range fields {
				if err := form.WriteField(name, value); err != nil {
					t.Fatal(err)
				}
			}
			if err := form.Close(); err != nil {
				t.Fatal(err)
			}
			if code, answer := b.post("/upload", form.FormDataContentType(), &body); code != http.StatusOK {
				t.Fatalf("uploading %v: %d %s", order, code, answer)
			}
		}
		files := map[string][]byte{
			"a.png": pngBytes(t, 20, 10), "b.png": pngBytes(t, 30, 10), "fake.png": []byte("no"), "n.txt": []byte("notes"), "v.mp4": []byte("v"),
			"s.mp3": []byte("s"), "o.ogg": []byte("OggS"), "x.svg": []byte("<svg onload='alert(1)'/>"),
		}
		send(false, "one", files, "a.png")
		send(true, "", files, "a.png")
		send(false, "two", files, "a.png", "b.png")
		send(true, "", files, "a.png", "b.png")
		send(false, "", files, "fake.png")
		for _, name := range []string{"n.txt", "v.mp4", "s.mp3", "o.ogg", "x.svg"} {
			send(false, "", files, name)
		}
		want := `Ann: <photo 20x10> one
Ann: <document a.png, ` + strconv.Itoa(len(files["a.png"])) + ` bytes>
Ann: <photo 20x10> two
Ann: <photo 30x10>
Ann: <document a.png, ` + strconv.Itoa(len(files["a.png"])) + ` bytes>
Ann: <document b.png, ` + strconv.Itoa(len(files["b.png"])) + ` bytes>
Ann: <document fake.png, 2 bytes>
Ann: <document n.txt, 5 bytes>
Ann: <video v.mp4, 1 bytes>
Ann: <audio s.mp3, 1 bytes>
Ann: <voice, 4 bytes>
Ann: <document x.svg, 24 bytes>
`
		if diff := cmp.Diff(want, p.Transcript()); diff != "" {
			t.Error(diff)
		}
		list := p.Messages()
		for _, row := range []struct {
			m                 emulator.Message
			kind, disposition string
		}{
			{list[0], "image/png", "inline"},
			{list[len(list)-1], "application/octet-stream", `attachment; filename=x.svg`},
		} {
			w := httptest.NewRecorder()
			page.ServeHTTP(w, ask("GET", "/file/"+row.m.FileID(), "", map[string]string{"X-Nod-Key": pageKey}))
			got := []string{w.Header().Get("Content-Type"), w.Header().Get("Content-Disposition"), w.Header().Get("X-Content-Type-Options")}
			if diff := cmp.Diff([]string{row.kind, row.disposition, "nosniff"}, got); diff != "" || !strings.Contains(w.Header().Get("Content-Security-Policy"), "sandbox") {
				t.Error(diff)
			}
		}
		if code, _ := b.post("/upload", "multipart/form-data; boundary=b", strings.NewReader("--b--\r\n")); code != http.StatusBadRequest {
			t.Errorf("an upload without files: %d", code)
		}
	})
}

// The scripts build nodes and set their text; none of them parses HTML, and nothing is loaded from elsewhere.
func TestPageParsesNoHTML(t *testing.T) {
	forbidden := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|srcdoc|\beval\(|new Function|` +
		`(?:src|@import|url\()\s*=?\s*["']?https?:`)
	files, err := filepath.Glob("page/*.*")
	if err != nil || len(files) < 6 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := forbidden.Find(data); found != nil {
			t.Errorf("%s has %q", name, found)
		}
	}
}
