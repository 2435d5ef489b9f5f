package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"nod/agent/llm/scripted"
	"nod/bot/emulator"
	"nod/store"
	"nod/tools"
)

// trial is what a person does with one offer of the demo, up to what the bot says at its end.
type trial struct {
	script string
	said   string // what asks for it
	result string // of its call, when all goes well
	job    string // that it sets up
	do     func(*demoWorld)
}

// trials go through every offer, in the order of their files.
var trials = []trial{
	{script: "0-upload.txt", result: "Sent uploads/1-report.txt.", do: func(w *demoWorld) {
		w.person.SendDocument(emulator.Upload{Name: "report.txt", Data: []byte("milk\n")}) // whose name asks for nothing
		w.sees(w.person, "That was your file")
	}},
	{script: "1-note.txt", said: "Write me a note", result: "Wrote the new file notes/hello.md.", do: func(w *demoWorld) {
		w.press(w.person, "✅ Approve")
		w.sees(w.person, "Written to")
		time.Sleep(time.Second)
		w.person.SendText("Write me a note") // as the answer proposes
		w.press(w.person, "❌ Reject")
		w.sees(w.person, "Then I leave it")
		time.Sleep(time.Second)
		w.person.SendText("Write me a file") // which replaces the first
		w.press(w.person, "✅ Approve")
		w.sees(w.person, "Written to")
	}},
	{script: "2-command.txt", said: "Run a command", result: "welcome.md", do: func(w *demoWorld) {
		w.press(w.person, "✅ Approve")
		w.sees(w.person, "welcome.md")
	}},
	{script: "3-question.txt", said: "Ask me a question", result: "The user answered: Coffee", do: func(w *demoWorld) {
		w.press(w.person, "Coffee")
		w.sees(w.person, "You said: Coffee")
	}},
	{script: "4-file.txt", said: "Send me a file", result: "Sent welcome.md.", do: func(w *demoWorld) {
		w.sees(w.person, "There it is")
	}},
	{script: "5-picture.txt", said: "Send me a picture", result: "Sent pictures/nod.png.", do: func(w *demoWorld) {
		w.sees(w.person, "arrives as one")
	}},
	{script: "6-reports.txt", said: "Report every few seconds", result: "Scheduled it.", job: "Demo report", do: func(w *demoWorld) {
		w.press(w.person, "✅ Approve")
		w.sees(w.person, "all is well")
		time.Sleep(8 * time.Second)
		w.person.SendText("/jobs")
		w.press(w.person, "🗑 Delete")
		w.sees(w.person, "is deleted")
		time.Sleep(time.Minute) // in which no report may come
	}},
	{script: "7-long.txt", said: "Give me a long answer", do: func(w *demoWorld) {
		w.sees(w.person, "50 of 50")
	}},
	{script: "8-slow.txt", said: "Answer slowly", do: func(w *demoWorld) {
		w.sees(w.person, "Line 4")
		w.person.SendText("/stop")
		w.sees(w.person, "Stopped")
	}},
	{script: introScript, said: "hello", do: func(w *demoWorld) {
		w.sees(w.person, "these tricks")
	}},
}

// TestDemoOffers goes through every offer of the demo, on the demo's own wiring, and counts what it causes: API calls on
// the wire, files that are new, and commands that ran. testdata/demo.txt holds what is expected (-update writes it).
func TestDemoOffers(t *testing.T) {
	const golden = "testdata/demo.txt"
	var got strings.Builder
	for _, tr := range trials {
		t.Run(tr.script, func(t *testing.T) { got.WriteString(tryOffer(t, demoFolder(t), tr)) })
	}
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("what the offers cause has changed (-want +got):\n%s", diff)
	}
}

