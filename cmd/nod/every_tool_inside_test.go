package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nod/bot/emulator"
	"nod/store"
	"nod/tools"
)

// inside holds the work of a tool itself, by somebody far away who does not answer.
type inside struct {
	tool string
	hold func(h *here)
	// reached counts how often the far side was asked, left how often it was let go before it answered.
	reached, left func(h *here) int
	lift          func(h *here)
}

// insides are the tools whose work waits for others, as far as no test that insideElsewhere names holds them.
var insides = []inside{
	{tools.ImageGenerate, slowMedia, askedMedia, leftMedia, quickMedia},
	{tools.SendVoiceMessage, slowMedia, askedMedia, leftMedia, quickMedia},
	{tools.GroupMemberCandidates, hangs("getChatMember"), asked("getChatMember"), left("getChatMember"), nil},
	{tools.GroupMemberAdd, hangs("createChatInviteLink"), asked("createChatInviteLink"), left("createChatInviteLink"), nil},
	{
		tools.RegisterMCP, func(h *here) { h.mcp = heldAddress },
		func(*here) int { return int(heldRequests.Load()) }, func(*here) int { return int(heldLeft.Load()) }, func(h *here) { h.mcp = helperAddress },
	},
}

// insideElsewhere names what stops the other tools whose work may take a while, while it is under way.
var insideElsewhere = map[string]string{
	tools.ExecuteCmd: "dialog real_stop_command", tools.GetASTOutline: "dialog outline_stop", tools.ListFiles: "checked entry by entry: listing.folder",
	tools.GrepFiles: "TestSTOP1_InsideASearch, and TestSTOP1_ASearchOfOneFileEnds of tools/fs", tools.GalleryAdd: "TestSTOP1_InsideADrawing",
	tools.ExecuteTask: "TestSTOP1StopReachesEveryDepth of agent", tools.ExecuteSubtask: "TestSTOP1StopReachesEveryDepth of agent",
	tools.AskUserClarification: "dialog stop_question", tools.SetSecret: "TestEveryTool: its work is the question", tools.SearchFile: "TestSTOP1_ASearchEndsInTheMiddleOfAFile of tools/fs",
}

// momentary are the tools whose work waits for nobody: it reads or writes one file or the database, and is over before a
// person could say anything. TestEveryTool stops them at both ends.
var momentary = []string{
	tools.ReadFile, tools.WriteFile, tools.EditFile, tools.InsertAtLine, tools.ReplaceLines, tools.Restart, tools.ReadAgentResult, tools.WriteTodos,
	tools.UpdateScratchpad, tools.ActivateTools, tools.Notify, tools.ReadNotification, tools.ListItems, tools.ToggleItem, tools.DeleteCronJob,
	tools.DeleteMCP, tools.ConfigurePlugin, tools.ListSecrets, tools.SendAttachment, tools.ImageGenerateProvidersList, tools.GalleryList,
	tools.GalleryDelete, tools.GalleryReorder, tools.GallerySend, tools.GroupList, tools.TelegramSendMessage, tools.TelegramReact, tools.TelegramPin,
	tools.TelegramSendPoll, tools.TelegramSendLocation, tools.TelegramCreateTopic,
}

// TestSTOP1_EveryToolIsStoppedInside, or is known for one that can't be.
func TestSTOP1_EveryToolIsStoppedInside(t *testing.T) {
	for _, e := range tools.Catalogue {
		places := 0
		for _, in := range []bool{
			slices.ContainsFunc(insides, func(i inside) bool { return i.tool == e.Tool }), insideElsewhere[e.Tool] != "", slices.Contains(momentary, e.Tool),
		} {
			if in {
				places++
			}
		}
		if places != 1 {
			t.Errorf("%s stands in %d of the three lists", e.Tool, places)
		}
	}
}

func slowMedia(h *here) {
	m := someMedia
	m.Delay = time.Hour
	h.world.service.SetMedia(m)
}

func quickMedia(h *here) { h.world.service.SetMedia(someMedia) }

func askedMedia(h *here) int { return len(h.world.service.MediaRequests()) }

func leftMedia(h *here) int { return h.world.service.MediaLeft() }

func hangs(method string) func(*here) {
	return func(h *here) { h.telegram.Inject(method, 1, emulator.Hang()) }
}

func asked(method string) func(*here) int {
	return func(h *here) int { return len(h.telegram.Calls(method)) }
}

// left counts the calls that were cut off.
func left(method string) func(*here) int {
	return func(h *here) (n int) {
		for _, c := range h.telegram.Calls(method) {
			if c.Done && c.Code == 0 {
				n++
			}
		}
		return n
	}
}

// TestSTOP1_InsideEachTool: /stop while the tool waits for its far side is acknowledged within a second, leaves no effect and
// lets the far side go; afterwards the same call works.
func TestSTOP1_InsideEachTool(t *testing.T) {
	for _, in := range insides {
		t.Run(in.tool, func(t *testing.T) {
			at := slices.IndexFunc(proofs, func(p proof) bool { return p.tool == in.tool })
			synctest.Test(t, func(t *testing.T) { stopInside(newHere(t, proofs[at]), in) })
		})
	}
}

