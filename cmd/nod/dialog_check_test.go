package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"nod/agent/llm"
	"nod/bot/emulator"
)

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