// TestDemoOfferGone takes away the script of one offer at a time: the model answers to all others as before, and to
// that one with the introduction.
func TestDemoOfferGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // for the clock in the reports
		whole := replies(t, demoFolder(t))
		for key, text := range whole {
			if strings.Contains(text, "The demo's script") {
				t.Errorf("%s: %s", key, text)
			}
		}
		for _, tr := range trials {
			if tr.script == introScript {
				continue
			}
			rest := demoFolder(t)
			delete(rest, tr.script)
			got, want := replies(t, rest), maps.Clone(whole)
			want[introScript+" ask"] = got[introScript+" ask"] // it lists the offers
			for key := range want {
				if strings.HasPrefix(key, tr.script) {
					delete(want, key)
					delete(got, key)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("without %s (-want +got):\n%s", tr.script, diff)
			}
		}
	})
}

// TestDemoOfferGoneRun is the same through the program, for one offer that others could depend on.
func TestDemoOfferGoneRun(t *testing.T) {
	rest := demoFolder(t)
	delete(rest, "1-note.txt")
	for _, tr := range trials {
		if tr.script == "1-note.txt" || tr.script == introScript {
			continue
		}
		if before, after := tryOffer(t, demoFolder(t), tr), tryOffer(t, rest, tr); before != after {
			t.Errorf("without the note:\n%sbefore:\n%s", after, before)
		}
	}
}

// replies are all that a demo model of these scripts answers, by script and part.
func replies(t *testing.T, scripts fs.FS) map[string]string {
	t.Helper()
	m, err := newDemoModel(scripts)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, tr := range trials {
		said := tr.said
		if said == "" {
			said = "[document saved as uploads/1-report.txt (text/plain), 5 bytes]"
		}
		answer := func(part string, messages ...scripted.Message) {
			messages = slices.Insert(messages, 0, scripted.Message{Role: "user", Text: said})
			all[tr.script+" "+part] = fmt.Sprint(m.reply(scripted.Request{Messages: messages}))
		}
		answer("ask")
		if tr.result != "" {
			answer("done", scripted.Message{Role: "tool", Text: tr.result})
			answer("refused", scripted.Message{Role: "tool", Text: "User rejected this tool call."})
			answer("failed", scripted.Message{Role: "tool", Text: "There is no such thing."})
		}
		if tr.job != "" {
			said = "[A scheduled job is due: " + tr.job + ". Nobody is watching; …]\n"
			answer("run")
		}
	}
	return all
}

// demoFolder is the embedded folder of scripts in memory, where some can be taken away.
func demoFolder(t *testing.T) fstest.MapFS {
	t.Helper()
	folder := fstest.MapFS{}
	names, err := fs.Glob(demoScripts, "demo/*.txt")
	if err != nil || len(names) != len(trials) {
		t.Fatalf("there are %d scripts and %d trials (%v)", len(names), len(trials), err)
	}
	for _, name := range names {
		raw, err := fs.ReadFile(demoScripts, name)
		if err != nil {
			t.Fatal(err)
		}
		folder[path.Base(name)] = &fstest.MapFile{Data: raw}
	}
	return folder
}

// demoWorld is a demo under test.
type demoWorld struct {
	*world
	*demo
}

// tryOffer runs a demo of the scripts on the fake clock, goes through one offer, and says what that caused.
func tryOffer(t *testing.T, scripts fs.FS, tr trial) (caused string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := startDemo(t, scripts)
		w.sees(w.person, "This is a demo")
		time.Sleep(10 * time.Second) // the emulator's flood limit knows nothing of the greeting any more
		calls, before, children := len(w.demo.telegram.Calls()), filesIn(t, w.demo.config.Workspace), childrenUsage(t)
		if tr.said != "" {
			w.person.SendText(tr.said)
		}
		tr.do(w)
		time.Sleep(10 * time.Second) // what is paced has been sent, and "typing…" has ended
		w.end()
		commands := w.commands()
		if alive := childrenUsage(t) != children; alive != (commands > 0) {
			t.Errorf("processes were started: %v, though %d commands ran", alive, commands)
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s\n", tr.script)
		for _, line := range w.apiCalls(calls) {
			fmt.Fprintf(&b, "  %s\n", line)
		}
		for _, name := range filesIn(t, w.demo.config.Workspace) {
			if !slices.Contains(before, name) {
				fmt.Fprintf(&b, "  file %s\n", name)
			}
		}
		fmt.Fprintf(&b, "  %d commands\n", commands)
		caused = b.String()
	})
	return caused
}

