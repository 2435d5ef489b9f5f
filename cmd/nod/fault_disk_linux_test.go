package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"nod/agent/llm/scripted"
	"nod/bot/emulator"
)

// smallDisk is nod on a disk of its own that has room for little: a file system in memory, mounted in a namespace.
type smallDisk struct {
	t      *testing.T
	person *emulator.Person
	cmd    *exec.Cmd
	home   string
	log    bytes.Buffer
	ended  chan error
}

// noMount is how the shell exits that may not mount anything.
const noMount = 77

// newSmallDisk starts nod with such a disk as its home. It skips the test where nothing may be mounted.
func newSmallDisk(t *testing.T, options string) *smallDisk {
	t.Helper()
	dir := t.TempDir()
	telegram := emulator.New(emulator.Options{})
	model := scripted.New(func(r scripted.Request) scripted.Reply { return scripted.Say("You said: " + r.LastUser()) })
	api, service := httptest.NewServer(telegram), httptest.NewServer(model)
	t.Cleanup(func() {
		api.CloseClientConnections()
		api.Close()
		service.Close()
	})
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d := &smallDisk{t: t, person: telegram.Private(ann), home: filepath.Join(dir, "home"), ended: make(chan error, 1)}
	if err := os.Mkdir(d.home, 0o700); err != nil {
		t.Fatal(err)
	}
	d.cmd = exec.Command("/bin/sh", "-c", fmt.Sprintf(`mount -t tmpfs -o %s none "$NOD_HOME" || exit %d; exec "$0" run`, options, noMount), exe)
	d.cmd.Env = []string{
		victimVariable + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TELEGRAM_BOT_TOKEN=" + emulator.Token, "NOD_TELEGRAM_API=" + api.URL,
		"OPENAI_BASE_URL=" + service.URL + "/v1", "NOD_MODEL=scripted", "NOD_HOME=" + d.home, "NOD_WORKSPACE=" + filepath.Join(dir, "work"),
		"NOD_OWNER=" + fmt.Sprint(ann.ID), "NOD_TIMEZONE=UTC",
	}
	d.cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	d.cmd.Stdout, d.cmd.Stderr = &d.log, &d.log
	stdin, err := d.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Skipf("DISK FAULTS ARE NOT TESTED HERE: no namespaces: %v", err)
	}
	go func() { d.ended <- d.cmd.Wait() }()
	t.Cleanup(func() {
		_ = d.cmd.Process.Kill() // fails when it has ended
		_ = stdin.Close()        // likewise
		if t.Failed() {
			t.Logf("log of nod:\n%s", &d.log)
		}
	})
	return d
}

// exit waits until nod has ended, and skips the test when it never began.
func (d *smallDisk) exit() (code int) {
	d.t.Helper()
	select {
	case err := <-d.ended:
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			code = exit.ExitCode()
		} else if err != nil {
			d.t.Fatal(err)
		}
	case <-time.After(patience):
		d.t.Fatal("nod did not end")
	}
	if code == noMount {
		d.t.Skipf("DISK FAULTS ARE NOT TESTED HERE: %s", &d.log)
	}
	return code
}

func (d *smallDisk) sees(text string) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	if _, err := d.person.WaitText(ctx, text); err != nil {
		select {
		case <-d.ended:
			if d.cmd.ProcessState.ExitCode() == noMount {
				d.t.Skipf("DISK FAULTS ARE NOT TESTED HERE: %s", &d.log)
			}
		default:
		}
		d.t.Fatalf("waiting for %q: %v", text, err)
	}
}

