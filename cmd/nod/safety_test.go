package main

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"hash/crc32"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"nod/agent/llm/scripted"
	"nod/bot/emulator"
)

// bombPNG is a picture of a few kilobytes that unpacks to 400 MB.
func bombPNG(t *testing.T) []byte {
	t.Helper()
	const side = 20_000
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	for range side {
		if _, err := w.Write(make([]byte, 1+side/8)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	out := []byte("\x89PNG\r\n\x1a\n")
	for _, c := range []struct{ name, data string }{
		{"IHDR", "\x00\x00\x4e\x20\x00\x00\x4e\x20\x01\x00\x00\x00\x00"}, {"IDAT", packed.String()}, {"IEND", ""},
	} {
		out = binary.BigEndian.AppendUint32(out, uint32(len(c.data)))
		out = append(out, c.name+c.data...)
		out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE([]byte(c.name+c.data)))
	}
	return out
}

// peakHeap measures, until it is called, by how much the heap grows at most.
func peakHeap() (grown func() uint64) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before := m.HeapAlloc
	var peak atomic.Uint64
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak.Store(max(peak.Load(), m.HeapAlloc))
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() uint64 {
		close(done)
		<-ended
		return max(peak.Load(), before) - before
	}
}

// TestSE1_PictureBombs: twenty pictures of 400 million points come at once. They are kept, none is unpacked here or put
// before the model, who is told so; nor are they sent as photos.
func TestSE1_PictureBombs(t *testing.T) {
	const bombs, most = 20, 64 << 20
	w := newWorld(t)
	w.start()
	bomb := bombPNG(t)
	grown := peakHeap()
	for i := range bombs {
		w.ann.SendDocument(emulator.Upload{Name: fmt.Sprintf("%d.png", i), Mime: "image/png", Data: bomb})
	}
	w.model.push(scripted.Call("send_attachment", `{"file_path":"bomb.png"}`), scripted.Say("Done."))
	w.write("bomb.png", string(bomb))
	for range bombs {
		w.model.push(scripted.Say("Done."))
	}
	w.sees(w.ann, "Done.")
	w.ann.SendText("/status")
	w.sees(w.ann, "Up for")
	if n := grown(); n > most {
		t.Errorf("the heap grew by %d MiB", n>>20)
	}
	told := 0
	for _, r := range w.service.Requests() {
		for _, m := range r.Messages {
			if len(m.Images) > 0 {
				t.Error("the model is shown a bomb")
			}
			told += strings.Count(m.Text, "20000 × 20000 points")
		}
	}
	if told == 0 {
		t.Error("the model is not told")
	}
	if n := len(w.telegram.Calls("sendPhoto")); n > 0 {
		t.Errorf("%d bombs are sent as photos", n)
	}
}

// source calls look with every Go file of the program, tests and what only they use left out.
func source(t *testing.T, mode parser.Mode, look func(name string, file *ast.File)) {
	t.Helper()
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && name != "." || d.Name() == "testdata" || d.Name() == "emulator" || d.Name() == "scripted" || d.Name() == "tooltest"):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		src, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, src, mode)
		if err == nil {
			look(name, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestSE2_NothingIsUnpacked: nod opens no archive, so that none can fill the disk or write outside of where it belongs.
func TestSE2_NothingIsUnpacked(t *testing.T) {
	source(t, parser.ImportsOnly, func(name string, file *ast.File) {
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(imported, "archive/") || strings.HasPrefix(imported, "compress/") {
				t.Errorf("%s imports %s: a small file can unpack to gigabytes, so what it unpacks needs bounds", name, imported)
			}
		}
	})
}

// TestSE5_WhereRequestsGo lists the places that make HTTP requests: each goes to an address that the configuration or a
// person's nod names, so that no text read by the model can send nod anywhere. A new place belongs here with its reason.
func TestSE5_WhereRequestsGo(t *testing.T) {
	reasons := map[string]string{
		"agent/llm/client.go": "models' services, by configuration; redirects are not followed",
		"agent/llm/guard.go":  "pictures where a service says that they are: public addresses only",
		"agent/llm/media.go":  "services of speech and pictures, by configuration, and what agent/llm/guard.go lets",
		"agent/llm/tape.go":   "models' services, by configuration, for nod check",
		"bot/outbox/wire.go":  "the Bot API, by configuration; redirects are not followed",
		"bot/incoming.go":     "files of the Bot API, through bot/outbox/wire.go",
		"bot/inbox/poller.go": "the Bot API, through bot/outbox/wire.go",
		"cmd/nod/control.go":  "the socket in NOD_HOME",
		"tools/mcp/remote.go": "MCP servers, whose address a person nodded to; other hosts are refused",
	}
	makers := regexp.MustCompile(`^(Client|Get|Post|PostForm|Head|NewRequest|NewRequestWithContext|DefaultClient|DefaultTransport|Transport)$`)
	found := map[string]bool{}
	source(t, 0, func(name string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			var of ast.Expr
			switch n := n.(type) {
			case *ast.CallExpr:
				of = n.Fun
			case *ast.CompositeLit:
				of = n.Type
			case *ast.TypeAssertExpr:
				of = n.X
			}
			if sel, ok := of.(*ast.SelectorExpr); ok && makers.MatchString(sel.Sel.Name) {
				if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "http" {
					found[name] = true
				}
			}
			return true
		})
	})
	for name := range found {
		if reasons[name] == "" {
			t.Errorf("%s makes HTTP requests: to where, and who decided?", name)
		}
	}
	for name := range reasons {
		if !found[name] && name != "bot/incoming.go" {
			if _, err := os.Stat(filepath.Join("../..", name)); err == nil {
				t.Errorf("%s makes no HTTP requests any more", name)
			}
		}
	}
}

