package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"nod/agent/llm"
	"nod/agent/llm/scripted"
	"nod/approvals"
	"nod/bot/emulator"
	"nod/store"
	"nod/tools"
)

// TestDialogs holds the conversations of testdata/dialog, each on both of the model's wires. A dialog is a txtar archive.
// Its files "workspace/…" and "home/…" are there at the start, "transcript" is what the person sees at the end ("transcript
// bob" and "transcript in team" what is seen elsewhere), "calls" the API calls that it took, and "after/…" are files of the
// workspace as they must be then (-update writes transcripts and calls). The file "config" has lines such as "owners none",
// "owners user bob", "models one two", "window 4000" (tokens), "spending 5 0.50" (USD a day, a run) "profile atomic",
// "plugin speech {…}", "mcp http" or "mcp stdio" (the server of mcp_server_test.go) and "zone Europe/Rome". What comes before the files is the
// conversation, one step a line; lines that begin with blanks go on with the step above:
//
//	# a comment                       # real: without the fake clock, since a process is started
//	user> text                        Ann writes; also bob> for someone else who is known under that name
//	delete>                           Ann deletes her last message
//	reply> text                       Ann replies to the bot's newest message with buttons, or else to its newest
//	edit> text                        Ann changes her last message
//	press> label                      Ann presses a button, and waits until the press is answered
//	tap> label                        the same without waiting
//	stale> label                      Ann presses a button that was there once, as an old client may
//	send> document|photo|… name       Ann sends a file or the like: see send in story_steps_test.go
//	forward> text                     Ann forwards what somebody else wrote
//	model> steps                      the model's next answer, in the form of scripted.ParseReply
//	down 503 Overloaded., up          from here on the model's service refuses every request; it answers again
//	for> part                         the next answer in the conversation of a sub-agent or a task whose first message
//	                                  contains the text; its steps stand on the lines below
//	bot< part                         waits until the bot shows a message that contains the text
//	soon< part                        the same, within a second
//	bot! part                         no message of the bot contains the text
//	notice< part                      the last press was answered with a notice that contains the text
//	terminal< part                    waits until the terminal shows the text
//	typing<, typing!                  the bot is shown to be at work; it is not
//	asked< part                       waits until a request to the model contains the text
//	asked! part                       no request to the model contains the text
//	as bob                            from here on Bob does and sees what Ann did and saw above; "as user" ends it
//	in team                           from here on it happens in the group Team, "in team/builds" in a topic there, until
//	                                  "in private"; "in team basic" makes it a basic group, "in team forum" one with topics
//	hears text, speaks, draws 64x48   what the services for speech and pictures answer from now on; "slow 30s" makes
//	                                  them take that long, "mute" makes them refuse
//	restrict, unrestrict              the bot may send no files in the group, and is told; it may again
//	files off, files on               the group's members may send no files, of which no bot is told; they may again
//	supergroup                        the basic group becomes a supergroup
//	runs< part  runs! part            waits until a process runs, or none, whose command line contains the text
//	file> name                        a file of the workspace is written, with what stands on the lines below
//	link> name target                 a symbolic link is made in the workspace
//	wait 20m                          time passes
//	stop, start                       nod is ended, and started again
//	restart                           both
//	restarts                          nod ends by itself and is started again, as the restart tool wants it
//	fault method n spec               the next n calls fail: drop-before, drop-after, 502, 429:SECONDS, hang, 400:TEXT
//
// $WORKSPACE stands for the workspace's folder, $SELF for this test binary, $CODE for the code of the pairing link that the terminal showed last, $JOB
// for the id of the job that list_items told last, and $TIME, in what a real dialog shows, for a time of day.
func TestDialogs(t *testing.T) {
	files, err := filepath.Glob("testdata/dialog/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("finding dialogs: %v", err)
	}
	day := int(time.Now().Unix() / (24 * 60 * 60))
	for i, file := range files {
		if testing.Short() && (i+day)%3 != 0 && !*update { // a third, another each day: the race detector makes them slow
			continue
		}
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		real := bytes.Contains(archive.Comment, []byte("# real"))
		for _, wire := range wires(real) {
			name := strings.TrimSuffix(filepath.Base(file), ".txtar")
			t.Run(name+"/"+wire, func(t *testing.T) {
				if real {
					playDialog(t, file, archive, wire, true)
					return
				}
				synctest.Test(t, func(t *testing.T) { playDialog(t, file, archive, wire, false) })
			})
		}
	}
}

// wires are the model's wires that a dialog is held on; with -short, and where real time passes, one has to do.
func wires(real bool) []string {
	if real || testing.Short() {
		return []string{llm.WireChat}
	}
	return []string{llm.WireChat, llm.WireResponses}
}