func stopInside(h *here, in inside) {
	base := 0
	if h.config || h.before != nil || h.group != nil {
		base = h.life(h.prepare)
	}
	n := h.life(func() {
		before, gone := in.reached(h), in.left(h)
		in.hold(h)
		h.asksFor()
		if h.asks {
			h.press(approveButton)
		}
		for deadline := time.Now().Add(stepPatience); in.reached(h) == before; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				h.t.Fatalf("%s is not under way:\n%s", h.key(), h.me.Transcript())
			}
		}
		time.Sleep(10 * time.Second) // it waits
		if n, m := in.reached(h), in.left(h); n != before+1 || m != gone {
			h.t.Errorf("the far side was asked %d times and left %d times", n-before, m-gone)
		}
		h.say("/stop")
		said := time.Now()
		h.sees("Stopped")
		if took := time.Since(said); took > time.Second {
			h.t.Errorf("it was acknowledged after %s", took)
		}
		h.sees("(cut off)")
		time.Sleep(10 * time.Second) // it may be asked once more, to be told that it is over, for which the MCP library has five
		if n, m := in.reached(h)-before, in.left(h)-gone; n != m {
			h.t.Errorf("the far side was asked %d times and left %d times", n, m)
		}
	})
	if n != base {
		h.t.Errorf("after a stop inside: %d effects, want %d", n, base)
	}
	peek(h.t, h.world.home, func(tx *store.Tx) { h.ended(tx, []tools.State{tools.Cancelled}) })
	if in.lift != nil {
		in.lift(h)
	}
	if n := h.life(h.success); h.effect != nil && n != base+1 {
		h.t.Errorf("after a success: %d effects, want %d", n, base+1)
	}
}

// inReal holds a conversation on the real clock, for work that takes real time.
func inReal(t *testing.T, hold func(d *dialog)) {
	w := newWorld(t)
	w.unpaced = true
	d := newDialog(t, w)
	d.start()
	hold(d)
	d.settle()
	d.end()
}

// stoppedReally says /stop into work of minutes and looks at the records.
func (d *dialog) stoppedReally(tool, running string) {
	d.t.Helper()
	d.sees(d.ann, running)
	d.play("user> /stop\nsoon< Stopped\nbot< (cut off)\nuser> and now?\nmodel> say I am here.\nbot< I am here.")
	d.settle()
	d.end()
	peek(d.t, d.home, func(tx *store.Tx) {
		all, err := executions.All(tx, nil)
		if err != nil || len(all) != 1 || all[0].Tool != tool || all[0].State != tools.Cancelled {
			d.t.Errorf("the calls are %+v, %v", all, err)
		}
	})
	d.start()
}

// TestSTOP1_InsideASearch: a hard pattern on a large text would take many minutes.
func TestSTOP1_InsideASearch(t *testing.T) {
	inReal(t, func(d *dialog) {
		for _, name := range []string{"a.txt", "b.txt", "c.txt", "d.txt"} {
			d.write("texts/"+name, strings.Repeat(strings.Repeat("ab", 40)+"\n", 50_000))
		}
		d.play("user> look for it\n" + `model> call grep_files {"path":"texts","pattern":"(?:[ab]?[abc]?){900}[XY]"}`)
		d.stoppedReally(tools.GrepFiles, "⏳ grep_files")
	})
}

// TestSTOP1_InsideADrawing: a drawing of very many large shapes takes longer than its child may; the stop ends the child.
func TestSTOP1_InsideADrawing(t *testing.T) {
	inReal(t, func(d *dialog) {
		d.write("a.svg", `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">`+strings.Repeat(`<circle cx="4" cy="4" r="9" fill="#f00" opacity=".5"/>`, 5000)+`</svg>`)
		d.play("user> keep it\n" + `model> call gallery_add {"action":"prepare","workspace_paths":["a.svg"]}`)
		d.until("the child that draws", func() bool { return hasChild(t, "svg svg") })
		d.stoppedReally(tools.GalleryAdd, "⏳ gallery_add")
		d.until("the child to be gone", func() bool { return !hasChild(t, "svg svg") })
	})
}

// hasChild says whether a child of this process runs under such a name.
func hasChild(t *testing.T, name string) bool {
	t.Helper()
	list, err := exec.Command("ps", "-axo", "ppid=,args=").Output()
	if err != nil {
		t.Fatalf("listing processes: %v", err)
	}
	for line := range strings.Lines(string(list)) {
		parent, args, _ := strings.Cut(strings.TrimSpace(line), " ")
		if parent == fmt.Sprint(os.Getpid()) && strings.Contains(args, name) {
			return true
		}
	}
	return false
}
