package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"nod/agent/llm"
	"nod/agent/llm/scripted"
	"nod/bot/emulator"
)

// TestDialogs holds the conversations of testdata/dialog, each on both of the model's wires. A dialog is a txtar archive.
// Its files "workspace/…" and "home/…" are there at the start, "transcript" is what the person sees at the end, "calls"
// the API calls that it took, and "after/…" are files of the workspace as they must be then (-update writes transcript
// and calls). What comes before the files is the conversation, one step a line; lines that begin with blanks go on with
// the step above:
//
//	# a comment                       # real: without the fake clock, since a process is started
//	user> text                        Ann writes; also bob> for someone else who is known under that name
//	reply> text                       Ann replies to the bot's newest message with buttons, or else to its newest
//	edit> text                        Ann changes her last message
//	press> label                      Ann presses a button, and waits until the press is answered
//	send> document|photo|voice name   Ann sends a file (a small one, made up)
//	model> steps                      the model's next answer, in the form of scripted.ParseReply
//	bot< part                         waits until the bot shows a message that contains the text
//	bot! part                         no message of the bot contains the text
//	asked< part                       waits until a request to the model contains the text
//	wait 20m                          time passes
//	restart                           nod is ended and started again
//	fault method n spec               the next n calls fail: drop-before, drop-after, 502, 429:SECONDS, 400:TEXT
func TestDialogs(t *testing.T) {
	files, err := filepath.Glob("testdata/dialog/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("finding dialogs: %v", err)
	}
	for _, file := range files {
		for _, wire := range []string{llm.WireChat, llm.WireResponses} {
			name := strings.TrimSuffix(filepath.Base(file), ".txtar")
			t.Run(name+"/"+wire, func(t *testing.T) {
				archive, err := txtar.ParseFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if bytes.Contains(archive.Comment, []byte("# real")) {
					playDialog(t, file, archive, wire)
					return
				}
				synctest.Test(t, func(t *testing.T) { playDialog(t, file, archive, wire) })
			})
		}
	}
}

// dialog is one conversation being held.
type dialog struct {
	*world
	t      *testing.T
	people map[string]*emulator.Person
	own    int // Ann's last message
}

func playDialog(t *testing.T, file string, archive *txtar.Archive, wire string) {
	w := newWorld(t)
	w.wire = wire
	d := &dialog{world: w, t: t, people: map[string]*emulator.Person{"user": w.ann}}
	for _, f := range archive.Files {
		dir, rest, _ := strings.Cut(f.Name, "/")
		switch dir {
		case "workspace":
			w.write(rest, string(f.Data))
		case "home":
			d.writeHome(rest, f.Data)
		}
	}
	w.start()
	for _, step := range dialogSteps(string(archive.Comment)) {
		d.step(step)
		if t.Failed() {
			return
		}
	}
	d.settle()
	w.end()
	if left := w.model.left(); left > 0 {
		t.Errorf("%d answers of the model were not asked for", left)
	}
	d.check(file, archive, wire)
}

func (d *dialog) writeHome(name string, data []byte) {
	path := filepath.Join(d.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// dialogSteps joins continued lines and drops comments.
func dialogSteps(text string) (steps []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.TrimSpace(line) == "" || line[0] == '#':
		case (line[0] == ' ' || line[0] == '\t') && len(steps) > 0:
			steps[len(steps)-1] += "\n" + strings.TrimLeft(line, " \t")
		default:
			steps = append(steps, line)
		}
	}
	return steps
}

var stepForm = regexp.MustCompile(`(?s)^([a-z]+)([><!]?) ?(.*)$`)

func (d *dialog) step(step string) {
	d.t.Helper()
	m := stepForm.FindStringSubmatch(step)
	if m == nil {
		d.t.Fatalf("no step: %q", step)
	}
	verb, text := m[1]+m[2], m[3]
	switch verb {
	case "model>":
		reply, err := scripted.ParseReply(text)
		if err != nil {
			d.t.Fatal(err)
		}
		d.model.push(reply)
	case "press>":
		d.press(d.ann, text)
	case "reply>":
		d.own = d.ann.SendText(text, emulator.ReplyTo(d.newest())).ID
	case "edit>":
		if err := d.ann.Edit(d.own, text); err != nil {
			d.t.Fatal(err)
		}
	case "send>":
		d.send(text)
	case "bot<":
		d.sees(d.ann, text)
	case "bot!":
		d.settle()
		if shown := d.ann.Transcript(); strings.Contains(shown, text) {
			d.t.Errorf("the bot shows %q:\n%s", text, shown)
		}
	case "asked<":
		d.asked(text)
	case "wait":
		d.wait(text)
	case "restart":
		d.end()
		d.start()
	case "fault":
		d.fault(strings.Fields(text))
	default:
		if m[2] != ">" {
			d.t.Fatalf("no step: %q", step)
		}
		d.speak(m[1], text)
	}
}

// speak has somebody write to the bot in private.
func (d *dialog) speak(name, text string) {
	p := d.people[name]
	if p == nil {
		p = d.telegram.Private(emulator.User{ID: int64(200 + len(d.people)), FirstName: strings.ToUpper(name[:1]) + name[1:]})
		d.people[name] = p
	}
	sent := p.SendText(text)
	if name == "user" {
		d.own = sent.ID
	}
}