// dialog is one conversation being held.
type dialog struct {
	*world
	t      *testing.T
	people map[string]emulator.User
	groups map[string]*emulator.Group
	topics map[string]int
	places map[string]*emulator.Person // by the names of their transcripts
	who    string
	where  string // "" for private chats, "team" or "team/builds"
	own    int    // the last message of whoever acts
	notice string // what the last press was answered with
}

func newDialog(t *testing.T, w *world) *dialog {
	return &dialog{
		world: w, t: t, people: map[string]emulator.User{"user": ann}, groups: map[string]*emulator.Group{}, topics: map[string]int{},
		places: map[string]*emulator.Person{"transcript": w.ann}, who: "user",
	}
}

// playDialog holds a dialog. In one with real processes time is real too, and no message waits for its second.
func playDialog(t *testing.T, file string, archive *txtar.Archive, wire string, real bool) {
	w := newWorld(t)
	w.wire, w.unpaced = wire, real
	d := newDialog(t, w)
	for _, f := range archive.Files {
		dir, rest, _ := strings.Cut(f.Name, "/")
		switch dir {
		case "workspace":
			w.write(rest, string(f.Data))
		case "home":
			d.writeHome(rest, f.Data)
		case "config":
			w.config = d.configured(string(f.Data))
		}
	}
	w.start()
	if d.play(string(archive.Comment)); t.Failed() {
		return
	}
	d.settle()
	w.end()
	if left := w.model.left(); left > 0 {
		t.Errorf("%d answers of the model were not asked for", left)
	}
	d.check(file, archive, wire)
}

// play takes the steps of a conversation, up to one that fails.
func (d *dialog) play(text string) {
	d.t.Helper()
	for _, step := range dialogSteps(text) {
		if d.step(step); d.t.Failed() {
			return
		}
	}
}

// configured reads the lines of a dialog's config.
func (d *dialog) configured(text string) func(*Config) {
	type setting struct {
		key   string
		words []string
	}
	var all []setting
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 0 {
			all = append(all, setting{words[0], words[1:]})
		}
	}
	return func(cfg *Config) {
		for _, s := range all {
			if err := d.configure(cfg, s.key, s.words); err != nil {
				d.t.Fatalf("config: %s: %v", s.key, err)
			}
		}
	}
}

func (d *dialog) configure(cfg *Config, key string, words []string) (err error) {
	switch key {
	case "owners":
		cfg.Owners = nil
		for _, name := range words {
			if name != "none" {
				cfg.Owners = append(cfg.Owners, store.UserID(d.known(name).ID))
			}
		}
	case "models":
		first := cfg.Models[0]
		cfg.Models = nil
		for _, name := range words {
			first.Name = name
			cfg.Models = append(cfg.Models, first)
		}
	case "window":
		cfg.Models[0].ContextWindow, err = strconv.Atoi(words[0])
	case "spending": // a day's cap and a run's, in USD
		_, err = fmt.Sscan(strings.Join(words, " "), &cfg.Spending.Daily, &cfg.Spending.Job)
	case "profile":
		cfg.Profile = tools.Profile(words[0])
	case "plugin": // with its settings in JSON
		err = setPlugin(cfg, words[0], strings.Join(words[1:], " "))
	case "mcp": // a server of the configuration: helper over HTTP without a network, or on pipes
		cfg.Servers = append(cfg.Servers, helperOn(words[0]))
	case "rule": // of nod.yaml, in JSON
		var rule approvals.Rule
		err = json.Unmarshal([]byte(strings.Join(words, " ")), &rule)
		cfg.Rules = append(cfg.Rules, rule)
	case "zone":
		cfg.Zone, err = time.LoadLocation(words[0])
	default:
		err = errors.New("there is no such setting")
	}
	return err
}

// known is the user of that name.
func (d *dialog) known(name string) emulator.User {
	u, ok := d.people[name]
	if !ok {
		u = emulator.User{ID: int64(200 + len(d.people)), FirstName: strings.ToUpper(name[:1]) + name[1:]}
		d.people[name] = u
	}
	return u
}

// at is a person in the place where the dialog takes place.
func (d *dialog) at(name string) *emulator.Person {
	u := d.known(name)
	if d.where == "" {
		p := d.telegram.Private(u)
		if name != "user" {
			d.places["transcript "+name] = p
		}
		return p
	}
	title, _, _ := strings.Cut(d.where, "/")
	p := d.groups[title].Person(u).In(d.topics[d.where])
	d.places["transcript in "+d.where] = p
	return p
}

// actor is whoever acts now.
func (d *dialog) actor() *emulator.Person { return d.at(d.who) }