// fill leaves no byte on the disk; empty gives them back.
func (d *smallDisk) fill() (empty func()) {
	d.t.Helper()
	path := fmt.Sprintf("/proc/%d/root%s/filler", d.cmd.Process.Pid, d.home)
	f, err := os.Create(path)
	if err != nil {
		d.t.Fatal(err)
	}
	if _, err := io.Copy(f, zeros{}); !errors.Is(err, syscall.ENOSPC) {
		d.t.Fatalf("filling the disk: %v", err)
	}
	return func() {
		d.t.Helper()
		if err := errors.Join(f.Close(), os.Remove(path)); err != nil {
			d.t.Fatal(err)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestFaultDiskFull: what is sent while the disk is full is neither lost nor answered twice, and the owner is told.
func TestFaultDiskFull(t *testing.T) {
	t.Parallel() // it is ten seconds until nod takes the trouble for over
	d := newSmallDisk(t, "size=3m")
	d.person.SendText("one")
	d.sees("You said: one")
	empty := d.fill()
	for i := range 3 { // the pages that the file has free take the first of them
		d.person.SendText(fmt.Sprint("two ", i, strings.Repeat(" and more", 400)))
	}
	d.sees("⚠️ The disk is full. Make room where NOD_HOME is.")
	empty()
	d.sees("two 2")
	d.person.SendText("three")
	d.sees("You said: three")
	once := []string{"The disk is full", "You said: one", "two 0", "two 1", "two 2", "You said: three"}
	if !testing.Short() {
		d.sees(writableAgain)
		once = append(once, writableAgain)
	}
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := d.exit(); code != 0 {
		t.Errorf("nod ended with %d", code)
	}
	saidOnce(t, d.person, once...)
}

const writableAgain = "✓ The database can be written to again."

// saidOnce fails for each text that the bot has not said exactly once.
func saidOnce(t *testing.T, p *emulator.Person, texts ...string) {
	t.Helper()
	var said strings.Builder
	for _, m := range p.Messages() {
		if m.From.IsBot {
			fmt.Fprintln(&said, m.Shown())
		}
	}
	for _, text := range texts {
		if n := strings.Count(said.String(), text); n != 1 {
			t.Errorf("%q is there %d times:\n%s", text, n, p.Transcript())
		}
	}
}

// TestFaultDiskBecomesReadOnly: what is sent meanwhile is neither lost nor answered twice, and the owner is told of the
// beginning and of the end. No mount(8) can do that to a file that is open for writing, only the kernel after an error: so the
// disk is the one of the power cuts.
func TestFaultDiskBecomesReadOnly(t *testing.T) {
	if testing.Short() {
		t.Skip("it is ten seconds until nod takes the trouble for over")
	}
	t.Parallel()
	result := os.Getenv(labVariable)
	if result == "" {
		found, refused := enterLab(t, "^TestFaultDiskBecomesReadOnly$")
		if refused += string(found); refused != "" && os.Getenv(fuseVariable) != "" {
			t.Fatalf("%s is set, and %s%s", fuseVariable, needsFuse, refused)
		} else if refused != "" {
			t.Skipf("DISK FAULTS ARE NOT TESTED HERE: %s%s", needsFuse, refused)
		}
		return
	}
	d, at, refused := newDisk(), filepath.Join(t.TempDir(), "disk"), ""
	if err := os.Mkdir(at, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := d.mount(t, at); err != nil {
		refused = err.Error()
	} else {
		(&powerLab{t: t, disk: d, at: at}).becomeReadOnly(t)
	}
	if err := os.WriteFile(result, []byte(refused), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (l *powerLab) becomeReadOnly(t *testing.T) {
	w := l.world(1, false)
	nod, p := w.launch(""), w.people[0]
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	turn := func(readOnly bool) {
		l.disk.mu.Lock()
		defer l.disk.mu.Unlock()
		l.disk.readOnly = readOnly
	}
	p.perform(ctx, errandSay)
	turn(true)
	for range 3 {
		p.say(errandSay)
	}
	const begun = "⚠️ The disk with NOD_HOME has become read-only."
	if _, err := p.WaitText(ctx, begun); err != nil {
		t.Fatal(err)
	}
	turn(false)
	for _, errand := range p.sent {
		p.awaitDone(ctx, errand)
	}
	if _, err := p.WaitText(ctx, writableAgain); err != nil {
		t.Error(err)
	}
	p.perform(ctx, errandSay)
	nod.terminate()
	if len(p.lost) > 0 {
		t.Errorf("lost: %q", p.lost)
	}
	saidOnce(t, p.Person, append([]string{begun, writableAgain}, p.sent...)...)
	if err := os.Truncate(w.log, 0); err != nil { // it tells of the errors that there were
		t.Fatal(err)
	}
}

func TestFaultDiskReadOnly(t *testing.T) {
	d := newSmallDisk(t, "ro")
	if code := d.exit(); code != 1 {
		t.Errorf("nod ended with %d", code)
	}
	if log := d.log.String(); !strings.Contains(log, "read-only") || strings.Contains(log, "panic") {
		t.Errorf("it says:\n%s", log)
	}
}