// newest is the bot's newest message with buttons, or else its newest.
func (d *dialog) newest() (id int) {
	d.t.Helper()
	buttons := false
	for _, m := range d.ann.Messages() {
		if m.From == nil || !m.From.IsBot {
			continue
		}
		has := m.Keyboard != nil && len(m.Keyboard.Labels()) > 0
		if has || !buttons {
			id, buttons = m.ID, buttons || has
		}
	}
	return id
}

func (d *dialog) send(text string) {
	kind, name, _ := strings.Cut(text, " ")
	upload := emulator.Upload{Name: name, Data: []byte("content of " + name)}
	switch kind {
	case "document":
		d.ann.SendDocument(upload)
	case "voice":
		d.ann.SendVoice(upload)
	case "photo":
		upload.Data = tinyPNG
		d.ann.SendPhoto(upload)
	default:
		d.t.Fatalf("no kind of file: %q", kind)
	}
}

func (d *dialog) asked(text string) {
	d.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		changed := d.telegram.Changed()
		for _, r := range d.service.Requests() {
			if strings.Contains(string(r.Body), text) {
				return
			}
		}
		select {
		case <-changed:
		case <-time.After(50 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			d.t.Fatalf("no request to the model contains %q", text)
		}
	}
}

func (d *dialog) wait(text string) {
	d.t.Helper()
	span, err := time.ParseDuration(text)
	if err != nil {
		d.t.Fatal(err)
	}
	time.Sleep(span)
}

func (d *dialog) fault(words []string) {
	d.t.Helper()
	if len(words) < 3 {
		d.t.Fatalf("fault takes a method, a number and what happens: %q", words)
	}
	n, err := strconv.Atoi(words[1])
	if err != nil {
		d.t.Fatal(err)
	}
	kind, arg, _ := strings.Cut(strings.Join(words[2:], " "), ":")
	var f emulator.Fault
	switch kind {
	case "drop-before":
		f = emulator.DropBefore()
	case "drop-after":
		f = emulator.DropAfter()
	case "502":
		f = emulator.BadGateway()
	case "429":
		seconds, err := strconv.Atoi(arg)
		if err != nil {
			d.t.Fatal(err)
		}
		f = emulator.RetryAfter(seconds)
	default:
		code, err := strconv.Atoi(kind)
		if err != nil {
			d.t.Fatalf("no fault: %q", kind)
		}
		f = emulator.Fail(code, arg)
	}
	d.telegram.Inject(words[0], n, f)
}

// settle lets what is under way come to rest: in a bubble until everything waits, else until the emulator is quiet.
func (d *dialog) settle() {
	if inBubble(d.t) {
		time.Sleep(3 * time.Second)
		synctest.Wait()
		return
	}
	for {
		changed := d.telegram.Changed()
		select {
		case <-changed:
		case <-time.After(300 * time.Millisecond):
			return
		}
	}
}

// check compares what is expected at the end, or writes it.
func (d *dialog) check(file string, archive *txtar.Archive, wire string) {
	d.t.Helper()
	got := map[string]string{"transcript": d.ann.Transcript(), "calls": d.callList()}
	if *update && wire == llm.WireChat {
		d.rewrite(file, archive, got)
		return
	}
	for _, f := range archive.Files {
		if want, ok := strings.CutPrefix(f.Name, "after/"); ok {
			if diff := cmp.Diff(string(f.Data), d.read(want)); diff != "" {
				d.t.Errorf("%s (-want +got):\n%s", want, diff)
			}
			continue
		}
		text, ok := got[f.Name]
		if !ok {
			continue
		}
		if diff := cmp.Diff(string(f.Data), text); diff != "" {
			d.t.Errorf("%s (-want +got):\n%s", f.Name, diff)
		}
	}
}

func (d *dialog) rewrite(file string, archive *txtar.Archive, got map[string]string) {
	for _, name := range []string{"transcript", "calls"} {
		i := -1
		for n, f := range archive.Files {
			if f.Name == name {
				i = n
			}
		}
		if i < 0 {
			archive.Files = append(archive.Files, txtar.File{Name: name})
			i = len(archive.Files) - 1
		}
		archive.Files[i].Data = []byte(got[name])
	}
	if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

// quiet are calls whose number depends on how long things take.
var quiet = map[string]bool{"getUpdates": true, "deleteWebhook": true, "getMe": true, "setMyCommands": true, "sendChatAction": true}

// callList is the API calls that people see something of, one a line.
func (d *dialog) callList() string {
	var b strings.Builder
	for _, c := range d.telegram.Calls() {
		if quiet[c.Method] {
			continue
		}
		fmt.Fprintf(&b, "%s", c.Method)
		if c.Code != 200 {
			fmt.Fprintf(&b, " %d %s", c.Code, c.Description)
		}
		for _, key := range []string{"text", "caption"} {
			if text := c.Params[key]; text != "" {
				head, _, _ := strings.Cut(text, "\n")
				fmt.Fprintf(&b, " %s=%q", key, clipTest(head))
			}
		}
		for _, f := range c.Files {
			fmt.Fprintf(&b, " file=%s", f.Name)
		}
		if c.Params["disable_notification"] == "true" {
			b.WriteString(" silent")
		}
		if strings.Contains(c.Params["reply_markup"], "callback_data") {
			b.WriteString(" buttons")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func clipTest(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}