// move makes the dialog go on elsewhere.
func (d *dialog) move(place string) {
	place, kind, _ := strings.Cut(place, " ")
	title, topic, _ := strings.Cut(place, "/")
	if title == "private" {
		d.where = ""
		return
	}
	if d.groups[title] == nil {
		o := emulator.GroupOptions{Title: strings.ToUpper(title[:1]) + title[1:], Basic: kind == "basic", Forum: topic != "" || kind == "forum"}
		d.groups[title] = d.telegram.NewGroup(o, ann)
	}
	if topic != "" && d.topics[place] == 0 {
		d.topics[place] = d.groups[title].NewTopic(ann, topic)
	}
	d.where = place
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
	verb, text := m[1]+m[2], d.expand(m[3])
	if d.happens(verb, text) || d.shows(verb, text) || d.acts(verb, text) {
		return
	}
	switch verb {
	case "model>":
		reply, err := scripted.ParseReply(text)
		if err != nil {
			d.t.Fatal(err)
		}
		d.model.push(reply)
	case "for>":
		only, steps, _ := strings.Cut(text, "\n")
		reply, err := scripted.ParseReply(steps)
		if err != nil {
			d.t.Fatal(err)
		}
		d.model.answerOnly(only, func(scripted.Request) scripted.Reply { return reply })
	case "press>":
		d.notice = d.press(d.actor(), text).Text
	case "reply>":
		d.own = d.actor().SendText(text, emulator.ReplyTo(d.newest())).ID
	case "edit>":
		if err := d.actor().Edit(d.own, text); err != nil {
			d.t.Fatal(err)
		}
	case "forward>":
		d.actor().SendText(text, emulator.ForwardedFrom(emulator.User{ID: 999, FirstName: "Mallory"}, time.Now()))
	default:
		if m[2] != ">" {
			d.t.Fatalf("no step: %q", step)
		}
		sent := d.at(m[1]).SendText(text)
		if m[1] == d.who {
			d.own = sent.ID
		}
	}
}

// happens takes the steps that change the circumstances.
func (d *dialog) happens(verb, text string) bool {
	d.t.Helper()
	switch verb {
	case "as":
		d.known(text)
		d.who = text
	case "in":
		d.move(text)
	case "hears", "speaks", "draws", "slow", "mute":
		d.media(verb, text)
	case "restrict":
		d.groups[d.where].Restrict(ann, false)
	case "unrestrict":
		d.groups[d.where].Return(ann)
	case "files":
		d.groups[d.where].Permit(text == "on")
	case "supergroup":
		d.groups[d.where] = d.groups[d.where].Migrate()
	case "wait":
		d.wait(text)
	case "stop":
		d.end()
	case "start":
		d.start()
	case "restart", "restarts":
		if verb == "restarts" {
			d.until("nod to restart itself", func() bool { return d.alive.Err() != nil })
		}
		d.end()
		d.start()
	case "down", "up":
		d.model.refuse(d.refusal(verb, text))
	case "fault":
		d.fault(strings.Fields(text))
	default:
		return false
	}
	return true
}

// shows takes the steps that look at what others have done.
func (d *dialog) shows(verb, text string) bool {
	d.t.Helper()
	switch verb {
	case "bot<":
		d.sees(d.actor(), text)
	case "bot!":
		d.settle()
		if shown := d.actor().Transcript(); strings.Contains(shown, text) {
			d.t.Errorf("the bot shows %q:\n%s", text, shown)
		}
	case "notice<":
		if !strings.Contains(d.notice, text) {
			d.t.Errorf("the press was answered with %q, want %q", d.notice, text)
		}
	case "terminal<":
		d.until(fmt.Sprintf("the terminal to show %q", text), func() bool { return strings.Contains(d.terminal.String(), text) })
	case "asked<":
		d.asked(text)
	case "asked!":
		d.settle()
		if d.hasAsked(text) {
			d.t.Errorf("a request to the model contains %q", text)
		}
	default:
		return false
	}
	return true
}

// expand puts in what the dialog can't know.
func (d *dialog) expand(text string) string {
	for name, value := range d.secrets() {
		text = strings.ReplaceAll(text, name, value)
	}
	return text
}

// conceal is expand the other way round, for what differs from run to run.
func (d *dialog) conceal(text string) string {
	for _, link := range codeForm.FindAllStringSubmatch(d.terminal.String(), -1) {
		text = strings.ReplaceAll(text, link[1], "$CODE")
	}
	if job := d.secrets()["$JOB"]; job != "" {
		text = strings.ReplaceAll(text, job, "$JOB")
	}
	if !inBubble(d.t) {
		text = clockForm.ReplaceAllString(text, "$$TIME")
	}
	text = sizeForm.ReplaceAllString(text, "Database: …")
	return strings.NewReplacer(d.workspace, "$WORKSPACE", testBinary(), "$SELF").Replace(text)
}

var (
	clockForm = regexp.MustCompile(`\b\d\d:\d\d(:\d\d)?\b`)
	codeForm  = regexp.MustCompile(`start=(\S+)`)
	jobForm   = regexp.MustCompile(`([0-9a-v]{6}): [^\\]*\\n  [^\\]*; (?:next|paused|done)`) // as list_items shows it to the model
)