// startDemo runs a demo as `nod demo` does, without its page.
func startDemo(t *testing.T, scripts fs.FS) *demoWorld {
	t.Helper()
	dir := t.TempDir()
	out := stdio{env: noEnv(dir), out: io.Discard, err: &logBuffer{}}
	cfg, err := demoConfig(out, dir)
	if err != nil {
		t.Fatal(err)
	}
	d, err := newDemo(cfg, scripts, out)
	if err != nil {
		t.Fatal(err)
	}
	w := &demoWorld{&world{t: t, logs: out.err.(*logBuffer)}, d}
	ready, done := make(chan struct{}), make(chan error, 1)
	d.ready = func() { close(ready) }
	ctx, cancel := context.WithCancel(context.Background())
	go func() { done <- run(ctx, d.wiring) }()
	w.stop = func() error {
		cancel()
		return <-done
	}
	t.Cleanup(func() {
		if w.stop != nil {
			w.end()
		}
		if text := w.logs.String(); text != "" {
			t.Errorf("the demo logged:\n%s", text)
		}
	})
	select {
	case <-ready:
	case err := <-done:
		t.Fatalf("starting the demo: %v", err)
	}
	return w
}

// noEnv is an environment with nothing in it but a home.
func noEnv(dir string) func(string) string {
	return func(name string) string {
		if name == "NOD_HOME" {
			return filepath.Join(dir, "no-home")
		}
		return ""
	}
}

// apiCalls counts the calls after the first ones, by method. Of edits it counts the messages: what comes at one instant is
// folded into one edit or not. How often "typing…" is sent is a matter of luck as well, so it is left out.
func (w *demoWorld) apiCalls(after int) (lines []string) {
	w.t.Helper()
	all := w.demo.telegram.Calls()
	if all[0].N != 1 {
		w.t.Fatal("the emulator has forgotten calls that are to be counted")
	}
	counts, edited := map[string]int{}, map[string]bool{}
	for _, c := range all[after:] {
		switch {
		case c.Method == "sendChatAction":
		case c.Code != http.StatusOK && !strings.Contains(c.Description, "message is not modified"):
			w.t.Errorf("a call was refused: %v", c)
		case c.Method == "editMessageText":
			edited[c.Params["message_id"]] = true
		default:
			counts[c.Method]++
		}
	}
	for _, method := range slices.Sorted(maps.Keys(counts)) {
		lines = append(lines, fmt.Sprintf("%d %s", counts[method], method))
	}
	return append(lines, fmt.Sprintf("%d messages edited", len(edited)))
}

// commands counts the records of commands that ran.
func (w *demoWorld) commands() (n int) {
	w.t.Helper()
	db, err := store.Open(filepath.Join(w.demo.config.Home, databaseName))
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	executions := store.NewTable[store.CallID, tools.Execution]("executions", store.ParseCallID)
	err = db.View(func(tx *store.Tx) error {
		return executions.Scan(tx, nil, func(_ store.CallID, e tools.Execution) (bool, error) {
			if e.Tool == tools.ExecuteCmd && e.State == tools.Completed {
				n++
			}
			return true, nil
		})
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// childrenUsage is what the kernel has counted for the processes that this one has started and seen end: it changes with
// each.
func childrenUsage(t *testing.T) (u syscall.Rusage) {
	t.Helper()
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		t.Fatal(err)
	}
	return u
}

// filesIn lists the files below a workspace, but for the home that sandboxed commands have there: not every machine has a
// sandbox.
func filesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err == nil && name == ".home":
			return fs.SkipDir
		case err == nil && !e.IsDir():
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
