package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"nod/agent/llm/scripted"
	"nod/bot/emulator"
	"nod/store"
)

// stage is what stands around a program that is measured: the emulated Telegram and the scripted model, served by this
// process on real sockets, and folders. Its people each have a private chat, so that no pace limit of a chat is met.
type stage struct {
	t        testing.TB
	telegram *emulator.Server
	api      string // roots of the two services
	model    string
	people   []*emulator.Person
	dir      string
	said     atomic.Int64
	think    time.Duration // how long the model takes before it answers
}

// newStage serves both for a number of people.
func newStage(t testing.TB, people int) *stage {
	t.Helper()
	s := &stage{t: t, telegram: emulator.New(emulator.Options{}), dir: t.TempDir()}
	for i := range people {
		s.people = append(s.people, s.telegram.Private(emulator.User{ID: int64(1000 + i), FirstName: "P" + strconv.Itoa(i)}))
	}
	api, model := httptest.NewServer(s.telegram), httptest.NewServer(scripted.New(s.reply))
	t.Cleanup(func() {
		api.CloseClientConnections()
		api.Close()
		model.Close()
	})
	s.api, s.model = api.URL, model.URL+"/v1"
	return s
}

// owners are all people: they own the bot together.
func (s *stage) owners() (ids []store.UserID) {
	for _, p := range s.people {
		ids = append(ids, store.UserID(p.User().ID))
	}
	return ids
}

// question and errand begin what people say; the model answers the one at once and calls a tool for the other.
const (
	question = "question "
	errand   = "errand "
)

// reply answers with the number of the question, in pieces as a service streams them.
func (s *stage) reply(r scripted.Request) scripted.Reply {
	text := r.LastUser()
	if strings.Contains(text, errand) && len(r.Results()) == 0 {
		return scripted.Call("list_files", map[string]any{}).Sleep(s.think)
	}
	number := strings.Fields(text[max(strings.LastIndex(text, question), strings.LastIndex(text, errand), 0):])
	if len(number) < 2 {
		return scripted.Say("What was said before, in short.")
	}
	pieces := []string{"answer ", number[1], ". "}
	for range 12 {
		pieces = append(pieces, "It goes on ", "for a while. ")
	}
	return scripted.Reply{}.Sleep(s.think).Say(pieces...)
}

// ask has a person say something, and waits until the answer stands in the chat.
func (s *stage) ask(p *emulator.Person, what string) time.Duration {
	s.t.Helper()
	began := time.Now()
	n := s.said.Add(1)
	p.SendText(fmt.Sprint(what, n))
	s.seen(p, n)
	return time.Since(began)
}

// seen waits until an answer stands in the chat.
func (s *stage) seen(p *emulator.Person, n int64) { s.shown(p, fmt.Sprintf("answer %d.", n), 0) }

// compact has the transcript summarised, and clears the person's screen, on which every look would take longer and longer.
func (s *stage) compact(p *emulator.Person) {
	s.t.Helper()
	s.shown(p, "replaced by a summary", p.SendText("/compact").ID)
	for _, m := range p.Messages() {
		p.Delete(m.ID)
	}
}

// shown waits until the bot says something, in a message with a higher number than after.
func (s *stage) shown(p *emulator.Person, text string, after int) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	_, err := p.WaitMessage(ctx, func(m emulator.Message) bool {
		return m.ID > after && m.From.IsBot && strings.Contains(m.Shown(), text)
	})
	if err != nil {
		s.t.Error(err) // not Fatal: many may wait at once
	}
}

// roleVariable makes a test binary the program itself.
const roleVariable = "NOD_BENCH_ROLE"

// playRole is called first in TestMain.
func playRole() (played bool) {
	if os.Getenv(roleVariable) == "" {
		return false
	}
	main()
	return true
}

// child is a measured program in a process of its own.
type child struct {
	t   testing.TB
	cmd *exec.Cmd
	err bytes.Buffer
}

// start runs a program on the stage: nod, this test binary as nod, or the yardstick, which reads the same environment.
func (s *stage) start(path string) *child {
	s.t.Helper()
	c := &child{t: s.t, cmd: exec.Command(path, "run")}
	var owners []string
	for _, id := range s.owners() {
		owners = append(owners, strconv.FormatInt(int64(id), 10))
	}
	c.cmd.Env = []string{
		roleVariable + "=nod", "PATH=" + os.Getenv("PATH"), "HOME=" + s.dir, "TMPDIR=" + s.dir,
		"TELEGRAM_BOT_TOKEN=" + emulator.Token, "NOD_TELEGRAM_API=" + s.api, "OPENAI_BASE_URL=" + s.model, "OPENAI_API_KEY=none",
		"NOD_MODEL=scripted", "NOD_HOME=" + filepath.Join(s.dir, "home"), "NOD_WORKSPACE=" + filepath.Join(s.dir, "workspace"),
		"NOD_OWNER=" + strings.Join(owners, ","), "NOD_TIMEZONE=UTC", "NOD_LOG=error",
	}
	c.cmd.Stderr = &c.err
	if err := c.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.stop)
	return c
}

// stop ends the program as a service manager does.
func (c *child) stop() {
	if c == nil || c.cmd.ProcessState != nil {
		return
	}
	c.t.Helper()
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	kill := time.AfterFunc(20*time.Second, func() { _ = c.cmd.Process.Kill() })
	defer kill.Stop()
	if err := c.cmd.Wait(); err != nil {
		c.t.Errorf("the measured program ended: %v\n%s", err, c.err.String())
	}
}

// memory is what a program holds, in bytes; zero where the system has no /proc.
type memory struct {
	resident int64
	owned    int64 // without the pages of its binary, which the kernel takes back when it needs room
}

func (c *child) memory() (m memory) {
	if c == nil {
		return m
	}
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	if err != nil {
		return m
	}
	for line := range strings.Lines(string(raw)) {
		name, value, _ := strings.Cut(line, ":")
		var kib int64
		if _, err := fmt.Sscan(value, &kib); err != nil {
			continue
		}
		switch name {
		case "VmRSS":
			m.resident = kib << 10
		case "RssAnon":
			m.owned = kib << 10
		}
	}
	return m
}

// processor is how much processor time a program has taken so far, in the kernel's ticks of 10 ms; zero where the system
// has no /proc.
func (c *child) processor() time.Duration {
	if c == nil {
		return 0
	}
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	const user, system = 14 - 3, 15 - 3 // proc(5) counts from 1, and the first two are cut off: a name may hold spaces
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	var ticks time.Duration
	for _, i := range []int{user, system} {
		n, err := strconv.Atoi(fields[i])
		if err != nil {
			return 0
		}
		ticks += time.Duration(n)
	}
	return ticks * 10 * time.Millisecond
}