var logLine = regexp.MustCompile(`^time=\S+ level=[A-Z]+ msg=`)

// TestSE4_LogsHaveALineAnEvent: whatever people, files, commands and models are called or say, no line of the log is
// forged, and nothing in it steers a terminal or turns its text around.
func TestSE4_LogsHaveALineAnEvent(t *testing.T) {
	const evil = "x\ntime=2026-01-01T00:00:00Z level=ERROR msg=forged\r\x1b[31m\x1b]0;title\x07\u202e\u2066\u200b\u2028y\x00"
	w := newWorld(t)
	w.write("plain.txt", "text\n")
	w.start()
	w.telegram.Private(emulator.User{ID: 909, FirstName: evil, Username: "eve"}).SendText("hello " + evil)
	w.sees(w.ann, "has written to me")
	w.ann.SendDocument(emulator.Upload{Name: evil + ".txt", Mime: "text/plain", Data: []byte(evil)}, emulator.Caption(evil))
	for _, call := range []struct{ tool, key, value string }{
		{"execute_cmd", "command", "printf '%s' '" + strings.ReplaceAll(evil, "\x00", "") + "'; true"},
		{"read_file", "path", evil},
		{"list_files", "path", evil},
		{evil, "x", evil},
		{"write_file", "path", evil},
	} {
		args, err := json.Marshal(map[string]string{call.key: call.value})
		if err != nil {
			t.Fatal(err)
		}
		w.model.push(scripted.Call(call.tool, string(args)))
	}
	w.model.push(scripted.Fail(400, evil, evil))
	w.press(w.ann, "✅ Approve")
	w.sees(w.ann, "refused the request")
	w.end()
	log := w.logs.String()
	if !strings.Contains(log, `level=INFO msg="running a command"`) || !strings.Contains(log, `msg="a turn failed"`) {
		t.Error("the log lacks what this is about")
	}
	for line := range strings.Lines(log) {
		if !logLine.MatchString(line) || strings.HasPrefix(line, "time=2026-01-01") {
			t.Errorf("not a line of ours: %q", line)
		}
		bad := func(r rune) bool {
			return r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co))
		}
		if i := strings.IndexFunc(line, bad); i >= 0 {
			t.Errorf("%q stands raw in %q", []rune(line[i:])[0], line)
		}
	}
}

// TestAnAnswerWithoutEndIsCut: the person is given what came as a file and told why it ends, and the conversation goes on.
func TestAnAnswerWithoutEndIsCut(t *testing.T) {
	story(t, func(d *dialog) {
		d.model.push(scripted.Say(words(1_500_000)))
		d.play("user> tell me everything\nbot< had no end in sight\nuser> and in short?\nmodel> say Well.\nbot< Well.")
		requests := d.service.Requests()
		if n := len(requestText(requests[len(requests)-1])); len(requests) != 2 || n > 200<<10 {
			t.Errorf("%d requests, the last of %d bytes", len(requests), n)
		}
		if calls := d.telegram.Calls("sendDocument"); len(calls) != 1 {
			t.Errorf("%d files are sent", len(calls))
		}
	})
}
