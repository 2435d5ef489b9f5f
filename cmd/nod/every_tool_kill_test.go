package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"nod/bot/emulator"
	"nod/store"
	"nod/tools"
)

// TestEveryToolKilled has the real process make a call of each tool at once, each in a chat of its own, holds all of them
// between their intent and their run, or between their run and the record of their outcome, and kills it there. After the
// next start a call that only reads is made again and its result comes once; one that writes is asked about, and runs once
// more only where a person says so; a question still waits.
func TestEveryToolKilled(t *testing.T) {
	for _, window := range []string{"tools.intent", "tools.ran"} {
		t.Run(window, func(t *testing.T) {
			t.Parallel()
			k := newToolKiller(t, window)
			k.life("", func(a *act) { a.prepare(); a.begin() })
			k.find()
			base := k.counts()
			k.cutOff()
			for i, a := range k.acts {
				if n := k.counts()[i]; n != base[i]+a.atOnce(window) {
					t.Errorf("%s: %d effects when it was killed, want %d", a.key(), n, base[i]+a.atOnce(window))
				}
			}
			k.life("", func(a *act) { a.resume(window) })
			for i, n := range k.counts() {
				if a := k.acts[i]; a.effect != nil && n != base[i]+a.inTheEnd(window) {
					t.Errorf("%s: %d effects in the end, want %d", a.key(), n, base[i]+a.inTheEnd(window))
				}
			}
		})
	}
}

// toolKiller has an act for each proof, each with an owner of its own.
type toolKiller struct {
	w    *crashWorld
	acts []*act
	at   string // the window
}

func newToolKiller(t *testing.T, window string) *toolKiller {
	held := heldProofs(t)
	w := newCrashWorld(t, len(held), nil)
	m := newParrot()
	m.service.SetMedia(someMedia)
	service, server := w.serve(m.service), w.serve(forgettingHelper(t))
	k := &toolKiller{w: w, at: window}
	var owners []string
	for i, p := range held {
		a := &act{
			proof: p, t: t, telegram: w.telegram, model: m, me: w.people[i].Person, work: w.workspace, mcp: server, found: map[string]string{},
			lives: func() int { return w.starts },
		}
		a.stand(w.people[i].user)
		k.acts = append(k.acts, a)
		owner := fmt.Sprint(w.people[i].user.ID)
		if owners = append(owners, owner); p.tool == tools.Notify { // notifications come to the first
			owners = slices.Insert(owners, 0, owner)
		}
	}
	owners = append(owners, fmt.Sprint(zoeID))
	w.env = append(w.env, "OPENAI_BASE_URL="+service+"/v1", "NOD_OWNER="+strings.Join(owners, ","))
	yaml := fmt.Sprintf("tools:\n  profile: hybrid\nplugins:\n  images:\n    model: gpt-image-1\n    base_url: %[1]s/v1\n  speech:\n    tts_model: tts\n    base_url: %[1]s/v1\n", service)
	if err := os.MkdirAll(w.home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.home, "nod.yaml"), []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	return k
}

// forgettingHelper is the helper over HTTP, which at the end lets go of clients that were killed.
func forgettingHelper(t *testing.T) http.Handler {
	s := helperServer()
	t.Cleanup(func() {
		for client := range s.Sessions() {
			_ = client.Close() // nobody is at the other end
		}
	})
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
}

// each does something in every act at the same time.
func (k *toolKiller) each(do func(*act)) {
	var all sync.WaitGroup
	for _, a := range k.acts {
		all.Go(func() { do(a) })
	}
	all.Wait()
	if k.w.t.Failed() {
		k.w.t.FailNow()
	}
}

// life starts nod, has something done in every act, and ends nod.
func (k *toolKiller) life(failpoint string, do func(*act)) {
	nod := k.w.launch(failpoint)
	k.each(do)
	nod.kill()
}

func (k *toolKiller) find() {
	for _, a := range k.acts {
		a.find()
	}
}

// counts are what the tools have brought about.
func (k *toolKiller) counts() (all []int) {
	peek(k.w.t, k.w.home, func(tx *store.Tx) {
		for _, a := range k.acts {
			all = append(all, a.count(tx))
		}
	})
	return all
}

// cutOff has all calls made, and kills nod when each is in the window, or waits for an answer.
func (k *toolKiller) cutOff() {
	nod := k.w.launch(k.at + ":" + holdWord)
	close(k.acts[0].model.later)
	k.each(func(a *act) {
		if !a.inside {
			a.asksFor()
		}
		switch {
		case a.asks:
			a.press(approveButton)
		case a.question != "":
			a.until("the question", func(m emulator.Message) bool { return strings.HasPrefix(m.Shown(), "❓ ") })
		}
	})
	want := len(slices.DeleteFunc(slices.Clone(k.acts), func(a *act) bool { return a.question != "" }))
	for deadline := time.Now().Add(stepPatience); ; time.Sleep(5 * time.Millisecond) { // a file tells nobody that it has changed
		held := strings.Count(k.w.logTail(1<<20), heldMark)
		if held == want {
			break
		}
		if time.Now().After(deadline) {
			k.w.t.Errorf("%d calls are held at %s, want %d", held, k.at, want)
			break
		}
	}
	nod.kill()
}

// begin begins the task of a call that only a task can make.
func (a *act) begin() {
	if a.inside {
		a.say(a.task("later"))
		a.sees("It says:")
		a.mark = a.me.SendText("/id").ID
	}
}

// atOnce is what a call has brought about when it is killed.
func (a *act) atOnce(window string) int {
	if a.soon && window == "tools.ran" {
		return 1
	}
	return 0
}

// again says whether the person has a call that was cut off run again: one that had not begun to.
func (a *act) again(window string) bool { return window == "tools.intent" && a.tool != tools.Restart }

// inTheEnd is what the call has brought about when all is said.
func (a *act) inTheEnd(window string) int {
	if a.repeated() || a.question != "" || a.again(window) {
		return 1
	}
	return a.atOnce(window)
}

// resume sees the call that was cut off to its end.
func (a *act) resume(window string) {
	before := len(a.model.read(a.key()))
	want := a.says
	switch {
	case a.question != "":
		a.me.SendText(a.question)
	case a.repeated():
	case a.again(window):
		a.press(againButton)
	default:
		a.press(skipButton)
		want = "The user chose not to run it again"
	}
	told := a.reads(before, want)
	if a.tool == tools.Notify {
		a.sees("The bell has rung.")
	}
	if n := shownAfter(a.me, a.mark, told); n != 1 {
		a.t.Errorf("%s: its result was told %d times:\n%s", a.key(), n, a.me.Transcript())
	}
	if asked := shownAfter(a.me, a.mark, "⚡ Interrupted"); (asked > 0) == (a.repeated() || a.question != "") {
		a.t.Errorf("%s: asked about as interrupted: %d\n%s", a.key(), asked, a.me.Transcript())
	}
}

// shownAfter counts the messages of the bot after one that contain a text.
func shownAfter(p *emulator.Person, mark int, text string) (n int) {
	for _, m := range p.Messages() {
		if m.ID > mark && m.From != nil && m.From.IsBot && strings.Contains(unspaced(m.Shown()), unspaced(text)) {
			n++
		}
	}
	return n
}
