package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nod/agent"
	"nod/bot/emulator"
	"nod/store"
	"nod/tools"
)

// act is a proof being held: who asks, where, and what was found.
type act struct {
	proof
	t        testing.TB
	telegram *emulator.Server
	model    *parrot
	me       *emulator.Person // where it is asked for
	zoe      *emulator.Person // a friend
	group    *emulator.Group  // the proof's own, where it needs one
	work     string           // the workspace
	mcp      string           // address of an MCP server
	found    map[string]string
	mark     int // the last message before the one that is waited for
	lives    func() int
}

const zoeID = 900

// stand makes what the proof needs of Telegram and of files.
func (a *act) stand(owner emulator.User) {
	a.zoe = a.telegram.Private(emulator.User{ID: zoeID, FirstName: "Zoe"})
	if strings.HasPrefix(a.tool, "group_") || a.forum {
		a.group = a.telegram.NewGroup(emulator.GroupOptions{Title: "The club of " + a.key(), Admin: true, Forum: a.forum}, owner)
		if a.forum {
			a.me = a.group.Person(owner).In(a.group.NewTopic(owner, "builds"))
		}
	}
	a.tidy()
}

// smallFiles are what every proof's folder holds.
var smallFiles = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"a.txt": "one\ntwo\n", "a.go": "package a\n\nfunc Hello() {}\n", "a.png": string(blankPNG(640, 480)), "b.png": string(blankPNG(480, 640)),
	}
})

// tidy puts the files of the proof's folder as they are at the beginning.
func (a *act) tidy() {
	dir := filepath.Join(a.work, a.key())
	err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755))
	for name, content := range smallFiles() {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644))
	}
	if err != nil {
		a.t.Fatal(err)
	}
}

func (a *act) readFile(name string) string {
	raw, err := os.ReadFile(filepath.Join(a.work, a.key(), name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		a.t.Error(err)
	}
	return string(raw)
}

func (a *act) chatID() string { return fmt.Sprint(a.me.ChatID()) }

// session is the conversation's.
func (a *act) session(tx *store.Tx) store.SessionID {
	s, _, err := agent.SessionAt(tx, store.Address{Chat: store.ChatID(a.me.ChatID())})
	if err != nil {
		a.t.Error(err)
	}
	return s.ID
}

func rawTable(name string) store.Table[store.Text, json.RawMessage] {
	return store.NewTable[store.Text, json.RawMessage](name, store.ParseText[store.Text])
}

// expand puts in what was found.
func (a *act) expand(text string) string {
	pairs := []string{"$DIR", a.key(), "$KEY", a.key(), "$MCP", a.mcp}
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(a.found))) { // the longer of two comes first
		pairs = append(pairs, "$"+name, a.found[name])
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// say writes, and marks where what follows begins.
func (a *act) say(text string) {
	if text == "yes" { // a person reads the question first; that it was sent is on record by then
		time.Sleep(500 * time.Millisecond)
	}
	if text != "yes" && text != "/stop" {
		text += " #" + a.key()
		if a.forum {
			text = "@nod_bot " + text
		}
	}
	a.mark = a.me.SendText(a.expand(text)).ID
}

// asksFor says what has the model make the call.
func (a *act) asksFor() {
	call := fmt.Sprintf("do %s %s", a.tool, a.args)
	switch {
	case a.word != "":
		call = a.word
	case a.inside:
		call = a.task("")
	}
	a.say(call)
}

// task has a task in the background make the call; first says what else stands in its prompt.
func (a *act) task(first string) string {
	prompt, err := json.Marshal(fmt.Sprintf("%s\ndo %s %s #%s", first, a.tool, a.expand(a.args), a.key()))
	if err != nil {
		a.t.Fatal(err)
	}
	return fmt.Sprintf(`do execute_task {"mode":"async","title":"The task of %s","agent_id":"generalist","prompt":%s} #outer`, a.key(), prompt)
}

// patience for one step, on whichever clock.
const stepPatience = 30 * time.Second

// until waits for a message of the bot after the mark.
func (a *act) until(what string, ok func(emulator.Message) bool) emulator.Message {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), stepPatience)
	defer cancel()
	m, err := a.me.WaitMessage(ctx, func(m emulator.Message) bool { return m.ID > a.mark && m.From != nil && m.From.IsBot && ok(m) })
	if err != nil {
		a.t.Fatalf("%s: waiting for %s: %v\n%s\nresults: %.500q", a.key(), what, err, a.me.Transcript(), a.model.read(a.key()))
	}
	return m
}

func (a *act) sees(text string) {
	a.t.Helper()
	a.until(fmt.Sprintf("%q", text), func(m emulator.Message) bool { return strings.Contains(m.Shown(), text) })
}