// sizeForm is in /status; how large the database is depends on which commits came together.
var sizeForm = regexp.MustCompile(`Database: \S+ .B`)

func (d *dialog) secrets() map[string]string {
	found := map[string]string{"$WORKSPACE": d.workspace, "$SELF": testBinary()}
	for _, link := range codeForm.FindAllStringSubmatch(d.terminal.String(), -1) {
		found["$CODE"] = link[1]
	}
	for _, r := range d.service.Requests() {
		for _, job := range jobForm.FindAllSubmatch(r.Body, -1) {
			found["$JOB"] = string(job[1])
		}
	}
	return found
}

// newest is the bot's newest message with buttons, or else its newest.
func (d *dialog) newest() (id int) {
	d.t.Helper()
	buttons := false
	for _, m := range d.actor().Messages() {
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

// asked waits until a request to the model contains a text.
func (d *dialog) asked(text string) {
	d.t.Helper()
	d.until(fmt.Sprintf("a request to the model that contains %q", text), func() bool { return d.hasAsked(text) })
}

func (d *dialog) hasAsked(text string) bool {
	for _, r := range d.service.Requests() {
		if strings.Contains(string(r.Body), text) {
			return true
		}
	}
	return false
}

// until waits for something that shows elsewhere than in a chat.
func (d *dialog) until(what string, ok func() bool) {
	d.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			d.t.Fatalf("waiting for %s", what)
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

// refusal is what a service says that is down; nil when it is up.
func (d *dialog) refusal(verb, text string) *scripted.Reply {
	d.t.Helper()
	if verb == "up" {
		return nil
	}
	reply, err := scripted.ParseReply("fail " + text)
	if err != nil {
		d.t.Fatal(err)
	}
	return &reply
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
	case "hang":
		f = emulator.Hang()
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
	got := map[string]string{"calls": d.conceal(d.callList())}
	for name, p := range d.places {
		got[name] = d.conceal(p.Transcript())
	}
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
		want := string(f.Data)
		if f.Name == "calls" {
			want, text = anyOrder(want), anyOrder(text)
		}
		if diff := cmp.Diff(want, text); diff != "" {
			d.t.Errorf("%s (-want +got):\n%s", f.Name, diff)
		}
	}
}

// anyOrder leaves of a list of calls what no race decides, and sorts it: which messages, files and deletions there are.
// How often a message is edited, and what a progress message says at first, depends on how long things take; the
// transcript fixes what people see in the end.
func anyOrder(calls string) string {
	var kept []string
	for line := range strings.Lines(calls) {
		switch {
		case strings.HasPrefix(line, "editMessageText"):
			continue
		case strings.HasSuffix(line, " silent\n"):
			line, _, _ = strings.Cut(line, " text=")
		}
		kept = append(kept, strings.TrimSpace(line))
	}
	slices.Sort(kept)
	return strings.Join(kept, "\n")
}

// rewrite writes what is expected at the end. A dialog whose calls differ from run to run, because a progress message
// is edited when it has the time, keeps its transcripts only: take its calls out once.
func (d *dialog) rewrite(file string, archive *txtar.Archive, got map[string]string) {
	fresh := !slices.ContainsFunc(archive.Files, func(f txtar.File) bool { return f.Name == "transcript" })
	for _, name := range slices.Sorted(maps.Keys(got)) {
		i := -1
		for n, f := range archive.Files {
			if f.Name == name {
				i = n
			}
		}
		if i < 0 && (got[name] == "" || name == "calls" && !fresh) {
			continue
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

// callList is the API calls that people see something of, one a line, and below them the answers to presses: those are
// sent beside everything else. Where several chats take part, each has a list of its own.
func (d *dialog) callList() string {
	chats, answers := map[int64]string{}, ""
	for _, c := range d.telegram.Calls() {
		switch {
		case quiet[c.Method], strings.Contains(c.Description, "message is not modified"):
			// The latter is a card that was pressed in the moment before nod knew that it had arrived: it is edited twice.
		case c.Method == "answerCallbackQuery":
			answers += callLine(c)
		default:
			chat, _ := strconv.ParseInt(c.Params["chat_id"], 10, 64)
			chats[chat] += callLine(c)
		}
	}
	var b strings.Builder
	for _, chat := range slices.Sorted(maps.Keys(chats)) {
		if len(chats) == 1 {
			return chats[chat] + answers
		}
		fmt.Fprintf(&b, "in chat %d:\n%s", chat, chats[chat])
	}
	return b.String() + answers
}

func callLine(c emulator.Call) string {
	var b strings.Builder
	b.WriteString(c.Method)
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
	return b.String() + "\n"
}

func clipTest(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return s
}
