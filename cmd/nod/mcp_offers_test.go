package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"nod/agent/llm/scripted"
)

// helped makes a world with the MCP server helper, in which a dialog can be held.
func helped(t *testing.T) *dialog {
	w := newWorld(t)
	w.config = func(c *Config) { c.Servers = append(c.Servers, helperOn("http")) }
	w.start()
	return newDialog(t, w)
}

// lastOffer is the names of the tools of the newest request to the model.
func (d *dialog) lastOffer() []string {
	all := d.service.Requests()
	return offeredIn(all[len(all)-1])
}

func offeredIn(r scripted.Request) (names []string) {
	for _, t := range r.Tools {
		names = append(names, t.Name)
	}
	return names
}

// TestTheSoundOfAServerIsKeptAndCanBeSent: what it returns is a file in the workspace, whose name the result tells, and
// which send_attachment takes.
func TestTheSoundOfAServerIsKeptAndCanBeSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := helped(t)
		d.play(`user> sing for me
model> call activate_tools {"groups":["helper"]}
model> call mcp__helper__sing {}
bot< Allow mcp__helper__sing?
press> ✅ Approve
asked< a song`)
		all := d.service.Requests()
		messages := all[len(all)-1].Messages
		result := messages[len(messages)-1].Text
		named := regexp.MustCompile(`\[a sound, audio/wav, 44 bytes, kept as (data/mcp/[0-9a-z]+-1\.wav)\]`).FindStringSubmatch(result)
		if named == nil {
			t.Fatalf("the result is %q", result)
		}
		if got := d.read(named[1]); got != helperSong {
			t.Errorf("the file holds %q", got)
		}
		d.model.push(scripted.Call("send_attachment", map[string]any{"file_path": named[1]}), scripted.Say("There it is."))
		d.play("bot< There it is.")
		file := strings.TrimPrefix(named[1], "data/mcp/")
		if shown := d.ann.Transcript(); !strings.Contains(shown, " "+file+", 44 bytes>") {
			t.Errorf("%s was not sent:\n%s", file, shown)
		}
		d.end()
	})
}

// TestAnActivatedServerIsOfferedAfterARestart: the first request of the next process offers its tools, before the server is
// reached again, and they work.
func TestAnActivatedServerIsOfferedAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := helped(t)
		d.play(`user> get ready
model> call activate_tools {"groups":["helper"]}
model> say I am.
bot< I am.
restart
user> remember milk`)
		before := len(d.service.Requests())
		d.model.push(scripted.Call("mcp__helper__remember", map[string]any{"text": "milk"}))
		d.play("bot< Allow mcp__helper__remember?")
		if n := len(d.service.Requests()); n < 3 || n > before+1 {
			t.Fatalf("the model was asked %d times", n)
		}
		offered := d.lastOffer()
		for _, name := range []string{"mcp__helper__dig", "mcp__helper__draw", "mcp__helper__remember", "mcp__helper__sing"} {
			if !slices.Contains(offered, name) {
				t.Errorf("%s is not offered: %q", name, offered)
			}
		}
		d.play(`press> ✅ Approve
asked< kept: milk
model> say Noted.
bot< Noted.
user> /resettools
bot< put away
user> and now?
model> say Nothing left.
bot< Nothing left.`)
		if slices.ContainsFunc(d.lastOffer(), func(name string) bool { return strings.HasPrefix(name, "mcp__") }) {
			t.Errorf("after /resettools there is still %q", d.lastOffer())
		}
		d.end()
	})
}
