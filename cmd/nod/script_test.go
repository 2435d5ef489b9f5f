package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"nod/agent"
	"nod/agent/llm/scripted"
	"nod/bot/emulator"
	"nod/scheduler"
	"nod/store"
	"nod/tools/outline"
	"nod/tools/shell"
)

// scriptKey is the model's key in scripts. It must appear in no output.
const scriptKey = "sk-script-hush-hush"

// programs are the commands of the scripts: this test binary plays them.
var programs = map[string]func(){"nod": main}

// leakChecked runs the tests and then looks for goroutines that they left.
type leakChecked struct{ *testing.M }

func (m leakChecked) Run() int {
	flag.Parse()
	if flag.NArg() > 0 {
		// A program of ours that was started without its role would run every test, each starting it again.
		fmt.Fprintln(os.Stderr, "this is a test binary, and it was not told which program to be")
		return exitUsage
	}
	code := m.M.Run()
	if code != 0 {
		return code
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// TestScripts runs the program as a person at a terminal does, against an emulated Telegram and a scripted model on
// loopback. Beside testscript's commands there are:
//
//	code N PROGRAM …      runs a program that must exit with the code N
//	term                  sends SIGTERM to the program begun last in the background
//	kill9                 kills that program
//	kept FILE PATTERN     one file fits the pattern, and holds what FILE does
//	unclean DATABASE      scrambles a page, and leaves the database as a kill does
//	await FILE [TEXT]     until the file is there and holds the text
//	mode FILE 0600        checks a file's permissions
//	leftover SOCKET       leaves a socket that nobody listens at
//	job TITLE CRON        enters a job, while no bot runs
//	sees TEXT             until the bot has told its first person TEXT
//	says TEXT             that person writes to the bot
//	sends FILE            that person sends a file to the bot
//
// The condition [root] holds where the user is root, [sandbox] where the machine has a full one, [outline] in a build with grammars.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", Setup: setUpScript, RequireExplicitExec: true, RequireUniqueNames: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code": runToCode, "term": terminate, "await": awaitFile, "mode": checkMode, "leftover": leaveSocket, "job": enterJob, "sees": personSees, "says": personSays, "sends": personSends,
			"kill9": kill, "kept": checkKept, "unclean": breakDatabase,
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "root":
				return os.Geteuid() == 0, nil
			case "sandbox":
				strength, _ := new(shell.Runner).Strength()
				return strength == shell.Full, nil
			case "outline":
				return outline.Grammars, nil
			}
			return false, fmt.Errorf("there is no condition %q", name)
		},
	})
}

// setUpScript serves what the program talks to, for one script.
func setUpScript(e *testscript.Env) error {
	telegram := emulator.New(emulator.Options{})
	api := httptest.NewServer(telegram)
	model := httptest.NewServer(scripted.New(func(r scripted.Request) scripted.Reply {
		if r.Offers("ping") && len(r.Results()) == 0 {
			return scripted.Call("ping", map[string]string{"word": "one"}).Call("ping", map[string]string{"word": "two"})
		}
		return scripted.Say("You said: " + r.LastUser())
	}))
	e.Defer(func() {
		api.CloseClientConnections()
		api.Close()
		model.Close()
	})
	person := telegram.Private(ann)
	e.Values["person"] = person
	e.Vars = append(e.Vars,
		"HOME="+filepath.Join(e.WorkDir, "me"), "NOD_HOME="+filepath.Join(e.WorkDir, "home"), "NOD_WORKSPACE="+filepath.Join(e.WorkDir, "work"),
		"TELEGRAM_BOT_TOKEN="+emulator.Token, "NOD_TELEGRAM_API="+api.URL, "OPENAI_BASE_URL="+model.URL+"/v1", "OPENAI_API_KEY="+scriptKey,
		"NOD_MODEL=scripted", fmt.Sprint("ANN=", ann.ID), "TOKEN="+emulator.Token, "KEY="+scriptKey, "API="+api.URL, "TZ=UTC",
	)
	return nil
}

func runToCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N PROGRAM ARGUMENT…")
	}
	got := 0
	err := ts.Exec(args[1], args[2:]...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if fmt.Sprint(got) != args[0] {
		ts.Fatalf("%s exits with %d, not %s", args[1], got, args[0])
	}
}

func terminate(ts *testscript.TestScript, neg bool, args []string) {
	running := ts.BackgroundCmds()
	if neg || len(args) != 0 || len(running) == 0 {
		ts.Fatalf("usage: term, while a program runs in the background")
	}
	ts.Check(running[len(running)-1].Process.Signal(syscall.SIGTERM))
}

func kill(ts *testscript.TestScript, neg bool, args []string) {
	running := ts.BackgroundCmds()
	if neg || len(args) != 0 || len(running) == 0 {
		ts.Fatalf("usage: kill9, while a program runs in the background")
	}
	ts.Check(running[len(running)-1].Process.Kill())
}

func checkKept(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: kept FILE PATTERN")
	}
	found, err := filepath.Glob(ts.MkAbs(args[1]))
	ts.Check(err)
	if len(found) != 1 || ts.ReadFile(found[0]) != ts.ReadFile(args[0]) {
		ts.Fatalf("%s: %d files", args[1], len(found))
	}
}

// breakDatabase scrambles the last page but one that is in use, and takes the note of the clean stop away.
func breakDatabase(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: unclean DATABASE")
	}
	path := ts.MkAbs(args[0])
	raw, err := os.ReadFile(path)
	ts.Check(err)
	for at := 2 * os.Getpagesize(); at < len(raw); at += os.Getpagesize() {
		for i := at + 8; i < at+16; i++ { // the page's kind and count
			raw[i] = 0xff
		}
	}
	ts.Check(errors.Join(os.WriteFile(path, raw, 0o600), os.Truncate(path+".initialised", 0)))
}

// patience is how long a script waits for something.
const patience = 20 * time.Second

// awaitFile waits until a file is there, and holds a text.
func awaitFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 || len(args) > 2 {
		ts.Fatalf("usage: await FILE [TEXT]")
	}
	path := ts.MkAbs(args[0])
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		_, err := os.Lstat(path)
		if err == nil && len(args) == 2 {
			var raw []byte
			if raw, err = os.ReadFile(path); err == nil && !strings.Contains(string(raw), args[1]) {
				err = fmt.Errorf("%s holds %q", args[0], raw)
			}
		}
		if err == nil {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("waited in vain: %v", err)
		}
	}
}

func checkMode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mode FILE 0600")
	}
	info, err := os.Lstat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := fmt.Sprintf("%#o", info.Mode().Perm()); got != args[1] {
		ts.Fatalf("%s has mode %s", args[0], got)
	}
}

// leaveSocket makes a socket as a crash leaves it.
func leaveSocket(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: leftover SOCKET")
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: ts.MkAbs(args[0]), Net: "unix"})
	ts.Check(err)
	listener.SetUnlinkOnClose(false)
	ts.Check(listener.Close())
}

func enterJob(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: job TITLE CRON")
	}
	schedule, err := scheduler.Parse(args[1], time.UTC)
	ts.Check(err)
	db, err := store.Open(filepath.Join(ts.Getenv("NOD_HOME"), databaseName))
	ts.Check(err)
	err = db.Update(func(tx *store.Tx) error {
		_, err := scheduler.NewJobs(db).Add(tx, scheduler.Draft{
			Task: scheduler.Task{Title: args[0], Prompt: "Do it.", Agent: agent.MainAgent, CreatedBy: store.UserID(ann.ID)}, Schedule: schedule,
		})
		return err
	})
	ts.Check(errors.Join(err, db.Close()))
}

func personOf(ts *testscript.TestScript) *emulator.Person {
	return ts.Value("person").(*emulator.Person)
}

func personSees(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: sees TEXT")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := personOf(ts).WaitText(ctx, args[0])
	ts.Check(err)
}

func personSays(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: says TEXT")
	}
	personOf(ts).SendText(args[0])
}

func personSends(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: sends FILE")
	}
	personOf(ts).SendDocument(emulator.Upload{Name: filepath.Base(args[0]), Mime: "text/plain", Data: []byte(ts.ReadFile(args[0]))})
}
