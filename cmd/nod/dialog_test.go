package main

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"nod/agent/llm"
	"nod/bot/emulator"
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