// press waits for a button after the mark and presses it, as somebody does who reads first.
func (a *act) press(label string) {
	a.t.Helper()
	m := a.until("the button "+label, func(m emulator.Message) bool { return m.Keyboard != nil && slices.Contains(labels(m), label) })
	if inBubble(nil) {
		time.Sleep(100 * time.Millisecond) // what was sent is on record by then
	}
	if _, err := a.me.PressOn(m.ID, label); err != nil {
		a.t.Fatalf("%s: pressing %s: %v", a.key(), label, err)
	}
}

// reads waits until the person is told of an outcome that the model has read after those before, and that holds a text.
// It gives back how that is told.
func (a *act) reads(before int, text string) (told string) {
	a.t.Helper()
	said := func() string {
		all := a.model.read(a.key())
		if len(all) <= before || !strings.Contains(all[len(all)-1], text) {
			return ""
		}
		return strings.TrimSpace(map[bool]string{true: "Told: It says: ", false: "It says: "}[a.inside] + plainWords(all[len(all)-1]))
	}
	a.until(fmt.Sprintf("an outcome with %q", text), func(m emulator.Message) bool {
		told = said()
		return told != "" && strings.HasPrefix(unspaced(m.Shown()), unspaced(told))
	})
	return told
}

// prepare does what must be done before, with the nods that it takes.
func (a *act) prepare() {
	if a.group != nil {
		a.enrol()
	}
	steps := a.before
	if a.config {
		steps = append([]string{`do activate_tools {"groups":["config"]}`}, steps...)
	}
	for _, step := range steps {
		a.say(step)
		if strings.Contains(step, `{"mode":"cron"`) || strings.HasPrefix(step, "do "+tools.RegisterMCP) {
			a.press(approveButton)
		}
		a.sees("It says:")
		a.find()
	}
}

// enrol has the bot listen in the proof's group, and know the friend.
func (a *act) enrol() {
	a.zoe.SendText("/id")
	group := a.me
	if !a.forum {
		group = a.group.Person(a.me.User())
	}
	at := group.SendText("/enroll").ID
	ctx, cancel := context.WithTimeout(a.t.Context(), stepPatience)
	defer cancel()
	if _, err := group.WaitMessage(ctx, func(m emulator.Message) bool { return m.ID > at && strings.Contains(m.Shown(), "I listen here") }); err != nil {
		a.t.Fatalf("%s: %v", a.key(), err)
	}
}

// find looks for references in what the model has read.
func (a *act) find() {
	all := strings.Join(a.model.read(a.key()), "\n")
	for name, form := range a.finds {
		for i, m := range regexp.MustCompile(form).FindAllStringSubmatch(all, -1) {
			if i == 0 {
				a.found[name] = m[1]
			} else {
				a.found[fmt.Sprint(name, i+1)] = m[1]
			}
		}
	}
}

// peek reads the database of a nod that is down.
func peek(t testing.TB, home string, fn func(tx *store.Tx)) {
	t.Helper()
	db, err := store.Open(filepath.Join(home, databaseName))
	if err != nil {
		t.Fatal(err)
	}
	err = db.View(func(tx *store.Tx) error {
		fn(tx)
		return nil
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// count is what the tool has brought about.
func (a *act) count(tx *store.Tx) int {
	if a.effect == nil {
		return 0
	}
	return a.effect(a, tx)
}

// calls are the records of the proof's calls, oldest first.
func (a *act) calls(tx *store.Tx) (all []tools.Execution) {
	err := executions.Scan(tx, nil, func(_ store.CallID, e tools.Execution) (bool, error) {
		if e.Tool == a.tool && sameArgs(e.Args, json.RawMessage(a.expand(a.args))) {
			all = append(all, e)
		}
		return true, nil
	})
	if err != nil {
		a.t.Error(err)
	}
	slices.SortStableFunc(all, func(x, y tools.Execution) int { return x.Created.Compare(y.Created) })
	return all
}

// sameArgs says whether canonical arguments are those that were written, but for defaults.
func sameArgs(canonical, written json.RawMessage) bool {
	var c, w map[string]any
	if json.Unmarshal(canonical, &c) != nil || json.Unmarshal(written, &w) != nil {
		return false
	}
	for name := range w {
		if fmt.Sprint(c[name]) != fmt.Sprint(w[name]) {
			return false
		}
	}
	return true
}

// ended checks how all calls of the proof ended.
func (a *act) ended(tx *store.Tx, want []tools.State) {
	a.t.Helper()
	var got []tools.State
	for _, e := range a.calls(tx) {
		got = append(got, e.State)
	}
	if a.proof.before != nil && len(got) > len(want) { // some of them call the same
		got = got[len(got)-len(want):]
	}
	if !slices.Equal(got, want) {
		a.t.Errorf("%s: its calls are %v, want %v", a.key(), got, want)
	}
}

// canonical are the arguments as a rule about exactly this call has them.
func (a *act) canonical(t tools.Tool) json.RawMessage {
	inv, err := t.Decode(json.RawMessage(a.expand(a.args)))
	if err != nil {
		a.t.Fatal(err)
	}
	return inv.Args()
}
